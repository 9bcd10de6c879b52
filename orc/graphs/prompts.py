"""What models are given: who they are, what is remembered, what was said, and the question."""

from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from core.llm.messages import QuestionMessage, memory_message
from core.llm.model_catalog import REPLY
from core.llm.token_budget import take_first_fitting, truncate
from core.llm.tokens import TokenCounter
from orc.conversations.models import ChatMessage
from orc.graphs.models import ConversationState, Deps
from orc.memory.rendering import remembered
from orc.settings import TurnSettings


def conversation_prompt(
    system: str, text: str, state: ConversationState, deps: Deps, tool_output: str | None = None
) -> list[BaseMessage]:
    """The conversation as models take it, its history and memory within their budgets.

    `text` is the last message: the question and what belongs to it, such as `tool_output`.
    """
    known = remembered(state.recalled, deps.policy.memory_tokens, deps.counter)
    past = [
        HumanMessage(message.content) if message.role == "user" else AIMessage(message.content)
        for message in told_history(state, deps)
    ]
    asked = QuestionMessage(content=text, question=state.question, tool_output=tool_output)
    return [SystemMessage(system), *memory_message(known), *past, asked]


def told_history(state: ConversationState, deps: Deps) -> list[ChatMessage]:
    """What of the history the prompt of an answer has."""
    return within_budget(state.history, deps.policy.history_tokens, deps.counter)


def within_budget(history: Sequence[ChatMessage], tokens: int, counter: TokenCounter) -> list[ChatMessage]:
    """The newest messages that fit into so many tokens together, in order; it begins with a question.

    Of a message that would take up more than half of them only the beginning is kept.
    """
    newest_first = (_shortened(message, tokens // 2, counter) for message in reversed(history))
    kept = take_first_fitting(newest_first, tokens, lambda message: counter.count(message.content))
    while kept and kept[-1].role == "assistant":
        kept.pop()
    return kept[::-1]


def _shortened(message: ChatMessage, tokens: int, counter: TokenCounter) -> ChatMessage:
    text = truncate(message.content, tokens, counter)
    return message if text == message.content else message.model_copy(update={"content": f"{text} …"})


INSTRUCTIONS_AND_TOOLS = 3000
"""What our own instructions and the definitions of the tools take, amply."""
LEAST = 200
MOST_BYTES = 4
"""Of a character: no text has more tokens than bytes."""


def shrink_to_window(
    policy: TurnSettings, window: int, question: str, counter: TokenCounter, cap: int | None = None
) -> TurnSettings:
    """The policy, its budgets smaller in proportion where a window of so many tokens takes no more.

    `cap` is the longest answer that may come. A question that leaves room for nothing else leaves at
    least a little to each part, and the model says that it is too long.
    """
    room = window - INSTRUCTIONS_AND_TOOLS - (cap or REPLY)
    wanted = policy.history_tokens + policy.memory_tokens + policy.retrieval_tokens
    most = max(wanted, policy.planner_tokens)
    if most <= room - MOST_BYTES * len(question):
        return policy
    free = max(room - counter.count(question), 0)
    if most <= free:
        return policy
    share = min(free / max(wanted, 1), 1.0)
    return policy.model_copy(
        update={
            "history_tokens": _less(policy.history_tokens, share),
            "memory_tokens": _less(policy.memory_tokens, share),
            "retrieval_tokens": _less(policy.retrieval_tokens, share),
            "planner_tokens": min(policy.planner_tokens, max(free, LEAST)),
        }
    )


def _less(tokens: int, share: float) -> int:
    """The share of a budget, a little at least, unless the settings give it less."""
    return min(tokens, max(int(tokens * share), LEAST))
