"""The structured outputs of a turn, filled without a model."""

from dataclasses import replace
from pathlib import Path

import pytest
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

import orc
from core.grounding.claims import NOT_FOUND_ANSWER
from core.grounding.sources import Source, fence
from core.llm.chat_model import CallBudget, ChatModel
from devkit.fakes import FakeTools, WordCounter
from devkit.graph_turns import Turn
from orc.bootstrap import load_prompts
from orc.conversations.models import ChatMessage
from orc.graphs.critic_model import CriticVerdict, CritiqueMessage
from orc.graphs.models import ConversationState
from orc.graphs.plan_rules import AvailableSources, intents_of
from orc.graphs.query_planner import TurnPlan, planning_prompt
from orc.offline import build_offline_model
from orc.settings import TurnSettings

SOURCE = Source(
    number=1,
    document_id="d",
    blob_name="a.pdf",
    page=2,
    start=0,
    text="The fee is 10 < 20. Families pay 15.",
    page_text="The fee is 10 < 20. Families pay 15.",
)
CITED = '[Page 2 of Document "a.pdf"]'


@pytest.fixture
def model() -> ChatModel:
    counter = WordCounter()
    return ChatModel(build_offline_model(counter), counter, name="extractive")


async def judged(answer: str, model: ChatModel) -> CriticVerdict:
    asked = CritiqueMessage(
        content=f"{fence([SOURCE])}\n\nany text", question="What is the fee?", answer=answer
    )
    return await model.structured([SystemMessage("Judge."), asked], CriticVerdict, budget=CallBudget(1))


@pytest.mark.parametrize(
    "answer",
    [
        f"The fee is 10 < 20. {CITED} Families pay 15. {CITED}",
        f"- Families pay 15. {CITED}",
        NOT_FOUND_ANSWER,
    ],
)
async def test_an_answer_word_for_word_from_a_source_is_grounded(answer: str, model: ChatModel) -> None:
    assert await judged(answer, model) == CriticVerdict(grounded=True, coverage=1, issues=[], action="accept")


async def test_a_sentence_that_no_source_has_is_an_issue(model: ChatModel) -> None:
    verdict = await judged(f"Families pay 15. {CITED} Dogs pay 3. {CITED}", model)
    assert verdict.grounded is False
    assert verdict.coverage == 0.5
    assert verdict.issues == ["No source has this word for word: Dogs pay 3."]
    assert verdict.action == "accept"


@pytest.mark.parametrize("answer", ["", "\n"])
async def test_an_empty_answer_is_not_grounded(answer: str, model: ChatModel) -> None:
    assert (await judged(answer, model)).grounded is False


async def plan(model: ChatModel, wording: str, question: str) -> TurnPlan:
    turn = Turn(FakeTools())
    prompts = replace(load_prompts(), plan=wording)
    history = [
        ChatMessage(role="user", content="What is the fee of the club?"),
        ChatMessage(role="assistant", content="It is 10."),
    ]
    state = ConversationState(conversation_id="c", question=question, history=history)
    messages = planning_prompt(
        state,
        AvailableSources(documents=True, web=True),
        intents_of(TurnSettings()),
        replace(turn.deps, prompts=prompts),
    )
    return await model.structured(messages, TurnPlan, budget=CallBudget(1))


@pytest.mark.parametrize(
    "question", ["And for families?", "Search the web for club fees", "Hello!", "Which documents are there?"]
)
async def test_the_wording_of_the_plan_prompt_does_not_change_an_offline_plan(
    question: str, model: ChatModel
) -> None:
    shipped = (Path(orc.__file__).parent / "prompts" / "plan.md").read_text()
    reworded = "Plane einen Schritt. {intents} {most} Es gibt: {sources}. Available sources: nothing\n"
    assert await plan(model, reworded, question) == await plan(model, shipped, question)


@pytest.mark.parametrize("schema", [TurnPlan, CriticVerdict])
async def test_a_structured_output_is_not_filled_from_a_plain_message(
    schema: type[TurnPlan] | type[CriticVerdict], model: ChatModel
) -> None:
    messages: list[BaseMessage] = [HumanMessage("What is the fee?")]
    with pytest.raises(TypeError, match=schema.__name__):
        await model.structured(messages, schema, budget=CallBudget(1))
