"""What users say of answers: stored with the turn, and counted without content."""

import logging

from opentelemetry import metrics

from orc.conversations.models import Feedback, Turn
from orc.conversations.turn_log import TurnLog
from orc.traces.models import TraceFilter, TraceStore
from orc_core.errors import OrcError
from orc_core.infra.telemetry.spans import SCOPE
from orc_core.names import Owner

logger = logging.getLogger(__name__)

_FEEDBACK = metrics.get_meter(SCOPE).create_counter(
    "orc.turn.feedback", unit="{feedback}", description="Ratings of answers by users, by rating and reason."
)


async def rate(
    log: TurnLog, traces: TraceStore, owner: Owner, turn_id: str, feedback: Feedback | None
) -> Turn:
    """Store the user's feedback on an answer; None takes it back. The trace has its rating and reason.

    Raises NotFound, and Conflict for a turn without an answer.
    """
    turn = await log.rate(owner, turn_id, feedback)
    if feedback is not None:
        reason = feedback.reason.value if feedback.reason else "none"
        _FEEDBACK.add(1, {"orc.rating": feedback.rating, "orc.rating.reason": reason})
        logger.info("turn %s was rated %s, reason: %s", turn_id, feedback.rating, reason)
    try:
        found, _ = await traces.page(owner.organization_id, TraceFilter(attempt=turn.attempt), limit=1)
        stored = turn.feedback
        rated = {"rating": stored and stored.rating, "rating_reason": stored and stored.reason}
        for trace in found:
            await traces.save(trace.model_copy(update=rated))
    except OrcError as exc:
        logger.warning("the rating of turn %s is not in its trace: %s", turn_id, exc.code)
    return turn
