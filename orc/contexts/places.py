"""Which contexts a turn covers, and the places whose documents it may access. Pure code.

The focus looks upwards, as rights are inherited downwards: with a use case come its folder and its
organization, with a folder its organization and all below it. A place counts only if the caller may read it.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from orc.contexts.ids import MOST_LEVELS, is_at_or_below, lineage
from orc.contexts.models import ContextType, Rights, State, ToolOff
from orc.contexts.rights import role_on
from orc_core.documents.places import Access, Place, PlaceType

MOST_HISTORICAL = 30
MOST_FAR = 49
"""Places of other contexts in one scope; with the session and three near ones there are 53 at most."""


class Wanted(NamedTuple):
    """The ids of the contexts that a turn asks for; `historical` ones are the latest used first."""

    focus: str | None = None
    active: Sequence[str] = ()
    historical: Sequence[str] = ()


class Covered(NamedTuple):
    """The contexts that remain of what was wanted, with the places that follow from them.

    `places` are those of contexts: the near ones first, of which the first is the focus.
    """

    focus: str | None
    active: list[str]
    historical: list[str]
    too_many: list[str]
    places: tuple[Place, ...]


def places_of(wanted: Wanted, rights: Rights) -> Covered:
    """The places of the contexts that the caller may read. A context without a role contributes nothing."""

    def readable(ids: Iterable[str], but: set[str]) -> list[str]:
        return [each for each in dict.fromkeys(ids) if each not in but and role_on(each, rights) is not None]

    focus = next(iter(readable([wanted.focus] if wanted.focus else [], set())), None)
    known = {focus} if focus else set()
    active = readable(wanted.active, known)
    historical = readable(wanted.historical, {*known, *active})
    near = _place_near(focus, rights) if focus else []
    far = _uncovered([_place(each, rights, deep=True, near=False) for each in active], near)
    kept: list[str] = []
    for each in historical[:MOST_HISTORICAL]:
        more = _uncovered([*far, _place(each, rights, deep=True, near=False)], near)
        if len(more) > MOST_FAR:
            break
        kept.append(each)
        far = more
    return Covered(focus, active, kept, historical[len(kept) :], tuple(near + far))


def _place_near(focus: str, rights: Rights) -> list[Place]:
    """The focus, what is above it, and for all but a use case what is below it."""
    above = [each for each in reversed(lineage(focus)[:-1]) if role_on(each, rights) is not None]
    return [
        _place(focus, rights, deep=True, near=True),
        *(_place(each, rights, deep=False, near=True) for each in above),
    ]


def _place(context_id: str, rights: Rights, *, deep: bool, near: bool) -> Place:
    context, role = rights.contexts[context_id], role_on(context_id, rights)
    assert role is not None
    is_deep = deep and context.type in (ContextType.ORGANIZATION, ContextType.FOLDER)
    hidden = [
        below.context_id
        for below in rights.below
        if below.state is not State.PRESENT and is_at_or_below(below.context_id, context_id)
    ]
    return Place(
        type=PlaceType(context.type),
        id=context_id,
        deep=is_deep,
        near=near,
        access=Access(role),
        name=context.name,
        without=tuple(hidden) if is_deep else (),
    )


def _uncovered(far: Sequence[Place], near: Sequence[Place]) -> list[Place]:
    """The far places that neither a near one nor another far one contains."""
    kept: list[Place] = []
    for place in far:
        if any(_contains(other, place) for other in [*near, *kept]):
            continue
        kept = [other for other in kept if not _contains(place, other)]
        kept.append(place)
    return kept


def _contains(outer: Place, inner: Place) -> bool:
    if outer.id == inner.id:
        return outer.deep or not inner.deep
    return outer.deep and is_at_or_below(inner.id, outer.id)


def tools_off(covered: Covered, rights: Rights) -> list[ToolOff]:
    """The tools that every context in use switches off, by itself or above it.

    What one context allows is allowed, and a context that was used earlier takes nothing away.
    """
    in_use = [*filter(None, [covered.focus]), *covered.active]
    off = [_off_in(each, rights) for each in in_use]
    shared = set.intersection(*map(set, off)) if off else set()
    return [off[0][tool] for tool in sorted(shared)]


def _off_in(context_id: str, rights: Rights) -> dict[str, ToolOff]:
    """The tools that are off in a context, with the nearest readable one that switches each off."""
    readable = (rights.contexts[each] for each in lineage(context_id) if role_on(each, rights) is not None)
    return {
        tool: ToolOff(tool=tool, context_type=context.type, context_name=context.name)
        for context in readable
        if context.state is State.PRESENT
        for tool in context.tools_off
    }


def with_ancestors(ids: Iterable[str]) -> list[str]:
    """These contexts and all above them, each once: the rule of roles needs them."""
    return list(dict.fromkeys(each for context_id in ids for each in lineage(context_id)))


def may_be_deep(ids: Iterable[str]) -> list[str]:
    """Those that can have contexts below them, as far as an id says."""
    return [each for each in dict.fromkeys(ids) if len(lineage(each)) < MOST_LEVELS]
