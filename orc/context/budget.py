"""The context budget: how many tokens each part of a prompt may have, and how many it had."""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from core.llm.dialogue import REMEMBERED
from core.llm.prompt_size import BEFORE_THE_REPLY, message_tokens, tools_tokens
from core.llm.tokens import TokenCounter
from orc.graphs.models import Policy

INSTRUCTIONS_AND_TOOLS = 3000
"""What our own instructions and the definitions of the tools take, amply."""
REPLY = 1500
"""Left free for an answer without a cap of its own."""
LEAST = 200
ROOMY = 64_000
"""In a window from this size on the usual budgets always fit, whatever is asked."""


def fitted(
    policy: Policy, window: int, question: str, counter: TokenCounter, cap: int | None = None
) -> Policy:
    """The policy, its budgets smaller in proportion where a window of so many tokens takes no more.

    `cap` is the longest answer that may come. A question that leaves room for nothing else leaves at
    least a little to each part, and the model says that it is too long.
    """
    if window >= ROOMY:
        return policy
    free = window - INSTRUCTIONS_AND_TOOLS - (cap or REPLY) - counter.count(question)
    wanted = policy.history_tokens + policy.memory_tokens + policy.retrieval_tokens
    if wanted <= free:
        return policy
    share = max(free, 0) / wanted
    return policy.model_copy(
        update={
            "history_tokens": max(int(policy.history_tokens * share), LEAST),
            "memory_tokens": max(int(policy.memory_tokens * share), LEAST),
            "retrieval_tokens": max(int(policy.retrieval_tokens * share), LEAST),
            "planner_tokens": min(policy.planner_tokens, max(free, LEAST)),
        }
    )


def sections_of(
    messages: Sequence[BaseMessage],
    tools: Sequence[dict[str, Any]],
    question: str,
    counter: TokenCounter,
) -> dict[str, int]:
    """How many tokens each part of a prompt has: they add up to `total`, which is what the model is given.

    `retrieval` is what was found: it follows the question, in its message or in later ones.
    """
    asked = max(at for at, message in enumerate(messages) if isinstance(message, HumanMessage))
    sizes = dict.fromkeys(("system", "memory", "history", "question", "retrieval"), 0)
    for at, message in enumerate(messages):
        tokens = message_tokens(message, counter)
        if isinstance(message, SystemMessage):
            sizes["memory"] += (known := _remembered_tokens(str(message.text), counter))
            sizes["system"] += tokens - known
        elif at == asked:
            sizes["question"] += (own := min(tokens, counter.count(question)))
            sizes["retrieval"] += tokens - own
        else:
            sizes["history" if at < asked else "retrieval"] += tokens
    sizes["tools"] = tools_tokens(tools, counter)
    sizes["system"] += BEFORE_THE_REPLY
    return {**sizes, "total": sum(sizes.values())}


def _remembered_tokens(system: str, counter: TokenCounter) -> int:
    _, header, known = system.partition(REMEMBERED)
    return counter.count(header + known) if header else 0
