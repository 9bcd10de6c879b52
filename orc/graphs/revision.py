"""Further attempts at an answer; the earlier one is given if the next one fails or is worse."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

from orc.events import Critique, Reset, whole_text
from orc.graphs.models import Attempt, ConversationState, Run, Update
from orc_core.errors import OrcError
from orc_core.grounding.models import Grounding, Objection

Node = Callable[[Any, Run], Awaitable[Update]]

logger = logging.getLogger(__name__)


def attempted(node: Node) -> Node:
    """A node that makes an attempt. An error of the first attempt is raised, which fails the turn.

    An error of a revision, or the end of the time for it, ends the revision: `failure` says why, and critique
    gives the earlier answer. A turn with an answer does not fail for want of a better one.
    """

    @wraps(node)
    async def attempt(state: ConversationState, run: Run) -> Update:
        if not state.earlier:
            return await node(state, run)
        try:
            async with asyncio.timeout_at(run.context.ends_at):
                return await node(state, run)
        except OrcError as exc:
            failure = exc.message
        except TimeoutError:
            failure = "The turn had no more time for it."
        except Exception:
            logger.exception("revision.failed")
            failure = "It failed unexpectedly."
        return {"attempt": state.attempt.model_copy(update={"failure": failure})}

    return attempt


def start_revision(state: ConversationState, run: Run, judged: Attempt, query: str) -> Update:
    """Open the next attempt: sentences are corrected, or the answer is withdrawn and more is looked up."""
    assert judged.verdict is not None
    earlier, number = [*state.earlier, judged], judged.number + 1
    if judged.verdict.action == "revise":
        return {"earlier": earlier, "attempt": judged.model_copy(update={"number": number, "verdict": None})}
    run.emit(Reset(reason="More is looked up for the answer."))
    return {
        "earlier": earlier,
        "attempt": Attempt(number=number, wanted=query, sources=judged.sources),
        "lookups": [],
        # The answer is written from what is found, without further calls by the model.
        "tools": [],
    }


def restore_earlier(state: ConversationState, run: Run, why: Objection) -> Update:
    """Give the answer of the earlier attempt, labelled unverified; show it again if it was withdrawn."""
    failed, earlier = state.attempt, state.earlier[-1]
    assert earlier.verdict is not None
    assert earlier.answer is not None
    if state.is_second_retrieval:
        run.emit(Reset(reason="The earlier answer is given."))
        for event in whole_text(earlier.answer, earlier.citations):
            run.emit(event)
    verdict = Critique(
        grounded=earlier.verdict.grounded,
        coverage=earlier.verdict.coverage,
        objections=[*earlier.verdict.objections, why],
        action="label_unverified",
        attempt=failed.number,
        by=earlier.verdict.by,
        failure=why.text if failed.failure is not None else None,
    )
    run.emit(verdict)
    restored = {"number": failed.number, "verdict": verdict, "failure": failed.failure}
    return {"attempt": earlier.model_copy(update=restored)}


def is_worse(grounding: Grounding, earlier: Grounding) -> bool:
    """Whether the checks have more against an answer than against the earlier one."""

    def score(grounding: Grounding) -> tuple[bool, float, int]:
        return passes_checks(grounding), grounding.coverage, -grounding.refuted

    return score(grounding) < score(earlier)


def passes_checks(grounding: Grounding) -> bool:
    """Whether the checks accept an answer: all of it has sources that do not differ, or nothing was found."""
    return grounding.grounded or grounding.not_found


def is_proven_wrong(grounding: Grounding) -> bool:
    """Whether a citation differs from what cites it, or is known not to support it.

    An answer that was cut, that is in other words, or that lacks a source is not known to be wrong.
    """
    return grounding.refuted > 0 and not grounding.closest_passages
