"""What the offline model can say and do without sources: recall, list, rewrite, and say what it is."""

import json
import re
from collections.abc import Sequence
from typing import Any

from core.grounding.claims import NOT_FOUND_ANSWER
from core.search.text_ranking import Candidate, QuestionTerms, TextRanking
from core.text.question_type import RECALL_COVERAGE
from core.text.sentences import split_pieces

INTRODUCTION = (
    "I am Orc's offline model: no language model is configured, so I answer by quoting sentences from "
    "attached documents, with the page they stand on. Attach a document and ask about it, or set "
    "OPENAI_API_KEY or AZURE_OPENAI_ENDPOINT for a model that writes."
)

FEW_TERMS = 5
"""A question with more terms than this stands alone, whatever its pronouns."""

_ELLIPTIC = re.compile(r"\s*(?:and|but|or|also|then|what about|how about|what else|why not|same for)\b", re.I)
_PRONOUN = re.compile(r"\b(?:it|its|they|them|theirs?|he|him|his|she|hers?|the same|which one)\b", re.I)
_DEMONSTRATIVE = re.compile(
    r"(?:^|\b(?:is|are|was|do|does|did|about|of|for|with|like|than|on|after|before|and|if)\s+)"
    r"(?:this|that|these|those)\b(?!\s+(?:document|file|page|text|paper|report|pdf|contract|manual)s?\b)",
    re.I,
)
_ASKED = re.compile(r"^“[^”]*”\s*")
_WORD = re.compile(r"[\w$€£%.,'’-]*\w")


def recall(question: str, earlier: Sequence[str]) -> str | None:
    """What the user said before that answers the question, quoted; None if nothing does."""
    said = [piece.text for text in earlier for piece in split_pieces(text) if not piece.text.endswith("?")]
    ranking = TextRanking(question, [Candidate(text) for text in said])
    coverage = [ranking.coverage(scored.covered) for scored in ranking.scores]
    best = max(coverage, default=0.0)
    if best < RECALL_COVERAGE:
        return None
    newest = max(index for index, share in enumerate(coverage) if share == best)
    return f"Earlier in this conversation you said: “{said[newest]}”"


def recall_answer(question: str, told: Sequence[str]) -> str | None:
    """What was answered before to such a question, quoted; None where nothing like it was asked.

    `told` are lines of a memory: a question in curly quotes, then its answer.
    """
    ranking = TextRanking(question, [Candidate(text) for text in told])
    coverage = [ranking.coverage(scored.covered) for scored in ranking.scores]
    best = max(coverage, default=0.0)
    answers = [_ASKED.sub("", text) for text, share in zip(told, coverage, strict=True) if share == best]
    if best < RECALL_COVERAGE or not answers[0]:
        return None
    return f"Earlier in this conversation the answer was: “{answers[0]}”"


def rewrite_question(question: str, earlier: Sequence[str]) -> str:
    """The question with what it refers to, taken from an English question before it; most need nothing.

    `earlier` are the user's messages, oldest first.
    """
    if leans_on_history(question):
        own = set(QuestionTerms(question).terms)
        for previous in reversed(earlier):
            subject = [] if leans_on_history(previous) else _telling_words(previous, own)
            if len(subject) > 1 or (subject and "?" in previous):
                return f"{question.rstrip(' ?.!')} ({' '.join(subject)})?"
    return question


def leans_on_history(question: str) -> bool:
    """Whether the question can hardly be understood without what was said before it."""
    asked = QuestionTerms(question)
    refers_back = any(sign.search(question) for sign in (_PRONOUN, _DEMONSTRATIVE)) or _ELLIPTIC.match(
        question
    )
    return not asked.is_specific or (bool(refers_back) and len(asked.terms) <= FEW_TERMS)


def tell_tool_result(content: str) -> str:
    """A tool's result in words: what failed, documents by name and status, anything else as it came."""
    if failures := _failures_in(content):
        return " ".join(f"A tool failed: {failure}" for failure in failures)
    if _found_no_passage(content):
        return NOT_FOUND_ANSWER
    documents = _documents_in(content)
    if documents is None:
        return f"The tool returned: {content}" if content.strip() else "The tool returned nothing."
    if not documents:
        return "There are no documents in this conversation."
    lines = [f"- {_told(document)}" for document in documents]
    return "\n".join(
        [f"There {'is' if len(lines) == 1 else 'are'} {len(lines)} in this conversation:", *lines]
    )


def _telling_words(text: str, known: set[str]) -> list[str]:
    """The words of a text that say what it is about and are not `known`, as they are written."""
    asked = QuestionTerms(text)
    new = set(asked.terms) - known
    return [word for word in _WORD.findall(text) if new.intersection(asked.terms_of(word))]


def _documents_in(content: str) -> list[dict[str, Any]] | None:
    """The documents that a listing found; it may be the last of several results."""
    try:
        found = json.loads(content)
        documents: list[dict[str, Any]] = (found[-1] if isinstance(found, list) else found)["documents"]
    except (ValueError, KeyError, IndexError, TypeError):
        return None
    return documents


def _failures_in(content: str) -> list[str]:
    """Why tools failed, where none of them worked."""
    try:
        found = json.loads(content)
        errors = [result.get("error") for result in (found if isinstance(found, list) else [found])]
    except (ValueError, AttributeError):
        return []
    return [str(error) for error in dict.fromkeys(errors)] if all(errors) else []


def _found_no_passage(content: str) -> bool:
    try:
        found = json.loads(content)
        results = found if isinstance(found, list) else [found]
        lists = [result[name] for result in results for name in ("passages", "results") if name in result]
        return bool(lists) and not any(lists)
    except (ValueError, AttributeError, TypeError):
        return False


def _told(document: dict[str, Any]) -> str:
    reason = f": {document['reason']}" if document.get("reason") else ""
    return f"{document['filename']} ({document['status']}{reason})"
