"""What every file format must do: be recognised, give its text, and refuse what is not of this format."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from devkit.shared_data import ROOT
from orc_core.errors import DocumentRejected, UnreadableDocument
from orc_core.extraction.extractor import PRELOADED, Extraction, Extractor
from orc_core.extraction.formats import KNOWN, Format, Sign, hinted_format
from orc_core.infra.sandbox import Sandbox
from tests.contract.format_samples import DOCUMENTS, IMAGES, OTHER_SENTENCES, SENTENCE

ALL = DOCUMENTS | IMAGES
pytestmark = pytest.mark.asyncio(loop_scope="module")
PROGRAM = b"\x7fELF" + bytes(range(256)) * 8


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def extractor() -> AsyncIterator[Extractor]:
    box = Sandbox(*PRELOADED)
    yield Extractor(box, processes=1)
    await box.close()


async def read(extractor: Extractor, folder: Path, name: str, content: bytes) -> Extraction:
    source = folder / "upload"
    source.write_bytes(content)
    return await extractor.extract(source, name)


def format_of(extension: str) -> Format:
    named = hinted_format(f"a{extension}")
    assert named is not None
    return named


async def test_every_format_has_a_sample() -> None:
    assert {format_of(extension) for extension in ALL} == set(Format)


@pytest.mark.parametrize("extension", ALL)
async def test_a_format_is_named_to_users(extension: str) -> None:
    """By one of its extensions or by its name, in the error message and in docs/limits.md."""
    names = {e.removeprefix(".") for e in ALL if format_of(e) is format_of(extension)}
    names.add(format_of(extension).name.lower())
    documented = (ROOT / "docs" / "limits.md").read_text().lower()
    assert names & set(re.findall(r"\w+", KNOWN.lower()))
    assert names & set(re.findall(r"\w+", documented)) or (extension in IMAGES and "images" in documented)


@pytest.mark.parametrize("extension", DOCUMENTS)
async def test_the_text_of_a_document_is_extracted(
    extension: str, extractor: Extractor, tmp_path: Path
) -> None:
    extraction = await read(extractor, tmp_path, f"a{extension}", DOCUMENTS[extension])
    assert extraction.media_type == format_of(extension).media_type
    assert OTHER_SENTENCES.get(extension, SENTENCE) in "\n".join(page.text for page in extraction.pages)
    assert extraction.has_text


@pytest.mark.parametrize("extension", [each for each in DOCUMENTS if format_of(each).sign is not Sign.NAME])
async def test_a_document_with_a_signature_is_read_under_any_name(
    extension: str, extractor: Extractor, tmp_path: Path
) -> None:
    for name in ("file_1_id", "a.csv", "a.pptx"):
        extraction = await read(extractor, tmp_path, name, DOCUMENTS[extension])
        assert extraction.media_type == format_of(extension).media_type
        assert OTHER_SENTENCES.get(extension, SENTENCE) in "\n".join(page.text for page in extraction.pages)


@pytest.mark.parametrize("extension", IMAGES)
async def test_an_image_is_a_page_without_text(extension: str, extractor: Extractor, tmp_path: Path) -> None:
    extraction = await read(extractor, tmp_path, f"a{extension}", IMAGES[extension])
    assert len(extraction.pages) == extraction.pages_without_text == 1


@pytest.mark.parametrize("extension", ALL)
async def test_an_empty_file_is_refused(extension: str, extractor: Extractor, tmp_path: Path) -> None:
    with pytest.raises(UnreadableDocument) as refused:
        await read(extractor, tmp_path, f"a{extension}", b"")
    assert refused.value.code == "empty"


@pytest.mark.parametrize("extension", ALL)
async def test_a_program_with_this_extension_is_refused(
    extension: str, extractor: Extractor, tmp_path: Path
) -> None:
    with pytest.raises(DocumentRejected):
        await read(extractor, tmp_path, f"a{extension}", PROGRAM)


@pytest.mark.parametrize("extension", DOCUMENTS)
async def test_a_truncated_file_gives_text_or_is_refused(
    extension: str, extractor: Extractor, tmp_path: Path
) -> None:
    content = DOCUMENTS[extension]
    try:
        extraction = await read(extractor, tmp_path, f"a{extension}", content[: len(content) // 2])
    except DocumentRejected:
        return
    assert extraction.pages
