"""The rule of roles, held against a reference that works on plain sets."""

from datetime import UTC, datetime
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orc.contexts.ids import lineage
from orc.contexts.models import Context, ContextType, Rights, Role, State
from orc.contexts.rights import NEEDED, Right, allows, principals_of, role_on
from orc.identity import Principal

pytestmark = pytest.mark.slow

NOW = datetime(2026, 1, 31, tzinfo=UTC)
ORDER = ("viewer", "editor", "admin")
ROOTS = ["a" * 16, "b" * 16]
NODES = [
    *ROOTS,
    *(f"{root}-{part * 16}" for root in ROOTS for part in "cd"),
    *(f"{root}-{part * 16}-{last * 16}" for root in ROOTS for part in "cd" for last in "ef"),
]
PRINCIPALS = ["everyone", "user:ada", "user:bob", "group:crew", "group:staff"]


class World(NamedTuple):
    """Which contexts there are, in which state, and what was granted: (context, principal) -> role."""

    states: dict[str, str]
    grants: dict[tuple[str, str], str]


worlds = st.builds(
    lambda hidden, absent, grants: World(
        {node: "deleting" if node in hidden else "present" for node in NODES if node not in absent}, grants
    ),
    st.frozensets(st.sampled_from(NODES), max_size=2),
    st.frozensets(st.sampled_from(NODES), max_size=2),
    st.dictionaries(
        st.tuples(st.sampled_from(NODES), st.sampled_from(PRINCIPALS)),
        st.sampled_from(ORDER),
        min_size=8,
        max_size=30,
    ),
)
callers = st.builds(
    Principal,
    st.just("tenant"),
    st.sampled_from(["ada", "bob", "eve"]),
    groups=st.frozensets(st.sampled_from(["crew", "staff"])),
    groups_complete=st.booleans(),
)


def reference(world: World, caller: Principal, node: str) -> str | None:
    """The rule in its plainest form."""
    parts = node.split("-")
    line = ["-".join(parts[: level + 1]) for level in range(len(parts))]
    if any(world.states.get(each) != "present" for each in line):
        return None
    mine = {"everyone", f"user:{caller.user_id}"}
    if caller.groups_complete:
        mine |= {f"group:{group}" for group in caller.groups}
    held = [role for (at, who), role in world.grants.items() if at in line and who in mine]
    return max(held, key=ORDER.index, default=None)


def read(world: World, caller: Principal, nodes: list[str]) -> Rights:
    """What a store would read: of each context the highest role directly on it."""
    wanted = {each for node in nodes for each in lineage(node)}
    contexts = {each: context(each, state) for each, state in world.states.items() if each in wanted}
    granted: dict[str, Role] = {}
    mine = principals_of(caller)
    for (at, who), role in world.grants.items():
        if at in wanted and who in mine:
            granted[at] = max(granted.get(at, Role(role)), Role(role), key=lambda each: each.rank)
    return Rights(contexts, granted)


def context(context_id: str, state: str) -> Context:
    return Context(
        organization_id="tenant",
        context_id=context_id,
        type=ContextType.FOLDER,
        name="x",
        state=State(state),
        created_by="ada",
        created_at=NOW,
        updated_at=NOW,
    )


@given(worlds, callers, st.sampled_from(NODES))
def test_a_role_is_what_the_reference_says(world: World, caller: Principal, node: str) -> None:
    assert role_on(node, read(world, caller, [node])) == reference(world, caller, node)


@given(worlds, callers, st.sampled_from(NODES))
def test_other_contexts_that_were_read_make_no_difference(world: World, caller: Principal, node: str) -> None:
    assert role_on(node, read(world, caller, NODES)) == reference(world, caller, node)


@given(worlds, callers, st.sampled_from(NODES), st.sampled_from(PRINCIPALS), st.sampled_from(ORDER))
def test_one_more_grant_takes_no_role_away(
    world: World, caller: Principal, node: str, principal: str, role: str
) -> None:
    before = role_on(node, read(world, caller, [node]))
    if world.grants.get((node, principal)) is None:
        more = world._replace(grants={**world.grants, (node, principal): role})
        after = role_on(node, read(more, caller, [node]))
        assert before is None or (after is not None and after.rank >= before.rank)


@given(worlds, callers, st.sampled_from(NODES))
def test_roles_are_inherited_downwards_only(world: World, caller: Principal, node: str) -> None:
    rights = read(world, caller, NODES)
    above = role_on(node.rpartition("-")[0], rights) if "-" in node else None
    own = role_on(node, rights)
    if above is not None and world.states.get(node) == "present":
        assert own is not None and own.rank >= above.rank
    only_here = world._replace(grants={key: role for key, role in world.grants.items() if key[0] == node})
    for ancestor in lineage(node)[:-1]:
        assert role_on(ancestor, read(only_here, caller, NODES)) is None


@pytest.mark.parametrize("right", list(Right))
def test_each_role_includes_the_ones_below_it(right: Right) -> None:
    allowed = [allows(role, right) for role in Role]
    assert allowed == sorted(allowed)
    assert allowed[-1]
    assert not allows(None, right)
    assert right in NEEDED
