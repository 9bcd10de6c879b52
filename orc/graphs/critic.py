"""critique: the verdict of the code checks and of the critic's model, and the action that follows from it.

A number that is on no cited page is revised once, unless the setting is `off` or leaves it to the model. What
is only in other words, or lacks a source, is no reason to write an answer again.
An answer is accepted only if the code checks accept it and the model, if it was asked, agrees. A critic that
fails accepts nothing: the answer is given, labelled unverified.
"""

from collections.abc import Iterator
from typing import Any

from langgraph.runtime import Runtime

from core.errors import OrcError
from core.grounding.models import Grounding
from core.grounding.objections import Objection
from core.mcp_contract import TEXT_TOOLS
from orc.events import CriticAction, Critique
from orc.graphs.critic_model import MAX_QUERY_CHARACTERS, CriticVerdict, judge, seconds_left
from orc.graphs.models import ConversationState, Deps
from orc.graphs.revision import is_proven_wrong, is_worse, passes_checks, restore_earlier, start_revision
from orc.graphs.tool_context import TOO_LONG
from orc.graphs.utils import changes
from orc.tools.ports import WEB_SEARCH

UNREAD = Objection(code="pages_unread", text="Some of the pages that were found have not been read in full.")
WORSE = Objection(
    code="revision_worse",
    text="The second answer was worse by the code checks, so the earlier one is given.",
)


async def critique(state: ConversationState, runtime: Runtime[Deps]) -> dict[str, Any]:
    """Judge the attempt. Talk has no grounding and is not judged."""
    deps, attempt = runtime.context, state.attempt
    proven = attempt.grounding is not None and is_proven_wrong(attempt.grounding)
    if attempt.grounding is not None:
        grounding = with_coverage_gaps(attempt.grounding, state)
        attempt = attempt.model_copy(update={"grounding": grounding})
        state = state.model_copy(update={"attempt": attempt})
    if why := _why_rejected(state):
        return restore_earlier(state, deps, why)
    if attempt.grounding is None:
        return {}
    verdict, query = await _verdict(state, attempt.grounding, deps, proven=proven)
    deps.emit(verdict)
    judged = attempt.model_copy(update={"verdict": verdict})
    if verdict.action in ("revise", "retrieve"):
        return start_revision(state, deps, judged, query)
    return changes(attempt=judged)


def _why_rejected(state: ConversationState) -> Objection | None:
    """The reason why the earlier answer is given instead of the revision; None if there is no such reason."""
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


async def _verdict(
    state: ConversationState, checks: Grounding, deps: Deps, *, proven: bool
) -> tuple[Critique, str]:
    """The verdict, and the query for the next attempt if the critic's model asks for more.

    `proven`: the code checks prove the answer wrong.
    """
    if state.references and (not checks.grounded or checks.closest_passages):
        # An answer from summaries alone does not show that nothing is there.
        why = _why_last_attempt(state, deps)
        objections = [*checks.objections, UNREAD, *filter(None, [why])]
        checks = checks.model_copy(update={"not_found": False, "objections": objections})
        if why is None:
            return _by_code(state, checks, "retrieve"), ""
    # An answer without results of tools gets no verdict of a model.
    found_something, setting = bool(state.tool_results or state.document_reply), deps.settings.critic
    passes = passes_checks(checks)
    if setting == "code" and proven:
        return _second_try(state, checks, deps), ""
    is_decided = passes and not checks.reworded
    if setting in ("off", "code") or not found_something or (setting == "auto" and is_decided):
        return _by_code(state, checks, "accept" if passes else "label_unverified"), ""
    try:
        model_verdict = await judge(state, deps)
    except OrcError as exc:
        failure = f"The critic could not judge the answer: {exc.message}"
        unjudged = _by_code(state, checks, "label_unverified")
        return unjudged.model_copy(update={"by": "model", "failure": failure}), ""
    return _by_model(state, checks, model_verdict, deps)


def _second_try(state: ConversationState, checks: Grounding, deps: Deps) -> Critique:
    """A revision after the code checks alone, unless one was made or there can be none."""
    if any(attempt.verdict and attempt.verdict.action == "revise" for attempt in state.earlier):
        return _by_code(state, checks, "label_unverified")
    if why := _why_last_attempt(state, deps):
        objections = [*checks.objections, why]
        return _by_code(state, checks.model_copy(update={"objections": objections}), "label_unverified")
    return _by_code(state, checks, "revise")


def _by_code(state: ConversationState, checks: Grounding, action: CriticAction) -> Critique:
    return Critique(
        grounded=checks.grounded,
        coverage=checks.coverage,
        objections=checks.objections,
        action=action,
        attempt=state.attempt.number,
    )


def _by_model(
    state: ConversationState, checks: Grounding, model_verdict: CriticVerdict, deps: Deps
) -> tuple[Critique, str]:
    """Both verdicts combined: the model can add objections to those of the code checks, never remove one."""
    action: CriticAction = model_verdict.action
    why = None
    if action == "accept" or (action == "revise" and not is_proven_wrong(checks)):
        # Only a sentence that is known to be wrong is written again.
        agreed = action == "accept" and passes_checks(checks) and model_verdict.grounded
        action = "accept" if agreed else "label_unverified"
    elif why := _why_last_attempt(state, deps):
        action = "label_unverified"
    verdict = Critique(
        grounded=checks.grounded and model_verdict.grounded,
        coverage=min(checks.coverage, model_verdict.coverage),
        objections=list(dict.fromkeys([*checks.objections, *model_verdict.objections, *filter(None, [why])])),
        action=action,
        attempt=state.attempt.number,
        by="model",
    )
    return verdict, model_verdict.query.strip()[:MAX_QUERY_CHARACTERS]


def _why_last_attempt(state: ConversationState, deps: Deps) -> Objection | None:
    """The reason why there is no further attempt; None if there can be one."""
    settings = deps.settings
    judges = settings.critic in ("auto", "always")
    if state.attempt.number > settings.critic_max_retries:
        why = f"CRITIC_MAX_RETRIES is {settings.critic_max_retries}"
    elif _calls_left(state, deps) < 1 + int(judges):
        why = "the turn has too few model calls left"
    elif seconds_left(deps) <= 0:
        why = "the turn has no time left"
    else:
        return None
    return Objection(code="no_further_attempt", text=f"No further attempt was made: {why}.")


def _calls_left(state: ConversationState, deps: Deps) -> int:
    """The model calls left. Those of document_chat count, which writes the answers of its turns."""
    answers = deps.budget.by_tools.model_calls if state.blob_names else 0
    return deps.budget.calls_left - answers


def with_coverage_gaps(checks: Grounding, state: ConversationState) -> Grounding:
    """The checks; a "not found" answer counts only if every accessible source was searched."""
    if not checks.not_found or not (gaps := list(dict.fromkeys(_gaps(state)))):
        return checks
    changed = {"not_found": False, "grounded": False, "objections": [*checks.objections, *gaps]}
    return checks.model_copy(update=changed)


def _gaps(state: ConversationState) -> Iterator[Objection]:
    for file in state.files:
        if file.status == "failed":
            text = f"{file.blob_name} could not be read: {file.reason or 'its text is not ready.'}"
            yield Objection(code="not_read", text=text, name=file.blob_name)
    if state.document_reply and (left_out := state.document_reply.metadata.left_out):
        text = f"{left_out} of the passages or pages did not fit into the model's window."
        yield Objection(code="not_fitting", text=text, number=left_out)
    if not state.blob_names:
        yield from _search_gaps(state)


def _search_gaps(state: ConversationState) -> Iterator[Objection]:
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
