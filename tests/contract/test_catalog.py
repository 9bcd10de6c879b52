"""What every catalog must do."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from devkit.store_pairs import opened_items
from orc_core.documents.catalog import Catalog
from orc_core.documents.places import Accessible, Place, PlaceCount, PlaceType, session_place
from orc_core.errors import InvalidInput
from orc_core.models import BlobProperties, Document, DocumentStatus, StoredFile, UnwantedFile
from orc_core.names import BlobPath, Owner

pytestmark = pytest.mark.contract("catalog")

OWNER = Owner("acme", "ann", "c1")
NEIGHBOURS = [Owner("globex", "ann", "c1"), Owner("acme", "bob", "c1"), Owner("acme", "ann", "c2")]
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
Pair = tuple[Catalog, Catalog]


@pytest.fixture
async def pair(request: pytest.FixtureRequest, adapter: str, tmp_path: Path) -> AsyncIterator[Pair]:
    """Two catalogs over the same records, as two processes hold them."""
    async with opened_items(adapter, request, tmp_path, "documents") as open_items:
        first, second = [Catalog(await open_items(), clock=lambda: NOW) for _ in range(2)]
        yield first, second


@pytest.fixture
def catalog(pair: Pair) -> Catalog:
    return pair[0]


def document(name: str = "a.pdf", owner: Owner = OWNER, *, etag: str = "v1", minute: int = 0) -> Document:
    seen = Document.first_seen(BlobProperties(path=BlobPath(owner, name), etag=etag, size=3))
    fixed = {"created_at": NOW + timedelta(minutes=minute), "updated_at": NOW, "generation": "g1"}
    return seen.model_copy(update=fixed)


def stored(
    document: Document, file_id: str = "file-1", *, expires: timedelta = timedelta(days=7)
) -> StoredFile:
    return StoredFile(
        file_id=file_id,
        blob_name=document.blob_name,
        organization_id=document.organization_id,
        user_id=document.user_id,
        conversation_id=document.conversation_id,
        sha256="5" * 64,
        document_id=document.document_id,
        etag=document.etag,
        expires_at=NOW + expires,
    )


async def test_a_record_comes_back_as_it_was_saved(pair: Pair) -> None:
    saved = document("Bericht für März.pdf").model_copy(
        update={
            "status": DocumentStatus.FAILED,
            "reason_code": "no_text",
            "reason": 'Say "OCR" – 请',
            "pages": 3,
            "pages_without_text": 3,
            "tokens": 7,
            "sha256": "0" * 64,
            "media_type": "application/pdf",
            "updated_at": NOW + timedelta(microseconds=1),
        }
    )
    await pair[0].save(saved)
    for catalog in pair:
        assert await catalog.get(OWNER, [saved.document_id]) == [saved]


async def test_get_gives_the_known_ones_in_the_order_asked(catalog: Catalog) -> None:
    first, second, third = (document(name) for name in ("a.pdf", "b.pdf", "c.pdf"))
    for each in (first, second, third):
        await catalog.save(each)
    asked = [third.document_id, "unknown", "'; DROP TABLE documents", first.document_id, third.document_id]
    assert await catalog.get(OWNER, asked) == [third, first]
    assert await catalog.get(OWNER, []) == []


async def test_get_takes_many_ids(catalog: Catalog) -> None:
    await catalog.save(document())
    asked = [f"unknown-{number}" for number in range(40_000)] + [document().document_id]
    assert len(await catalog.get(OWNER, asked)) == 1


async def test_a_record_advances_only_while_it_is_of_the_same_bytes(catalog: Catalog) -> None:
    completed = document().model_copy(update={"status": DocumentStatus.COMPLETED})
    assert not await catalog.advance(completed)
    assert await catalog.list_in(OWNER) == []
    await catalog.save(document())
    assert await catalog.advance(completed)
    assert await catalog.list_in(OWNER) == [completed]
    for changed in (document(etag="v2"), document().model_copy(update={"generation": "g2"})):
        await catalog.save(changed)
        assert not await catalog.advance(completed)
        assert await catalog.list_in(OWNER) == [changed]


async def test_of_many_who_advance_a_record_at_once_none_undoes_a_fresh_start(pair: Pair) -> None:
    await pair[0].save(document())
    steps = [document().model_copy(update={"pages": number}) for number in range(20)]
    fresh = document().model_copy(update={"generation": "g2"})
    moved: list[Awaitable[object]] = [pair[n % 2].advance(step) for n, step in enumerate(steps)]
    await asyncio.gather(*moved[:10], pair[0].save(fresh), *moved[10:])
    assert await pair[1].list_in(OWNER) == [fresh]
    further = fresh.model_copy(update={"pages": 3})
    assert await asyncio.gather(*(each.advance(further) for each in pair)) == [True, True]
    assert await pair[1].list_in(OWNER) == [further]


async def test_a_record_of_another_owner_does_not_advance(catalog: Catalog) -> None:
    await catalog.save(document())
    for owner in NEIGHBOURS:
        forged = {"document_id": document().document_id, "pages": 9}
        assert not await catalog.advance(document(owner=owner).model_copy(update=forged))
        assert await catalog.list_in(owner) == []
    assert await catalog.list_in(OWNER) == [document()]


async def test_duplicates_are_readable_documents_of_the_user_with_the_same_bytes(
    catalog: Catalog,
) -> None:
    same = {"sha256": "same", "readable": True}
    mine = document().model_copy(update=same)
    elsewhere = document(owner=Owner("acme", "ann", "c9")).model_copy(update=same)
    theirs = document(owner=Owner("acme", "bob", "c9")).model_copy(update=same)
    unread = document("b.pdf").model_copy(update={"sha256": "same"})
    foreign = document(owner=Owner("globex", "ann", "c1")).model_copy(update=same)
    other = document("c.pdf").model_copy(update={"sha256": "other", "readable": True})
    for each in (mine, elsewhere, theirs, unread, foreign, other):
        await catalog.save(each)
    await catalog.save_files([stored(mine).model_copy(update={"sha256": "same"})])
    # An upload of the same bytes does without a record of a newer version.
    await catalog.save(document("new.pdf").model_copy(update={**same, "size": -1}))
    found = await catalog.duplicates(OWNER, "same")
    assert {each.document_id for each in found} == {mine.document_id, elsewhere.document_id}


async def test_stored_bytes_are_those_of_all_documents_of_the_organization(catalog: Catalog) -> None:
    assert await catalog.stored_bytes("acme") == 0
    for owner in (OWNER, *NEIGHBOURS):
        await catalog.save(document(owner=owner).model_copy(update={"size": 5}))
    await catalog.save(document("b.pdf").model_copy(update={"size": 7}))
    await catalog.save_files([stored(document())])
    assert await catalog.stored_bytes("acme") == 22
    assert await catalog.stored_bytes("globex") == 5


async def test_unfinished_are_those_of_all_owners_that_are_neither_completed_nor_failed(
    catalog: Catalog,
) -> None:
    states = {
        "late.pdf": (DocumentStatus.UPLOADED, 2),
        "early.pdf": (DocumentStatus.PROCESSING, 1),
        "completed.pdf": (DocumentStatus.COMPLETED, 0),
        "failed.pdf": (DocumentStatus.FAILED, 0),
    }
    for number, (name, (status, minute)) in enumerate(states.items()):
        owner = NEIGHBOURS[number % len(NEIGHBOURS)]
        await catalog.save(document(name, owner, minute=minute).model_copy(update={"status": status}))
    assert [each.blob_name for each in await catalog.unfinished()] == ["early.pdf", "late.pdf"]
    assert [each.blob_name for each in await catalog.completed()] == ["completed.pdf"]


async def test_a_listing_holds_one_conversation_oldest_first(catalog: Catalog) -> None:
    newest, oldest, middle = document("a.pdf", minute=2), document("b.pdf"), document("c.pdf", minute=1)
    for each in (newest, oldest, middle, *(document(owner=owner) for owner in NEIGHBOURS)):
        await catalog.save(each)
    await catalog.save_files([stored(newest)])
    assert await catalog.list_in(OWNER) == [oldest, middle, newest]
    assert await catalog.list_in(Owner("acme", "ann", "c3")) == []


@pytest.mark.parametrize("neighbour", NEIGHBOURS, ids=str)
async def test_an_owner_never_sees_or_touches_records_of_another(catalog: Catalog, neighbour: Owner) -> None:
    mine, theirs = document(), document(owner=neighbour)
    await catalog.save(mine)
    assert await catalog.get(neighbour, [mine.document_id]) == []
    assert await catalog.list_in(neighbour) == []
    await catalog.save(theirs)
    await catalog.delete(theirs.path)
    assert await catalog.get(OWNER, [mine.document_id]) == [mine]


async def test_documents_of_one_name_are_distinguished_by_owner(catalog: Catalog) -> None:
    owners = [OWNER, *NEIGHBOURS]
    documents = [document("a.pdf", owner, etag=str(owner)) for owner in owners]
    for each in documents:
        await catalog.save(each)
        await catalog.save_files([stored(each, each.etag)])
    every_id = [each.document_id for each in documents]
    for owner, mine in zip(owners, documents, strict=True):
        assert await catalog.get(owner, every_id) == await catalog.list_in(owner) == [mine]
        assert (
            await catalog.live_files([mine]) == await catalog.files_of(mine.path) == [stored(mine, mine.etag)]
        )


@pytest.mark.parametrize("neighbour", NEIGHBOURS, ids=str)
async def test_a_stolen_id_gives_no_access_to_its_owners_documents(
    catalog: Catalog, neighbour: Owner
) -> None:
    mine = document()
    forged = document(owner=neighbour, etag="forged").model_copy(update={"document_id": mine.document_id})
    await catalog.save(mine)
    await catalog.save(forged)
    await catalog.delete(forged.path)
    assert await catalog.get(OWNER, [mine.document_id]) == [mine]


async def test_a_deleted_record_is_gone_with_its_files_and_deleting_twice_is_no_error(
    catalog: Catalog,
) -> None:
    kept, gone = document("kept.pdf"), document("gone.pdf")
    for each in (kept, gone):
        await catalog.save(each)
        await catalog.save_files([stored(each, f"file-{each.blob_name}")])
    await catalog.delete(gone.path)
    await catalog.delete(gone.path)
    assert await catalog.list_in(OWNER) == [kept]
    assert await catalog.live_files([kept, gone]) == [stored(kept, "file-kept.pdf")]


async def test_file_references_come_back_in_the_order_of_the_documents(pair: Pair) -> None:
    first, second, third = (document(name) for name in ("a.pdf", "b.pdf", "c.pdf"))
    files = [stored(first, "file-a"), stored(second, "file-b")]
    await pair[0].save_files(files)
    assert await pair[1].live_files([second, third, first]) == files[::-1]
    assert await pair[1].live_files([]) == []


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(document(etag="v2"), id="other-bytes"),
        pytest.param(document("b.pdf"), id="other-document"),
        pytest.param(document().model_copy(update={"organization_id": "globex"}), id="other-organization"),
    ],
)
async def test_a_reference_serves_only_the_bytes_it_was_made_from(catalog: Catalog, other: Document) -> None:
    await catalog.save_files([stored(document())])
    assert await catalog.live_files([other]) == []
    assert await catalog.live_files([document()]) == [stored(document())]


async def test_an_organization_cannot_replace_the_reference_of_another(catalog: Catalog) -> None:
    forged = stored(document(), "file-forged").model_copy(update={"organization_id": "globex"})
    await catalog.save_files([stored(document())])
    await catalog.save_files([forged])
    assert await catalog.live_files([document()]) == [stored(document())]


@pytest.mark.parametrize(("left", "live"), [(1, 1), (0, 0), (-1, 0)], ids=["before", "at", "after"])
async def test_a_reference_lives_until_it_expires(catalog: Catalog, left: int, live: int) -> None:
    await catalog.save_files([stored(document(), expires=timedelta(seconds=left))])
    assert len(await catalog.live_files([document()])) == live


async def test_files_of_gives_what_has_expired_or_is_of_earlier_bytes(catalog: Catalog) -> None:
    expired = stored(document(etag="v0"), expires=timedelta(days=-1))
    await catalog.save(document())
    await catalog.save_files([expired, stored(document("b.pdf"), "file-b")])
    assert await catalog.files_of(document().path) == [expired]
    assert await catalog.files_of(document("c.pdf").path) == []


async def test_references_are_dropped_unless_others_have_taken_their_place(pair: Pair) -> None:
    names = ("kept.pdf", "replaced.pdf", "dropped.pdf")
    documents = [document(name) for name in names]
    first = [stored(each, f"first-{each.blob_name}") for each in documents]
    again = stored(documents[1], "again")
    await pair[0].save_files(first)
    await pair[1].save_files([again])
    await pair[0].drop_files(first[1:])
    await pair[0].drop_files([stored(document("unknown.pdf")), *first[1:]])
    assert await pair[1].live_files(documents) == [first[0], again]
    await pair[0].drop_files([])


async def test_many_references_are_saved_at_once(catalog: Catalog) -> None:
    documents = [document(f"{number}.pdf") for number in range(120)]
    documents += [document(owner=owner) for owner in NEIGHBOURS]
    files = [stored(each, f"file-{number}") for number, each in enumerate(documents)]
    await catalog.save_files(files)
    assert await catalog.live_files(documents) == files
    await catalog.save_files([])


async def test_saves_of_two_processes_at_once_are_all_kept(pair: Pair) -> None:
    documents = [document(f"{number:02}.pdf", minute=number) for number in range(40)]
    saves: Sequence[Awaitable[None]] = [pair[n % 2].save(each) for n, each in enumerate(documents)]
    await asyncio.gather(*saves, *(pair[n % 2].list_in(OWNER) for n in range(40)))
    for catalog in pair:
        assert await catalog.list_in(OWNER) == documents


async def test_ping_passes_if_the_catalog_works(catalog: Catalog) -> None:
    await catalog.ping()


async def test_a_record_that_cannot_be_read_does_not_hide_other_unfinished_ones(
    catalog: Catalog, caplog: pytest.LogCaptureFixture
) -> None:
    unreadable = document("new.pdf").model_copy(update={"size": -1})
    await catalog.save(unreadable)
    await catalog.save(document())
    assert await catalog.unfinished() == [document()]
    assert unreadable.document_id in caplog.text


async def test_unwanted_files_are_noted_until_they_are_dropped(pair: Pair) -> None:
    made = [stored(document(f"{number}.pdf"), f"file/{number} ?") for number in range(3)]
    files = [UnwantedFile.of(each.model_copy(update={"provider": "api.example.com"})) for each in made]
    await pair[0].add_unwanted(files)
    await pair[0].add_unwanted(files[:1])
    assert sorted(await pair[1].unwanted(), key=lambda file: file.file_id) == files
    await pair[1].drop_unwanted([files[0], files[2]])
    await pair[1].drop_unwanted([files[0]])
    assert await pair[0].unwanted() == [files[1]]


async def test_the_note_about_an_unwanted_file_does_not_say_whose_it_was(catalog: Catalog) -> None:
    await catalog.add_unwanted([UnwantedFile.of(stored(document(), "file-9"))])
    assert await catalog.list_in(OWNER) == []
    assert set((await catalog.unwanted())[0].model_dump()) == {"file_id", "provider", "expires_at"}


FOLDER, BELOW, DEEPER, ALIKE = "a-b", "a-b-c", "a-b-d", "a-bb"
PLACES = (
    session_place(OWNER),
    Place(type=PlaceType.USECASE, id=DEEPER, near=True, name="Rail"),
    Place(type=PlaceType.FOLDER, id=FOLDER, deep=True, near=False),
)
HERE = Accessible(OWNER, PLACES)


async def saved_in(catalog: Catalog, *owners: Owner, count: int = 3, **update: object) -> list[Document]:
    """Documents of these owners, saved."""
    saved = [document(f"{n}.pdf", owner).model_copy(update=update) for owner in owners for n in range(count)]
    for each in saved:
        await catalog.save(each)
    return saved


async def listed(catalog: Catalog, accessible: Accessible, limit: int, **chosen: Any) -> list[Document]:
    """All pages of a listing."""
    found, after = list[Document](), ""
    while True:
        page = await catalog.page(accessible, after=after, limit=limit, **chosen)
        assert len(page.documents) <= limit
        found += page.documents
        if page.after is None:
            return found
        after = page.after


def in_contexts(*context_ids: str, organization_id: str = "acme") -> list[Owner]:
    return [Owner.of_context(organization_id, each) for each in context_ids]


async def test_accessible_records_are_read_place_by_place_and_by_id(catalog: Catalog) -> None:
    def by_id(documents: list[Document]) -> list[Document]:
        return sorted(documents, key=lambda each: each.document_id)

    mine = await saved_in(catalog, OWNER)
    near = await saved_in(catalog, *in_contexts(DEEPER))
    far = await saved_in(catalog, *in_contexts(FOLDER, BELOW))
    await saved_in(
        catalog, *NEIGHBOURS, *in_contexts(ALIKE, "a", "b"), *in_contexts(FOLDER, organization_id="g")
    )
    expected = by_id(mine) + by_id(near) + by_id(far)
    for limit in (1, 4, 50):
        assert await listed(catalog, HERE, limit) == expected
    assert await listed(catalog, HERE.narrowed("c2"), 2) == by_id(near + far)
    assert await listed(catalog, HERE.narrowed("others"), 2) == by_id(far)
    some = [mine[0], far[-1]]
    narrowed = replace(HERE, document_ids=frozenset(each.document_id for each in some))
    assert await listed(catalog, narrowed, 5) == some
    counts = [(each.place.type, each.total, each.readable) for each in await catalog.count(HERE)]
    assert counts == [("session", 3, 0), ("usecase", 3, 0), ("folder", 6, 0)]
    assert [each.total for each in await catalog.count(narrowed)] == [1, 0, 1]


async def test_a_context_that_is_being_deleted_is_left_out(catalog: Catalog) -> None:
    kept = await saved_in(catalog, *in_contexts(FOLDER, DEEPER), readable=True)
    hidden = await saved_in(catalog, *in_contexts(BELOW))
    place = Place(type=PlaceType.FOLDER, id=FOLDER, deep=True, without=(BELOW,))
    accessible = Accessible(OWNER, (place,))
    assert {each.document_id for each in await listed(catalog, accessible, 2)} == {
        d.document_id for d in kept
    }
    assert await catalog.count(accessible) == [PlaceCount(place, 6, 6, 0)]
    assert await catalog.find(accessible, [hidden[0].document_id]) == []


async def test_only_accessible_records_are_found(catalog: Catalog) -> None:
    mine, near, far = await saved_in(catalog, OWNER, *in_contexts(DEEPER, BELOW), count=1)
    others = await saved_in(catalog, *NEIGHBOURS, *in_contexts(ALIKE, "a"), count=1)
    ids = [each.document_id for each in [far, *others, mine, near, far]]
    assert await catalog.find(HERE, [*ids, "unknown", "'"]) == [far, mine, near]
    assert await catalog.find(HERE, []) == []
    assert await catalog.find(HERE.narrowed("focus"), ids) == [mine, near]
    named = replace(HERE, document_ids=frozenset({near.document_id}))
    assert await catalog.find(named, ids) == [near]


async def test_pages_hold_each_record_once_while_others_are_saved_and_removed(catalog: Catalog) -> None:
    kept = await saved_in(catalog, OWNER, *in_contexts(DEEPER), count=6)
    removed = await saved_in(catalog, *in_contexts(FOLDER), count=2)
    found, after = list[str](), ""
    for number in range(100):
        page = await catalog.page(HERE, after=after, limit=2)
        found += [each.document_id for each in page.documents]
        if page.after is None:
            break
        after = page.after
        for owner in (OWNER, *in_contexts(DEEPER, BELOW)):
            await catalog.save(document(f"later {number}.pdf", owner))
        await catalog.save(kept[number % len(kept)].model_copy(update={"generation": f"g{number}"}))
        for each in removed:
            await catalog.delete(each.path)
    assert len(found) == len(set(found))
    assert {each.document_id for each in kept} <= set(found)


@pytest.mark.parametrize("cursor", ["x", "0", "-1:", "0:'", ":", "99999:a"])
async def test_a_cursor_that_no_page_gave_is_invalid(catalog: Catalog, cursor: str) -> None:
    with pytest.raises(InvalidInput):
        await catalog.page(HERE, after=cursor, limit=3)


async def test_the_latest_are_those_of_all_places(catalog: Catalog) -> None:
    [context] = in_contexts(FOLDER)
    read = {"readable": True}
    for minute in range(4):
        for owner, later in ((OWNER, 0), (context, 2), (NEIGHBOURS[0], 9)):
            made = document(f"{minute}.pdf", owner, minute=minute + later)
            await catalog.save(made.model_copy(update=read))
    await catalog.save(document("unread.pdf", minute=8))
    found = await catalog.latest(HERE, 3)
    assert [(each.owner, each.blob_name) for each in found[1:]] == [(context, "2.pdf"), (context, "3.pdf")]
    assert found[0].created_at == NOW + timedelta(minutes=3)


async def test_a_page_is_filtered_by_name_and_status(catalog: Catalog) -> None:
    done = {"status": DocumentStatus.COMPLETED}
    for number in range(5):
        await catalog.save(document(f"Report {number}.pdf"))
        await catalog.save(document(f"notes {number}.txt").model_copy(update=done))
    named = await listed(catalog, HERE, 3, name="REPORT")
    assert {each.blob_name for each in named} == {f"Report {number}.pdf" for number in range(5)}
    completed = await listed(catalog, HERE, 9, status=DocumentStatus.COMPLETED)
    assert {each.blob_name for each in completed} == {f"notes {number}.txt" for number in range(5)}
    assert await listed(catalog, HERE, 9, name="report", status=DocumentStatus.COMPLETED) == []
