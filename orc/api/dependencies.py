"""What routes depend on: the app, the caller, and the owner of the conversation in the path."""

import re
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Depends, Path, Request
from pydantic import BeforeValidator

from orc.api.auth import PRINCIPAL
from orc.bootstrap import App, AppProvider
from orc.contexts.rights import Right
from orc.contexts.service import Caller
from orc.identity import CONVERSATION_NAME, Principal
from orc_core.errors import InvalidInput
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


def context_owner(right: Right) -> Callable[[str, Caller, App], Awaitable[Owner]]:
    """A dependency: the owner of the context's documents, if the caller has the right."""

    async def owner_of(context_id: ContextId, caller: CallerDep, app: AppDep) -> Owner:
        return await app.contexts.owner(caller, context_id, right)

    return owner_of


ReaderOwnerDep = Annotated[Owner, Depends(context_owner(Right.READ_DOCUMENTS))]
EditorOwnerDep = Annotated[Owner, Depends(context_owner(Right.CHANGE_DOCUMENTS))]
PrincipalDep = Annotated[Principal, Depends(principal)]
OwnerDep = Annotated[Owner, Depends(owner)]
TraceIdDep = Annotated[str, Depends(trace_id)]
