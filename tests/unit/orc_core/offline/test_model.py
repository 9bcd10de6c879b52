"""The offline model behind the same interface as a provider's."""

from collections.abc import Sequence
from contextlib import aclosing

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from pydantic import BaseModel

from orc_core.grounding.closest import NOT_FOUND_ANSWER, closest_label
from orc_core.grounding.sources import Source, fence
from orc_core.llm.chat_model import CallBudget, ChatModel
from orc_core.llm.messages import OFFLINE_INTRODUCTION, OFFLINE_SEARCH_OFF, QuestionMessage
from orc_core.llm.tokens import TokenCounter
from orc_core.offline.model import TALK, Conversation, OfflineModel

COUNTER = TokenCounter()
TEXT = "Gym memberships are paid back up to $500 a year. Dogs are welcome <on> Fridays."
SOURCES = [
    Source(number=7, document_id="d", blob_name="a.pdf", page=2, start=0, text=TEXT, page_text=TEXT),
]
SEARCHING = {
    "type": "function",
    "function": {
        "name": "semantic_search",
        "description": "",
        "parameters": {"type": "object", "properties": {}},
    },
}


class Restated(BaseModel):
    """A registered structured output."""

    question: str


class RestatedAtLength(Restated):
    """A subclass of a registered structured output."""

    length: int = 3


class Verdict(BaseModel):
    """An unregistered structured output."""

    grounded: bool


def restate(conversation: Conversation) -> Restated:
    return Restated(question=conversation.query)


@pytest.fixture
def model() -> ChatModel:
    return ChatModel(OfflineModel(counter=COUNTER, fill={Restated: restate}), COUNTER, name="extractive")


@pytest.fixture
def budget() -> CallBudget:
    return CallBudget(max_calls=9)


def asked(question: str) -> list[BaseMessage]:
    return [
        SystemMessage("Cite."),
        QuestionMessage(content=f"{fence(SOURCES)}\n\n{question}", question=question),
    ]


async def test_sources_in_the_prompt_are_quoted(model: ChatModel, budget: CallBudget) -> None:
    assert "Gym memberships are paid back up to $500 a year. [S7]" in await model.complete(
        asked("Are gym memberships paid?"), budget=budget
    )
    assert "Dogs are welcome <on> Fridays. [S7]" in await model.complete(
        asked("Are dogs welcome?"), budget=budget
    )
    assert await model.complete(asked("What is the capital of France?"), budget=budget) == NOT_FOUND_ANSWER


async def test_the_stream_is_the_whole_answer_word_by_word(model: ChatModel, budget: CallBudget) -> None:
    messages = asked("Are gym memberships paid?")
    whole = await model.complete(messages, budget=budget)
    deltas = [delta async for delta in model.stream(messages, budget=budget)]
    assert "".join(deltas) == whole
    assert len(deltas) == len(whole.split())


async def test_usage_is_counted_the_same_in_both_ways(model: ChatModel) -> None:
    one, other = CallBudget(1), CallBudget(1)
    await model.complete(asked("Are dogs welcome?"), budget=one)
    async with aclosing(model.stream(asked("Are dogs welcome?"), budget=other)) as deltas:
        text = "".join([delta async for delta in deltas])
    assert one.usage == other.usage
    assert one.usage.output_tokens == COUNTER.count(text)
    assert one.usage.input_tokens > COUNTER.count(TEXT)


@pytest.mark.parametrize(
    "messages",
    [
        [HumanMessage("What is the fee of the club?"), AIMessage("$5."), HumanMessage("and for what?")],
        [
            QuestionMessage(
                content="any text", question="and for what?", earlier=("What is the fee of the club?",)
            )
        ],
        [
            QuestionMessage(
                content="any text",
                question="and for what?",
                earlier=("What is the fee of the club?", "And for cats?", "Thanks!"),
            )
        ],
    ],
    ids=["messages", "transcript", "transcript with follow-ups"],
)
@pytest.mark.parametrize("schema", [Restated, RestatedAtLength])
async def test_a_registered_structured_output_is_filled_from_the_conversation(
    messages: Sequence[BaseMessage], schema: type[Restated], model: ChatModel, budget: CallBudget
) -> None:
    filled = await model.structured(messages, schema, budget=budget)
    assert filled == schema(question="What is the fee of the club? and for what?")


async def test_an_unregistered_structured_output_fails_loudly(model: ChatModel, budget: CallBudget) -> None:
    with pytest.raises(NotImplementedError, match="Verdict"):
        await model.structured([HumanMessage("Is it?")], Verdict, budget=budget)


async def test_the_search_is_called_once_and_what_it_finds_is_shown(
    model: ChatModel, budget: CallBudget
) -> None:
    messages: list[BaseMessage] = [HumanMessage("Are dogs welcome?")]
    [call] = [part async for part in model.stream_with_tools(messages, [SEARCHING], budget=budget)]
    assert isinstance(call, AIMessage)
    found = {"query": "Are dogs welcome?", "top_k": 8}
    assert [(c["name"], c["args"]) for c in call.tool_calls] == [("semantic_search", found)]

    messages += [call, ToolMessage(fence(SOURCES), tool_call_id=call.tool_calls[0]["id"])]
    *_, answer = [part async for part in model.stream_with_tools(messages, [SEARCHING], budget=budget)]
    assert isinstance(answer, AIMessage)
    assert not answer.tool_calls
    assert answer.text.startswith(closest_label(""))
    assert "Dogs are welcome <on> Fridays. [S7]" in answer.text


@pytest.mark.parametrize(
    ("output", "answer"),
    [
        ('[{"tool": "semantic_search", "error": "It is away."}]', "A tool failed: It is away."),
        ('{"error": "It is away."}', "A tool failed: It is away."),
        (
            '[{"tool": "semantic_search", "error": "It is away."}, {"tool": "search_pages", "pages": []}]',
            NOT_FOUND_ANSWER,
        ),
        ('[{"tool": "semantic_search", "passages": []}]', NOT_FOUND_ANSWER),
        ("no JSON", NOT_FOUND_ANSWER),
    ],
)
async def test_lookups_that_fail_are_not_taken_for_lookups_that_find_nothing(
    output: str, answer: str, model: ChatModel, budget: CallBudget
) -> None:
    question = QuestionMessage(content="any text", question="Which fee?", tool_output=output)
    assert await model.complete([question], budget=budget) == answer


@pytest.mark.parametrize("label", ["Question:", "Last question:", "What the tools found:", "user: "])
async def test_labels_in_a_question_are_part_of_it(label: str, model: ChatModel, budget: CallBudget) -> None:
    question = f"{label} Which fee do children pay at the club in Leeds?"
    filled = await model.structured([HumanMessage(question)], Restated, budget=budget)
    assert filled.question == question


async def test_small_talk_calls_no_tool(model: ChatModel, budget: CallBudget) -> None:
    messages = [HumanMessage("Hello!")]
    *_, message = [part async for part in model.stream_with_tools(messages, [SEARCHING], budget=budget)]
    assert isinstance(message, AIMessage)
    assert message.text == f"Hello! {OFFLINE_INTRODUCTION}{TALK}"
    assert not message.tool_calls


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Which fee do children pay at the club?", OFFLINE_SEARCH_OFF["en"]),
        ("Welche Gebühr zahlen die Kinder im Verein?", OFFLINE_SEARCH_OFF["de"]),
        ("Hello!", f"Hello! {OFFLINE_INTRODUCTION}"),
    ],
)
async def test_a_search_that_is_switched_off_is_said(
    question: str, answer: str, model: ChatModel, budget: CallBudget
) -> None:
    asked_so = QuestionMessage(content="any text", question=question, is_off=True)
    assert await model.complete([asked_so], budget=budget) == f"{answer}{TALK}"


async def test_sources_of_an_earlier_question_are_not_answered_from(
    model: ChatModel, budget: CallBudget
) -> None:
    messages = [
        HumanMessage(asked("Are dogs welcome?")[-1].text),
        AIMessage("Yes."),
        HumanMessage("Are gym memberships paid?"),
    ]
    assert "[S7]" not in await model.complete(messages, budget=budget)


async def test_the_conversation_is_remembered(model: ChatModel, budget: CallBudget) -> None:
    messages = [HumanMessage("My name is Ada."), AIMessage("Hello."), HumanMessage("What is my name?")]
    assert "Ada" in await model.complete(messages, budget=budget)
