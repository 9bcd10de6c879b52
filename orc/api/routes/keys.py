"""Keys of a user for programs, in `oidc` mode."""

from datetime import date, datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, Field

from orc.api.auth import SignedIn
from orc.api.dependencies import AppDep, PrincipalDep
from orc.api.responses import responses
from orc.api.schemas import View
from orc_core.errors import Forbidden, NotFound

router = APIRouter(prefix="/keys", tags=["keys"])


Only = Annotated[Literal["v1", "mcp"] | None, Field(description="the path that it is for; null: all")]


class KeyRequest(BaseModel):
    name: str = Field(
        min_length=1, max_length=100, description="what the key is for", examples=["report script"]
    )
    only: Only = None


class KeyView(View):
    """A key without its secret."""

    key_id: str
    name: str = Field(examples=["report script"])
    created_at: datetime
    ends_at: datetime = Field(description="later after each sign-in of the user")
    last_used: date | None = Field(description="the day; null: never")
    only: Only


class NewKey(KeyView):
    """A key that was made, with its secret, which is not shown again."""

    key: str = Field(examples=["orc_mF_9.B5f-4.1JqM"])


class KeysResponse(BaseModel):
    """The keys of the caller, latest first."""

    keys: list[KeyView]


def _require_sign_in(request: Request) -> None:
    if not isinstance(request.app.state.authenticator, SignedIn):
        raise NotFound("This server gives no keys.")
    # A key that was stolen must not make others, and must not end those that replace it.
    if "authorization" in request.headers:
        raise Forbidden("Keys are made and revoked on the page, by a user who is signed in.")


@router.get("", responses=responses(403, 404))
async def list_keys(request: Request, caller: PrincipalDep, app: AppDep) -> KeysResponse:
    """The keys of the caller that are valid."""
    _require_sign_in(request)
    return KeysResponse(keys=[KeyView.of(each) for each in await app.credentials.keys_of(caller)])


@router.post("", status_code=201, responses=responses(400, 403, 404, 409, 413, 415))
async def create_key(request: Request, new: KeyRequest, caller: PrincipalDep, app: AppDep) -> NewKey:
    """Make a key with the roles and groups of the caller's latest sign-in, which each later one renews."""
    _require_sign_in(request)
    made, secret = await app.credentials.create_key(caller, new.name, new.only)
    return NewKey.of(made, key=secret)


@router.delete("/{key_id}", status_code=204, responses=responses(403, 404))
async def revoke_key(
    key_id: Annotated[str, Path(max_length=64)], request: Request, caller: PrincipalDep, app: AppDep
) -> None:
    """End a key at once."""
    _require_sign_in(request)
    if not await app.credentials.revoke_key(caller, key_id):
        raise NotFound("There is no such key.")
