"""The critic's model: its prompt, its structured output and its time limit."""

import asyncio
import logging
import math
from collections.abc import Sequence
from typing import Literal
from xml.sax.saxutils import escape

from langchain_core.messages import BaseMessage, SystemMessage
from pydantic import BaseModel, Field

from core.errors import DeadlineExceeded, OrcError
from core.grounding.models import Citation
from core.grounding.objections import Objection
from core.grounding.sources import Source, fence, without_markers
from core.llm.messages import QuestionMessage
from core.llm.model_catalog import REPLY
from core.llm.tokens import TokenCounter, take_first_fitting
from orc.graphs.models import ConversationState, Deps
from orc.graphs.utils import cited_first

logger = logging.getLogger(__name__)

MAX_ISSUES = 8
MAX_ISSUE_CHARACTERS = 300
MAX_QUERY_CHARACTERS = 500
SHRINK = 0.8
FROM_PICTURES = (
    "Parts of the answer are marked as read from the picture of a page. You are not shown pictures: leave"
    " these parts out of your judgement, and do not ask for a revision because of them."
)


class CriticVerdict(BaseModel):
    """A critic's verdict on an answer."""

    grounded: bool = Field(description="whether the sources support every statement of the answer")
    coverage: float = Field(ge=0, le=1, description="share of its statements that the sources support")
    issues: list[str] = Field(description="what is wrong or missing, a sentence each; empty if nothing is")
    action: Literal["accept", "revise", "retrieve"] = Field(description="what happens to the answer")
    query: str = Field(default="", description="what to look for, if the action is retrieve")

    @property
    def objections(self) -> list[Objection]:
        """The issues, limited in number and length."""
        issues = [" ".join(issue.split())[:MAX_ISSUE_CHARACTERS] for issue in self.issues if issue.strip()]
        return [Objection(code="other", text=issue) for issue in issues[:MAX_ISSUES]]


class CritiqueMessage(QuestionMessage):
    """The answer to judge, without source markers, with its question and sources."""

    answer: str


async def judge(state: ConversationState, deps: Deps) -> CriticVerdict:
    """The verdict of the critic's model. Every failure is an OrcError."""
    seconds = min(deps.settings.critic_seconds, seconds_left(deps))
    if seconds <= 0:
        raise DeadlineExceeded("the turn has no time left for it.")
    try:
        async with asyncio.timeout(seconds):
            messages = await _prompt(state, deps)
            return await deps.models.critic.structured(messages, CriticVerdict, budget=deps.budget)
    except OrcError:
        raise
    except TimeoutError as exc:
        raise DeadlineExceeded(f"it did not answer within {seconds:.3g} s.") from exc
    except Exception as exc:
        # The answer exists and may have been shown: an error of the critic must not lose it.
        logger.exception("critic.failed")
        raise OrcError("it failed unexpectedly.") from exc


def seconds_left(deps: Deps) -> float:
    """The time left for improving the answer."""
    return math.inf if deps.ends_at is None else deps.ends_at - asyncio.get_running_loop().time()


async def _prompt(state: ConversationState, deps: Deps) -> list[BaseMessage]:
    sources = await _sources(state, deps)
    plain = without_markers(state.answer or "")
    answer = escape(plain)
    # The critic reads no history: its budget is free for the answer.
    cap = (state.route and state.route.max_output_tokens) or 0
    if deps.counter.count(answer) > max(cap, REPLY) + deps.settings.history_tokens:
        raise OrcError("the answer is too long for it.")
    shown = fence(sources) if sources else "(The answer cites no source.)"
    if any(citation.check == "picture" for citation in state.attempt.citations):
        shown = f"{shown}\n\n{FROM_PICTURES}"
    asked = f"{shown}\n\nQuestion: {state.query}\n\n<answer>\n{answer}\n</answer>"
    message = CritiqueMessage(content=asked, question=state.query, answer=plain)
    return [SystemMessage(deps.prompts.critic), message]


async def _sources(state: ConversationState, deps: Deps) -> list[Source]:
    """The sources of the answer, cited ones first; for an answer of document_chat the pages that it cites."""
    tokens = deps.settings.retrieval_tokens
    if not state.attempt.sources:
        return await _cited_pages(state.attempt.citations, deps, tokens)
    sources = cited_first(state.attempt.sources, state.attempt.citations)
    return take_first_fitting(sources, tokens, lambda source: deps.counter.count(fence([source])))


async def _cited_pages(citations: Sequence[Citation], deps: Deps, tokens: int) -> list[Source]:
    pages: dict[tuple[str, int], list[Citation]] = {}
    for citation in citations:
        pages.setdefault((citation.document_id, citation.page), []).append(citation)
    texts = await asyncio.gather(*(deps.page_text(*page) for page in pages))
    share = tokens // max(1, len(pages))
    return [
        _page_as_source(number, cited, text, share, deps.counter)
        for number, (cited, text) in enumerate(zip(pages.values(), texts, strict=True), 1)
        if text
    ]


def _page_as_source(
    number: int, citations: Sequence[Citation], text: str, tokens: int, counter: TokenCounter
) -> Source:
    """A cited page, or the part of it around its quotes that fits into the tokens."""
    quoted = [citation for citation in citations if citation.verified] or citations
    first, last = min(c.start for c in quoted), max(c.end for c in quoted)
    start, shown, length = 0, text, len(text)
    while counter.count(shown) > tokens and length > 1:
        length = int(length * SHRINK)
        start = max(0, min(first, (first + last - length) // 2))
        shown = text[start : start + length]
    return Source(
        number=number,
        document_id=citations[0].document_id,
        blob_name=citations[0].blob_name,
        page=citations[0].page,
        start=start,
        text=shown,
        page_text=text,
        url=citations[0].url,
    )
