"""Coverage gaps: an answer that nothing was found is accepted only if everything was searched."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from devkit.fakes import FakeTools, Script
from devkit.graph_turns import (
    CHAT_TOOL,
    LIST_TOOL,
    MODEL_CHOOSES,
    SEARCH_TOOL,
    Turn,
    passage,
    reasons,
    says,
)
from orc.events import Critique
from orc.graphs.critic import with_coverage_gaps
from orc.graphs.models import ConversationState, ToolResult
from orc.graphs.tool_context import TOO_LONG
from orc_core.errors import DependencyDown, ToolFailed
from orc_core.grounding.closest import NOT_FOUND_ANSWER
from orc_core.grounding.models import Grounding
from orc_core.mcp_contract import DocumentChatMetadata, DocumentChatResult, FileStatus

FOUND = {"passages": [passage("secret-id", 5, "The fee is 10.")], "steps": []}
SEARCHED = {"filename": "a.pdf", "searched": True, "reason": None}
UNSEARCHED = {"filename": "b.pdf", "searched": False, "reason": "It has a password."}
NOTHING = Grounding(grounded=False, not_found=True)


def verdict_on(turn: Turn) -> tuple[str, str]:
    verdict = turn.of(Critique)[-1]
    return verdict.action, " ".join(verdict.issues)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("found", "action", "why"),
    [
        (FOUND, "accept", ""),
        ({**FOUND, "documents": [SEARCHED]}, "accept", ""),
        (
            {**FOUND, "documents": [SEARCHED, UNSEARCHED]},
            "label_unverified",
            "b.pdf was not searched: It has",
        ),
        (ToolFailed("It broke."), "label_unverified", "Nothing could be looked up in the documents"),
        (
            DependencyDown("No answer.", dependency="mcp_server"),
            "label_unverified",
            "Nothing could be looked up",
        ),
    ],
    ids=["searched", "all searched", "one not searched", "failed", "down"],
)
@pytest.mark.parametrize("more", ["", " The fee is 10. [S1]"], ids=["alone", "cited"])
async def test_not_found_after_a_failed_lookup_is_not_accepted(
    found: Any, action: str, why: str, more: str
) -> None:
    more = more if isinstance(found, dict) else ""
    turn = Turn(FakeTools([SEARCH_TOOL], semantic_search=found), says(f"{NOT_FOUND_ANSWER}{more}"))
    state = await turn.run(has_documents=True)
    given, shown = verdict_on(turn)
    assert state.attempt.grounding is not None
    if more:
        assert (given, state.attempt.grounding.not_found) == ("accept", False)
        return
    assert (given, state.attempt.grounding.not_found) == (action, action == "accept")
    assert why in shown


@pytest.mark.parametrize(("counts", "total"), [({"documents": 260, "unread": 240}, 240), (None, 0)])
async def test_documents_that_a_search_of_very_many_could_not_reach_are_counted(
    counts: dict[str, int] | None, total: int
) -> None:
    found: dict[str, Any] = {"passages": [], "steps": [], "counts": counts}
    turn = Turn(FakeTools([SEARCH_TOOL], semantic_search=found), says(NOT_FOUND_ANSWER))
    assert (await turn.run(has_documents=True)).not_searched.total == total


def answered_from(files: list[FileStatus], left_out: int = 0) -> FakeTools:
    metadata = DocumentChatMetadata(
        mode="inline", reason="it fits", files=files, left_out=left_out, grounding=NOTHING
    )
    result = DocumentChatResult(answer=NOT_FOUND_ANSWER, metadata=metadata)
    return FakeTools([CHAT_TOOL], document_chat=result.model_dump(mode="json"))


READ = FileStatus(blob_name="a.pdf", status="created")
UNREAD = FileStatus(blob_name="b.pdf", status="failed", reason="It has a password.")


@pytest.mark.parametrize(
    ("files", "left_out", "action", "why"),
    [
        ([READ], 0, "accept", ""),
        ([READ, UNREAD], 0, "label_unverified", "b.pdf could not be read: It has a password."),
        ([READ], 2, "label_unverified", "2 of the passages or pages did not fit"),
    ],
)
async def test_not_found_is_not_accepted_if_a_named_document_was_not_read_in_full(
    files: list[FileStatus], left_out: int, action: str, why: str
) -> None:
    turn = Turn(answered_from(files, left_out))
    await turn.run(blob_names=["a.pdf", "b.pdf"])
    given, shown = verdict_on(turn)
    assert (given, why in shown) == (action, True)


@pytest.mark.parametrize(
    ("has_documents", "results", "accepted"),
    [
        (True, [ToolResult(name="web_search", content={"results": []})], False),
        (False, [ToolResult(name="web_search", content={"results": []})], True),
        (True, [ToolResult(name="semantic_search", content=TOO_LONG)], False),
        (True, [ToolResult(name="documents_list", content={"documents": []})], False),
        (True, [ToolResult(name="get_ontology", content={"entity_types": []})], False),
        (True, [ToolResult(name="get_page", error="gone"), ToolResult(name="semantic_search")], True),
    ],
    ids=[
        "the web alone",
        "the web, and no documents",
        "nothing shown",
        "the list alone",
        "the vocabulary alone",
        "one of two",
    ],
)
def test_which_results_count_as_searched(
    has_documents: bool, results: list[ToolResult], accepted: bool
) -> None:
    state = ConversationState(
        question="q", conversation_id="c", has_documents=has_documents, tool_results=results
    )
    assert with_coverage_gaps(NOTHING, state).not_found is accepted


FEE = "The fee is 99 euros according to the contract."


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "answer", "is_talk"),
    [
        ("And the fee?", FEE, False),
        ("And the fee?", NOT_FOUND_ANSWER, False),
        ("What is this about?", FEE, False),
        ("What is this about?", "About what do you ask? [talk]", True),
    ],
)
@pytest.mark.parametrize("off", [False, True], ids=["offered", "switched off"])
async def test_an_answer_without_the_planned_lookup_is_judged(
    question: str, answer: str, is_talk: bool, off: bool
) -> None:
    switched_off = frozenset({"semantic_search"} if off else ())
    turn = asking(FakeTools([SEARCH_TOOL, LIST_TOOL]), says(answer), tools_off=switched_off)
    state = await asked(turn, question)
    assert reasons(state)[-1] == ("", "not_looked_up")
    assert [verdict.action for verdict in turn.of(Critique)] == ([] if is_talk else ["label_unverified"])


@pytest.mark.parametrize(
    ("question", "answer", "is_talk"),
    [
        ("Which documents do I have?", "You have 1 document: lease 2024.pdf.", True),
        ("Which documents do I have?", "You have a lease. The fee is 99 euros.", False),
        ("And the fee?", "The lease allows dogs.", False),
    ],
)
async def test_only_a_plain_list_of_documents_needs_no_sources(
    question: str, answer: str, is_talk: bool
) -> None:
    def script(messages: list[BaseMessage], _options: dict[str, Any]) -> AIMessage:
        if isinstance(messages[-1], ToolMessage):
            return AIMessage(answer)
        return AIMessage("", tool_calls=[{"name": "documents_list", "args": {}, "id": "1"}])

    listed = {"documents": [{"document_id": "secret-id", "filename": "lease 2024.pdf"}]}
    turn = asking(FakeTools([LIST_TOOL], documents_list=listed), script)
    await asked(turn, question)
    assert [name for name, _ in turn.tools.calls] == ["documents_list"]
    assert [verdict.action for verdict in turn.of(Critique)] == ([] if is_talk else ["label_unverified"])


@pytest.mark.parametrize("said", [" \n ", "[S1]"])
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "JSON"])
async def test_an_empty_answer_is_a_failure(said: str, stream: bool) -> None:
    turn = Turn(FakeTools([SEARCH_TOOL], semantic_search=FOUND), says(said), stream=stream)
    with pytest.raises(DependencyDown, match="empty answer"):
        await turn.run(has_documents=True)


def asking(tools: FakeTools, script: Script, **how: Any) -> Turn:
    return Turn(tools, script, intents=MODEL_CHOOSES, critic="off", **how)


async def asked(turn: Turn, question: str) -> ConversationState:
    given = ConversationState(question=question, conversation_id="c", has_documents=True)
    return await turn.run_from(given)
