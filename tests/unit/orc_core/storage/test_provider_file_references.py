"""What every ProviderFiles must do: references are reused until they expire or the bytes change."""

import asyncio
from collections.abc import Callable
from datetime import timedelta

import pytest

from orc_core.documents.ports import ProviderFiles
from orc_core.llm.errors import ContextTooLong
from orc_core.llm.provider import Provider
from orc_core.storage.attachments import LocalProviderFiles
from orc_core.storage.provider_files import MARGIN
from tests.unit.orc_core.storage.kept_files import TTL, KeptFiles

pytestmark = pytest.mark.contract("provider files")

Make = Callable[[], ProviderFiles]


@pytest.fixture(params=["local", "openai", "base64"])
def adapter(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def make(adapter: str, kept: KeptFiles, provider: Provider) -> Make:
    """Builds a new adapter, as the next process would."""

    def make() -> ProviderFiles:
        match adapter:
            case "openai":
                return kept.attachments("file", provider)
            case "base64":
                return kept.attachments("base64", provider)
            case _:
                return LocalProviderFiles(kept.catalog, ttl_seconds=TTL, clock=kept.clock.utc)

    return make


@pytest.fixture
def files(make: Make) -> ProviderFiles:
    return make()


@pytest.fixture
def life(adapter: str) -> timedelta:
    """How long a reference holds."""
    return timedelta(seconds=TTL) - (MARGIN if adapter == "openai" else timedelta())


async def attached_id(files: ProviderFiles, kept: KeptFiles, name: str = "a.pdf") -> str:
    [attached] = await files.attach([await kept.document(name)])
    return attached.ref.file_id


async def test_a_reference_names_the_file_and_tells_nothing_else(
    files: ProviderFiles, kept: KeptFiles
) -> None:
    document = await kept.put("a.pdf")
    [attached] = await files.attach([document])
    assert attached.document == document
    assert attached.ref.blob_name == "a.pdf"
    assert attached.ref.file_id.startswith("file-")
    assert document.document_id not in attached.ref.file_id


async def test_a_live_reference_is_reused_by_this_process_and_the_next(
    files: ProviderFiles, make: Make, kept: KeptFiles, life: timedelta
) -> None:
    await kept.put("a.pdf")
    made = await attached_id(files, kept)
    kept.clock.advance(life.total_seconds() - 1)
    assert await attached_id(files, kept) == made
    assert await attached_id(make(), kept) == made
    assert (await files.ensure(await kept.document("a.pdf"))).ref.file_id == made


async def test_an_expired_reference_is_replaced(
    files: ProviderFiles, kept: KeptFiles, life: timedelta
) -> None:
    await kept.put("a.pdf")
    made = await attached_id(files, kept)
    kept.clock.advance(life.total_seconds())
    remade = await attached_id(files, kept)
    assert remade != made
    assert await attached_id(files, kept) == remade


async def test_other_bytes_get_another_reference(files: ProviderFiles, kept: KeptFiles) -> None:
    await kept.put("a.pdf", b"%PDF-1.4 one")
    made = await attached_id(files, kept)
    await kept.put("a.pdf", b"%PDF-1.4 two")
    assert await attached_id(files, kept) != made


async def test_documents_do_not_share_references(files: ProviderFiles, kept: KeptFiles) -> None:
    documents = [await kept.put("a.pdf"), await kept.put("b.pdf")]
    documents.append(await kept.put("a.pdf", conversation="c2"))
    attached = await files.attach(documents)
    assert [each.document for each in attached] == documents
    assert len({each.ref.file_id for each in attached}) == 3


async def test_calls_at_the_same_time_make_one_reference(files: ProviderFiles, kept: KeptFiles) -> None:
    await kept.put("a.pdf")
    made = await asyncio.gather(*(attached_id(files, kept) for _ in range(20)))
    assert len(set(made)) == 1


async def test_what_was_refused_goes_as_text_if_at_all(
    files: ProviderFiles, kept: KeptFiles, adapter: str
) -> None:
    attached = await files.attach([await kept.put("a.pdf"), await kept.put("b.txt")])
    assert {each.sent_as for each in attached[1:]} == {"text"}
    again = await files.reattach(attached, ContextTooLong())
    if adapter == "local":
        assert again is None
    else:
        assert again is not None
        assert [each.sent_as for each in again] == ["text", "text"]
        assert await files.reattach(again, ContextTooLong()) is None


async def test_forgetting_bears_that_there_is_nothing(files: ProviderFiles, kept: KeptFiles) -> None:
    document = await kept.put("a.pdf")
    for _ in range(2):
        await files.forget(document.path)
    assert await files.sweep() == 0
