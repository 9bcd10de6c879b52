"""Who may do what with a context: the only place with this rule.

A caller's role on a context is the highest that any of the caller's principals was granted on it or on one of
its ancestors, if all of these are present. Grants add up and are inherited downwards; none takes a role away.
See docs/decisions/contexts-and-rights.md.
"""

from enum import StrEnum

from orc.contexts.ids import lineage
from orc.contexts.models import EVERYONE, GROUP, USER, Rights, Role, State
from orc.identity import Principal


class Right(StrEnum):
    """What needs a role on a context."""

    SEE = "see"
    SEE_MEMBERS = "see its members"
    READ_DOCUMENTS = "list, read, search and cite its documents"
    CHANGE_DOCUMENTS = "upload, replace and delete its documents"
    CREATE_BELOW = "create a context below it"
    DESCRIBE = "change its name and description"
    RESTRICT_TOOLS = "change the tools that are switched off"
    GRANT = "grant and withdraw roles"
    DELETE = "delete it"


NEEDED: dict[Right, Role] = {
    Right.SEE: Role.VIEWER,
    Right.SEE_MEMBERS: Role.VIEWER,
    Right.READ_DOCUMENTS: Role.VIEWER,
    Right.CHANGE_DOCUMENTS: Role.EDITOR,
    Right.CREATE_BELOW: Role.EDITOR,
    Right.DESCRIBE: Role.EDITOR,
    Right.RESTRICT_TOOLS: Role.ADMIN,
    Right.GRANT: Role.ADMIN,
    Right.DELETE: Role.ADMIN,
}
TENANT_ADMIN = frozenset({Right.SEE, Right.SEE_MEMBERS, Right.GRANT, Right.DELETE})
"""What the administrators of the whole installation may do without a role on the context."""


def principals_of(caller: Principal) -> list[str]:
    """The principals that a caller acts as. Groups count only if all of them are known."""
    groups = sorted(caller.groups) if caller.groups_complete else []
    return [EVERYONE, USER + caller.user_id, *(GROUP + group for group in groups)]


def role_on(context_id: str, rights: Rights) -> Role | None:
    """The caller's role on a context; None if the caller may not know that it is there.

    `rights` has to be read for the context and all of its ancestors.
    """
    path = lineage(context_id)
    contexts = [rights.contexts.get(each) for each in path]
    if any(context is None or context.state is not State.PRESENT for context in contexts):
        return None
    granted = [rights.granted[each] for each in path if each in rights.granted]
    return max(granted, key=lambda role: role.rank, default=None)


def allows(role: Role | None, right: Right) -> bool:
    """Whether a role is enough."""
    return role is not None and role.rank >= NEEDED[right].rank
