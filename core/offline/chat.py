"""What the offline model does without sources: recall, rewrite questions, call tools, show their output."""

import json
import re
from collections.abc import Collection, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple
from xml.sax.saxutils import unescape

from core.grounding.closest import not_found_answer
from core.offline.support import has_only_names
from core.search.bm25 import QuestionTerms, coverage, floored, idf_of_terms
from core.text.question_type import (
    RECALL_COVERAGE,
    asks_about_whole,
    asks_for_listing,
    concerns_no_document,
    is_bare_answer,
    is_small_talk,
    is_statement,
    mentions_documents,
)
from core.text.requests import asks_something
from core.text.sentences import split_pieces

LIST, SEARCH, ANALYZE = "documents_list", "semantic_search", "documents_analyze"
PASSAGES = 8
MOST_DOCUMENTS = 8
"""Documents that are analyzed for one question: as many calls as a reply may have."""
FEW_TERMS = 5
"""A question with more terms than this can be understood alone, even if it has pronouns."""

_MEASURE = re.compile(
    r"\b(?:how|wie) (?:long|high|large|old|big|far|hoch|lange?|groß|alt|weit|teuer)\b", re.I
)
_ELLIPTIC = re.compile(r"\s*(?:and|but|or|also|then|what about|how about|what else|why not|same for)\b", re.I)
_PRONOUN = re.compile(r"\b(?:it|its|they|them|theirs?|he|him|his|she|hers?|the same|which one)\b", re.I)
_DEMONSTRATIVE = re.compile(
    r"(?:^|\b(?:is|are|was|do|does|did|about|of|for|with|like|than|on|after|before|and|if)\s+)"
    r"(?:this|that|these|those)\b(?!\s+(?:document|file|page|text|paper|report|pdf|contract|manual)s?\b)",
    re.I,
)
_NAMED = re.compile(
    r"\b(?:the|this|my|our|de[rmns]|die|das|diese[rmns]?|le|la|cet?te?|el|est[ae])"
    r" (?!(?:documents?|dokumente?s?|files?|datei|fichier|archivo)\b)([\w-]+(?: [\w-]+){0,2})",
    re.I,
)
_KINDS = (
    (re.compile(r"\be?-?mails?\b|\bcourriel", re.I), {".eml", ".msg"}),
    (re.compile(r"\b(?:presentation|slides?|präsentation|folien|présentation)\b", re.I), {".pptx", ".odp"}),
    (re.compile(r"\b(?:spreadsheet|workbook|tabelle|tableur)\b", re.I), {".xlsx", ".xls", ".ods", ".csv"}),
)
"""Words for kinds of documents, and the ends of their names."""
_ASKED = re.compile(r"^“[^”]*”\s*")
_WORD = re.compile(r"(?<![\w$€£%.,'’-])[\w$€£%.,'’-]*\w")


class Call(NamedTuple):
    """A tool and its arguments."""

    name: str
    arguments: dict[str, Any]


class Done(NamedTuple):
    """A tool that was called for this question, and its output without sources."""

    name: str
    output: str


def recall(question: str, earlier: Sequence[str]) -> str | None:
    """What the user said before that answers the question, quoted; None if nothing does."""
    best = _recalled(QuestionTerms(question), earlier)
    return f"Earlier in this conversation you said: “{best[-1]}”" if best else None


def _recalled(asked: QuestionTerms, earlier: Sequence[str]) -> list[str]:
    said = [piece.text for text in earlier for piece in split_pieces(text)]
    questions = set(filter(asks_something, set(said)))
    return _best_matches(asked, [text for text in said if text not in questions])


def recall_answer(question: str, remembered: Sequence[str]) -> str | None:
    """What was answered before to such a question, quoted; None if nothing like it was asked.

    Each of `remembered` is a question in curly quotes, then its answer.
    """
    answer = next((_ASKED.sub("", text) for text in _best_matches(QuestionTerms(question), remembered)), "")
    return f"Earlier in this conversation the answer was: “{answer}”" if answer else None


def _best_matches(asked: QuestionTerms, texts: Sequence[str]) -> list[str]:
    """The texts that cover the largest part of the question; none if that is too little."""
    covered = {text: frozenset(asked.terms).intersection(asked.terms_of(text)) for text in set(texts)}
    weights = floored(idf_of_terms(asked.terms, [covered[text] for text in texts]))
    shares = {terms: coverage(weights, terms) for terms in set(covered.values())}
    best = max([RECALL_COVERAGE, *shares.values()])
    return [
        text for text in texts if shares[covered[text]] == best and not has_only_names(asked, covered[text])
    ]


def rewrite_question(question: str, earlier: Sequence[str]) -> str:
    """The question with the subject of an earlier message added, if it cannot be understood alone.

    `earlier` are the user's messages, oldest first. Only English questions are rewritten.
    """
    if needs_history(question):
        own = set(QuestionTerms(question).terms)
        for previous in reversed(earlier):
            subject = [] if needs_history(previous) else _specific_words(previous, own)
            if len(subject) > 1 or (subject and "?" in previous):
                return _with_subject(question, subject)
    return question


def with_subject_of(question: str, earlier: str) -> str:
    """The question with the specific words of an earlier one that it refers to, if that has other ones."""
    subject = _specific_words(_MEASURE.sub(" ", earlier), set(QuestionTerms(question).terms))
    return _with_subject(question, subject) if subject else question


def _with_subject(question: str, subject: Sequence[str]) -> str:
    return f"{question.rstrip(' ?.!')} ({' '.join(subject)})?"


def needs_history(question: str) -> bool:
    """Whether the question can hardly be understood without the messages before it.

    Those about whole documents can: a subject would make them questions about that.
    """
    if asks_about_whole(question):
        return False
    asked = QuestionTerms(question)
    refers_back = _PRONOUN.search(question) or _DEMONSTRATIVE.search(question) or _ELLIPTIC.match(question)
    return not asked.is_specific or (bool(refers_back) and len(asked.terms) <= FEW_TERMS)


def describe_tool_output(content: str, question: str) -> str:
    """A tool's result in words: failures, documents by name and status, anything else unchanged."""
    results = _results(content)
    errors = [result.get("error") for result in results]
    if errors and all(errors):
        return " ".join(f"A tool failed: {error}" for error in dict.fromkeys(errors))
    found = [result[name] for result in results for name in ("passages", "results") if name in result]
    if found and not any(found):
        return not_found_answer(question)
    documents = _documents_in(results)
    if documents is None:
        return f"The tool returned: {content}" if content.strip() else "The tool returned nothing."
    if not documents:
        return "There are no documents in this conversation."
    counted = "is 1 document" if len(documents) == 1 else f"are {len(documents)} documents"
    lines = [f"There {counted} in this conversation:"]
    for document in documents:
        reason = f": {document['reason']}" if document.get("reason") else ""
        lines.append(f"- {document['filename']} ({document['status']}{reason})")
    return "\n".join(lines)


def choose_calls(
    question: str, earlier: Sequence[str], done: Sequence[Done], offered: Sequence[str]
) -> list[Call]:
    """The calls to make next, in parallel; none if the question can be answered."""
    called = [each.name for each in done]
    if LIST in offered and not called and asks_for_listing(question):
        return [Call(LIST, {})]
    if not needs_search(question, earlier):
        return []
    if asks_about_whole(question) and {LIST, ANALYZE} <= set(offered):
        return _analyze_all(question, done)
    if SEARCH in offered and not called:
        return [Call(SEARCH, {"query": rewrite_question(question, earlier), "top_k": PASSAGES})]
    return []


def needs_search(question: str, earlier: Sequence[str]) -> bool:
    """Whether to search: not for talk, for what no document has, or for what the user has said before.

    A statement of the user never answers a question about what documents say.
    """
    if is_small_talk(question) or is_bare_answer(question) or is_statement(question):
        return False
    if concerns_no_document(question):
        return False
    if asks_about_whole(question):
        return True
    asked = QuestionTerms(question)
    return bool(asked.terms) and (mentions_documents(question) or not _recalled(asked, earlier))


def _specific_words(text: str, known: set[str]) -> list[str]:
    """The words of a text whose terms are specific and not `known`, as they are written."""
    asked = QuestionTerms(text)
    new = set(asked.terms) - known
    return [word for word in _WORD.findall(text) if new.intersection(asked.terms_of(word))]


def _analyze_all(question: str, done: Sequence[Done]) -> list[Call]:
    """Lists the documents, then analyzes each one."""
    if not done:
        return [Call(LIST, {})]
    if any(each.name == ANALYZE for each in done):
        return []
    handles = [str(document["document"]) for document in _asked_about(question, done)]
    return [Call(ANALYZE, {"document": handle, "question": question}) for handle in handles[:MOST_DOCUMENTS]]


def leaves_out_documents(question: str, done: Sequence[Done], read: Collection[str]) -> bool:
    """Whether a question about whole documents is about listed ones besides those `read`, given by name."""
    if asks_about_whole(question) is None or all(each.name != ANALYZE for each in done):
        return False
    return any(document.get("filename") not in read for document in _asked_about(question, done))


def _asked_about(question: str, done: Sequence[Done]) -> list[dict[str, Any]]:
    """The listed documents that the question names by a word of their name or their kind; else all."""
    listed = next((_documents_in(_results(each.output)) for each in done if each.name == LIST), None) or []
    documents = [document for document in listed if "document" in document]
    return [each for each in documents if _is_named(question, str(each.get("filename")))] or documents


def _is_named(question: str, filename: str) -> bool:
    name = PurePath(filename)
    if any(kind.search(question) and name.suffix.lower() in suffixes for kind, suffixes in _KINDS):
        return True
    asked = QuestionTerms(" ".join(_NAMED.findall(question)))
    return not set(asked.terms).isdisjoint(asked.terms_of(name.stem.replace("_", " ")))


def _results(content: str) -> list[dict[str, Any]]:
    """The results of one or several tools; none if they are not JSON objects."""
    try:
        found = json.loads(unescape(content))
    except (ValueError, RecursionError):
        return []
    results = found if isinstance(found, list) else [found]
    return results if all(isinstance(result, dict) for result in results) else []


def _documents_in(results: Sequence[dict[str, Any]]) -> list[dict[str, Any]] | None:
    """The documents of a listing, which may be the last of several results."""
    return results[-1].get("documents") if results else None
