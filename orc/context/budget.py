"""The context budget: how many tokens each part of a prompt may have."""

from core.llm.catalogue import REPLY, ROOMY
from core.llm.tokens import TokenCounter
from orc.graphs.models import Policy

INSTRUCTIONS_AND_TOOLS = 3000
"""What our own instructions and the definitions of the tools take, amply."""
LEAST = 200


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
