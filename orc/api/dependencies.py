"""What routes depend on: the app, the caller, and the owner of the conversation in the path."""

import re
import uuid
from collections import Counter
from datetime import datetime
from typing import Annotated, cast

from fastapi import Depends, Path, Request
from pydantic import BeforeValidator

from orc.api.auth import PRINCIPAL
from orc.bootstrap import App, AppProvider
from orc.contexts.rights import Right
from orc.contexts.service import Caller
from orc.identity import CONVERSATION_NAME, Principal
from orc_core.errors import InvalidInput, NotFound
from orc_core.names import Owner


async def given_once(request: Request) -> None:
    """Refuse a query that gives a parameter twice: whichever value were taken, the other may be meant."""
    for name, times in Counter(name for name, _ in request.query_params.multi_items()).items():
        if times > 1:
            raise InvalidInput("The parameter may be given once only.", field=name)


def _in_digits(value: object) -> object:
    if isinstance(value, str) and not re.fullmatch(r"-?[0-9]+", value):
        raise ValueError("must be a whole number")
    return value


DIGITS = BeforeValidator(_in_digits)
"""For a parameter that is a whole number: `1.0`, `+1` and `1_000` are none."""


async def opened_app(request: Request) -> App:
    """The app of this process, opened on first use if no lifespan ran (Azure Functions)."""
    provider: AppProvider = request.app.state.provider
    return await provider.get()


async def principal(request: Request) -> Principal:
    """The verified caller, as the middleware stored it."""
    known: Principal = request.scope[PRINCIPAL]
    return known


async def owner(
    caller: Annotated[Principal, Depends(principal)],
    app: Annotated[App, Depends(opened_app)],
    conversation_id: Annotated[
        str, Path(pattern=CONVERSATION_NAME, description="the conversation: its id, or its name")
    ],
) -> Owner:
    """The owner of this conversation for this caller; it is never another caller's conversation."""
    return caller.owner_of(app.sessions.identified(caller, conversation_id))


async def trace_id(request: Request) -> str:
    """The id that the trace middleware gave this request."""
    return str(request.scope["orc.trace_id"])


async def began(request: Request) -> datetime:
    """When the head of this request arrived, before its body."""
    return cast("datetime", request.scope["orc.began"])


async def context_caller(
    request: Request,
    caller: Annotated[Principal, Depends(principal)],
    trace: Annotated[str, Depends(trace_id)],
) -> Caller:
    """The caller as the service of contexts needs it."""
    return Caller(caller, request.app.state.admin_role in caller.roles, trace)


AppDep = Annotated[App, Depends(opened_app)]
CallerDep = Annotated[Caller, Depends(context_caller)]
ContextId = Annotated[str, Path(max_length=64, description="the context")]


PrincipalDep = Annotated[Principal, Depends(principal)]
OwnerDep = Annotated[Owner, Depends(owner)]
TraceIdDep = Annotated[str, Depends(trace_id)]
BeganDep = Annotated[datetime, Depends(began)]
_OWNER = "orc.owner"


async def _in_conversation(request: Request, owner: OwnerDep) -> None:
    request.scope[_OWNER] = owner


async def _in_context(request: Request, context_id: ContextId, caller: CallerDep, app: AppDep) -> None:
    request.scope[_OWNER] = await app.contexts.owner(caller, context_id, Right.READ_DOCUMENTS)


async def session_of(session_id: str, context_id: str, caller: Caller, app: App) -> Owner:
    """The owner of a session of this workspace; NotFound for any other, and for a workspace out of sight."""
    await app.contexts.read(caller, context_id)
    owner = caller.principal.owner_of(session_id)
    head = await app.log.head(owner)
    if head is None or head.home != context_id:
        raise NotFound("There is no such session here.")
    return owner


SessionId = Annotated[uuid.UUID, Path(description="a conversation that was opened here")]


async def _in_session(
    request: Request, session_id: SessionId, context_id: ContextId, caller: CallerDep, app: AppDep
) -> None:
    request.scope[_OWNER] = await session_of(str(session_id), context_id, caller, app)


IN_CONVERSATION, IN_CONTEXT = [Depends(_in_conversation)], [Depends(_in_context)]
IN_SESSION = [Depends(_in_session)]
"""For routers below a conversation, a context, and a session of a context: their routes share functions."""


async def _reader(request: Request) -> Owner | None:
    """Whose the address is; a dependency of the router has checked that the caller may read it.

    With an id that is not valid that is not called: then there is none, and FastAPI refuses the request.
    """
    found: Owner | None = request.scope.get(_OWNER)
    return found


ReaderDep = Annotated[Owner, Depends(_reader)]


async def _editor(
    owner: Annotated[Owner | None, Depends(_reader)], caller: CallerDep, app: AppDep
) -> Owner | None:
    """The same, if the caller may change them; those of a conversation are always its user's."""
    if owner is None or owner.context_id is None:
        return owner
    return await app.contexts.owner(caller, owner.context_id, Right.CHANGE_DOCUMENTS)


EditorDep = Annotated[Owner, Depends(_editor)]
