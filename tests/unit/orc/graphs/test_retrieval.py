"""Lookups by code before a model is called: steps, fallbacks, and the second search."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from devkit.fakes import FakeTools, Script, ScriptedModel, WordCounter, models_of
from devkit.graph_turns import PAGES, Turn, document_chat_result, passage, reasons, ref, says
from orc.events import Plan, Route, Tool
from orc.graphs.graph import build_context, build_writer, call_tools, run_graph
from orc.graphs.models import Attempt, ConversationState, PageReference
from orc.intents import Retriever, Step
from orc.tools.ports import ToolSchema
from orc.turns.results import explain
from orc_core.errors import DependencyDown, NotFound
from orc_core.grounding.citations import WITHOUT_SOURCE
from orc_core.llm.chat_model import CallBudget, ChatModel
from orc_core.mcp_contract import CAP_META_KEY, MODEL_META_KEY, WHOLE_META_KEY

NOTHING = {"type": "object", "properties": {}}
SEARCH, PAGE_SEARCH, GET_PAGE, WEB = (
    ToolSchema(name=name, description=name, input_schema=NOTHING)
    for name in ("semantic_search", "search_pages", "get_page", "web_search")
)
EVERYTHING = (SEARCH, PAGE_SEARCH, GET_PAGE, WEB)
REACHED = [{"method": "lexical", "threshold": 0.75, "hits": 1, "note": ""}]
WIDENED = [{"method": "lexical", "threshold": 0.5, "hits": 0}, {"method": "widened_lexical", "hits": 3}]
FEE, FAMILIES = passage("secret-id", 5, "The fee is 10."), passage("secret-id", 5, "Families pay 15.")
PASSAGES = {"passages": [FEE], "steps": REACHED, "documents": [{"filename": "a.pdf", "searched": True}]}
NO_PASSAGES: dict[str, Any] = {"passages": [], "steps": WIDENED, "documents": []}
ON_THE_WEB = {"results": [{"title": "Fees", "url": "https://fees.example/a", "text": "The web says 12."}]}
NO_RESULTS: dict[str, Any] = {"results": []}
DOWN = DependencyDown("The tools server does not answer.", dependency="mcp_server")


def found_page(document_id: str, page: int, *matches: str) -> dict[str, Any]:
    text = PAGES[document_id, page]
    place = {"page_id": f"{document_id}.p{page}", "document_id": document_id, "page_number": page}
    about = {
        "summary": f"Summary of {document_id}.",
        "topics": ["fees"],
        "matches": list(matches),
        "score": 1,
    }
    return {**place, **about, "blob_name": "a.pdf", "text": text, "start": 0, "end": len(text)}


def read_page(arguments: dict[str, Any]) -> dict[str, Any]:
    document_id, number = arguments["document_id"], arguments["page_number"]
    return {"pages": [{**found_page(document_id, number), "characters": 1, "analysis": {"summary": "x"}}]}


FOUND_PAGES = {
    "pages": [
        found_page("secret-id", 5, "Families pay 15.", "This was replaced."),
        found_page("other-id", 1),
    ],
    "steps": REACHED,
    "documents": [],
}


async def from_tools(turn: Turn, state: ConversationState) -> ConversationState:
    """The part of the graph from the tools to the answer, for plans that a test decides."""
    for node in (call_tools, build_context):
        state = state.model_copy(update=await node(state, turn.uses))
    return await run_graph(build_writer(turn.uses.resources), state, turn.uses.context, turn.uses.emit)


async def dispatch(turn: Turn, retriever: Retriever, *steps: Step, **state: Any) -> ConversationState:
    given = {
        "question": "And the fee?",
        "conversation_id": "c",
        "has_documents": True,
        "route": Route(intent="x", model="scripted", retriever=retriever),
        "plan": Plan(rewritten_query="the fee", steps=[*steps, "answer"], confidence=1),
        **state,
    }
    ready = ConversationState.model_validate(given)
    return await from_tools(turn, ready)


def called(turn: Turn) -> list[str]:
    return [name for name, _ in turn.tools.calls]


async def test_a_search_is_made_by_code_and_one_model_call_answers_from_it() -> None:
    turn = Turn(FakeTools(EVERYTHING, semantic_search=PASSAGES), says("The fee is 10. [S1]"))
    state = await dispatch(turn, "search", "retrieve")
    assert turn.tools.calls == [("semantic_search", {"query": "the fee", "top_k": 8})]
    [(messages, options)] = turn.model.calls
    assert "tools" not in options, "the passages have the answer"
    assert [message.type for message in messages] == ["system", "human"], "the model has said nothing yet"
    shown = messages[-1]
    assert shown.text.endswith("</source>\n\nQuestion: And the fee?")
    assert "The fee is 10." in shown.text
    assert "secret-id" not in shown.text
    assert "searched" not in shown.text
    assert [tool["function"]["name"] for tool in state.tools] == [
        "semantic_search", "get_page",
    ]  # fmt: skip
    assert state.attempt.citations[0].verified
    assert reasons(state) == [("semantic_search", "found")]
    assert [step.method for step in state.retrieval_steps] == ["lexical"]


async def test_the_model_may_search_again_after_the_search_by_code() -> None:
    def script(messages: list[BaseMessage], _options: dict[str, Any]) -> AIMessage:
        if isinstance(messages[-1], ToolMessage):
            return AIMessage("Families pay 15. [S2]")
        call = {"name": "semantic_search", "args": {"query": "families"}, "id": "1"}
        return AIMessage("", tool_calls=[call])

    def search(arguments: dict[str, Any]) -> Any:
        return PASSAGES if arguments["query"] == "the fee" else {"passages": [FAMILIES], "steps": REACHED}

    turn = Turn(FakeTools(EVERYTHING, semantic_search=search), script)
    state = await dispatch(turn, "search", "retrieve")
    assert state.attempt.citations[0].verified
    assert len(turn.model.calls) == 2
    assert reasons(state) == [("semantic_search", "found"), ("semantic_search", "model_called")]


FALLBACKS: list[tuple[str, list[Step], dict[str, Any], list[str], list[str]]] = [
    (
        "nothing found",
        ["retrieve"],
        {"semantic_search": NO_PASSAGES, "web_search": ON_THE_WEB},
        ["semantic_search"],
        ["nothing_found"],
    ),
    (
        "below the thresholds",
        ["retrieve"],
        {"semantic_search": {**PASSAGES, "steps": WIDENED}, "web_search": ON_THE_WEB},
        ["semantic_search"],
        ["below_threshold"],
    ),
    (
        "a web that has nothing",
        ["web_search"],
        {"web_search": NO_RESULTS, "semantic_search": PASSAGES},
        ["web_search", "semantic_search"],
        ["nothing_found", "found"],
    ),
]


@pytest.mark.parametrize(
    ("steps", "results", "calls", "codes"), [case[1:] for case in FALLBACKS], ids=[c[0] for c in FALLBACKS]
)
async def test_a_poor_search_has_a_fallback_with_the_reason(
    steps: list[Step], results: dict[str, Any], calls: list[str], codes: list[str]
) -> None:
    turn = Turn(FakeTools(EVERYTHING, **results), says("Well."))
    state = await dispatch(turn, "web" if steps == ["web_search"] else "search", *steps)
    assert called(turn) == calls
    assert reasons(state) == list(zip(calls, codes, strict=True))
    assert len(turn.model.calls) == 1
    assert state.last_mcp_tool_used == calls[-1]


@pytest.mark.parametrize(
    "found", [PASSAGES, NO_PASSAGES, {**PASSAGES, "steps": WIDENED}, NotFound("no index")]
)
async def test_the_web_is_not_searched_against_the_plan(found: Any) -> None:
    results = {"semantic_search": found, "search_pages": NotFound("no index"), "web_search": ON_THE_WEB}
    turn = Turn(FakeTools(EVERYTHING, **results), says("Well."))
    state = await dispatch(turn, "search", "retrieve")
    assert "web_search" not in called(turn)
    assert "web_search" not in [tool["function"]["name"] for tool in state.tools]
    assert turn.of(Plan) == []


@pytest.mark.parametrize(
    ("question", "code"),
    [("What is this about?", "found"), ("Summarise the documents", "found"), ("the fee", "below_threshold")],
)
async def test_what_the_widest_search_finds_is_enough_for_a_question_without_a_subject(
    question: str, code: str
) -> None:
    turn = Turn(FakeTools(EVERYTHING, semantic_search={**PASSAGES, "steps": WIDENED}), says("10. [S1]"))
    plan = Plan(rewritten_query=question, steps=["retrieve", "answer"], confidence=1)
    state = await dispatch(turn, "search", "retrieve", plan=plan)
    assert reasons(state)[0] == ("semantic_search", code)


async def test_a_tool_that_is_off_says_who_has_switched_it_off() -> None:
    turn = Turn(FakeTools((PAGE_SEARCH,), search_pages=NO_PASSAGES), says("Well."))
    turn.change(tools_off=frozenset({"semantic_search"}), off_by={"semantic_search": "you"})
    state = await dispatch(turn, "search", "retrieve")
    assert reasons(state)[0] == ("semantic_search", "switched_off")
    assert explain(state.lookup_steps).startswith("semantic_search is switched off by you.")


@pytest.mark.parametrize("off", [frozenset({"semantic_search", "search_pages"}), frozenset()])
async def test_a_model_is_asked_to_say_that_the_search_is_off(off: frozenset[str]) -> None:
    turn = Turn(FakeTools((SEARCH, PAGE_SEARCH), semantic_search=PASSAGES), says("I cannot search."))
    turn.change(tools_off=off, off_by=dict.fromkeys(off, "you"))
    await dispatch(turn, "search", "retrieve")
    system = turn.model.calls[-1][0][0].text
    assert ("switched off for this message" in system) == bool(off)


async def test_results_below_the_thresholds_can_be_cited() -> None:
    turn = Turn(
        FakeTools(EVERYTHING, semantic_search={**PASSAGES, "steps": WIDENED}), says("The fee is 10. [S1]")
    )
    state = await dispatch(turn, "search", "retrieve")
    assert [citation.verified for citation in state.attempt.citations] == [True]


@pytest.mark.parametrize("broken", ["semantic_search", "web_search", None])
async def test_documents_and_web_are_searched_independently(
    broken: str | None,
) -> None:
    results: dict[str, Any] = {"semantic_search": PASSAGES, "web_search": ON_THE_WEB}
    if broken:
        results[broken] = NotFound("broken")
    turn = Turn(FakeTools((SEARCH, WEB), **results), says("Well."))
    state = await dispatch(turn, "search", "both")
    assert called(turn) == ["semantic_search", "web_search"]
    assert [(result.name, result.error) for result in state.tool_results] == [
        (name, "broken" if name == broken else None) for name in ("semantic_search", "web_search")
    ]
    assert len(state.attempt.sources) == (1 if broken else 2)
    assert len(turn.model.calls) == 1


async def test_the_step_both_makes_code_search_even_if_the_model_chooses_tools() -> None:
    turn = Turn(FakeTools(EVERYTHING, semantic_search=PASSAGES, web_search=ON_THE_WEB), says("Well."))
    await dispatch(turn, "tools", "both")
    assert called(turn) == ["semantic_search", "web_search"]


@pytest.mark.parametrize("asked", ["What is this about?", "And the fee?"])
async def test_without_words_to_search_for_the_model_decides_what_is_looked_up(asked: str) -> None:
    turn = Turn(FakeTools((SEARCH,), semantic_search=PASSAGES), says("The fee is 10. [S1]"), critic="off")
    given = ConversationState(question=asked, conversation_id="c", has_documents=True)
    state = await turn.run_from(given)
    assert called(turn) == (["semantic_search"] if asked == "And the fee?" else [])
    assert [tool["function"]["name"] for tool in state.tools] == ["semantic_search"]


async def test_the_lookups_by_code_stay_with_the_question_while_the_model_searches_on() -> None:
    def script(messages: list[BaseMessage], _options: dict[str, Any]) -> AIMessage:
        if len(messages) > 4:
            return AIMessage("The fee is 10. [S1]")
        call = {"name": "get_page", "args": {"document": "d1", "page_number": 5}, "id": str(len(messages))}
        return AIMessage("", tool_calls=[call])

    turn = Turn(FakeTools(EVERYTHING, semantic_search=PASSAGES, get_page={"pages": []}), script)
    state = await dispatch(turn, "search", "retrieve")
    said = [[message.type for message in messages] for messages, _ in turn.model.calls]
    assert said == [["system", "human"], ["system", "human", "ai", "tool"],
                    ["system", "human", "ai", "tool", "ai", "tool"]]  # fmt: skip
    assert all("The fee is 10." in messages[1].text for messages, _ in turn.model.calls)
    assert state.attempt.citations[0].verified


async def test_a_model_that_chooses_its_tools_is_asked_first() -> None:
    turn = Turn(FakeTools(EVERYTHING), says("Well."))
    state = await dispatch(turn, "tools", "retrieve")
    assert called(turn) == []
    assert len(turn.model.calls) == 1
    assert state.answer == f"Well. {WITHOUT_SOURCE}"


@pytest.mark.parametrize(("steps", "reached"), [(["retrieve"], False), (["both"], True)])
async def test_the_model_may_search_the_web_if_the_plan_names_it_but_not_for_document_content(
    steps: list[Step], reached: bool
) -> None:
    def calls_web(messages: list[BaseMessage], _options: dict[str, Any]) -> AIMessage:
        if isinstance(messages[-1], ToolMessage):
            return AIMessage("The fee is 10. [S1]")
        call = {"name": "web_search", "args": {"query": "the fee is 10"}, "id": "1"}
        return AIMessage("", tool_calls=[call])

    turn = Turn(FakeTools(EVERYTHING, semantic_search=PASSAGES, web_search=ON_THE_WEB), calls_web)
    state = await dispatch(turn, "search", *steps)
    assert ("web_search" in [tool["function"]["name"] for tool in state.tools]) == reached
    asked = [arguments["query"] for name, arguments in turn.tools.calls if name == "web_search"]
    assert asked == (["the fee", "And the fee?"] if reached else [])


@pytest.mark.parametrize("steps", [["retrieve"], ["both"]])
async def test_the_critics_query_never_reaches_the_web(steps: list[Step]) -> None:
    turn = Turn(FakeTools(EVERYTHING, semantic_search=PASSAGES, web_search=ON_THE_WEB), says("10. [S1]"))
    first = await dispatch(turn, "search", *steps)
    turn.tools.results |= {"semantic_search": NO_PASSAGES, "search_pages": NO_PASSAGES}
    turn.tools.calls.clear()
    await look_further(turn, first, query="the fee is 10")
    asked = [arguments["query"] for name, arguments in turn.tools.calls if name == "web_search"]
    assert asked == (["the fee"] if "both" in steps else [])
    assert turn.tools.calls[0][1]["query"] == "the fee is 10"


@pytest.mark.parametrize("retriever", ["search", "tools"])
async def test_the_last_model_call_answers_from_the_lookups(retriever: Retriever) -> None:
    turn = Turn(FakeTools(EVERYTHING, semantic_search=PASSAGES), says("The fee is 10. [S1]"))
    turn.change(budget=CallBudget(max_calls=1))
    state = await dispatch(turn, retriever, "retrieve")
    [(_, options)] = turn.model.calls
    assert (called(turn), options.get("tools")) == (["semantic_search"], None)
    assert state.attempt.citations[0].verified


async def test_a_model_that_keeps_searching_has_one_call_left_to_answer() -> None:
    said = iter(["It is not there. [none]", "The fee is 10. [S1]"])

    def script(_messages: list[BaseMessage], options: dict[str, Any]) -> AIMessage:
        call = {"name": "semantic_search", "args": {"query": "x"}, "id": "1"}
        return AIMessage("", tool_calls=[call]) if options.get("tools") else AIMessage(next(said))

    turn = Turn(FakeTools(EVERYTHING, semantic_search=PASSAGES), script)
    turn.change(budget=CallBudget(max_calls=3))
    state = await dispatch(turn, "search", "retrieve")
    assert len(turn.model.calls) == 3
    assert state.attempt.citations[0].verified


@pytest.mark.parametrize("off", ["semantic_search", "web_search"])
@pytest.mark.parametrize("steps", [["retrieve"], ["web_search"], ["both"]])
async def test_a_disabled_tool_is_never_called(off: str, steps: list[Step]) -> None:
    def insist(_messages: list[BaseMessage], options: dict[str, Any]) -> AIMessage:
        assert off not in [tool["function"]["name"] for tool in options.get("tools", [])]
        if "tools" not in options:
            return AIMessage("Well.")
        return AIMessage("", tool_calls=[{"name": off, "args": {"query": "x"}, "id": "1"}])

    results = {"semantic_search": NO_PASSAGES, "search_pages": FOUND_PAGES, "web_search": NO_RESULTS}
    turn = Turn(FakeTools(EVERYTHING, **results), insist, tools_off=frozenset({off}), max_tool_rounds=2)
    state = await dispatch(turn, "search", *steps)
    assert off not in called(turn)
    assert (off, "unavailable") in reasons(state) or (off == "web_search" and steps == ["retrieve"])
    assert state.answer is None or off not in state.answer


async def test_without_documents_only_the_web_is_offered() -> None:
    turn = Turn(FakeTools(EVERYTHING, web_search=ON_THE_WEB), says("The web says 12. [S1]"))
    state = await dispatch(turn, "web", "web_search", has_documents=False)
    assert [tool["function"]["name"] for tool in state.tools] == ["web_search"]
    assert state.attempt.citations[0].verified
    assert called(turn) == ["web_search"]


async def test_a_server_lost_during_the_turn_leads_to_an_answer_about_the_failure() -> None:
    turn = Turn(FakeTools((SEARCH, PAGE_SEARCH), semantic_search=DOWN, search_pages=DOWN), says("I cannot."))
    state = await dispatch(turn, "search", "retrieve")
    [(messages, options)] = turn.model.calls
    assert "tools" not in options
    assert "does not answer" in messages[-1].text
    assert [event.status for event in turn.of(Tool)] == ["started", "failed"] * 2
    assert state.attempt.grounding is not None
    assert not state.attempt.grounding.grounded


async def test_document_chat_receives_the_routed_model_and_its_cap() -> None:
    turn = Turn(FakeTools(document_chat=document_chat_result(ref("a.pdf"))))
    other = ChatModel(ScriptedModel(script=says("x")), WordCounter(), name="large")
    turn.change(models=models_of(turn.uses.resources.models.writer, large=other))
    route = Route(intent="x", model="large", retriever="document_chat", max_output_tokens=77)
    given = ConversationState(question="?", conversation_id="c", blob_names=["a.pdf"], route=route)
    await from_tools(turn, given)
    usual = route.model_copy(update={"model": "scripted", "max_output_tokens": None})
    await from_tools(turn, given.model_copy(update={"route": usual}))
    assert turn.tools.metas == [{MODEL_META_KEY: "large", CAP_META_KEY: 77}, {}]


@pytest.mark.parametrize(("named", "meta"), [(3, {}), (4, {WHOLE_META_KEY: 3})])
async def test_document_chat_is_given_the_limit_that_the_named_documents_exceed(
    named: int, meta: dict[str, Any]
) -> None:
    turn = Turn(FakeTools(document_chat=document_chat_result(ref("a.pdf"))))
    names = [f"{n}.pdf" for n in range(named)]
    await from_tools(turn, ConversationState(question="?", conversation_id="c", blob_names=names))
    assert turn.tools.metas == [meta]


def lazily(script: Script, **results: Any) -> Turn:
    found: dict[str, Any] = {"search_pages": FOUND_PAGES, "get_page": read_page, **results}
    return Turn(FakeTools(EVERYTHING, **found), script)


async def test_lazy_retrieval_gives_summaries_and_cites_their_sentences() -> None:
    turn = lazily(says("Families pay 15. [S1]"))
    state = await dispatch(turn, "summaries", "retrieve")
    assert turn.tools.calls == [("search_pages", {"query": "the fee", "limit": 8})]
    [(messages, options)] = turn.model.calls
    assert "tools" not in options
    assert "Summary of secret-id." in messages[-1].text
    assert "The fee is 10." not in messages[-1].text
    sources = [(source.text, source.start) for source in state.attempt.sources]
    assert sources == [("Families pay 15.", 15), ("Dogs are welcome.", 0)]
    assert state.attempt.citations[0].verified
    assert state.references == [
        PageReference(document_id="secret-id", page=5),
        PageReference(document_id="other-id", page=1),
    ]
    assert state.context_budget["deferred"] == 10
    assert reasons(state) == [("search_pages", "found"), ("search_pages", "summaries_only")]
    assert (state.lookup_steps[-1].hits, state.lookup_steps[-1].tokens) == (2, 10)


async def test_passages_replace_summaries_that_cannot_be_retrieved() -> None:
    turn = lazily(says("The fee is 10. [S1]"), search_pages=NotFound("gone"), semantic_search=PASSAGES)
    state = await dispatch(turn, "summaries", "retrieve")
    assert called(turn) == ["search_pages", "semantic_search"]
    assert state.attempt.citations[0].verified
    assert state.references == []


async def look_further(turn: Turn, state: ConversationState, query: str = "") -> ConversationState:
    """Another attempt after the critic asked for more."""
    second = Attempt(number=2, wanted=query, sources=state.attempt.sources)
    again = {"earlier": [state.attempt], "attempt": second, "tools": []}
    return await from_tools(turn, state.model_copy(update=again))


async def test_pages_are_read_in_full_if_the_critic_asks_for_more() -> None:
    turn = lazily(says("The fee is 10. [S3]"))
    first = await dispatch(turn, "summaries", "retrieve")
    turn.tools.calls.clear()
    state = await look_further(turn, first)
    assert turn.tools.calls == [
        ("get_page", {"document_id": "secret-id", "page_number": 5}),
        ("get_page", {"document_id": "other-id", "page_number": 1}),
    ]
    # The pages of the sentences are now shown in full; a page that was already complete keeps its number.
    assert [(source.number, source.text) for source in state.attempt.sources] == [
        (2, PAGES["other-id", 1]),
        (3, PAGES["secret-id", 5]),
    ]
    assert "The fee is 10." in turn.model.calls[-1][0][-1].text
    assert state.attempt.citations[0].verified
    assert state.references == []
    assert reasons(state)[-2:] == [("", "more_requested"), ("get_page", "read_in_full")]
    assert state.lookup_steps[-1].hits == 2


async def test_a_page_that_cannot_be_read_keeps_its_sentences_and_its_reference() -> None:
    def read(arguments: dict[str, Any]) -> Any:
        return NotFound("gone") if arguments["document_id"] == "secret-id" else read_page(arguments)

    turn = lazily(says("Families pay 15. [S1]"), get_page=read)
    state = await look_further(turn, await dispatch(turn, "summaries", "retrieve"))
    assert state.attempt.citations[0].verified
    assert state.references == [PageReference(document_id="secret-id", page=5)]
    assert reasons(state)[-1] == ("get_page", "failed")
    assert state.lookup_steps[-1].detail == "gone"


async def test_the_second_search_is_wider_and_uses_the_critics_query() -> None:
    def search(arguments: dict[str, Any]) -> Any:
        return PASSAGES if arguments["top_k"] == 8 else {"passages": [FAMILIES], "steps": REACHED}

    turn = Turn(FakeTools((SEARCH,), semantic_search=search), says("The fee is 10. [S1]"))
    state = await look_further(turn, await dispatch(turn, "search", "retrieve"), query="families")
    assert turn.tools.calls[-1] == ("semantic_search", {"query": "families", "top_k": 24})
    assert [source.text for source in state.attempt.sources] == ["The fee is 10.", "Families pay 15."]
    assert state.attempt.citations[0].verified
    assert len(state.retrieval_steps) == 2


@pytest.mark.parametrize("down", [True, False])
async def test_a_failed_second_retrieval_keeps_the_first_results(down: bool) -> None:
    turn = Turn(FakeTools((SEARCH,), semantic_search=PASSAGES), says("The fee is 10. [S1]"))
    first = await dispatch(turn, "search", "retrieve")
    turn.tools.down = DOWN if down else None
    turn.tools.results["semantic_search"] = NotFound("gone")
    state = await look_further(turn, first)
    assert state.attempt.sources == first.attempt.sources
    assert state.tool_results[:1] == first.tool_results
    assert state.attempt.citations[0].verified
    assert reasons(state)[-1] in ([("tools", "server_down")] if down else [("search_pages", "unavailable")])
