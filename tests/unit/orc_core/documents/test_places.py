"""What is accessible in places, against a reference that asks about each document by itself."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orc_core.documents.places import (
    ALL,
    FOCUS,
    OTHERS,
    Access,
    Accessible,
    Place,
    PlaceType,
    session_place,
)
from orc_core.documents.scope import Scope, ScopeTokens
from orc_core.errors import InvalidInput
from orc_core.infra.keys import Keys
from orc_core.models import BlobProperties, Document
from orc_core.names import BlobPath, Owner

pytestmark = pytest.mark.slow

SESSION = Owner("acme", "ann", "s1")
PARTS = ("a", "ab", "b")
"""One part begins as another does: a prefix alone is no ancestor."""
CONTEXTS = [
    "-".join(parts)
    for parts in [
        *((first,) for first in PARTS),
        *((first, second) for first in PARTS for second in PARTS),
        *((first, second, third) for first in PARTS for second in PARTS for third in PARTS),
    ]
]
HOMES = [
    SESSION,
    Owner("acme", "ann", "s2"),
    Owner("acme", "bob", "s1"),
    *(Owner.of_context("acme", each) for each in CONTEXTS),
    *(Owner.of_context("globex", each) for each in CONTEXTS[:6]),
]


def stored(owner: Owner, name: str = "a.pdf") -> Document:
    return Document.first_seen(BlobProperties(path=BlobPath(owner, name), etag="v1", size=3))


DOCUMENTS = [stored(owner) for owner in HOMES]

places = st.builds(
    Place,
    type=st.sampled_from([each for each in PlaceType if each is not PlaceType.SESSION]),
    id=st.sampled_from(CONTEXTS),
    deep=st.booleans(),
    near=st.booleans(),
    access=st.sampled_from(Access),
    name=st.text(max_size=90),
    without=st.lists(st.sampled_from(CONTEXTS), max_size=2).map(tuple),
)
scopes = st.builds(
    Scope,
    organization_id=st.just("acme"),
    user_id=st.just("ann"),
    conversation_id=st.just("s1"),
    places=st.lists(places, max_size=5).map(lambda more: (session_place(SESSION), *more)),
    document_ids=st.none()
    | st.lists(st.sampled_from([each.document_id for each in DOCUMENTS]), max_size=20).map(tuple),
    tools_off=st.lists(st.sampled_from(["web_search", "documents_analyze"]), max_size=2).map(tuple),
)
IDS = [document.document_id for document in DOCUMENTS]
accessibles = scopes.map(lambda scope: scope.accessible)


def lineage(context_id: str) -> list[str]:
    parts = context_id.split("-")
    return ["-".join(parts[:count]) for count in range(1, len(parts) + 1)]


def reference(scope: Scope, documents: Iterable[Document]) -> set[str]:
    """The accessible documents, each by the definition of a place."""
    found = set()
    for document in documents:
        if scope.document_ids is not None and document.document_id not in scope.document_ids:
            continue
        context = document.owner.context_id
        if context is None:
            is_here = document.owner == scope.owner
        else:
            above = lineage(context)
            is_here = document.organization_id == scope.organization_id and any(
                context == place.id or (place.deep and place.id in above)
                for place in scope.places
                if place.type is not PlaceType.SESSION
            )
            is_here = is_here and not any(each in above for place in scope.places for each in place.without)
        if is_here:
            found.add(document.document_id)
    return found


def held(accessible: Accessible) -> set[str]:
    return {document.document_id for document in DOCUMENTS if accessible.holds(document)}


@given(scopes)
def test_what_is_accessible_is_what_the_places_say(scope: Scope) -> None:
    assert held(scope.accessible) == reference(scope, DOCUMENTS)


@given(scopes)
def test_a_token_keeps_everything(scope: Scope) -> None:
    tokens = ScopeTokens(Keys("k" * 48))
    assert tokens.verify(tokens.mint(scope, seconds=60))[0] == scope


selections = st.sampled_from([ALL, FOCUS, OTHERS, "c1", "c2", "c9", *CONTEXTS[:9], "", "session", "s2"])


@given(accessibles, st.lists(selections, max_size=3))
def test_no_selection_adds_a_document(accessible: Accessible, chosen: list[str]) -> None:
    narrowed = accessible
    for context in chosen:
        before = held(narrowed)
        try:
            narrowed = narrowed.narrowed(context)
        except InvalidInput:
            continue
        assert held(narrowed) <= before
    assert held(accessible.narrowed()) == held(accessible)


@given(accessibles)
def test_the_focus_and_the_others_are_everything_and_have_nothing_in_common(accessible: Accessible) -> None:
    focus, others = held(accessible.narrowed(FOCUS)), held(accessible.narrowed(OTHERS))
    assert focus | others == held(accessible)
    assert not focus & others


@given(accessibles)
def test_each_accessible_document_has_the_nearest_place_as_its_origin(accessible: Accessible) -> None:
    for document in DOCUMENTS:
        if accessible.holds(document):
            origin = accessible.origin(document)
            assert origin is not None
            holding = [each for each in accessible.places if accessible.area(each).holds(document.owner)]
            assert origin in holding
            assert origin.near == any(each.near for each in holding)
        else:
            assert accessible.origin(document) is None


@given(accessibles)
def test_each_accessible_document_is_in_one_portion(accessible: Accessible) -> None:
    for document in DOCUMENTS:
        owner = document.owner
        of = [
            each.place
            for each in accessible.portions
            if each.area.holds(owner) and not any(area.holds(owner) for area in each.outside)
        ]
        if accessible.document_ids is None or document.document_id in accessible.document_ids:
            assert of == ([accessible.origin(document)] if accessible.holds(document) else [])


def test_the_id_of_a_context_outside_of_the_places_is_refused_like_nonsense() -> None:
    accessible = Scope(
        organization_id="acme",
        user_id="ann",
        conversation_id="s1",
        places=(session_place(SESSION), Place(type=PlaceType.FOLDER, id="a-b")),
    ).accessible
    assert accessible.narrowed("a-b").places == accessible.narrowed("c1").places
    for unknown in ("b", "a-b-a", "a", "c2", "s1", "nonsense", ""):
        with pytest.raises(InvalidInput, match="Known are: all, focus, others, c1") as refused:
            accessible.narrowed(unknown)
        assert unknown not in ("b", "nonsense") or f'"{unknown}"' not in refused.value.message


def test_a_session_place_with_another_id_gives_no_other_session() -> None:
    place = Place(type=PlaceType.SESSION, id="s2")
    accessible = Accessible(SESSION, (place,))
    assert accessible.holds(stored(SESSION))
    assert not accessible.holds(stored(Owner("acme", "ann", "s2")))


def test_a_name_is_cut_between_letters() -> None:
    assert Place(type=PlaceType.FOLDER, id="a", name="é" * 40).name == "é" * 36
    assert Place(type=PlaceType.FOLDER, id="a", name="x" + "運" * 30).name == "x" + "運" * 23
