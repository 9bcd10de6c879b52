"""Each of the malformed and hostile files has the outcome that the manifest expects."""

import json
from collections.abc import AsyncIterator
from typing import Any

import psutil
import pytest
import pytest_asyncio

from bench.deployment import used_ms
from devkit.shared_data import SHARED, needs_shared
from orc_core.errors import DocumentRejected
from orc_core.extraction.extractor import PRELOADED, Extraction, Extractor
from orc_core.infra.sandbox import Sandbox

pytestmark = pytest.mark.slow

FOLDER = SHARED / "data" / "nasty"
MANIFEST = FOLDER / "manifest.json"
MOST_MS = 20_000
"""Of processor time: a busy machine needs longer."""

ALLOWED = {
    "reject": {"reject"},
    "text": {"text"},
    "no_text": {"no_text"},
    "no_text_or_text": {"no_text", "text"},
    "text_or_reject": {"text", "no_text", "reject"},
    "limit_or_no_text": {"no_text", "reject"},
    "limit": {"text", "no_text", "reject"},
    "no_crash": {"text", "no_text", "reject"},
    "reject_or_no_leak": {"text", "no_text", "reject"},
}


def entries() -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads(MANIFEST.read_text()) if MANIFEST.exists() else []
    return entries


def text_of(extraction: Extraction) -> str:
    return "\n".join(page.text for page in extraction.pages)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def extractor() -> AsyncIterator[Extractor]:
    """One for all files, as in the product: what a file breaks must not affect the next one."""
    box = Sandbox(*PRELOADED)
    yield Extractor(box, processes=1)
    await box.close()


@needs_shared
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry["file"])
async def test_the_file_has_its_expected_outcome(entry: dict[str, Any], extractor: Extractor) -> None:
    before = used_ms(psutil.Process())
    try:
        extraction = await extractor.extract(FOLDER / entry["file"], entry.get("upload_as", entry["file"]))
    except DocumentRejected as error:
        outcome, text = "reject", ""
        assert len(error.message) > 20
    else:
        outcome, text = ("text" if extraction.has_text else "no_text"), text_of(extraction)
    assert used_ms(psutil.Process()) - before < MOST_MS
    assert outcome in ALLOWED[entry["expect"]]
    assert "root:x:" not in text
    if outcome == "text":
        assert all(words in text for words in entry["contains"] or [])
