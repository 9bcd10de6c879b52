"""The structured outputs of a turn, filled without a model."""

from dataclasses import replace

import pytest
from langchain_core.messages import HumanMessage

from devkit.fakes import FakeTools, WordCounter
from devkit.graph_turns import Turn
from orc.bootstrap import build_offline_model, load_prompts
from orc.conversations.models import ChatMessage
from orc.graphs.models import ConversationState
from orc.graphs.plan_rules import AvailableSources, intents_of
from orc.graphs.query_planner import TurnPlan, planning_prompt
from orc.settings import TurnSettings
from orc_core.llm.chat_model import CallBudget, ChatModel


@pytest.fixture
def model() -> ChatModel:
    counter = WordCounter()
    return ChatModel(build_offline_model(counter), counter, name="extractive")


async def plan(model: ChatModel, wording: str, question: str) -> TurnPlan:
    turn = Turn(FakeTools())
    prompts = replace(load_prompts(), plan={"full": wording})
    history = [
        ChatMessage(role="user", content="What is the fee of the club?"),
        ChatMessage(role="assistant", content="It is 10."),
    ]
    state = ConversationState(conversation_id="c", question=question, history=history)
    turn.change(prompts=prompts)
    messages = planning_prompt(
        state,
        AvailableSources(documents=True, web=True),
        intents_of(TurnSettings()),
        turn.uses,
    )
    return await model.structured(messages, TurnPlan, budget=CallBudget(1))


@pytest.mark.parametrize(
    "question", ["And for families?", "Search the web for club fees", "Hello!", "Which documents are there?"]
)
async def test_the_wording_of_the_plan_prompt_does_not_change_an_offline_plan(
    question: str, model: ChatModel
) -> None:
    shipped = load_prompts().plan["full"]
    reworded = "Plane einen Schritt. {intents} {most} Es gibt: {sources}. Available sources: nothing\n"
    assert await plan(model, reworded, question) == await plan(model, shipped, question)


async def test_a_plan_is_not_filled_from_a_plain_message(model: ChatModel) -> None:
    with pytest.raises(TypeError, match="TurnPlan"):
        await model.structured([HumanMessage("What is the fee?")], TurnPlan, budget=CallBudget(1))
