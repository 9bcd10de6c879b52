"""An extractor with generous limits, and a fixture that extracts bytes."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.extraction.sandbox import Extraction, Extractor
from tests.unit.core.extraction.samples import Read


@pytest.fixture
async def extractor() -> AsyncIterator[Extractor]:
    extractor = Extractor(memory_bytes=2**30, processes=2)
    yield extractor
    await extractor.close()


@pytest.fixture
def read(extractor: Extractor, tmp_path: Path) -> Read:
    """Extracts the text of a file with this name and content."""

    async def read(file_name: str, content: bytes) -> Extraction:
        source = tmp_path / "upload"
        source.write_bytes(content)
        return await extractor.extract(source, file_name)

    return read
