"""Files at the provider: sent once, bound to their bytes, sent again when lost, deleted in the end."""

import asyncio
from datetime import timedelta

import pytest

from devkit.doubles.openai_double import OpenAIDouble, serving
from devkit.fakes_documents import FakeIndex
from devkit.store_pairs import items_here
from orc_core.analysis.service import DocumentAnalyses
from orc_core.analysis.store import AnalysisStore
from orc_core.documents.ports import plain_name
from orc_core.documents.stores import Stores
from orc_core.errors import NotFound
from orc_core.llm.provider import Provider, open_provider
from orc_core.models import UnwantedFile
from orc_core.names import BlobPath, Owner
from orc_core.storage.attachments import LocalProviderFiles, build_provider_files
from orc_core.storage.provider_files import MARGIN, OpenAIFiles
from orc_core.storage.sqlite import documents as sqlite_documents
from orc_core.storage.sqlite import queue as sqlite_queue
from orc_core.storage.sqlite.documents import SqlitePageStore
from orc_core.storage.sqlite.queue import SqliteJobQueue
from orc_core.storage.sqlite.tables import TABLES
from tests.unit.orc_core.conftest import MakeSettings
from tests.unit.orc_core.storage.kept_files import PDF, TTL, KeptFiles

pytestmark = pytest.mark.slow

LIFE = timedelta(seconds=TTL)


@pytest.fixture
def files(kept: KeptFiles, provider: Provider) -> OpenAIFiles:
    return kept.openai_files(provider)


async def test_the_bytes_are_sent_as_a_pdf_that_expires(
    files: OpenAIFiles, kept: KeptFiles, double: OpenAIDouble
) -> None:
    made = await files.ensure(await kept.put("Größe & <Last>.pdf"))
    [sent] = double.files.files.values()
    assert (sent.file_id, sent.content, sent.purpose) == (made.ref.file_id, PDF, "user_data")
    assert sent.expires_at == sent.created_at + TTL
    assert sent.name.isascii()
    assert sent.name.endswith("-Gr_e_Last.pdf")


@pytest.mark.parametrize("name", ["x" * 300 + ".pdf", "手数料.pdf", "-.pdf", "a\u200db.pdf"])
async def test_a_name_for_the_provider_is_short_and_plain(name: str, kept: KeptFiles) -> None:
    document = (await kept.put("a.pdf")).model_copy(update={"blob_name": name})
    made = plain_name(document)
    assert made.isascii()
    assert len(made) < 120
    assert made.endswith(".pdf")


async def test_azure_is_sent_files_for_its_assistants(
    kept: KeptFiles, make_settings: MakeSettings, double: OpenAIDouble
) -> None:
    with serving(double, prefix="") as endpoint:
        provider = open_provider(
            make_settings(azure_openai_endpoint=endpoint, azure_openai_api_key="secret", model_retries=0)
        )
        assert provider is not None
        await kept.openai_files(provider).ensure(await kept.put("a.pdf"))
        await provider.aclose()
    [sent] = double.files.files.values()
    assert (sent.purpose, bool(sent.expires_at)) == ("assistants", True)


async def test_a_provider_without_expiry_gets_files_all_the_same(
    files: OpenAIFiles, kept: KeptFiles, double: OpenAIDouble
) -> None:
    double.files.knows_expiry = False
    await files.ensure(await kept.put("a.pdf"))
    double.files.knows_expiry = True
    await files.ensure(await kept.put("b.pdf"))
    assert [file.expires_at for file in double.files.files.values()] == [None, None]


async def test_one_document_asked_for_twenty_times_at_once_is_sent_once(
    files: OpenAIFiles, kept: KeptFiles, double: OpenAIDouble
) -> None:
    document = await kept.put("a.pdf")
    await asyncio.gather(*(files.ensure(document) for _ in range(20)))
    assert double.files.uploads == 1


async def test_a_reference_of_another_provider_or_of_other_bytes_does_not_count(
    files: OpenAIFiles, kept: KeptFiles, double: OpenAIDouble
) -> None:
    document = await kept.put("a.pdf")
    await files.ensure(document)
    [stored] = await kept.catalog.files_of(document.path)
    for change in ({"provider": "api.elsewhere.com"}, {"provider": ""}, {"sha256": "0" * 64}):
        await kept.catalog.save_files([stored.model_copy(update=change)])
        await files.ensure(document)
    assert double.files.uploads == 4


async def test_what_is_replaced_is_deleted_at_the_provider(
    files: OpenAIFiles, kept: KeptFiles, double: OpenAIDouble
) -> None:
    await files.ensure(await kept.put("a.pdf"))
    made = await files.ensure(await kept.put("a.pdf", b"%PDF-1.4 other"))
    assert list(double.files.files) == [made.ref.file_id]


async def test_bytes_that_changed_since_they_were_read_are_not_sent(
    files: OpenAIFiles, kept: KeptFiles, double: OpenAIDouble
) -> None:
    document = await kept.put("a.pdf")
    await kept.put("a.pdf", b"%PDF-1.4 other")
    with pytest.raises(NotFound):
        await files.ensure(document)
    assert double.files.uploads == 0


async def test_a_document_that_is_deleted_while_it_is_sent_leaves_nothing(
    files: OpenAIFiles, kept: KeptFiles, double: OpenAIDouble
) -> None:
    document = await kept.put("a.pdf")
    await kept.catalog.delete(document.path)
    with pytest.raises(NotFound):
        await files.ensure(document)
    assert double.files.uploads == 1
    assert double.files.files == {}
    assert await kept.catalog.files_of(document.path) == []


async def test_a_provider_that_is_down_has_lost_nothing(
    files: OpenAIFiles, kept: KeptFiles, double: OpenAIDouble
) -> None:
    document = await kept.put("a.pdf")
    made = await files.ensure(document)
    double.files.refuse = 503
    await files.drop_lost([document])
    assert (await files.ensure(document)).ref == made.ref


@pytest.mark.parametrize("status", [404, 500])
async def test_a_deletion_never_fails_for_the_provider(
    status: int, kept: KeptFiles, provider: Provider, double: OpenAIDouble, make_settings: MakeSettings
) -> None:
    await kept.database.migrate(sqlite_documents.PAGES_SCHEMA, sqlite_queue.SCHEMA, TABLES["analyses"].schema)
    settings = make_settings(provider_files="files")
    files = build_provider_files(
        settings, provider, catalog=kept.catalog, blobs=kept.blobs, clock=kept.clock.utc, ttl_seconds=TTL
    )
    stores = Stores(
        blobs=kept.blobs,
        catalog=kept.catalog,
        pages=SqlitePageStore(kept.database),
        index=FakeIndex(),
        analyses=DocumentAnalyses(AnalysisStore(items_here(kept.database, "analyses"))),
        queue=SqliteJobQueue(kept.database),
        files=files,
    )
    first, second = await kept.put("a.pdf"), await kept.put("b.pdf")
    await files.attach([first, second])
    await stores.forget(first.path)
    assert len(double.files.files) == 1
    double.files.refuse = status
    await stores.forget(second.path)
    assert await kept.catalog.list_in(second.owner) == []
    assert await kept.catalog.files_of(second.path) == []
    assert len(double.files.files) == 1
    double.files.refuse = None
    kept.clock.advance((LIFE + 2 * MARGIN).total_seconds())
    assert await files.sweep() == 1
    assert double.files.files == {}


async def test_a_file_whose_deletion_failed_is_deleted_by_the_next_sweep(
    files: OpenAIFiles, kept: KeptFiles, double: OpenAIDouble
) -> None:
    first, second = await kept.put("a.pdf"), await kept.put("b.pdf")
    await files.ensure(first)
    made = await files.ensure(second)
    assert await files.sweep() == 0
    double.files.refuse = 503
    await files.forget(first.path)
    await kept.catalog.delete(first.path)
    await files.sweep()
    assert len(double.files.files) == 2
    double.files.refuse = None
    await files.sweep()
    assert list(double.files.files) == [made.ref.file_id]
    assert await kept.catalog.unwanted() == []


async def test_a_deletion_without_a_provider_is_made_up_for_when_there_is_one_again(
    files: OpenAIFiles, kept: KeptFiles, double: OpenAIDouble
) -> None:
    document = await kept.put("a.pdf")
    await files.ensure(document)
    await LocalProviderFiles(kept.catalog, ttl_seconds=TTL, clock=kept.clock.utc).forget(document.path)
    await kept.catalog.delete(document.path)
    await files.sweep()
    assert double.files.files == {}


async def test_a_note_about_another_provider_stays_until_the_file_expires(
    files: OpenAIFiles, kept: KeptFiles, double: OpenAIDouble
) -> None:
    note = UnwantedFile(file_id="file-1", provider="api.elsewhere.com", expires_at=kept.clock.utc() + LIFE)
    await kept.catalog.add_unwanted([note])
    await files.sweep()
    assert await kept.catalog.unwanted() == [note]
    kept.clock.advance(2 * TTL)
    await files.sweep()
    assert await kept.catalog.unwanted() == []
    assert "delete" not in double.files.log


@pytest.mark.slow
async def test_a_sweep_deletes_what_is_old_and_ours_alone(
    kept: KeptFiles, provider: Provider, double: OpenAIDouble
) -> None:
    double.files.knows_expiry = False
    files = kept.openai_files(provider)
    for number in range(120):
        path = BlobPath(Owner("acme", "ann", "c1"), f"{number}.pdf")
        await files.ensure(await kept.put(path.file))
    stored = list(double.files.files.values())
    stored[0].name = f"orc-00000000-{stored[0].name}"
    stored[1].purpose = "vision"
    for file in stored[:-1]:
        file.created_at -= int((LIFE + 2 * MARGIN).total_seconds())
    assert await kept.openai_files(provider).sweep() == 117
    assert set(double.files.files) == {file.file_id for file in (*stored[:2], stored[-1])}


async def test_a_sweep_is_made_once_an_hour_and_bears_a_provider_that_is_down(
    files: OpenAIFiles, double: OpenAIDouble
) -> None:
    double.files.refuse = 500
    assert await files.sweep() == 0
    double.files.refuse = None
    assert await files.sweep() == 0
    assert double.files.log == []


async def test_a_file_whose_document_goes_as_text_by_now_is_deleted(
    kept: KeptFiles, provider: Provider, double: OpenAIDouble
) -> None:
    attachments = kept.attachments("file", provider)
    await attachments.attach([await kept.put("a.pdf")])
    replaced = await kept.put("a.pdf", PDF + b" and closes at nine")
    await attachments.ensure(replaced)
    assert double.files.files == {}


async def test_files_are_forgotten_and_swept_after_the_way_was_changed_to_text(
    kept: KeptFiles, provider: Provider, double: OpenAIDouble
) -> None:
    documents = [await kept.put("a.pdf"), await kept.put("b.pdf")]
    double.files.knows_expiry = False
    await kept.attachments("file", provider).attach(documents)
    as_text = kept.attachments("text", provider)
    await as_text.forget(documents[0].path)
    assert len(double.files.files) == 1
    for file in double.files.files.values():
        file.created_at -= int((LIFE + 2 * MARGIN).total_seconds())
    assert await as_text.sweep() == 1
    assert double.files.files == {}


async def test_a_document_that_was_deleted_meanwhile_gets_no_reference(
    kept: KeptFiles, provider: Provider
) -> None:
    document = await kept.put("a.pdf")
    await kept.catalog.delete(document.path)
    await kept.attachments("text", provider).attach([document])
    assert await kept.catalog.files_of(document.path) == []
