"""The caller, as a page needs it."""

from fastapi import APIRouter

from orc.api.context_schemas import Me
from orc.api.dependencies import AppDep, CallerDep
from orc.api.responses import responses

router = APIRouter(tags=["contexts"])


@router.get("/me", response_model=Me, responses=responses())
async def me(caller: CallerDep, app: AppDep) -> Me:
    """Who the caller is, and what the caller may do everywhere."""
    who = caller.principal
    return Me(
        user_id=who.user_id,
        organization_id=who.organization_id,
        roles=sorted(who.roles),
        is_admin=caller.is_admin,
        groups_complete=who.groups_complete,
        may_create_contexts=app.contexts.may_create_roots(caller),
    )
