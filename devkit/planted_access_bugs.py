"""A pytest plugin: breaks one rule of access to contexts, by the name in PLANTED_BUG.

tests/campaigns/test_access_bugs.py sees tests fail by it. Bugs are planted before other modules import what
they change by name.
"""

import os
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from orc.contexts import rights, service, turn_scope
from orc.contexts.ids import lineage
from orc.contexts.models import Rights, Role, State
from orc.contexts.service import ContextService
from orc.memory.models import Memory
from orc.memory.service import MemoryService
from orc.turns.suggestions import Suggested, Suggestions
from orc_core.documents.places import Access, Accessible, Area, Place, PlaceType
from orc_core.errors import Forbidden, InvalidInput, NotFound
from orc_core.names import Owner

Patch = pytest.MonkeyPatch
select = Accessible._selected
read, remember, suggest = ContextService.read, MemoryService.read, Suggestions.after


def compare_bare_prefixes(patch: Patch) -> None:
    """A context is below any whose id its own begins with, without the dash."""

    def holds(self: Area, owner: Owner) -> bool:
        here, there = self.owner.context_id, owner.context_id
        is_below = self.deep and here is not None and there is not None and there.startswith(here)
        return self.owner == owner or (is_below and owner.organization_id == self.owner.organization_id)

    patch.setattr(Area, "holds", holds)


def check_the_node_only(patch: Patch) -> None:
    """Grants on ancestors are not asked for."""
    patch.setattr(rights, "lineage", lambda context_id: [context_id])


def compare_names_of_roles(patch: Patch) -> None:
    """The highest role is the last one in the alphabet."""
    _replace_role_on(patch, highest=lambda granted: max(granted, key=str, default=None))


def read_below_what_is_deleted(patch: Patch) -> None:
    """What is below a context that is being deleted stays readable."""
    _replace_role_on(patch, is_there=lambda path, found: found[path[-1]].state is State.PRESENT)


def trust_groups_of_others(patch: Patch) -> None:
    """Groups count although the identity does not name all of them."""
    from orc.api import claims

    patch.setattr(claims, "_known_groups", lambda given, names: frozenset(map(str, given.get("groups", []))))


def tell_blocked_answers(patch: Patch) -> None:
    """The history has answers that drew on what cannot be read now."""
    from orc.turns import contexts

    whole = contexts.shown_history
    patch.setattr(contexts, "shown_history", lambda turns, _blocked: whole(turns, ()))


def tell_blocked_summaries(patch: Patch) -> None:
    """The memory has points of turns that drew on what cannot be read now."""

    async def all_of_it(
        self: MemoryService, head: Any, sent: int | None = None, _blocked: Any = ()
    ) -> Memory:
        return await remember(self, head, sent)

    patch.setattr(MemoryService, "read", all_of_it)


def believe_arguments(patch: Patch) -> None:
    """A tool searches whatever context its arguments name."""

    def selected(self: Accessible, context: str) -> tuple[tuple[Place, ...], Sequence[Area]]:
        try:
            return select(self, context)
        except InvalidInput:
            return (Place(type=PlaceType.WORKSPACE, id=context or "x", access=Access.VIEWER),), ()

    patch.setattr(Accessible, "_selected", selected)


def export_without_a_check(patch: Patch) -> None:
    """An export has answers that are to be withheld."""
    from orc.exports import service as exports

    patch.setattr(exports, "withheld", lambda turn: turn)


def suggest_from_everywhere(patch: Patch) -> None:
    """Suggested questions are about documents of all contexts."""

    async def after(self: Suggestions, owner: Owner, *others: Any) -> Suggested:
        catalog = self._library._stores.catalog
        stored = [*await catalog.unfinished(), *await catalog.completed()]
        elsewhere = [each for each in stored if each.owner != owner]
        return Suggested([f"What does {each.blob_name} say?" for each in elsewhere[:3]])

    patch.setattr(Suggestions, "after", after)


def search_what_is_deleted(patch: Patch) -> None:
    """The tools server ignores what is being deleted below a place."""
    patch.setattr(Accessible, "hidden_areas", property(lambda self: list(self.hidden)))


def leave_a_route_open(patch: Patch) -> None:
    """The documents of a context are anybody's."""

    async def owner(_self: ContextService, caller: Any, context_id: str, _right: Any) -> Owner:
        return Owner.of_context(caller.principal.organization_id, context_id)

    patch.setattr(ContextService, "owner", owner)


def tell_outsiders_that_it_exists(patch: Patch) -> None:
    """Who may not see a context learns that it is there."""

    async def refuse(self: ContextService, caller: Any, context_id: str, *right: Any) -> Any:
        try:
            return await read(self, caller, context_id, *right)
        except NotFound:
            known = await self._store.rights(caller.principal.organization_id, [context_id], [])
            if known.contexts:
                raise Forbidden("You are no member.", code="role_too_low") from None
            raise

    patch.setattr(ContextService, "read", refuse)


def show_names_of_ancestors(patch: Patch) -> None:
    """A path has all contexts above."""
    patch.setattr(service, "_path", lambda node, found: [found.contexts[each] for each in lineage(node)[:-1]])


def _replace_role_on(
    patch: Patch,
    *,
    highest: Callable[[list[Role]], Role | None] = lambda held: max(held, key=lambda r: r.rank, default=None),
    is_there: Callable[[list[str], dict[str, Any]], bool] | None = None,
) -> None:
    """The rule of roles with one step changed."""

    def all_present(path: list[str], found: dict[str, Any]) -> bool:
        return all(found[each].state is State.PRESENT for each in path)

    def role_on(context_id: str, given: Rights) -> Role | None:
        path = lineage(context_id)
        if any(each not in given.contexts for each in path):
            return None
        if not (is_there or all_present)(path, dict(given.contexts)):
            return None
        return highest([given.granted[each] for each in path if each in given.granted])

    for module in (rights, service, turn_scope):
        patch.setattr(module, "role_on", role_on)


BUGS: dict[str, Callable[[Patch], None]] = {
    bug.__name__: bug
    for bug in (
        compare_bare_prefixes,
        check_the_node_only,
        compare_names_of_roles,
        read_below_what_is_deleted,
        trust_groups_of_others,
        tell_blocked_answers,
        tell_blocked_summaries,
        believe_arguments,
        export_without_a_check,
        suggest_from_everywhere,
        search_what_is_deleted,
        leave_a_route_open,
        tell_outsiders_that_it_exists,
        show_names_of_ancestors,
    )
}


def pytest_configure() -> None:
    if name := os.environ.get("PLANTED_BUG"):
        BUGS[name](pytest.MonkeyPatch())
