"""What one turn may read, from the contexts that its request and its conversation name."""

import logging
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from orc.contexts.ids import MOST_LEVELS, is_at_or_below, is_context_id, lineage
from orc.contexts.models import ContextType, LeftOut, ReadableRef, Reason, Rights, State, ToolOff
from orc.contexts.rights import Right, allows, principals_of, role_on
from orc.contexts.store import ContextStore
from orc.conversations.models import Head, TurnContext
from orc.conversations.session_contexts import Range, latest_first, turns_with
from orc.identity import Principal
from orc_core.documents.places import Access, Place, PlaceType
from orc_core.errors import InvalidInput, NotFound, Unavailable
from orc_core.models import Record

logger = logging.getLogger(__name__)
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


class TurnScope(Record):
    """The contexts that a turn covers, and the places whose documents it may access besides its session's.

    `blocked` are earlier turns of the conversation that no model is shown: their prompts had material of a
    context that the caller may not read now.
    """

    focus: ReadableRef | None = None
    active: list[ReadableRef] = []
    historical: list[ReadableRef] = []
    left_out: list[LeftOut] = []
    places: tuple[Place, ...] = ()
    tools_off: list[ToolOff] = []
    blocked: list[Range] = []

    @property
    def refs(self) -> list[ReadableRef]:
        """The contexts that the turn covers, the focus first."""
        return [*([self.focus] if self.focus else []), *self.active, *self.historical]

    @property
    def has_far_places(self) -> bool:
        """Whether documents outside of the focus are accessible."""
        return any(not place.near for place in self.places)

    def named(self, asked: Sequence[TurnContext]) -> list[TurnContext]:
        """The contexts of a request with the names of those that the caller may read."""
        names = {ref.id: ref.name for ref in self.refs}
        return [each.model_copy(update={"name": names.get(each.id, "")}) for each in asked]

    @property
    def used(self) -> list[TurnContext]:
        """The focus and the active contexts, as the conversation remembers them."""
        chosen = [*([self.focus] if self.focus else []), *self.active]
        return [TurnContext(type=ref.type, id=ref.id, name=ref.name) for ref in chosen]


class TurnScopes:
    """Evaluates the rights of a turn: one query, and none if no context is named."""

    def __init__(self, store: ContextStore) -> None:
        self._store = store

    async def of_turn(
        self, caller: Principal, asked: Sequence[TurnContext], head: Head | None, home: str | None = None
    ) -> TurnScope | None:
        """What the turn covers; None if neither the request nor the conversation names a context.

        Raises NotFound if the caller may not read the focus, InvalidInput for a wrong type, and
        DependencyDown if the rights of a context that the turn is about cannot be read.
        """
        # Whether the request itself chooses the focus.
        is_chosen = bool(asked) and is_context_id(asked[0].id) and asked[0].active
        if not asked and (opened_in := home or (head.home if head else None)):
            asked, is_chosen = [TurnContext(type=ContextType.WORKSPACE, id=opened_in)], opened_in == home
        known = [each.context_id for each in head.contexts] if head else []
        ours = [each.id for each in asked if is_context_id(each.id)]
        if not asked and not known:
            return None
        nodes = list(dict.fromkeys([*ours, *known]))
        if not nodes:
            return TurnScope(left_out=[_left_out(each, "unknown") for each in asked])
        try:
            rights = await self._rights(caller, nodes)
        except Unavailable:
            if ours:
                raise
            logger.warning("rights cannot be read; the turn covers no context")
            return _closed(head)
        if is_chosen:
            focus = asked[0]
            if role_on(focus.id, rights) is None:
                # The page takes it out of what is asked about; the user then decides whether to go on.
                raise NotFound("There is no such context.", code="no_such_context")
            kind = rights.contexts[focus.id].type
            if focus.type not in (kind, ContextType.WORKSPACE):
                raise InvalidInput(f"This context is a {kind}, no {focus.type}.", field="contexts")
        return _scope(asked, head, rights, caller)

    async def together(self, caller: Principal, context_ids: Sequence[str]) -> TurnScope:
        """Those of these contexts that the caller may read, all alike: none of them is the focus."""
        if not context_ids:
            return TurnScope()
        rights = await self._rights(caller, context_ids)
        covered = places_of(Wanted(active=context_ids), rights)
        return TurnScope(places=covered.places, tools_off=tools_off(covered, rights))

    async def blocked(self, caller: Principal, head: Head) -> list[Range]:
        """The turns of a conversation that drew on a context which the caller may not read now."""
        if not any(each.shown for each in head.contexts):
            return []
        rights = await self._rights(caller, [each.context_id for each in head.contexts])
        return _blocked(head, rights)

    async def readable(self, caller: Principal, head: Head) -> list[ReadableRef]:
        """The contexts of a conversation that the caller may read now, in the order of their first use."""
        ids = [*(each.context_id for each in head.contexts if each.named), *filter(None, [head.home])]
        if not ids:
            return []
        rights = await self._rights(caller, ids)
        return [ref for ref in (_ref(each, rights) for each in dict.fromkeys(ids)) if ref is not None]

    async def readable_ids(self, caller: Principal, ids: Sequence[str]) -> set[str]:
        """Those of these contexts whose documents the caller may read."""
        rights = await self._rights(caller, ids) if ids else Rights({}, {})
        return {each for each in ids if allows(role_on(each, rights), Right.READ_DOCUMENTS)}

    async def _rights(self, caller: Principal, nodes: Sequence[str]) -> Rights:
        # The rule of roles needs all contexts above these.
        path = list(dict.fromkeys(each for context_id in nodes for each in lineage(context_id)))
        principals = principals_of(caller)
        return await self._store.rights(caller.organization_id, path, principals, may_be_deep(nodes))


def _scope(asked: Sequence[TurnContext], head: Head | None, rights: Rights, caller: Principal) -> TurnScope:
    off = {each.id for each in asked if not each.active}
    on = [each for each in asked if each.active and is_context_id(each.id)]
    focus = on[0].id if on and on[0] is asked[0] else None
    earlier = [each.context_id for each in latest_first(head.contexts)] if head else []
    active = [one.id for one in on if one.id != focus]
    historical = [one for one in earlier if one not in off]
    covered = places_of(Wanted(focus, active, historical), rights)
    refs = {each: _ref(each, rights) for each in [*covered.active, *covered.historical]}
    # What is not covered of what is asked for and of what the conversation has used.
    unreadable: Reason = "not_readable" if caller.groups_complete else "groups_incomplete"
    left_out: dict[str, LeftOut] = {}
    for each in asked:
        if not each.active:
            left_out[each.id] = _left_out(each, "switched_off")
        elif not is_context_id(each.id):
            left_out[each.id] = _left_out(each, "unknown")
        elif role_on(each.id, rights) is None:
            left_out[each.id] = _left_out(each, unreadable)
    for used in head.contexts if head else []:
        named = TurnContext(type=used.type, id=used.context_id)
        if role_on(named.id, rights) is None:
            left_out.setdefault(named.id, _left_out(named, unreadable))
        elif named.id in covered.too_many:
            left_out.setdefault(named.id, _left_out(named, "too_many"))
    return TurnScope(
        focus=_ref(covered.focus, rights) if covered.focus else None,
        active=[ref for each in covered.active if (ref := refs[each])],
        historical=[ref for each in covered.historical if (ref := refs[each])],
        left_out=list(left_out.values()),
        places=covered.places,
        tools_off=tools_off(covered, rights),
        blocked=_blocked(head, rights) if head else [],
    )


def _blocked(head: Head, rights: Rights) -> list[Range]:
    gone = {each.context_id for each in head.contexts if role_on(each.context_id, rights) is None}
    return turns_with(gone, head)


def _closed(head: Head | None) -> TurnScope:
    """Without rights: no context is covered, and no answer that drew on one is shown to a model."""
    contexts = head.contexts if head else []
    every = {each.context_id for each in contexts}
    return TurnScope(
        left_out=[LeftOut(type=each.type, id=each.context_id, reason="unavailable") for each in contexts],
        blocked=turns_with(every, head) if head else [],
    )


def _ref(context_id: str, rights: Rights) -> ReadableRef | None:
    role, context = role_on(context_id, rights), rights.contexts.get(context_id)
    if role is None or context is None:
        return None
    return ReadableRef(type=context.type, id=context_id, name=context.name, role=role)


def _left_out(context: TurnContext, reason: Reason) -> LeftOut:
    return LeftOut(type=context.type, id=context.id, reason=reason)


def places_of(wanted: Wanted, rights: Rights) -> Covered:
    """The places of the contexts that the caller may read. A context without a role contributes nothing."""

    def readable(ids: Iterable[str], but: set[str]) -> list[str]:
        return [each for each in dict.fromkeys(ids) if each not in but and role_on(each, rights) is not None]

    focus = next(iter(readable([wanted.focus] if wanted.focus else [], set())), None)
    known = {focus} if focus else set()
    active = readable(wanted.active, known)
    historical = readable(wanted.historical, {*known, *active})
    near: list[Place] = []
    if focus:
        above = [each for each in reversed(lineage(focus)[:-1]) if role_on(each, rights) is not None]
        near = [
            _place(focus, rights, deep=True, near=True),
            *(_place(each, rights, deep=False, near=True) for each in above),
        ]
    far = _uncovered([_place(each, rights, deep=True, near=False) for each in active], near)
    kept: list[str] = []
    for each in historical[:MOST_HISTORICAL]:
        more = _uncovered([*far, _place(each, rights, deep=True, near=False)], near)
        if len(more) > MOST_FAR:
            break
        kept.append(each)
        far = more
    return Covered(focus, active, kept, historical[len(kept) :], tuple(near + far))


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
    off: list[dict[str, ToolOff]] = []
    for context_id in [*filter(None, [covered.focus]), *covered.active]:
        path = (rights.contexts[each] for each in lineage(context_id) if role_on(each, rights) is not None)
        off.append(ToolOff.within(path))
    shared = set.intersection(*map(set, off)) if off else set()
    return [off[0][tool] for tool in sorted(shared)]


def may_be_deep(ids: Iterable[str]) -> list[str]:
    """Those that can have contexts below them, as far as an id says."""
    return [each for each in dict.fromkeys(ids) if len(lineage(each)) < MOST_LEVELS]
