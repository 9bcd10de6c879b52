"""Telemetry of an organization's turns for admins, without questions and answers."""

import re
from datetime import UTC, date, datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request
from pydantic import AfterValidator, AwareDatetime, BeforeValidator

from orc.api.dependencies import DIGITS, AppDep, PrincipalDep
from orc.api.responses import responses
from orc.api.schemas import DaysResponse, TelemetryResponse, TraceResponse, TurnSummary
from orc.conversations.models import utc_now
from orc.traces.models import MAX_DAYS, Status, TraceFilter
from orc_core.errors import Forbidden, InvalidInput, NotFound

USUAL_DAYS = 30
MOST_TURNS = 200
"""Of one trace id, which is the caller's own to choose."""
_TRACE_ID = "^[0-9a-f]{32}$"
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_MOMENT = _DAY + r"[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})"


async def admitted(request: Request, caller: PrincipalDep) -> None:
    """Refuse callers without the admin role, before anything is read."""
    role: str = request.app.state.admin_role
    if role not in caller.roles:
        raise Forbidden(f"Telemetry is for those with the role {role}.")


def _written_as(pattern: str, what: str) -> BeforeValidator:
    """For a parameter of which the framework would take numbers and other notations too."""

    def check(value: object) -> object:
        if isinstance(value, str) and not re.fullmatch(pattern, value):
            raise ValueError(f"must be {what}")
        return value

    return BeforeValidator(check)


def _in_utc(moment: datetime | None) -> datetime | None:
    try:
        return moment and moment.astimezone(UTC)
    except OverflowError as exc:
        raise ValueError("must be a moment of this era") from exc


Moment = Annotated[
    AwareDatetime | None,
    _written_as(_MOMENT, "a date with time and zone, like 2025-01-31T12:00:00Z"),
    AfterValidator(_in_utc),
]
Day = Annotated[date | None, _written_as(_DAY, "a date, like 2025-01-31")]
Name = Annotated[str | None, Query(min_length=1, max_length=256)]
TraceId = Annotated[str, Path(pattern=_TRACE_ID, description="as `x-trace-id` said it")]

router = APIRouter(prefix="/admin/telemetry", tags=["telemetry"], dependencies=[Depends(admitted)])


@router.get("", responses=responses())
async def list_turns(
    caller: PrincipalDep,
    app: AppDep,
    since: Annotated[Moment, Query(description="that began then or later")] = None,
    until: Annotated[Moment, Query(description="that began before then")] = None,
    trace_id: Annotated[str | None, Query(pattern=_TRACE_ID)] = None,
    user_id: Name = None,
    conversation_id: Name = None,
    status: Status | None = None,
    intent: Name = None,
    model: Name = None,
    limit: Annotated[int, Query(ge=1, le=200), DIGITS] = 50,
    cursor: str | None = None,
) -> TelemetryResponse:
    """The turns of the caller's organization, latest first."""
    wanted = TraceFilter(
        since=since,
        until=until,
        trace_id=trace_id,
        user_id=user_id,
        conversation_id=conversation_id,
        status=status,
        intent=intent,
        model=model,
    )
    traces, next_cursor = await app.traces.page(caller.organization_id, wanted, limit=limit, cursor=cursor)
    return TelemetryResponse(turns=[TurnSummary.of(trace) for trace in traces], next_cursor=next_cursor)


@router.get("/days", responses=responses())
async def total_days(
    caller: PrincipalDep,
    app: AppDep,
    since: Annotated[Day, Query(description="the first day; default: 29 days before the last")] = None,
    until: Annotated[Day, Query(description="the last day, in UTC; default: today")] = None,
) -> DaysResponse:
    """Turns, tokens, cost and durations by day; at most 92 days at once."""
    last = until or utc_now().date()
    first = since or last - min(timedelta(days=USUAL_DAYS - 1), last - date.min)
    if not 0 <= (last - first).days < MAX_DAYS:
        raise InvalidInput(f"From `since` to `until` there may be 1 to {MAX_DAYS} days.", field="since")
    return DaysResponse(days=await app.traces.daily(caller.organization_id, first, last))


@router.get("/{trace_id}", responses=responses(404))
async def get_trace(
    trace_id: TraceId,
    caller: PrincipalDep,
    app: AppDep,
    attempt: Name = None,
    user_id: Name = None,
    cursor: str | None = None,
) -> TraceResponse:
    """The turns of one trace: steps, tools, models, budgets, checks and a timeline. At most 200, the latest
    first page by page; or those of one user, or one `attempt` at one of them."""
    wanted = TraceFilter(trace_id=trace_id, attempt=attempt, user_id=user_id)
    turns, next_cursor = await app.traces.page(
        caller.organization_id, wanted, limit=MOST_TURNS, cursor=cursor
    )
    if not turns:
        raise NotFound("There is no such trace.")
    return TraceResponse(trace_id=trace_id, turns=turns[::-1], next_cursor=next_cursor)
