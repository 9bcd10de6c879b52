"""What routes depend on: the app, the caller, and the owner of the conversation in the path."""

import re
import uuid
from collections import Counter
from typing import Annotated

from fastapi import Depends, Path, Request
from pydantic import BeforeValidator

from core.errors import InvalidInput
from core.names import Owner
from orc.api.auth import PRINCIPAL
from orc.bootstrap import App, AppProvider
from orc.identity import Principal


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
    conversation_id: Annotated[uuid.UUID, Path(description="the conversation")],
) -> Owner:
    """The owner of this conversation id for this caller; it never names another caller's conversation."""
    return caller.owner_of(str(conversation_id))


async def trace_id(request: Request) -> str:
    """The id that the trace middleware gave this request."""
    return str(request.scope["orc.trace_id"])


AppDep = Annotated[App, Depends(opened_app)]
PrincipalDep = Annotated[Principal, Depends(principal)]
OwnerDep = Annotated[Owner, Depends(owner)]
TraceIdDep = Annotated[str, Depends(trace_id)]
