"""Second attempts at an answer: the earlier one is withdrawn, and stands again if there is no better one."""

import asyncio
import functools
import logging
from typing import Any, Protocol

from langgraph.runtime import Runtime

from core.errors import OrcError
from core.grounding.models import Grounding, Revision
from core.llm.token_budget import truncate
from orc.events import Critique, Reset, Token
from orc.graphs.critic_model import LONGEST_ISSUE
from orc.graphs.models import Attempt, ConversationState, Deps
from orc.graphs.utils import changes

logger = logging.getLogger(__name__)

MAX_ISSUES = 12
SHARE_OF_RETRIEVAL = 4
"""The withdrawn answer is quoted within this part of what retrieval may take of a prompt."""
LONGEST_ANSWER = 100_000
"""Characters, whatever they count in tokens."""
UNSAID = "The critic did not say what is wrong with it."


class Node(Protocol):
    """A node of the graph."""

    async def __call__(self, state: ConversationState, runtime: Runtime[Deps]) -> dict[str, Any]: ...


def in_attempt(node: Node) -> Node:
    """The node. In a revision its failure ends the attempt and not the turn, which has an answer; the nodes
    that follow in that attempt do nothing."""

    @functools.wraps(node)
    async def attempted(state: ConversationState, runtime: Runtime[Deps]) -> dict[str, Any]:
        if state.earlier is None:
            return await node(state, runtime)
        if state.revision_failure is not None:
            return {}
        try:
            async with asyncio.timeout_at(runtime.context.ends_at):
                return await node(state, runtime)
        except OrcError as exc:
            return changes(revision_failure=exc.message)
        except TimeoutError:
            return changes(revision_failure="The turn had no more time for it.")
        except Exception:
            logger.exception("revision.failed")
            return changes(revision_failure="It failed unexpectedly.")

    return attempted


def withdraw(state: ConversationState, deps: Deps, verdict: Critique, query: str) -> dict[str, Any]:
    """Take the answer back and say what the next one has to mend."""
    assert state.grounding is not None
    more = verdict.action == "retrieve"
    answer = state.answer or ""
    deps.emit(Reset(reason="More is looked up for the answer." if more else "The answer is revised."))
    return changes(
        earlier=Attempt(
            answer=answer,
            citations=state.citations,
            grounding=state.grounding,
            sources=state.sources,
            context_docs=state.context_docs,
        ),
        revision=Revision(
            answer=truncate(answer, deps.policy.retrieval_tokens // SHARE_OF_RETRIEVAL, deps.counter)[
                :LONGEST_ANSWER
            ],
            issues=[issue[:LONGEST_ISSUE] for issue in verdict.issues[:MAX_ISSUES]] or [UNSAID],
            read_more=more,
            query=query,
        ),
        answer=None,
        citations=[],
        grounding=None,
        context_docs=[] if state.blob_names else state.context_docs,
    )


def put_back(earlier: Attempt, deps: Deps) -> dict[str, Any]:
    """Show the earlier answer again; whatever was shown of the revision is withdrawn."""
    deps.emit(Reset(reason="The earlier answer stands."))
    deps.emit(Token(text=earlier.answer))
    return changes(
        answer=earlier.answer,
        citations=earlier.citations,
        grounding=earlier.grounding,
        sources=earlier.sources,
        context_docs=earlier.context_docs,
    )


def is_worse(grounding: Grounding, earlier: Grounding) -> bool:
    """Whether the code checks find more to say against an answer than against the earlier one."""
    return _worth(grounding) < _worth(earlier)


def passes(grounding: Grounding) -> bool:
    """Whether the code checks accept an answer: all of it is borne out, or it says that nothing was found."""
    return grounding.grounded or grounding.not_found


def _worth(grounding: Grounding) -> tuple[bool, float, int, int]:
    unverified = grounding.citations - grounding.verified
    return passes(grounding), grounding.coverage, -unverified, -len(grounding.contradicted)
