"""The verdict of the code checks and of the judge, and the further attempts at an answer that follow from it.

Sentences are corrected only if a citation of them is known to be wrong, and more is looked up only then, or
if pages that were found are still to be read. What is only in other words, or lacks a source, is no reason,
nor is a judge that fails.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from functools import wraps
from typing import Any

from orc.events import CriticAction, Critique, Reset, whole_text, without_rectangles
from orc.graphs.models import Attempt, ConversationState, Run, Update
from orc.graphs.second_reading import Reading, calls_left, seconds_left
from orc.graphs.tool_context import TOO_LONG
from orc.tools.ports import WEB_SEARCH
from orc_core.errors import OrcError
from orc_core.grounding.models import Grounding, Objection
from orc_core.mcp_contract import TEXT_TOOLS

Node = Callable[[Any, Run], Awaitable[Update]]

logger = logging.getLogger(__name__)

UNREAD = Objection(code="pages_unread", text="Some of the pages that were found have not been read in full.")
WORSE = Objection(
    code="revision_worse",
    text="The second answer was worse by the code checks, so the earlier one is given.",
)


def why_rejected(state: ConversationState) -> Objection | None:
    """The reason why the earlier answer is given instead of this one; None if there is no such reason."""
    if not state.earlier:
        return None
    if state.attempt.failure is not None:
        text = f"The answer could not be revised: {state.attempt.failure}"
        return Objection(code="not_revised", text=text)
    if not state.is_second_retrieval:
        # Corrected sentences were taken only if they were better.
        return None
    revised, earlier = state.attempt.grounding, state.earlier[-1].grounding
    return WORSE if revised is None or earlier is None or is_worse(revised, earlier) else None


def wished_verdict(state: ConversationState, checks: Grounding, reading: Reading, run: Run) -> Critique:
    """The verdict on the attempt after all checks, with the citations if the judge has changed any."""
    if is_unread := bool(state.references) and (not checks.grounded or checks.closest_passages):
        # An answer from summaries alone does not show that nothing is there.
        objections = [*checks.objections, UNREAD]
        checks = checks.model_copy(update={"not_found": False, "objections": objections})
    objections, judgement = checks.objections, reading.judgement
    action: CriticAction = "accept" if passes_checks(checks) else "label_unverified"
    is_wrong = is_proven_wrong(checks) and run.context.settings.critic != "off"
    asks_for_more = judgement is not None and judgement.action == "retrieve"
    # The judge decides where to look if the answer is wrong, or if pages were not read in full.
    looks_further = is_unread or (asks_for_more and (is_wrong or bool(state.references)))
    if looks_further or is_wrong:
        if why := _why_last_attempt(state, run):
            text = f"No further attempt was made: {why}."
            objections = [*objections, Objection(code="no_further_attempt", text=text)]
        else:
            action = "retrieve" if looks_further else "revise"
    return Critique(
        grounded=checks.grounded,
        coverage=checks.coverage,
        objections=objections,
        action=action,
        attempt=state.attempt.number,
        by="model" if judgement or checks.supported or checks.unsupported else "code",
        failure=f"The second reading failed: {reading.failure}" if reading.failure else None,
        citations=without_rectangles(state.attempt.citations) if judgement else None,
    )


def _why_last_attempt(state: ConversationState, run: Run) -> str:
    """The reason why there is no further attempt; empty if there can be one."""
    most = run.context.settings.critic_max_retries
    if state.attempt.number > most:
        return f"CRITIC_MAX_RETRIES is {most}"
    if calls_left(state, run) < 1:
        return "the turn has too few model calls left"
    return "the turn has no time left" if seconds_left(run) <= 0 else ""


def with_coverage_gaps(checks: Grounding, state: ConversationState) -> Grounding:
    """The checks; a "not found" answer counts only if every accessible source was searched."""
    if not checks.not_found or not (gaps := list(_gaps(state))):
        return checks
    # A corrected answer has those of its first attempt.
    objections = list(dict.fromkeys([*checks.objections, *gaps]))
    changed = {"not_found": False, "grounded": False, "objections": objections}
    return checks.model_copy(update=changed)


def _gaps(state: ConversationState) -> Iterator[Objection]:
    for file in state.files:
        if file.status == "failed":
            text = f"{file.blob_name} could not be read: {file.reason or 'its text is not ready.'}"
            yield Objection(code="not_read", text=text, name=file.blob_name)
    if state.document_reply and (left_out := state.document_reply.metadata.left_out):
        text = f"{left_out} of the passages or pages did not fit into the model's window."
        yield Objection(code="not_fitting", text=text, number=left_out)
    if state.blob_names:
        return
    # What tools searched has to be the documents, or the web if there are no documents.
    counted = TEXT_TOOLS if state.has_documents else TEXT_TOOLS | {WEB_SEARCH}
    results = [result for result in state.tool_results if result.name in counted]
    searched = [result for result in results if not result.error and result.content != TOO_LONG]
    if not searched:
        where = "in the documents" if state.has_documents else "anywhere"
        text = f"Nothing could be looked up {where}, so an answer that nothing was found proves nothing."
        yield Objection(code="nothing_searched", text=text)
    for result in searched:
        documents = result.content.get("documents")
        for document in documents if isinstance(documents, list) else []:
            if isinstance(document, dict) and document.get("searched") is False:
                name = str(document.get("filename"))
                text = f"{name} was not searched: {document.get('reason')}"
                yield Objection(code="not_searched", text=text, name=name)


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
