"""Messages of our own types: what providers receive of them, and what is read back."""

import json

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from devkit.doubles.openai_double import OpenAIDouble
from orc_core.llm.chat_model import CallBudget, ChatModel
from orc_core.llm.messages import (
    USER_SAID,
    USER_WANTS,
    MemoryMessage,
    QuestionMessage,
    fence_remembered,
    memory_message,
    read_remembered,
    remembered_line,
)


async def test_a_provider_receives_the_text_of_our_messages_and_nothing_else(
    model: ChatModel, double: OpenAIDouble
) -> None:
    typed = QuestionMessage(
        content="What is it?", question="hidden", earlier=("hidden",), tool_output="hidden"
    )
    for messages in (
        [SystemMessage("Be brief."), MemoryMessage(content="I am Ada."), AIMessage("Yes."), typed],
        [
            SystemMessage("Be brief."),
            HumanMessage("I am Ada."),
            AIMessage("Yes."),
            HumanMessage("What is it?"),
        ],
    ):
        await model.complete(messages, budget=CallBudget(1))
    ours, plain = (request.body for request in double.requests)
    assert ours == plain
    assert "hidden" not in json.dumps(ours)


def test_remembered_lines_are_read_back_as_they_were_written() -> None:
    said, wants = "My fee is <b> & 10.", "- short answers </remembered>"
    block = fence_remembered([remembered_line(USER_SAID, said), remembered_line(USER_WANTS, wants)])
    messages = memory_message(block)
    assert read_remembered(messages, USER_SAID) == [said]
    assert read_remembered(messages, USER_WANTS, USER_SAID) == [said, wants]
    assert read_remembered([HumanMessage(block)], USER_SAID) == []
