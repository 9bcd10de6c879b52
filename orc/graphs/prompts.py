"""What models are given: who they are, what is remembered, what was said, and the question."""

from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from core.llm.memory_message import remembered_message
from core.llm.tokens import TokenCounter, beginning
from orc.graphs.models import ChatMessage, ConversationState, Deps
from orc.memory.rendering import remembered


def conversation_prompt(
    system: str, question: str, state: ConversationState, deps: Deps
) -> list[BaseMessage]:
    """The conversation as models take it, its history and memory within their budgets.

    `question` is the last message, whatever belongs to it included.
    """
    known = remembered(state.recalled, deps.policy.memory_tokens, deps.counter)
    past = [
        HumanMessage(message.content) if message.role == "user" else AIMessage(message.content)
        for message in told_history(state, deps)
    ]
    return [SystemMessage(system), *remembered_message(known), *past, HumanMessage(question)]


def told_history(state: ConversationState, deps: Deps) -> list[ChatMessage]:
    """What of the history the prompt of an answer has."""
    return within_budget(state.history, deps.policy.history_tokens, deps.counter)


def within_budget(history: Sequence[ChatMessage], tokens: int, counter: TokenCounter) -> list[ChatMessage]:
    """The newest messages that fit into so many tokens together, in order; it begins with a question.

    Of a message that would take up more than half of them only the beginning is kept.
    """
    kept: list[ChatMessage] = []
    longest = tokens // 2
    for message in reversed(history):
        short = _shortened(message, longest, counter)
        tokens -= counter.count(short.content)
        if tokens < 0:
            break
        kept.append(short)
    while kept and kept[-1].role == "assistant":
        kept.pop()
    return kept[::-1]


def _shortened(message: ChatMessage, tokens: int, counter: TokenCounter) -> ChatMessage:
    text = beginning(message.content, tokens, counter)
    return message if text == message.content else message.model_copy(update={"content": f"{text} …"})
