"""The Tesseract engine: the installed program, or the same engine from npm behind the same command line."""

import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from devkit.node import from_npm, node
from devkit.shared_data import ROOT
from orc_core.extraction.extractor import Extraction, Extractor
from orc_core.infra.sandbox import Sandbox
from orc_core.ocr.tesseract import Tesseract

DOUBLE = ROOT / "devkit" / "doubles" / "tesseract.mjs"
ROOMY = 2**36
"""Node reserves many gigabytes of addresses for WebAssembly, most of which it never touches."""

Extract = Callable[[str, bytes], Awaitable[tuple[Extraction, Path]]]
"""Extracts a file with this name and content; returns its path too."""


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program to run."""
    if installed := shutil.which("tesseract"):
        return Path(installed)
    from_npm("tesseract.js")
    script = tmp_path_factory.mktemp("bin") / "tesseract"
    script.write_text(f'#!/bin/sh\nexec "{node()}" "{DOUBLE}" "$@"\n')
    script.chmod(0o755)
    return script


@pytest.fixture
def tesseract(program: Path, box: Sandbox) -> Tesseract:
    return Tesseract(program, box, languages="eng", seconds=120, memory_bytes=ROOMY, processes=2)


@pytest.fixture
def extract(tmp_path: Path, box: Sandbox) -> Extract:
    extractor = Extractor(box)

    async def extract(file_name: str, content: bytes) -> tuple[Extraction, Path]:
        source = tmp_path / "upload"
        source.write_bytes(content)
        return await extractor.extract(source, file_name), source

    return extract
