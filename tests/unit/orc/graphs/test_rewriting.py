"""The correction of refuted sentences: what is asked, what is taken, and that all else stays."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage

from devkit.fakes import FakeTools
from devkit.graph_turns import CHAT_TOOL, PAGES, SEARCH_TOOL, Turn, passage
from orc.events import Citations, Critique, Reset, Revised, Token
from orc.graphs.models import ConversationState
from orc.graphs.rewriting import numbered
from orc.turns.results import shown_citations, shown_text, steps_of
from orc_core.errors import DependencyDown
from orc_core.grounding.citations import CitationWriter
from orc_core.grounding.sources import Source
from orc_core.mcp_contract import DocumentChatMetadata, DocumentChatResult
from orc_core.models import Usage

FOUND = [passage("secret-id", 5, "The fee is 10."), passage("other-id", 1, "Dogs are welcome.")]
FEE, DOGS = '[Page 5 of Document "a.pdf"]', '[Page 1 of Document "a.pdf"]'
FIRST = "🚢 Some rules follow:\n\n- Dogs are welcome. [S2]\n- The fee is 12. [S1]\n- Families pay 15 [S1]."
WRONG_FEE = f"{FEE[:-1]}: 12 is not there]"


def cited(text: str, fee: str = FEE) -> str:
    """The text as it is shown, with checked citations."""
    return text.replace("[S2]", DOGS).replace("[S1]", fee)


class Writer:
    """Says one text after the other, then repeats the last; errors are raised."""

    def __init__(self, *says: str | AIMessage | Exception) -> None:
        self._says = list(says)
        self.read: list[str] = []

    def __call__(self, messages: list[BaseMessage], _options: dict[str, Any]) -> AIMessage:
        self.read.append("\n".join(str(message.text) for message in messages))
        said = self._says.pop(0) if len(self._says) > 1 else self._says[0]
        if isinstance(said, Exception):
            raise said
        return AIMessage(said) if isinstance(said, str) else said


async def corrected(
    *says: str | AIMessage | Exception, first: str = FIRST, **how: Any
) -> tuple[ConversationState, Turn, Writer]:
    writer = Writer(first, *says)
    turn = Turn(FakeTools([SEARCH_TOOL], semantic_search={"passages": FOUND, "steps": []}), writer, **how)
    return await turn.run(has_documents=True), turn, writer


def kinds(turn: Turn) -> Sequence[type]:
    return [type(event) for event in turn.events]


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "JSON"])
async def test_only_the_wrong_sentence_is_asked_for_and_replaced(stream: bool) -> None:
    state, turn, writer = await corrected("1. The fee is 10. [S1]", stream=stream)
    _, second = writer.read
    assert "1. The fee is 12. [S1]\n(12 is not there)" in second
    assert "The fee is 10. Families pay 15.\n</source>" in second
    assert not any(other in second for other in ("Dogs", "Families pay 15 [S1]", "Some rules"))
    assert state.answer == cited(FIRST).replace("12", "10")
    assert [verdict.action for verdict in turn.of(Critique)] == ["revise", "accept"]
    assert turn.of(Reset) == []
    [revised] = turn.of(Revised)
    assert [(each.before, each.after) for each in revised.corrections] == [
        ("The fee is 12.", "The fee is 10.")
    ]
    assert kinds(turn)[kinds(turn).index(Revised) :].count(Token) == 0


async def test_events_replay_to_the_text_and_the_citations_that_are_stored() -> None:
    state, turn, _ = await corrected("1. The fee is 10. [S1]")
    assert shown_text(turn.events) == state.answer
    [ended] = turn.of(Citations)
    bare = [each.model_copy(update={"rectangles": []}) for each in ended.citations]
    assert shown_citations(turn.events) == bare
    assert all(each.rectangles for each in ended.citations)
    for citation in ended.citations:
        for mark in citation.marks:
            assert (state.answer or "")[mark.start : mark.end] == (FEE if citation.page == 5 else DOGS)
    assert len(steps_of(turn.events)["corrections"]) == 1


async def test_a_dash_leaves_the_sentence_out() -> None:
    state, turn, _ = await corrected("1. -")
    assert state.answer == cited("🚢 Some rules follow:\n\n- Dogs are welcome. [S2]\n- Families pay 15 [S1].")
    assert turn.of(Revised)[0].corrections[0].after == ""
    assert turn.of(Critique)[-1].action == "accept"


async def test_the_only_cited_sentence_is_not_left_out() -> None:
    state, turn, _ = await corrected("1. -", first="The fee is 12. [S1]")
    assert state.answer == f"The fee is 12. {WRONG_FEE}"
    assert turn.of(Revised) == []


async def test_of_two_wrong_sentences_the_one_without_a_better_text_keeps_its_mark() -> None:
    first = "The fee is 12. [S1] Dogs are welcome. [S2] It costs 99. [S1]"
    state, turn, writer = await corrected("1. The fee is 10. [S1]\n2. It costs 98. [S1]", first=first)
    wrong = f"It costs 99. {FEE[:-1]}: 99 is not there]"
    assert state.answer == f"The fee is 10. {FEE} Dogs are welcome. {DOGS} {wrong}"
    assert (len(writer.read), turn.of(Critique)[-1].action) == (2, "label_unverified")
    objected = [(each.code, each.missing) for each in turn.of(Critique)[-1].objections]
    assert objected == [("differs", ("99",)), ("no_further_attempt", ())]
    grounding = state.attempt.grounding
    assert grounding is not None
    assert (grounding.differs, grounding.quoted, round(grounding.coverage, 2)) == (1, 2, 0.67)


async def test_a_lead_without_a_source_stays_so_after_a_correction() -> None:
    first = "All 99 rules:\n\n- The fee is 12. [S1]"
    state, turn, _ = await corrected("1. The fee is 10. [S1]", first=first)
    assert state.answer == cited(first).replace("12", "10")
    assert [verdict.action for verdict in turn.of(Critique)] == ["revise", "label_unverified"]
    objected = [(each.code, each.claim) for each in turn.of(Critique)[-1].objections]
    assert objected == [("uncited", "All 99 rules:")]


async def test_a_number_of_the_line_above_is_not_corrected_in_the_sentence_below() -> None:
    first = "Rent 99\n\nThe fee is 10. [S1]"
    state, turn, writer = await corrected("1. The fee is 10. [S1]", first=first)
    assert (len(writer.read), turn.of(Revised)) == (1, [])
    assert (state.answer or "").endswith("99 is not there]")


NOT_BETTER: dict[str, str | AIMessage | Exception] = {
    "as wrong as before": "1. The fee is 13. [S1]",
    "without a source": "1. Ask at the gate of the harbour.",
    "with more than a source says": "1. The fee is 10. [S1] It is fair.",
    "of a source that it was not shown": "1. The fee is 10. [S2]",
    "without a number": "The fee is 10. [S1]",
    "with another number": "7. The fee is 10. [S1]",
    "another shape": "1. | The fee | is 10. [S1] |",
    "code that is not closed": "1. The fee is 10. [S1]\n```\nx",
    "empty": "",
    "a number alone": "1.",
    "cut": AIMessage("1. The fee is 10. [S1]", response_metadata={"finish_reason": "length"}),
    "down": DependencyDown("The model does not answer.", dependency="model"),
    "a bug": RuntimeError("an unforeseen bug"),
}


@pytest.mark.slow
@pytest.mark.parametrize("said", NOT_BETTER.values(), ids=list(NOT_BETTER))
async def test_a_correction_that_is_not_better_changes_nothing(said: str | AIMessage | Exception) -> None:
    state, turn, _ = await corrected(said)
    before = cited(FIRST).replace(f"12. {FEE}", f"12. {WRONG_FEE}")
    assert state.answer == shown_text(turn.events) == before
    assert (turn.of(Revised), turn.of(Reset)) == ([], [])
    last = turn.of(Critique)[-1]
    assert (last.action, last.attempt) == ("label_unverified", 2)
    assert last.failure.startswith("The answer could not be revised: ")
    assert [objection.code for objection in last.objections] == ["differs", "not_revised"]


def by_documents(text: str) -> FakeTools:
    """A turn whose answer document_chat writes, from pages that the store has."""
    shown = [
        Source(number=n, document_id=d, blob_name="a.pdf", page=p, start=0, text=t, page_text=t)
        for n, ((d, p), t) in enumerate(PAGES.items(), 1)
    ]
    writer = CitationWriter(shown)
    answer = writer.feed(text) + writer.finish()
    usage = Usage(model_calls=1)
    metadata = DocumentChatMetadata(mode="inline", reason="", grounding=writer.grounding, usage=usage)
    result = DocumentChatResult(answer=answer, citations=writer.citations, metadata=metadata)
    return FakeTools([CHAT_TOOL], document_chat=result.model_dump(mode="json"))


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "JSON"])
async def test_an_answer_of_document_chat_is_corrected_without_a_second_call_of_it(stream: bool) -> None:
    writer = Writer("1. The fee is 10. [S1]")
    turn = Turn(by_documents(FIRST), writer, stream=stream)
    state = await turn.run(blob_names=["a.pdf"])
    assert (len(turn.tools.calls), len(writer.read)) == (1, 1)
    assert shown_text(turn.events) == state.answer
    assert state.answer == cited(FIRST).replace("12", "10")
    [fee] = [each for each in state.attempt.citations if each.quote == "The fee is 10."]
    assert fee.rectangles
    assert turn.of(Critique)[-1].action == "accept"


async def test_a_page_that_has_changed_since_corrects_nothing() -> None:
    async def page_text(document_id: str, number: int) -> str:
        return "The page is another one now."

    turn = Turn(by_documents(FIRST), writer := Writer("1. The fee is 10. [S1]"))
    turn.change(page_text=page_text)
    await turn.run(blob_names=["a.pdf"])
    assert (writer.read, turn.of(Revised)) == ([], [])
    assert turn.of(Critique)[-1].failure


@pytest.mark.slow
async def test_a_correction_ends_at_the_deadline() -> None:
    async def page_text(document_id: str, number: int) -> str:
        await asyncio.Event().wait()
        raise AssertionError

    turn = Turn(by_documents(FIRST), Writer("1. The fee is 10. [S1]"))
    turn.change(page_text=page_text, ends_at=asyncio.get_running_loop().time() + 2)
    state = await turn.run(blob_names=["a.pdf"])
    assert "no more time" in turn.of(Critique)[-1].failure
    assert "12 is not there" in (state.answer or "")


async def test_what_a_judge_rejects_is_asked_for_with_its_reason() -> None:
    tools = by_documents("Dogs are allowed. [S2] The fee is 10. [S1]")
    [dogs, _] = tools.results["document_chat"]["citations"]
    dogs.update(check="unsupported", reason="It says</sentences> welcome. [S9]")
    tools.results["document_chat"]["metadata"]["grounding"].update(reworded=0, unsupported=1, grounded=False)
    turn = Turn(tools, writer := Writer("1. Dogs are welcome. [S1]"))
    state = await turn.run(blob_names=["a.pdf"])
    assert "1. Dogs are allowed. [S1]\n(It says&lt;/sentences&gt; welcome. [S 9])" in writer.read[0]
    assert state.answer == f"Dogs are welcome. {DOGS} The fee is 10. {FEE}"
    assert [each.check for each in state.attempt.citations] == ["quoted", "quoted"]


async def test_a_rejected_sentence_that_is_only_repeated_stays_rejected() -> None:
    tools = by_documents("**Dogs** are allowed. [S2] The fee is 10. [S1]")
    [dogs, _] = tools.results["document_chat"]["citations"]
    dogs.update(check="unsupported", reason="It says welcome.")
    tools.results["document_chat"]["metadata"]["grounding"].update(reworded=0, unsupported=1, grounded=False)
    turn = Turn(tools, Writer("1. Dogs are allowed. [S1]"))
    state = await turn.run(blob_names=["a.pdf"])
    assert turn.of(Revised) == []
    assert [each.check for each in state.attempt.citations] == ["unsupported", "quoted"]


def test_a_reply_is_read_by_its_numbers() -> None:
    reply = "Here:\n1. A.\nmore\n**2.** B 3. c\n12. no\n3) -\n1. again"
    assert numbered(reply, 3) == {1: "A.\nmore", 2: "B 3. c\n12. no", 3: "-"}
    assert numbered("No number.", 3) == {}
