"""Traces of turns, and the port that takes them: when it happened and what it cost, without content.

Text is a name that the code or the configuration gives, or an id. What a person, a model or a document may
have written has no field here.
"""

import asyncio
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from orc.conversations.listing import first_page, read_cursor, sortable, timestamp
from orc.conversations.models import FeedbackReason, Rating
from orc.events import CriticAction, LazyCounts, Milliseconds, RetrievalMode, TimelineStep
from orc.intents import Retriever, Step
from orc_core.documents.image_limits import ImageCounts
from orc_core.infra.items import Items, Where, delete, equal, repeated_if_raced, upsert
from orc_core.models import Record, Usage
from orc_core.names import Owner

Status = Literal["done", "failed", "stopped"]
Code = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
"""A word of the code's: of a tool, an error, a section of a prompt."""

USD_NOTE = "an estimate in US dollars; null where it is not known"
DAYS_AT_ONCE = 8


class TurnIds(Record):
    """Whose turn it is. A caller's own trace id may span several turns, a turn several attempts."""

    trace_id: str = Field(examples=["0af7651916cd43dd8448eb211c80319c"])
    turn_id: str
    attempt: str
    organization_id: str
    user_id: str
    conversation_id: str


class PlanTrace(Record):
    """What was to be done, and how that came about."""

    steps: list[Step]
    confidence: float
    decided_by: Literal["rules", "model", "fallback"]
    fallback: Literal["not_planned", "not_available"] | None = Field(
        default=None, description="the planner model failed, or the planned sources are not available"
    )
    escalated: bool = Field(description="more was looked up than planned, for lack of confidence")


class ToolTrace(Record):
    """One call of a tool. `unfinished`: the turn ended before it did."""

    name: Code
    status: Literal["finished", "failed", "unfinished"]
    duration_ms: Milliseconds | None = None
    error_code: Code | None = None
    hits: int | None = None


class CallTrace(Record):
    """One call of a model, or all those that the tools have made."""

    role: str = Field(description="planner, writer, critic, or tools", examples=["writer"])
    model: str = Field(examples=["gpt-5.1"])
    calls: int = 1
    input_tokens: int
    output_tokens: int
    estimated: bool = Field(default=False, description="tokens as we count them, not as the model said")
    duration_ms: Milliseconds | None = None
    cost_usd: float | None = Field(default=None, description=USD_NOTE)


class SelectionTrace(Record):
    """How much of the conversation's memory was shown, and how it was selected."""

    method: Literal["none", "lexical", "embeddings"] = "none"
    summary_points: int = 0
    notes: int = 0
    left_out: int = 0


class SearchTrace(Record):
    """One step of a search."""

    method: Literal["semantic", "hybrid", "vector", "lexical", "widened_lexical"]
    threshold: float | None = None
    hits: int
    served: bool = Field(default=False, description="the results had the hits of this step")


class VerdictTrace(Record):
    """What the critic made of one attempt at the answer. `failed`: the model that should judge did not."""

    attempt: int
    action: CriticAction
    by: Literal["code", "model"]
    grounded: bool
    coverage: float
    issues: int
    failed: bool


class GroundingTrace(Record):
    """What the code checks counted in the answer that was given."""

    grounded: bool
    citations: int
    verified: int
    coverage: float
    not_found: bool
    closest_passages: bool = False


class TurnTrace(TurnIds):
    """One attempt at a turn, from its question to its end."""

    started_at: datetime
    duration_ms: Milliseconds
    first_token_ms: Milliseconds | None = Field(default=None, description="until the first text of an answer")
    status: Status
    error_code: Code | None = None
    intent: str | None = None
    model: str | None = Field(default=None, description="that was to answer", examples=["gpt-5.1"])
    retriever: Retriever | None = None
    plan: PlanTrace | None = None
    retrieval_mode: RetrievalMode = "none"
    searches: list[SearchTrace] = []
    context_budget: dict[Code, int] = Field(default={}, description="tokens by section")
    history_turns: int = 0
    selection: SelectionTrace = SelectionTrace()
    lazy: LazyCounts = LazyCounts()
    images: ImageCounts = ImageCounts()
    tools: list[ToolTrace] = []
    calls: list[CallTrace] = []
    usage: Usage = Usage()
    cost_usd: float | None = Field(default=None, description=USD_NOTE)
    verdicts: list[VerdictTrace] = []
    grounding: GroundingTrace | None = None
    rating: Rating | None = Field(default=None, description="what the user said of the answer")
    rating_reason: FeedbackReason | None = None
    timeline: list[TimelineStep] = []
    left_out: int = Field(default=0, description="tool calls and timeline steps past what a trace holds")

    @property
    def day(self) -> str:
        """The day on which it began, in UTC: `2025-01-31`."""
        return self.started_at.astimezone(UTC).date().isoformat()


class TraceFilter(Record):
    """Which turns are asked for; what is None does not matter. Times are of their beginning.

    A caller's own trace id may span any number of turns, a turn several attempts.
    """

    since: datetime | None = None
    until: datetime | None = Field(default=None, description="before this")
    trace_id: str | None = None
    attempt: str | None = None
    user_id: str | None = None
    conversation_id: str | None = None
    status: Status | None = None
    intent: str | None = None
    model: str | None = None

    @property
    def fields(self) -> dict[str, str]:
        """What fields of a trace must be equal to, by their names."""
        return self.model_dump(exclude={"since", "until"}, exclude_none=True)


class DayTotals(Record):
    """The turns of one day, in UTC, by when they began."""

    day: date = Field(examples=["2025-03-10"])
    turns: int
    failed: int
    input_tokens: int
    output_tokens: int
    cost_usd: float = Field(description="of the turns whose cost is known")
    unpriced: int = Field(description="turns whose cost is not known")
    p50_ms: Milliseconds = Field(description="half of the turns took at most so long")
    p95_ms: Milliseconds


class TurnFigures(Record):
    """What a turn adds to its day."""

    status: Status
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    duration_ms: float


_FIELDS = {*TurnIds.model_fields, *TurnFigures.model_fields, "intent", "model"} - {"turn_id"}


def place_of(trace: TurnTrace) -> tuple[str, str]:
    """The position of a trace: when its turn began, as text of fixed length that sorts, and the attempt."""
    return timestamp(trace.started_at), trace.attempt


MAX_DAYS = 92
"""The most days of which totals are requested at once."""


class TraceSink:
    """Takes the traces of turns. This one keeps nothing."""

    async def save(self, trace: TurnTrace) -> None:
        """Keep a trace, in the place of an earlier one of the same attempt."""

    async def delete(self, owner: Owner) -> None:
        """Remove the traces of a conversation; none is no error."""


class TraceStore(TraceSink):
    """Keeps traces. Whatever is asked, an organization sees its own alone.

    Traces are removed with their conversation, and after their retention if there is one.
    Any method raises DependencyDown when the store cannot be used.
    """

    def __init__(self, items: Items, *, retention_seconds: int | None = None) -> None:
        self._items = items
        self._expiry = {} if retention_seconds is None else {"ttl": retention_seconds}

    async def save(self, trace: TurnTrace) -> None:
        # The same item for every writer and every retry: a lost confirmation does no harm.
        item = {
            "id": trace.attempt,
            # What is filtered and added up, next to the whole trace.
            **trace.model_dump(include=_FIELDS),
            "day": trace.day,
            "input_tokens": trace.usage.input_tokens,
            "output_tokens": trace.usage.output_tokens,
            "place": sortable(place_of(trace)),
            "item": trace.model_dump(mode="json"),
            **self._expiry,
        }
        await self._items.write((trace.organization_id, trace.day), upsert(item))

    @repeated_if_raced
    async def delete(self, owner: Owner) -> None:
        organization_id, user_id, conversation_id = owner.key
        theirs = equal(user_id=user_id, conversation_id=conversation_id)
        for found in await self._items.query([organization_id], theirs, fields=("id", "day")):
            await self._items.write((organization_id, found["day"]), delete(found["id"]))

    async def page(
        self, organization_id: str, wanted: TraceFilter, *, limit: int, cursor: str | None = None
    ) -> tuple[list[TurnTrace], str | None]:
        """One page of the turns that fit, latest first, and the cursor of the next, if any.

        Raises InvalidInput for a wrong cursor.
        """
        end = read_cursor(cursor)
        if wanted.until is not None:
            end = min(end, (timestamp(wanted.until), ""))
        found = await self._items.query(
            [organization_id],
            Where("place", ">=", timestamp(wanted.since) if wanted.since else ""),
            Where("place", "<", sortable(end)),
            equal(**wanted.fields),
            order="place",
            descending=True,
            limit=limit + 1,
        )
        traces = [TurnTrace.model_validate(item["item"]) for item in found]
        # The days of an organization may be on several partitions, each with its own order.
        return first_page(sorted(traces, key=place_of, reverse=True), limit, place_of)

    async def daily(self, organization_id: str, since: date, until: date) -> list[DayTotals]:
        """The days from `since` to `until`, both included, on which there were turns, in order."""
        slots = asyncio.Semaphore(DAYS_AT_ONCE)

        async def totals(day: date) -> DayTotals | None:
            async with slots:
                key = [organization_id, day.isoformat()]
                found = await self._items.query(key, fields=list(TurnFigures.model_fields))
            if not found:
                return None
            turns = [TurnFigures.model_validate(item) for item in found]
            durations = sorted(turn.duration_ms for turn in turns)
            return DayTotals(
                day=day,
                turns=len(turns),
                failed=sum(turn.status == "failed" for turn in turns),
                input_tokens=sum(turn.input_tokens for turn in turns),
                output_tokens=sum(turn.output_tokens for turn in turns),
                cost_usd=sum(turn.cost_usd or 0.0 for turn in turns),
                unpriced=sum(turn.cost_usd is None for turn in turns),
                # By nearest rank.
                p50_ms=durations[-(-len(durations) * 50 // 100) - 1],
                p95_ms=durations[-(-len(durations) * 95 // 100) - 1],
            )

        days = [since + timedelta(days=number) for number in range((until - since).days + 1)]
        return [each for each in await asyncio.gather(*map(totals, days)) if each is not None]
