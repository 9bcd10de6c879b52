"""The context budget: how many tokens each part of a prompt may have."""

from core.llm.model_catalog import REPLY
from core.llm.tokens import TokenCounter
from orc.graphs.models import Policy

INSTRUCTIONS_AND_TOOLS = 3000
"""What our own instructions and the definitions of the tools take, amply."""
LEAST = 200
MOST_BYTES = 4
"""Of a character: no text has more tokens than bytes."""


def fitted(
    policy: Policy, window: int, question: str, counter: TokenCounter, cap: int | None = None
) -> Policy:
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
