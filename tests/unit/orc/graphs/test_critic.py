"""The critique of answers: what is accepted, revised and labelled, and that no answer is lost."""

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage

from devkit.fakes import FakeTools, WordCounter, models_of
from devkit.graph_turns import CHAT_TOOL, SEARCH_TOOL, Turn, passage
from orc.events import CitationMarked, Citations, Context, Critique, Revised, without_rectangles
from orc.graphs.models import ConversationState
from orc.graphs.second_reading import MOST_SENTENCES
from orc.tools.ports import ToolSchema
from orc.turns.results import critic_summary_of, shown_citations
from orc.turns.results import shown_text as shown
from orc_core.errors import DependencyDown, OrcError, ToolFailed
from orc_core.grounding.citations import CUT_NOTE, WITHOUT_SOURCE, checked
from orc_core.grounding.closest import NOT_FOUND_ANSWER
from orc_core.grounding.sources import Source
from orc_core.llm.chat_model import CallBudget, ChatModel
from orc_core.llm.structured_outputs import Abilities
from orc_core.mcp_contract import DocumentChatMetadata, DocumentChatResult
from orc_core.models import Usage

REWORDED = "You pay 10. [S1]"
GOOD, BETTER = "The fee is 10. [S1]", "The fee is 10. [S1] Families pay 15. [S2]"
BAD, WORST = "The fee is 10. [S1] The fee is 12. [S1]", "The fee is 12. [S1] Dogs pay 7. [S2]"
FOUND = [passage("secret-id", 5, "The fee is 10."), passage("secret-id", 5, "Families pay 15.")]
MORE = passage("other-id", 1, "Dogs are welcome.")
CUT = {"finish_reason": "length"}

Said = str | dict[str, Any] | AIMessage | Exception


def judged(*verdicts: str, action: str = "accept", **fields: Any) -> dict[str, Any]:
    """A judge's reply with these verdicts, with a quote and a reason for each."""
    said = [
        {"sentence": number, "quote": "The fee  is 10.", "reason": "It says\nso.", "verdict": verdict}
        for number, verdict in enumerate(verdicts, 1)
    ]
    return {"sentences": said, "coverage": 1.0, "action": action, "query": "", **fields}


SUPPORTED, UNSUPPORTED = judged("supported"), judged("unsupported", action="revise")
MORE_WANTED = judged("unsupported", action="retrieve", query="families")


class ScriptedTexts:
    """Returns one text after the other to the writer's and the judge's prompts, then repeats the last."""

    def __init__(self, writes: Sequence[Said], judges: Sequence[Said] = ()) -> None:
        self._writes, self._judges = list(writes), list(judges)
        self.read: list[str] = []
        self.judged: list[str] = []

    def __call__(self, messages: list[BaseMessage], options: dict[str, Any]) -> AIMessage:
        is_judge = options.get("tool_choice") == "CriticVerdict"
        queue = self._judges if is_judge else self._writes
        (self.judged if is_judge else self.read).append("\n".join(str(m.text) for m in messages))
        said = queue.pop(0) if len(queue) > 1 else queue[0]
        if isinstance(said, Exception):
            raise said
        if isinstance(said, dict):
            return AIMessage("", tool_calls=[{"name": "CriticVerdict", "args": said, "id": "1"}])
        return said if isinstance(said, AIMessage) else AIMessage(said)


def searching(talk: ScriptedTexts, *, has_judge: bool = True, **how: Any) -> Turn:
    tools = FakeTools([SEARCH_TOOL], semantic_search={"passages": FOUND, "steps": []})
    return Turn(tools, talk, has_judge=has_judge, **how)


async def asked(turn: Turn) -> ConversationState:
    return await turn.run(has_documents=True)


def actions(turn: Turn) -> list[str]:
    return [verdict.action for verdict in turn.of(Critique)]


async def test_with_the_critic_off_what_is_wrong_is_only_marked() -> None:
    turn = searching(talk := ScriptedTexts([f"{BAD} {REWORDED}"]), critic="off")
    state = await asked(turn)
    [verdict] = turn.of(Critique)
    assert (verdict.action, verdict.by, verdict.attempt) == ("label_unverified", "code", 1)
    assert [citation.check for citation in state.attempt.citations] == ["quoted", "differs", "reworded"]
    assert (len(talk.read), talk.judged) == (1, [])


@pytest.mark.parametrize("says", [GOOD, NOT_FOUND_ANSWER, "Paris is a capital.", "The fee is 10. [S1][S2]"])
@pytest.mark.parametrize("named", [True, False], ids=["named", "unnamed"])
async def test_no_judge_is_asked_about_an_answer_without_undecided_sentences(says: str, named: bool) -> None:
    turn, talk = by_default(named, says, has_judge=True)
    await turn.run(**ASKS[named])
    assert talk.judged == []
    searches_on = says == NOT_FOUND_ANSWER and not named
    assert turn.uses.context.budget.total.model_calls == 1 + searches_on


@pytest.mark.parametrize(("said", "quote"), [(SUPPORTED, "The fee is 10."), (UNSUPPORTED, "")])
@pytest.mark.parametrize("named", [True, False], ids=["named", "unnamed"])
async def test_a_judge_names_the_place_of_a_sentence_without_a_word_of_its_page(
    said: Said, quote: str, named: bool
) -> None:
    turn, talk = by_default(
        named, "Membership costs money. [S1]", judges=[said], has_judge=True, critic_max_retries=0
    )
    state = await turn.run(**ASKS[named])
    assert "The fee is 10." in talk.judged[0]
    [citation] = state.attempt.citations
    assert (citation.quote, citation.check) == (quote, "supported" if quote else "unsupported")
    assert [marked.citation.quote for marked in turn.of(CitationMarked)] in ([], [""])
    [located] = turn.of(Citations)[-1].citations
    assert located.quote == quote


@pytest.mark.parametrize(
    ("said", "check", "reason", "counts"),
    [(SUPPORTED, "supported", "", (1, 0, 0)), (UNSUPPORTED, "unsupported", "It says so.", (0, 0, 1))],
    ids=["supported", "unsupported"],
)
@pytest.mark.parametrize("named", [True, False], ids=["named", "unnamed"])
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "JSON"])
async def test_a_verdict_changes_the_citation_everywhere(
    said: Said, check: str, reason: str, counts: tuple[int, int, int], named: bool, stream: bool
) -> None:
    turn, talk = by_default(
        named, REWORDED, judges=[said], has_judge=True, stream=stream, critic_max_retries=0
    )
    state = await turn.run(**ASKS[named])
    [citation], [verdict] = state.attempt.citations, turn.of(Critique)
    assert (citation.check, citation.reason, citation.verified) == (check, reason, check == "supported")
    assert [(each.check, each.marks) for each in verdict.citations] == [(check, citation.marks)]
    streamed = [marked.citation.check for marked in turn.of(CitationMarked)]
    assert streamed == ([] if named and stream else ["reworded"]), "the text did not wait for the judge"
    assert turn.of(Citations)[-1].citations[0].check == check
    checks = state.attempt.grounding
    assert checks is not None
    assert (checks.supported, checks.reworded, checks.unsupported) == counts
    assert (checks.grounded, checks.coverage) == (check == "supported", float(check == "supported"))
    assert (verdict.by, verdict.action) == (
        "model",
        "accept" if check == "supported" else "label_unverified",
    )
    assert (len(talk.judged), turn.uses.context.budget.total.model_calls) == (1, 2)
    result = critic_summary_of(state)
    assert (result["citations"], result[check], result["by"]) == (1, 1, "model")


@pytest.mark.parametrize("named", [True, False], ids=["named", "unnamed"])
async def test_the_judge_reads_what_is_new_in_a_corrected_answer(named: bool) -> None:
    wrong, better = f"{REWORDED} {GOOD} It is 12. [S1]", "1. All pay 10. [S1]"
    judges = [judged("unknown"), SUPPORTED]
    turn, talk = by_default(named, wrong, better, judges=judges, has_judge=True)
    state = await turn.run(**ASKS[named])
    assert actions(turn) == ["revise", "accept"]
    first, second = talk.judged
    assert "You pay 10." in first
    assert "All pay 10." in second
    assert "You pay 10." not in second
    assert [each.check for each in state.attempt.citations] == ["reworded", "supported", "quoted"]
    bare = without_rectangles(state.attempt.citations)
    assert shown_citations(turn.events) == turn.of(Critique)[-1].citations == bare
    assert without_rectangles(turn.of(Citations)[-1].citations) == bare
    checks = state.attempt.grounding
    assert checks is not None
    assert (checks.reworded, checks.quoted, checks.supported, checks.differs) == (1, 1, 1, 0)
    assert (checks.grounded, checks.coverage, checks.objections) == (True, 1.0, [])
    for citation in state.attempt.citations:
        for mark in citation.marks:
            assert (state.answer or "")[mark.start : mark.end] == '[Page 5 of Document "a.pdf"]'


async def test_without_a_call_left_a_correction_stays_as_code_knows_it() -> None:
    turn, talk = by_default(False, REWORDED, "1. All pay 10. [S1]", judges=[UNSUPPORTED], has_judge=True)
    turn.change(budget=CallBudget(max_calls=3))
    state = await turn.run(**ASKS[False])
    assert (len(talk.judged), [each.check for each in state.attempt.citations]) == (1, ["reworded"])
    assert "no model call left" in turn.of(Critique)[-1].failure
    assert state.answer == shown(turn.events)


@pytest.mark.parametrize("action", ["revise", "retrieve"])
@pytest.mark.parametrize("verdict", ["supported", "unknown"])
async def test_an_answer_is_not_made_again_because_a_judge_wants_it(action: str, verdict: str) -> None:
    talk = ScriptedTexts([REWORDED], [judged(verdict, action=action, query="fees")])
    turn = searching(talk)
    await asked(turn)
    assert (actions(turn), len(talk.read)) == (["accept"], 1)


async def test_the_judge_sees_the_sentence_the_units_around_its_quote_and_nothing_else() -> None:
    talk = ScriptedTexts([f"{GOOD} Households </sentence> pay 15. [S2]"], [SUPPORTED])
    await asked(searching(talk))
    [prompt] = talk.judged
    assert prompt == (
        "Judge.\n<question>And the fee?</question>\n"
        "<evidence>\nThe fee is 10.\nFamilies pay 15.\n</evidence>\n"
        '<sentence id="1">Households &lt; /sentence&gt; pay 15.</sentence>'
    )


NOT_CONFIRMED: dict[str, Said] = {
    "no quote": judged("supported") | {"sentences": [{**judged("supported")["sentences"][0], "quote": ""}]},
    "a made-up quote": judged("supported")
    | {"sentences": [{**judged("supported")["sentences"][0], "quote": "The fee is 11."}]},
    "a quote of punctuation": judged("supported")
    | {"sentences": [{**judged("supported")["sentences"][0], "quote": "."}]},
    "unknown": judged("unknown"),
    "nothing": judged(),
    "another sentence": judged() | {"sentences": [{**judged("unsupported")["sentences"][0], "sentence": 2}]},
    "the sentence twice": judged() | {"sentences": [judged("unsupported")["sentences"][0]] * 2},
}


@pytest.mark.slow
@pytest.mark.parametrize("said", NOT_CONFIRMED.values(), ids=list(NOT_CONFIRMED))
async def test_what_a_judge_does_not_know_or_show_stays_in_other_words(said: Said) -> None:
    turn = searching(ScriptedTexts([REWORDED], [said]))
    state = await asked(turn)
    assert [citation.check for citation in state.attempt.citations] == ["reworded"]
    assert actions(turn) == ["accept"]


FIXED = "1. Families pay 15. [S1]"
UNCITED = "Paris is the capital of France."
RIGHT = {
    "quoted": GOOD,
    "in other words": REWORDED,
    "not found": NOT_FOUND_ANSWER,
    "without a source": UNCITED,
}
ASKS: list[dict[str, Any]] = [{"has_documents": True}, {"blob_names": ["a.pdf"]}]


def by_default(
    named: bool, first: str, *others: str, judges: Sequence[Said] = (), **how: Any
) -> tuple[Turn, ScriptedTexts]:
    """A turn with default settings, answered by the writer or by document_chat; the writer corrects it."""
    if not named:
        found = {"passages": FOUND, "steps": []}
        talk = ScriptedTexts([first, *others], judges)
        return Turn(FakeTools([SEARCH_TOOL], semantic_search=found), talk, **how), talk
    talk = ScriptedTexts(list(others) or ["unused"], judges)
    return Turn(documents(checked_by_documents(first)), talk, **how), talk


def checked_by_documents(text: str) -> dict[str, Any]:
    """The result of document_chat for this text of its model, over the same sources."""
    sources = [
        Source(number=n, document_id="secret-id", blob_name="a.pdf", page=5, start=0, text=t, page_text=t)
        for n, t in enumerate(["The fee is 10.", "Families pay 15."], 1)
    ]
    writer = checked(text, sources)
    writer.add_notes()
    metadata = DocumentChatMetadata(
        mode="inline", reason="it fits", grounding=writer.grounding, usage=Usage(model_calls=1)
    )
    result = DocumentChatResult(answer=writer.text, citations=writer.citations, metadata=metadata)
    return result.model_dump(mode="json")


@pytest.mark.slow
@pytest.mark.parametrize("right", RIGHT.values(), ids=list(RIGHT))
@pytest.mark.parametrize("named", [True, False], ids=["named", "unnamed"])
async def test_an_answer_that_does_not_differ_costs_no_further_call(right: str, named: bool) -> None:
    turn, _ = by_default(named, right)
    await turn.run(**ASKS[named])
    assert actions(turn) == ["label_unverified" if right == UNCITED else "accept"]
    searches_on = right == NOT_FOUND_ANSWER and not named
    assert turn.uses.context.budget.total.model_calls == 1 + searches_on


@pytest.mark.parametrize("named", [True, False], ids=["named", "unnamed"])
async def test_a_second_try_needs_a_call_that_is_left(named: bool) -> None:
    turn, _ = by_default(named, BAD, FIXED)
    turn.change(budget=CallBudget(max_calls=1))
    await turn.run(**ASKS[named])
    assert actions(turn) == ["label_unverified"]
    assert "too few model calls left" in turn.of(Critique)[0].issues[-1]
    assert turn.uses.context.budget.total.model_calls == 1


async def test_without_any_result_there_is_no_second_try() -> None:
    turn = Turn(FakeTools([SEARCH_TOOL], semantic_search=DOWN), talk := ScriptedTexts(["It failed."]))
    await asked(turn)
    assert (actions(turn), len(talk.read)) == (["label_unverified"], 1)


@pytest.mark.parametrize("named", [True, False], ids=["named", "unnamed"])
async def test_an_answer_without_a_source_says_so_in_its_text(named: bool) -> None:
    turn, _ = by_default(named, UNCITED)
    state = await turn.run(**ASKS[named])
    assert state.answer == shown(turn.events) == f"{UNCITED} {WITHOUT_SOURCE}"


@pytest.mark.parametrize("right", [GOOD, NOT_FOUND_ANSWER, f"## Fees\n\n{GOOD}"])
@pytest.mark.parametrize("named", [True, False], ids=["named", "unnamed"])
async def test_cited_answers_and_refusals_have_no_such_label(right: str, named: bool) -> None:
    turn, _ = by_default(named, right)
    assert WITHOUT_SOURCE not in ((await turn.run(**ASKS[named])).answer or "")


async def test_the_judges_query_is_searched_if_something_is_missing() -> None:
    def search(arguments: dict[str, Any]) -> dict[str, Any]:
        return {"passages": [*FOUND, MORE] if arguments["query"] == "dogs" else FOUND, "steps": []}

    wrong = judged("unsupported", action="retrieve", query="dogs")
    talk = ScriptedTexts([REWORDED, "Dogs are welcome. [S3]"], [wrong])
    turn = Turn(FakeTools([SEARCH_TOOL], semantic_search=search), talk, has_judge=True)
    state = await asked(turn)
    assert [arguments["query"] for _, arguments in turn.tools.calls] == ["And the fee?", "dogs"]
    assert actions(turn) == ["retrieve", "accept"]
    assert [citation.page for citation in state.attempt.citations] == [1]
    assert state.answer == shown(turn.events)


def documents(*answers: dict[str, Any] | Exception) -> FakeTools:
    left = list(answers)
    return FakeTools([CHAT_TOOL], document_chat=lambda _: left.pop(0) if len(left) > 1 else left[0])


def rejected(*others: dict[str, Any] | Exception, **how: Any) -> tuple[Turn, ScriptedTexts]:
    """A turn whose answer by document_chat the judge rejects, as it wants more to be looked up."""
    talk = ScriptedTexts(["unused"], [MORE_WANTED])
    tools = documents(checked_by_documents(REWORDED), *others)
    return Turn(tools, talk, has_judge=True, **how), talk


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "JSON"])
async def test_document_chat_is_asked_to_read_more(stream: bool) -> None:
    turn, talk = rejected(checked_by_documents(GOOD), stream=stream)
    state = await turn.run(blob_names=["a.pdf"])
    assert [arguments.get("look_for") for _, arguments in turn.tools.calls] == [None, "families"]
    assert state.answer == shown(turn.events) == 'The fee is 10. [Page 5 of Document "a.pdf"]'
    assert talk.read == []


DOWN = DependencyDown("The model does not answer.", dependency="model")
FAILURES: dict[str, Said] = {
    "down": DOWN,
    "prose": "I like it.",
    "another action": judged("unsupported", action="reject"),
    "another verdict": judged("reject"),
    "half a form": {"sentences": [{"sentence": 1, "verdict": "unsupported"}]},
    "a bug": RuntimeError("an unforeseen bug"),
}


@pytest.mark.slow
@pytest.mark.parametrize("failure", FAILURES.values(), ids=list(FAILURES))
@pytest.mark.parametrize("says", [REWORDED, f"{REWORDED} Paris is a capital."])
async def test_a_judge_that_fails_changes_nothing(failure: Said, says: str) -> None:
    turns = [searching(ScriptedTexts([says], [failure]), has_judge=has) for has in (False, True)]
    without, state = [await asked(turn) for turn in turns]
    [usual], [verdict] = [turn.of(Critique) for turn in turns]
    assert state.attempt.citations == without.attempt.citations
    assert state.attempt.grounding == without.attempt.grounding
    assert verdict.failure.startswith("The second reading failed: ")
    assert "unforeseen bug" not in verdict.failure
    assert verdict.model_copy(update={"failure": None}) == usual
    assert state.answer == shown(turns[1].events) == without.answer


async def test_a_store_that_is_down_leaves_the_answer_unjudged() -> None:
    async def page_text(document_id: str, number: int) -> str:
        raise DependencyDown("The store does not answer.", dependency="store")

    turn, talk = by_default(True, REWORDED, judges=[SUPPORTED], has_judge=True)
    turn.change(page_text=page_text)
    state = await turn.run(blob_names=["a.pdf"])
    assert "The store does not answer." in turn.of(Critique)[0].failure
    assert (talk.judged, [each.check for each in state.attempt.citations]) == ([], ["reworded"])


async def test_sentences_beyond_the_limit_stay_in_other_words() -> None:
    many = " ".join([REWORDED] * MOST_SENTENCES)
    talk = ScriptedTexts([f"{many} Households pay 15. [S2]"], [judged(*["unsupported"] * 21)])
    turn = searching(talk, critic_max_retries=0)
    state = await asked(turn)
    assert [each.check for each in state.attempt.citations] == ["unsupported", "reworded"]
    assert "Households" not in talk.judged[0]


@pytest.mark.parametrize("retries", [0, 1, 3])
async def test_no_more_attempts_are_made_than_the_setting_allows(retries: int) -> None:
    wrong = " ".join(f"{who} pay 7. [S1]" for who in ("Cats", "Hens", "Cows", "Pigs"))
    talk = ScriptedTexts([wrong, FIXED])
    turn = searching(talk, critic_max_retries=retries)
    state = await asked(turn)
    assert actions(turn) == ["revise"] * retries + ["label_unverified"]
    assert len(talk.read) == retries + 1
    assert (state.answer or "").count("Families pay 15.") == retries
    assert f"CRITIC_MAX_RETRIES is {retries}." in state.verdicts[-1].issues[-1]
    assert state.answer == shown(turn.events)


@pytest.mark.slow
@pytest.mark.parametrize(("calls", "attempts"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3)])
@pytest.mark.parametrize("named", [True, False], ids=["named", "unnamed"])
async def test_the_call_budget_limits_attempts_and_judgements(calls: int, attempts: int, named: bool) -> None:
    better = "1. All pay 10. [S1]", "1. Each pays 10. [S1]"
    turn, _ = by_default(named, REWORDED, *better, judges=[UNSUPPORTED], has_judge=True, critic_max_retries=5)
    turn.change(budget=CallBudget(max_calls=calls))
    state = await turn.run(**ASKS[named])
    assert (len(actions(turn)), len(turn.of(Revised))) == (attempts, attempts - 1)
    assert turn.uses.context.budget.total.model_calls == calls
    assert state.answer == shown(turn.events)


@pytest.mark.parametrize(("calls", "attempts"), [(1, 1), (2, 1), (3, 2)])
async def test_a_second_answer_by_document_chat_counts_as_a_call(calls: int, attempts: int) -> None:
    turn, _ = rejected()
    turn.change(budget=CallBudget(max_calls=calls))
    await turn.run(blob_names=["a.pdf"])
    assert len(turn.tools.calls) == attempts
    assert turn.uses.context.budget.total.model_calls <= calls


async def test_a_turn_without_time_left_gives_its_answer() -> None:
    turn = searching(talk := ScriptedTexts([f"{BAD} {REWORDED}"], [UNSUPPORTED]))
    turn.change(ends_at=asyncio.get_running_loop().time())
    state = await asked(turn)
    assert (len(talk.read), talk.judged) == (1, [])
    assert "no time left" in turn.of(Critique)[0].failure
    assert state.answer == shown(turn.events)


BROKEN: dict[str, Said] = {
    "the model is down": DOWN,
    "a bug": RuntimeError("an unforeseen bug"),
}


@pytest.mark.parametrize("second", BROKEN.values(), ids=list(BROKEN))
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "JSON"])
async def test_a_failed_second_retrieval_restores_the_earlier_answer(second: Said, stream: bool) -> None:
    turn = searching(ScriptedTexts([f"{GOOD} {REWORDED}", second], [MORE_WANTED]), stream=stream)
    state = await asked(turn)
    first, last = turn.of(Critique)
    assert (first.action, last.action, last.attempt) == ("retrieve", "label_unverified", 2)
    assert last.failure.startswith("The answer could not be revised: ")
    assert first.issues[0] in last.issues
    assert (state.answer or "").startswith("The fee is 10. [Page 5")
    assert state.answer == shown(turn.events)
    assert [citation.check for citation in state.attempt.citations] == ["quoted", "unsupported"]
    assert shown_citations(turn.events) == without_rectangles(state.attempt.citations)
    assert state.attempt.grounding is not None


async def test_a_second_answer_that_is_cut_is_worse_than_a_whole_answer() -> None:
    half = AIMessage("Half an", response_metadata=CUT)
    turn = searching(ScriptedTexts([f"{GOOD} {REWORDED}", half], [MORE_WANTED]))
    state = await asked(turn)
    assert "was worse by the code checks" in state.verdicts[-1].issues[-1]
    assert (state.answer or "").startswith("The fee is 10. [Page 5")
    assert state.answer == shown(turn.events)


@pytest.mark.parametrize("failure", [ToolFailed("It broke."), DOWN, OrcError("no")])
async def test_a_failed_second_call_of_document_chat_restores_the_earlier_answer(failure: Exception) -> None:
    turn, _ = rejected(failure)
    state = await turn.run(blob_names=["a.pdf"])
    assert actions(turn) == ["retrieve", "label_unverified"]
    assert state.answer == shown(turn.events) == 'You pay 10. [Page 5 of Document "a.pdf"]'
    assert [each.check for each in state.attempt.citations] == ["unsupported"]
    assert turn.uses.context.budget.by_tools.model_calls == len(turn.of(Context)) == 1


async def test_an_error_of_the_first_attempt_fails_the_turn() -> None:
    with pytest.raises(DependencyDown):
        await asked(searching(ScriptedTexts([DOWN])))


@pytest.mark.slow
async def test_a_second_retrieval_ends_at_its_deadline() -> None:
    class Slow(FakeTools):
        async def call(self, *args: Any, **how: Any) -> dict[str, Any]:
            if self.calls:
                await asyncio.Event().wait()
            return await super().call(*args, **how)

    tools = Slow([CHAT_TOOL], document_chat=checked_by_documents(REWORDED))
    turn = Turn(tools, ScriptedTexts(["unused"], [MORE_WANTED]), has_judge=True)
    turn.change(ends_at=asyncio.get_running_loop().time() + 2)
    state = await turn.run(blob_names=["a.pdf"])
    assert "no more time" in turn.of(Critique)[-1].failure
    assert state.answer == shown(turn.events) == 'You pay 10. [Page 5 of Document "a.pdf"]'


async def test_summaries_without_an_answer_are_read_in_full_before_a_model_judges() -> None:
    page = {"document_id": "secret-id", "blob_name": "a.pdf", "page_number": 5, "page_id": "secret-id.p5"}
    entry = {**page, "summary": "On fees.", "topics": [], "matches": ["The fee is 10."], "score": 1.0}
    summaries = {"pages": [{**entry, "text": "The fee is 10.", "start": 0, "end": 14}], "steps": []}
    read = {"pages": [{**page, "text": "The fee is 10. Families pay 15.", "start": 0, "end": 31}]}
    schemas = [ToolSchema(name=n, description="", input_schema={}) for n in ("search_pages", "get_page")]
    tools = FakeTools(schemas, search_pages=summaries, get_page=read)
    talk = ScriptedTexts([NOT_FOUND_ANSWER, "Families pay 15. [S2]"])
    turn = Turn(tools, talk, critic="off", lazy_retrieval=True)
    state = await asked(turn)
    assert [name for name, _ in tools.calls] == ["search_pages", "get_page"]
    assert actions(turn) == ["retrieve", "accept"]
    assert "have not been read in full" in turn.of(Critique)[0].issues[-1]
    assert (state.answer or "").startswith("Families pay 15.")
    assert state.answer == shown(turn.events)


CAPPED = {"short": {"keywords": ["fee"], "max_output_tokens": 7, "retriever": "summaries"}}


def capped(said: AIMessage, **how: Any) -> Turn:
    """A turn whose answer write_answer writes, within a cap."""
    search = ToolSchema(name="search_pages", description="", input_schema={})
    tools = FakeTools([search], search_pages={"pages": [], "passages": FOUND, "steps": []})
    return Turn(tools, ScriptedTexts([said]), critic="off", intents=CAPPED, **how)


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "JSON"])
async def test_an_answer_that_reaches_its_cap_is_kept_and_labelled(stream: bool) -> None:
    turn = capped(AIMessage("The fee is 10. [S1] Fam", response_metadata=CUT), stream=stream)
    state = await asked(turn)
    assert (state.answer or "").endswith(f" Fam {WITHOUT_SOURCE}{CUT_NOTE}")
    assert state.answer == shown(turn.events)
    assert actions(turn) == ["label_unverified"]
    assert "The answer was cut at its limit of 7 tokens." in turn.of(Critique)[0].issues


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "JSON"])
async def test_notes_are_outside_of_the_code_of_an_answer_that_is_cut(stream: bool) -> None:
    turn = capped(AIMessage("Run this:\n\n- x\n  ```sh\n  make", response_metadata=CUT), stream=stream)
    state = await asked(turn)
    assert (state.answer or "").startswith("Run this:\n\n- x\n  ```sh\n  make\n  ```\n")
    assert (state.answer or "").count("```") == 2
    assert (state.answer or "").endswith(CUT_NOTE)
    assert state.answer == shown(turn.events)


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "JSON"])
async def test_an_answer_that_reaches_the_limit_of_the_model_is_kept_and_labelled(stream: bool) -> None:
    turn = searching(
        ScriptedTexts([AIMessage("The fee is 10. [S1] Fam", response_metadata=CUT)]), stream=stream
    )
    state = await asked(turn)
    assert (state.answer or "").endswith("Fam" + CUT_NOTE)
    assert state.answer == shown(turn.events)
    assert actions(turn)[-1] == "label_unverified"
    assert [citation.verified for citation in state.attempt.citations] == [True]
    assert "The answer was cut at the length limit of the model." in turn.of(Critique)[0].issues


async def test_a_broken_reply_under_a_cap_is_a_failure() -> None:
    turn = capped(AIMessage("The fee"))
    writer = turn.uses.resources.models.writer
    broken = ChatModel(turn.model, WordCounter(), name=writer.name, abilities=Abilities(reports_finish=True))
    turn.change(models=models_of(broken))
    with pytest.raises(DependencyDown, match="broke off"):
        await asked(turn)


WRITES = st.sampled_from(
    [
        GOOD,
        REWORDED,
        BETTER,
        BAD,
        WORST,
        NOT_FOUND_ANSWER,
        "Talk.",
        "[S1]",
        FIXED,
        "1. You pay 10. [S1]\n2. -",
        DOWN,
        AIMessage("Half", response_metadata=CUT),
    ]
)
JUDGES = st.one_of(
    st.sampled_from(list(FAILURES.values())),
    st.builds(
        judged,
        st.sampled_from(["supported", "unsupported", "unknown"]),
        action=st.sampled_from(["accept", "revise", "retrieve"]),
        coverage=st.floats(0, 1),
        query=st.text(max_size=2000),
    ),
)


def answering(writes: list[Said], *, named: bool) -> Callable[[ScriptedTexts, dict[str, Any]], Turn]:
    """Turns that are answered by a model's search, or by document_chat if documents are named."""
    if not named:
        return lambda talk, how: searching(talk, **how)
    replies = [said if isinstance(said, Exception) else checked_by_documents(str(said)) for said in writes]
    return lambda talk, how: Turn(documents(*replies), talk, **how)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    writes=st.lists(WRITES, min_size=1, max_size=4),
    judges=st.lists(JUDGES, min_size=1, max_size=4),
    critic=st.sampled_from(["off", "on"]),
    has_judge=st.booleans(),
    retries=st.integers(0, 4),
    calls=st.integers(1, 9),
    stream=st.booleans(),
    named=st.booleans(),
)
async def test_followers_always_have_the_answer_and_what_is_refuted_is_not_accepted(
    writes: list[Said],
    judges: list[Said],
    critic: str,
    has_judge: bool,
    retries: int,
    calls: int,
    stream: bool,
    named: bool,
) -> None:
    how = {"critic": critic, "has_judge": has_judge, "critic_max_retries": retries, "stream": stream}
    turn = answering(writes, named=named)(ScriptedTexts(writes, judges), how)
    turn.change(budget=CallBudget(max_calls=calls))
    try:
        state = await turn.run(**({"blob_names": ["a.pdf"]} if named else {"has_documents": True}))
    except OrcError:
        # The first answer: once written, it is never lost.
        assert turn.of(Critique) == []
        return
    assert state.answer == shown(turn.events)
    for citation in state.attempt.citations:
        assert all((state.answer or "")[mark.start : mark.end].endswith("]") for mark in citation.marks)
    assert turn.uses.context.budget.usage.model_calls <= calls
    *earlier, last = turn.of(Critique)
    assert len(earlier) <= retries
    assert all(verdict.action in ("revise", "retrieve") for verdict in earlier)
    assert last.action in ("accept", "label_unverified")
    assert state.attempt.grounding is not None
    if last.action == "accept":
        assert state.attempt.grounding.grounded or state.attempt.grounding.not_found
    assert json.dumps(critic_summary_of(state))
