"""The events of a turn that ran earlier or elsewhere, made from what the store kept of it."""

from core.errors import OrcError, TurnInFlight, Unavailable, kind_named
from orc.conversations.models import Turn, TurnStatus
from orc.event_log import EventLog
from orc.events import Citations, Done, Event, Failed, Reset, Token, TurnResult
from orc.problems import problem_of


def replay(turn: Turn, *, after: int, trace_id: str) -> EventLog:
    """The events of a turn as far as the store knows them, for a reader that has some of the first ones."""
    if turn.status is not TurnStatus.COMMITTED or turn.result is None:
        return EventLog([Failed(problem=problem_of(_why_unanswered(turn), trace_id))], after=after)
    result = TurnResult.model_validate(turn.result)
    withdrawn = [Reset(reason="The answer is shown again from its start.")] if after else []
    events: list[Event] = [
        *withdrawn,
        Token(text=result.answer),
        Citations(citations=result.citations),
        Done(result=result),
    ]
    return EventLog(events, after=after)


def _why_unanswered(turn: Turn) -> OrcError:
    """The error that ended the turn: of the class that it had then, as far as its code tells."""
    if turn.failure is None:
        return TurnInFlight("The turn is being answered elsewhere; ask again in a moment.")
    kind = kind_named(turn.failure.code, otherwise=Unavailable)
    return kind(turn.failure.message, code=turn.failure.code)
