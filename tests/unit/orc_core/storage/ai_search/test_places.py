"""Very many documents in AI Search: a short filter by place, and the marks of hits only."""

import pytest

from devkit.doubles.search_double import SearchDouble
from devkit.topic_embedder import TopicEmbedder
from orc_core.documents.passages import split_pages
from orc_core.documents.places import Accessible, Place, PlaceType, session_place
from orc_core.models import Page
from orc_core.names import Owner
from orc_core.storage.ai_search.client import Search
from orc_core.storage.ai_search.index import in_places, keys_of
from orc_core.storage.ai_search.passages import AzurePassageIndex
from orc_core.storage.ai_search.retriever import AzureSearchRetriever
from orc_core.storage.ai_search.vectors import AzureVectorIndex

pytestmark = pytest.mark.slow

SESSION = Owner("acme", "ann", "s1")
FOLDER, BELOW, GONE, ALIKE = (
    Owner.of_context("acme", each) for each in ("o1-f1", "o1-f1-u1", "o1-f1-u2", "o1-f11")
)
PLACES = (
    session_place(SESSION),
    Place(type=PlaceType.FOLDER, id="o1-f1", deep=True, near=False, without=("o1-f1-u2",)),
)
EVERYTHING = Accessible(SESSION, PLACES)
HARBOUR = "The harbour is closed in winter."


async def keep(search: Search, document_id: str, owner: Owner | None, text: str = HARBOUR) -> None:
    passages = split_pages(document_id, [Page(number=1, text=text)])
    made = await TopicEmbedder().embed_passages([text])
    await AzureVectorIndex(search, "topics").save(document_id, made)
    await AzurePassageIndex(search).save(document_id, f"{document_id}.pdf", passages, owner)


async def found(search: Search, accessible: Accessible, *, embeds: bool = True) -> set[str]:
    retriever = AzureSearchRetriever(search, TopicEmbedder() if embeds else None)
    retrieval = await retriever.search_places("Is the harbour closed in winter?", accessible, 9)
    return {hit.passage.document_id for hit in retrieval.hits}


@pytest.mark.parametrize("embeds", [True, False])
async def test_only_documents_in_the_places_are_found(search: Search, embeds: bool) -> None:
    owners = {"mine": SESSION, "folder": FOLDER, "below": BELOW, "gone": GONE, "alike": ALIKE}
    owners |= {"bob": Owner("acme", "bob", "s1"), "globex": Owner.of_context("globex", "o1-f1")}
    for document_id, owner in owners.items():
        await keep(search, document_id, owner)
    assert await found(search, EVERYTHING, embeds=embeds) == {"mine", "folder", "below"}
    assert await found(search, EVERYTHING.narrowed("focus"), embeds=embeds) == {"mine"}
    assert await found(search, EVERYTHING.narrowed("others"), embeds=embeds) == {"folder", "below"}
    assert await found(search, Accessible(SESSION, ()), embeds=embeds) == set()


async def test_documents_of_an_earlier_version_are_placed_later(search: Search) -> None:
    index = AzurePassageIndex(search)
    await keep(search, "early", None)
    await keep(search, "mine", SESSION)
    assert await found(search, EVERYTHING) == {"mine"}
    assert await index.unplaced() == ["early"]
    await index.place("early", BELOW)
    assert await index.unplaced() == []
    assert await found(search, EVERYTHING) == {"mine", "early"}


async def test_a_filter_by_53_places_is_short(search: Search) -> None:
    contexts = [
        Place(type=PlaceType.USECASE, id="-".join([f"{n:016}"] * 3), deep=n % 2 == 0) for n in range(52)
    ]
    accessible = Accessible(SESSION, (session_place(SESSION), *contexts))
    assert len(in_places(accessible)) <= 2048
    for owner in (SESSION, FOLDER):
        assert all(owner.conversation_id not in key and len(key) == 32 for key in keys_of(owner))


async def test_a_search_asks_for_the_marks_of_its_hits_alone(double: SearchDouble, search: Search) -> None:
    for number in range(4):
        await keep(search, f"minutes-{number}", SESSION, HARBOUR if number == 0 else "Lunch is at noon.")
    double.asked.clear()
    found = await AzureSearchRetriever(search).search_places("harbour", EVERYTHING, 3)
    assert {hit.passage.document_id for hit in found.hits} == {"minutes-0"}
    asked = str(double.asked)
    assert "minutes-0" in asked
    assert not any(f"minutes-{number}" in asked for number in (1, 2, 3))
