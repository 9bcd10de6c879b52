"""The second reading of an attempt: a judge reads what code left undecided, once the text is there."""

import asyncio
import logging
import math
from collections.abc import Sequence
from typing import NamedTuple

from orc.graphs.cited_pages import cited_texts, key_of
from orc.graphs.models import Attempt, ConversationState, Run
from orc.graphs.undecided import SecondReading, Stated
from orc.judges.ports import Judgement, SupportJudge, confirmed
from orc_core.errors import BudgetExceeded, DeadlineExceeded, OrcError
from orc_core.grounding.checks import Page
from orc_core.llm.tokens import take_first_fitting

logger = logging.getLogger(__name__)

MOST_SENTENCES = 20
"""Undecided sentences of an answer that a judge is shown; the others stay undecided."""


class Reading(NamedTuple):
    """The attempt with the verdicts, what the judge said of all of it, and why it said nothing."""

    attempt: Attempt
    judgement: Judgement | None = None
    failure: str | None = None


async def read_again(state: ConversationState, run: Run) -> Reading:
    """Have the judge read the undecided sentences of the answer, in one call; none without such sentences.

    After a correction it reads what is new. A judge that fails leaves the attempt as it is.
    """
    attempt = state.attempt
    if run.resources.judge is None or run.context.settings.critic == "off" or attempt.grounding is None:
        return Reading(attempt)
    try:
        reading = SecondReading(attempt.answer or "", attempt.citations, attempt.grounding.statuses)
        if not (unread := _unread(reading, state)):
            return Reading(attempt)
        judgement = await _judged(reading, unread, state, run, run.resources.judge)
        judged = {"citations": reading.citations(), "grounding": reading.grounding(attempt.grounding)}
    except OrcError as exc:
        return Reading(attempt, failure=exc.message)
    except Exception:
        # The answer is there: an error of the judge must not lose it.
        logger.exception("judge.failed")
        return Reading(attempt, failure="It failed unexpectedly.")
    return Reading(attempt.model_copy(update=judged), judgement)


def _unread(reading: SecondReading, state: ConversationState) -> list[Stated]:
    """The undecided sentences, without those that a correction has left as they were."""
    if not state.earlier or state.is_second_retrieval:
        return reading.undecided
    earlier = state.earlier[-1]
    statuses = earlier.grounding.statuses if earlier.grounding else ()
    before = SecondReading(earlier.answer or "", earlier.citations, statuses)
    known = {each.text for each in before.undecided}
    return [each for each in reading.undecided if each.text not in known]


async def _judged(
    reading: SecondReading,
    unread: Sequence[Stated],
    state: ConversationState,
    run: Run,
    judge: SupportJudge,
) -> Judgement:
    """What the judge says; its verdicts are with the sentences then."""
    seconds = min(run.context.settings.critic_seconds, seconds_left(run))
    if seconds <= 0:
        raise DeadlineExceeded("The turn has no time left for it.")
    if calls_left(state, run) < 1:
        raise BudgetExceeded("The turn has no model call left for it.")
    asked = list(unread[:MOST_SENTENCES])
    try:
        async with asyncio.timeout(seconds):
            texts = await cited_texts(state.attempt.citations, state, run)
            pages = {key: Page(text) for key, text in texts.items()}
            paired = [(each, reading.pair(each, lambda cited: pages[key_of(cited)])) for each in asked]
            asked = [each for each, pair in paired if pair.evidence]
            pairs = [pair for _, pair in paired if pair.evidence]
            fitting = take_first_fitting(
                pairs,
                run.context.settings.retrieval_tokens,
                lambda pair: (
                    run.resources.counter.count(pair.sentence) + run.resources.counter.count(pair.evidence)
                ),
            )
            if not fitting:
                raise OrcError("The sentences are too long for it, or their pages have changed.")
            judgement = await judge.judge(state.query, fitting, budget=run.context.budget)
    except TimeoutError as exc:
        raise DeadlineExceeded(f"It did not answer within {seconds:.3g} s.") from exc
    for stated, pair, said in zip(asked, fitting, judgement.verdicts, strict=False):
        stated.verdict = confirmed(pair, said)
    return judgement


def calls_left(state: ConversationState, run: Run) -> int:
    """The model calls left. Those of document_chat count, which writes the answers of its turns."""
    answers = run.context.budget.by_tools.model_calls if state.blob_names else 0
    return run.context.budget.calls_left - answers


def seconds_left(run: Run) -> float:
    """The time left for improving the answer."""
    return (
        math.inf if run.context.ends_at is None else run.context.ends_at - asyncio.get_running_loop().time()
    )
