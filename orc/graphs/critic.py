"""What was not looked into for an answer that says that nothing was found: it counts only without gaps."""

from collections.abc import Iterator
from typing import Any

from langgraph.runtime import Runtime

from core.errors import OrcError
from core.grounding.models import Grounding
from core.models import Record
from orc.events import CriticAction, Critique
from orc.graphs.critic_model import LONGEST_QUERY, Judgement, judge, seconds_left
from orc.graphs.models import ConversationState, Deps
from orc.graphs.revision import is_worse, passes, put_back, withdraw
from orc.graphs.tool_context import TOO_LONG
from orc.graphs.utils import changes
from orc.tools.ports import DOCUMENT_CHAT, LISTING, WEB_SEARCH


def as_looked_into(checks: Grounding, state: ConversationState) -> Grounding:
    """The checks of the answer; where it finds nothing and not all was looked into, they accept it no more,
    and say why."""
    if not checks.not_found or not (gaps := list(dict.fromkeys(_gaps(state)))):
        return checks
    return checks.model_copy(
        update={"not_found": False, "grounded": False, "issues": [*checks.issues, *gaps]}
    )


def _gaps(state: ConversationState) -> Iterator[str]:
    for file in state.files:
        if file.status == "failed":
            yield f"{file.blob_name} could not be read: {file.reason or 'its text is not ready.'}"
    if state.left_out:
        yield f"{state.left_out} of the passages or pages did not fit into the model's window."
    if not state.blob_names:
        yield from _gaps_of_tools(state)


def _gaps_of_tools(state: ConversationState) -> Iterator[str]:
    """What is told of documents where there are some, and of the web where there are none."""
    beside = {LISTING, DOCUMENT_CHAT, WEB_SEARCH} if state.has_documents else {LISTING, DOCUMENT_CHAT}
    results = [result for result in state.tool_results if result.name not in beside]
    found = [result for result in results if not result.error and result.content != TOO_LONG]
    if not found:
        where = "in the documents" if state.has_documents else "anywhere"
        yield f"Nothing could be looked up {where}, so that nothing was found there says nothing."
    for result in found:
        documents = result.content.get("documents")
        for document in documents if isinstance(documents, list) else []:
            if isinstance(document, dict) and document.get("searched") is False:
                yield f"{document.get('filename')} was not searched: {document.get('reason')}"


UNREAD = "Some of the pages that were found have not been read in full."
WORSE = "The revised answer was worse by the code checks, so the earlier one is given."


class Verdict(Record):
    """What is to become of an answer. `query`: what the next attempt should look for."""

    critique: Critique
    query: str = ""


async def critique(state: ConversationState, runtime: Runtime[Deps]) -> dict[str, Any]:
    """Judge the answer. Talk that no document was asked about has nothing to be judged by."""
    deps = runtime.context
    if state.grounding is not None:
        state = state.model_copy(update={"grounding": as_looked_into(state.grounding, state)})
    if state.earlier is not None and (why := _why_it_falls(state, state.earlier.grounding)):
        return _return_to_earlier(state, deps, why)
    if state.grounding is None:
        return {}
    verdict = await _verdict(state, state.grounding, deps)
    deps.emit(verdict.critique)
    update = changes(verdicts=[*state.verdicts, verdict.critique], grounding=state.grounding)
    if verdict.critique.action in ("revise", "retrieve"):
        update |= withdraw(state, deps, verdict.critique, verdict.query)
    return update


def _why_it_falls(state: ConversationState, earlier: Grounding) -> str | None:
    """Why the revision is not given; None where it is."""
    if state.revision_failure is not None:
        return f"The answer could not be revised: {state.revision_failure}"
    return WORSE if state.grounding is None or is_worse(state.grounding, earlier) else None


def _return_to_earlier(state: ConversationState, deps: Deps, why: str) -> dict[str, Any]:
    assert state.earlier is not None
    update = put_back(state.earlier, deps)
    before = state.verdicts[-1]
    verdict = Critique(
        grounded=before.grounded,
        coverage=before.coverage,
        issues=[*before.issues, why],
        action="label_unverified",
        attempt=state.attempt,
        failure=why if state.revision_failure is not None else None,
    )
    deps.emit(verdict)
    return changes(verdicts=[*state.verdicts, verdict]) | update


async def _verdict(state: ConversationState, checks: Grounding, deps: Deps) -> Verdict:
    if state.references and not checks.grounded:
        # That nothing was found says little while summaries are all that was looked at.
        why = _why_no_more(state, deps)
        issues = [*checks.issues, UNREAD, *filter(None, [why])]
        checks = checks.model_copy(update={"not_found": False, "issues": issues})
        if why is None:
            return _by_code(state, checks, "retrieve")
    if not _asks_model(state, checks, deps):
        return _by_code(state, checks, "accept" if passes(checks) else "label_unverified")
    try:
        judgement = await judge(state, deps)
    except OrcError as exc:
        return _unjudged(state, checks, f"The critic could not judge the answer: {exc.message}")
    return _by_model(state, checks, judgement, deps)


def _asks_model(state: ConversationState, checks: Grounding, deps: Deps) -> bool:
    """Whether the setting has a model judge this answer, which must speak of what tools found."""
    if not state.tool_results or deps.policy.critic == "off":
        return False
    return deps.policy.critic == "always" or not passes(checks)


def _by_code(state: ConversationState, checks: Grounding, action: CriticAction) -> Verdict:
    return Verdict(
        critique=Critique(
            grounded=checks.grounded,
            coverage=checks.coverage,
            issues=checks.issues,
            action=action,
            attempt=state.attempt,
        )
    )


def _unjudged(state: ConversationState, checks: Grounding, failure: str) -> Verdict:
    verdict = _by_code(state, checks, "label_unverified").critique
    return Verdict(critique=verdict.model_copy(update={"by": "model", "failure": failure}))


def _by_model(state: ConversationState, checks: Grounding, judgement: Judgement, deps: Deps) -> Verdict:
    """Both together: the model can find more fault than the code checks, never less."""
    action, issues = _action(state, checks, judgement, deps)
    verdict = Critique(
        grounded=checks.grounded and judgement.grounded,
        coverage=min(checks.coverage, judgement.coverage),
        issues=list(dict.fromkeys([*checks.issues, *judgement.told, *issues])),
        action=action,
        attempt=state.attempt,
        by="model",
    )
    return Verdict(critique=verdict, query=judgement.query.strip()[:LONGEST_QUERY])


def _action(
    state: ConversationState, checks: Grounding, judgement: Judgement, deps: Deps
) -> tuple[CriticAction, list[str]]:
    if judgement.action == "accept":
        agreed = passes(checks) and judgement.grounded
        return ("accept" if agreed else "label_unverified"), []
    if (why := _why_no_more(state, deps)) is not None:
        return "label_unverified", [why]
    return judgement.action, []


def _why_no_more(state: ConversationState, deps: Deps) -> str | None:
    """Why there is no further attempt; None where there can be one."""
    policy, meter = deps.policy, deps.meter
    if state.attempt > policy.critic_max_retries:
        return f"No further attempt was made: CRITIC_MAX_RETRIES is {policy.critic_max_retries}."
    needed = int(not state.blob_names) + int(policy.critic != "off")
    if meter.calls_left < needed:
        return "No further attempt was made: the turn has too few model calls left."
    if seconds_left(deps) <= 0:
        return "No further attempt was made: the turn has no time left."
    return None
