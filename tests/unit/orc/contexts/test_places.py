"""What a turn covers, held against a reference that goes through all documents one by one."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orc.contexts.ids import lineage
from orc.contexts.models import Context, ContextType, Rights, Role, State
from orc.contexts.turn_scope import MOST_FAR, MOST_HISTORICAL, Wanted, may_be_deep, places_of, tools_off
from orc_core.documents.places import Accessible, session_place
from orc_core.models import Document
from orc_core.names import Owner
from tests.unit.orc.contexts.test_rights import NOW

pytestmark = pytest.mark.slow

ORDER = ("viewer", "editor", "admin")
TYPES = ("organization", "folder", "usecase")
ROOTS = ["a" * 16, "b" * 16, "w" * 16]
NODES = [
    *ROOTS,
    *(f"{root}-{part * 16}" for root in ROOTS[:2] for part in "cd"),
    *(f"{root}-{part * 16}-{last * 16}" for root in ROOTS[:2] for part in "cd" for last in "ef"),
]
SESSION = Owner("tenant", "ada", "session")
HOMES = [SESSION, Owner("tenant", "ada", "other"), *(Owner.of_context("tenant", node) for node in NODES)]


class World(NamedTuple):
    """Which contexts are being deleted or absent, and what the caller was granted on each."""

    deleting: frozenset[str]
    absent: frozenset[str]
    grants: dict[str, str]


nodes = st.sampled_from(NODES)
worlds = st.builds(
    World,
    st.frozensets(nodes, max_size=2),
    st.frozensets(nodes, max_size=1),
    st.dictionaries(nodes, st.sampled_from(ORDER), max_size=6),
)
wishes = st.builds(Wanted, st.none() | nodes, st.lists(nodes, max_size=3), st.lists(nodes, max_size=4))


def kind(node: str) -> str:
    return "workspace" if node == ROOTS[2] else TYPES[node.count("-")]


def document(owner: Owner, name: str = "a.pdf") -> Document:
    return Document(
        organization_id=owner.organization_id,
        user_id=owner.user_id,
        conversation_id=owner.conversation_id,
        document_id=f"{owner.prefix}{name}",
        blob_name=name,
        etag="1",
        size=1,
    )


def role(world: World, node: str) -> str | None:
    if any(each in world.deleting | world.absent for each in lineage(node)):
        return None
    held = [world.grants[each] for each in lineage(node) if each in world.grants]
    return max(held, key=ORDER.index, default=None)


def reference(world: World, wanted: Wanted) -> tuple[set[Owner], set[Owner]]:
    """The places whose documents are accessible, by brute force: all of them, and the near ones."""
    focus = wanted.focus if wanted.focus and role(world, wanted.focus) else None
    others = [each for each in [*wanted.active, *wanted.historical] if role(world, each)]
    up: list[str] = []
    if focus:
        up = {"usecase": lineage(focus), "folder": [focus, lineage(focus)[0]]}.get(kind(focus), [focus])
    near_deep = [focus] if focus and kind(focus) in ("folder", "organization") else []
    near, every = {SESSION}, {SESSION}
    for node in NODES:
        if role(world, node):
            if node in up or any(each in lineage(node) for each in near_deep):
                near.add(Owner.of_context("tenant", node))
            if any(each in lineage(node) for each in others):
                every.add(Owner.of_context("tenant", node))
    return near | every, near


def read(world: World, wanted: Wanted) -> Rights:
    """What the store returns for the contexts that are wanted."""
    ids = [each for each in (wanted.focus, *wanted.active, *wanted.historical) if each]
    there = [node for node in NODES if node not in world.absent]
    known = {each for node in ids for each in lineage(node)}
    tops = [f"{top}-" for top in may_be_deep(ids)]
    below = [node for node in there if node in world.deleting and any(node.startswith(top) for top in tops)]
    return Rights(
        {node: context(world, node) for node in there if node in known},
        {node: Role(held) for node, held in world.grants.items() if node in known and node in there},
        tuple(context(world, node) for node in below),
    )


def context(world: World, node: str, tools: tuple[str, ...] = ()) -> Context:
    return Context(
        organization_id="tenant",
        context_id=node,
        type=ContextType(kind(node)),
        name=f"N{node}",
        tools_off=tools,
        state=State.DELETING if node in world.deleting else State.PRESENT,
        created_by="ada",
        created_at=NOW,
        updated_at=NOW,
    )


def accessible(wanted: Wanted, rights: Rights) -> Accessible:
    return Accessible(SESSION, (session_place(SESSION), *places_of(wanted, rights).places))


@given(worlds, wishes)
def test_a_turn_accesses_exactly_what_the_reference_says(world: World, wanted: Wanted) -> None:
    every, near = reference(world, wanted)
    scope = accessible(wanted, read(world, wanted))
    # What is absent has no documents, nor anything below it: contexts are removed from the deepest up.
    homes = [home for home in HOMES if not world.absent.intersection(lineage(home.conversation_id))]
    assert {home for home in homes if scope.holds(document(home))} == every
    assert {home for home in homes if scope.narrowed("focus").holds(document(home))} == near
    assert {home for home in homes if scope.narrowed("others").holds(document(home))} == every - near


@given(worlds, wishes)
def test_places_are_few_and_the_focus_is_the_first(world: World, wanted: Wanted) -> None:
    covered = places_of(wanted, read(world, wanted))
    assert len(set(covered.places)) == len(covered.places)
    assert sum(place.near for place in covered.places) <= 3
    assert covered.focus is None or covered.places[0].id == covered.focus
    assert all(role(world, place.id) == place.access for place in covered.places)


def test_the_places_of_far_contexts_are_capped_and_the_oldest_are_left_out() -> None:
    workspaces = [f"{number:016d}" for number in range(90)]
    contexts = {
        node: context(World(frozenset(), frozenset(), {}), ROOTS[2]).model_copy(update={"context_id": node})
        for node in workspaces
    }
    rights = Rights(contexts, dict.fromkeys(workspaces, Role.VIEWER))
    covered = places_of(Wanted(workspaces[0], workspaces[1:31], workspaces[31:]), rights)
    assert len(covered.places) == 1 + MOST_FAR
    assert covered.historical == workspaces[31:50]
    assert covered.too_many == workspaces[50:]
    only = places_of(Wanted(None, [], workspaces), rights)
    assert (only.historical, len(only.too_many)) == (workspaces[:MOST_HISTORICAL], 60)


def test_a_tool_is_off_if_every_context_in_use_switches_it_off() -> None:
    world = World(frozenset(), frozenset(), {})
    acme, rail, water = NODES[0], NODES[3], NODES[4]
    off = ("web_search",)

    def names(wanted: Wanted, *restricting: str) -> list[str]:
        contexts = {
            each: context(world, each, off if each in restricting else ()) for each in (acme, rail, water)
        }
        rights = Rights(contexts, dict.fromkeys((acme, rail, water), Role.VIEWER), (contexts[rail],))
        return [each.context_name for each in tools_off(places_of(wanted, rights), rights)]

    assert names(Wanted(acme), rail) == [], "what is below an organization takes nothing away from it"
    assert names(Wanted(water, [], [rail]), rail) == [], "neither does what was used earlier"
    assert names(Wanted(rail), acme) == [f"N{acme}"], "what is above counts"
    assert names(Wanted(rail), acme, rail) == [f"N{rail}"]
    assert names(Wanted(rail, [water]), rail) == [], "what one of them allows is allowed"
    assert names(Wanted(rail, [water]), rail, water) == [f"N{rail}"]
    assert names(Wanted(None, [], [rail]), rail) == []
