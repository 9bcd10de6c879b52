"""follow_relation and get_ontology: over what has been analysed of the documents in scope, and no more."""

import pytest

from mcp_server.tools.relations import MAX_CONNECTIONS, Relations
from orc_core.analysis.models import EXTRACTIVE, Entity, PageAnalysis, Relation
from orc_core.analysis.relations import Direction
from orc_core.llm.errors import ModelMisconfigured
from orc_core.models import Document
from tests.unit.mcp_server.stand_ins import BOB, Analyses, FakeLibrary, scope_of

TEXT = "Gulls are loud. Harbour Ltd owns\nthe Old Quay. The Old Quay is long."
RELATION = Relation(
    source="Harbour Ltd", type="owns", target="Old Quay", evidence="Harbour Ltd owns the Old Quay."
)
NAMES = [Entity(name="Harbour Ltd", type="organization"), Entity(name="Old Quay", type="place")]


@pytest.fixture
def connections(library: FakeLibrary, analyses: Analyses) -> Relations:
    return Relations(library, analyses, has_model=True)


@pytest.fixture
async def document(library: FakeLibrary, analyses: Analyses) -> Document:
    """Its first page states a relation, its second only names an entity."""
    document = library.add("a.pdf", TEXT, "All is quiet. Harbour Ltd says nothing.")
    await analyses.analysed(
        document,
        PageAnalysis(page=1, summary="Who owns what.", entities=NAMES, relations=[RELATION]),
        PageAnalysis(page=2, entities=NAMES[:1]),
    )
    return document


async def test_a_relation_leads_to_its_page_and_to_the_words_that_state_it(
    connections: Relations, document: Document
) -> None:
    found = await connections.follow(scope_of(document), "harbour ltd", None, "both")
    stated, named = found.pages
    assert (stated.page_number, stated.relation, stated.summary) == (1, RELATION, "Who owns what.")
    assert stated.text == "Harbour Ltd owns\nthe Old Quay." == TEXT[stated.start : stated.end]
    assert (named.page_number, named.relation, named.named) == (2, None, "Harbour Ltd")
    assert named.text == "Harbour Ltd says nothing."
    assert (found.documents, found.documents_analysed, found.truncated) == (1, 1, False)


@pytest.mark.parametrize(
    ("entity", "relation_type", "direction", "stated"),
    [
        ("Harbour Ltd", None, "source", True),
        ("Harbour Ltd", None, "target", False),
        ("Old Quay", None, "target", True),
        ("Harbour Ltd", "owns", "both", True),
        ("Harbour Ltd", "sells", "both", False),
    ],
)
async def test_the_type_and_the_direction_narrow_the_relations(
    entity: str,
    relation_type: str,
    direction: Direction,
    stated: bool,
    connections: Relations,
    document: Document,
) -> None:
    found = await connections.follow(scope_of(document), entity, relation_type, direction)
    assert any(page.relation == RELATION for page in found.pages) is stated
    # A page that only names the entity states no relation of a type that was asked for.
    assert [page for page in found.pages if page.relation is None] == [] or relation_type is None


async def test_number_of_connections_is_limited(
    connections: Relations, library: FakeLibrary, analyses: Analyses
) -> None:
    long = library.add("long.pdf", *[TEXT] * (MAX_CONNECTIONS + 1))
    pages = [
        PageAnalysis(page=n, entities=NAMES, relations=[RELATION]) for n in range(1, MAX_CONNECTIONS + 2)
    ]
    await analyses.analysed(long, *pages)
    found = await connections.follow(scope_of(long), "Old Quay", None, "both")
    assert (len(found.pages), found.truncated) == (MAX_CONNECTIONS, True)


async def test_nothing_out_of_scope_and_nothing_of_an_earlier_version_takes_part(
    connections: Relations, library: FakeLibrary, analyses: Analyses, document: Document
) -> None:
    page = PageAnalysis(page=1, entities=NAMES, relations=[RELATION])
    unscoped, stale = library.add("b.pdf", TEXT), library.add("c.pdf", TEXT)
    foreign = library.add("a.pdf", TEXT, owner=BOB)
    for other in (unscoped, foreign):
        await analyses.analysed(other, page)
    await analyses.analysed(stale, page, etag="v0")
    scope = scope_of(document, stale, foreign)
    found = await connections.follow(scope, "Harbour Ltd", None, "both")
    assert {each.document_id for each in found.pages} == {document.document_id}
    ontology = await connections.ontology(scope)
    assert (ontology.documents, ontology.documents_analysed) == (2, 1)
    assert {use.type: use.count for use in ontology.entity_types} == {"organization": 2, "place": 1}
    assert [(use.type, use.count) for use in ontology.relation_types] == [("owns", 1)]


async def test_without_a_model_both_tools_name_the_settings_to_set(
    library: FakeLibrary, analyses: Analyses
) -> None:
    document = library.add("a.pdf", TEXT)
    await analyses.analysed(document, PageAnalysis(page=1), method=EXTRACTIVE)
    connections = Relations(library, analyses, has_model=False)
    calls = (
        lambda: connections.follow(scope_of(document), "Harbour Ltd", None, "both"),
        lambda: connections.ontology(scope_of(document)),
    )
    for call in calls:
        with pytest.raises(ModelMisconfigured, match="ORC_MODEL") as raised:
            await call()
        assert not raised.value.retryable


async def test_what_a_model_found_earlier_is_used_without_a_model(
    library: FakeLibrary, analyses: Analyses, document: Document
) -> None:
    other = library.add("b.pdf", TEXT)
    page = PageAnalysis(page=1, entities=NAMES, relations=[RELATION])
    await analyses.analysed(other, page, method=EXTRACTIVE)
    connections = Relations(library, analyses, has_model=False)
    found = await connections.follow(scope_of(document, other), "Harbour Ltd", None, "both")
    assert {each.document_id for each in found.pages} == {document.document_id}
    assert (found.documents, found.documents_analysed) == (2, 1)


async def test_an_empty_scope_needs_no_model(library: FakeLibrary, analyses: Analyses) -> None:
    connections = Relations(library, analyses, has_model=False)
    assert (await connections.ontology(scope_of())).documents == 0
