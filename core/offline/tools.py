"""Which tools the offline model calls: it lists documents, searches once, or analyzes whole documents."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from core.offline.chat import recall, rewrite_question
from core.search.text_ranking import QuestionTerms
from core.text.question_type import (
    asks_for_listing,
    asks_for_overview,
    is_bare_answer,
    is_small_talk,
    is_statement,
    mentions_documents,
)

LIST, SEARCH, ANALYZE = "documents_list", "semantic_search", "documents_analyze"
PASSAGES = 8
MOST_DOCUMENTS = 3


class Call(NamedTuple):
    """A tool and its arguments."""

    name: str
    arguments: dict[str, Any]


class Done(NamedTuple):
    """A tool that was called for this question, and its output without sources."""

    name: str
    output: str


def choose_calls(
    question: str, earlier: Sequence[str], done: Sequence[Done], offered: Sequence[str]
) -> list[Call]:
    """The calls to make next, in parallel; none if the question can be answered."""
    called = [each.name for each in done]
    if LIST in offered and not called and asks_for_listing(question):
        return [Call(LIST, {})]
    if not needs_looking_up(question, earlier):
        return []
    if asks_for_overview(question) and {LIST, ANALYZE} <= set(offered):
        return _analyze_all(question, done)
    if SEARCH in offered and not called:
        return [Call(SEARCH, {"query": rewrite_question(question, earlier), "top_k": PASSAGES})]
    return []


def needs_looking_up(question: str, earlier: Sequence[str]) -> bool:
    """Whether to search: not for small talk, nor for what an earlier statement of the user answers.

    A statement of the user never answers a question about what documents say.
    """
    if is_small_talk(question) or is_bare_answer(question) or is_statement(question):
        return False
    is_known = not mentions_documents(question) and recall(question, earlier) is not None
    return bool(QuestionTerms(question).terms) and not is_known


def _analyze_all(question: str, done: Sequence[Done]) -> list[Call]:
    """Lists the documents, then analyzes each one."""
    if not done:
        return [Call(LIST, {})]
    if any(each.name == ANALYZE for each in done):
        return []
    handles = [str(document["document"]) for document in _listed(done[-1].output) if "document" in document]
    return [Call(ANALYZE, {"document": handle, "question": question}) for handle in handles[:MOST_DOCUMENTS]]


def _listed(content: str) -> list[dict[str, Any]]:
    try:
        found: list[dict[str, Any]] = json.loads(content)["documents"]
    except (ValueError, KeyError, TypeError):
        return []
    return found
