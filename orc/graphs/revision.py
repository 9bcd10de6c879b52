"""Revisions of an answer: the earlier one is withdrawn, and restored if the revision fails or is worse."""

import asyncio
import logging
from typing import Any

from langgraph.errors import NodeError

from core.errors import OrcError
from core.grounding.models import Grounding, Revision
from core.grounding.objections import Objection
from core.llm.tokens import truncate
from orc.events import Critique, Reset, whole_text
from orc.graphs.models import Attempt, ConversationState, Deps
from orc.graphs.utils import changes

logger = logging.getLogger(__name__)

MAX_ISSUES = 12
MAX_ISSUE_CHARACTERS = 300
QUOTED_SHARE = 4
"""The withdrawn answer is quoted within a fourth of the retrieval budget."""
MAX_QUOTED_CHARACTERS = 100_000
NO_ISSUE = "The critic did not say what is wrong with it."


def revision_deadline(state: ConversationState, deps: Deps) -> asyncio.Timeout:
    """A timeout for a revision only: a turn that has an answer does not fail for want of a better one."""
    return asyncio.timeout_at(deps.ends_at if state.earlier else None)


def end_revision(state: ConversationState, error: NodeError) -> dict[str, Any]:
    """The changes after an error of a node that makes an attempt.

    An error of the first attempt is raised, which fails the turn. An error of a revision ends the revision,
    and critique restores the earlier answer.
    """
    if not state.earlier:
        raise error.error
    if isinstance(error.error, OrcError):
        failure = error.error.message
    elif isinstance(error.error, TimeoutError):
        failure = "The turn had no more time for it."
    else:
        logger.error("revision.failed", exc_info=error.error)
        failure = "It failed unexpectedly."
    attempt = state.attempt.model_copy(update={"failure": failure})
    return changes(attempt=attempt)


def start_revision(state: ConversationState, deps: Deps, judged: Attempt, query: str) -> dict[str, Any]:
    """Withdraw the answer and open the next attempt, with what it has to correct."""
    assert judged.verdict is not None
    more = judged.verdict.action == "retrieve"
    deps.emit(Reset(reason="More is looked up for the answer." if more else "The answer is revised."))
    quoted = truncate(judged.answer or "", deps.settings.retrieval_tokens // QUOTED_SHARE, deps.counter)
    issues = [issue[:MAX_ISSUE_CHARACTERS] for issue in judged.verdict.issues[:MAX_ISSUES]]
    revision = Revision(
        answer=quoted[:MAX_QUOTED_CHARACTERS], issues=issues or [NO_ISSUE], read_more=more, query=query
    )
    return changes(
        earlier=[*state.earlier, judged],
        attempt=Attempt(number=judged.number + 1, revision=revision, sources=judged.sources),
        lookups=[],
        # A revision is written from what was found, without further calls by the model.
        tools=[],
    )


def restore_earlier(state: ConversationState, deps: Deps, why: Objection) -> dict[str, Any]:
    """Show the answer of the earlier attempt again, labelled unverified, and withdraw the revision."""
    failed, earlier = state.attempt, state.earlier[-1]
    assert earlier.verdict is not None
    assert earlier.answer is not None
    deps.emit(Reset(reason="The earlier answer is given."))
    for event in whole_text(earlier.answer, earlier.citations):
        deps.emit(event)
    verdict = Critique(
        grounded=earlier.verdict.grounded,
        coverage=earlier.verdict.coverage,
        objections=[*earlier.verdict.objections, why],
        action="label_unverified",
        attempt=failed.number,
        failure=why.text if failed.failure is not None else None,
    )
    deps.emit(verdict)
    restored = {"number": failed.number, "verdict": verdict, "failure": failed.failure}
    return changes(attempt=earlier.model_copy(update=restored))


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
