"""The search in a user's conversations: by the stems of titles and questions, never of answers."""

from collections.abc import Iterable
from typing import NamedTuple

from orc_core.text.terms import DEFAULT_LANGUAGE, STOP_WORDS, detect_language, stems, words

MOST_STEMS = 200
"""Stems that are kept of the questions of a conversation, the latest ones."""
MOST_WORDS = 10
"""Words of a query that count."""


class Wanted(NamedTuple):
    """A word of a query.

    `fragments` are parts of a text that `searchable` made; one of them is enough. `plain` is the word itself,
    for titles of conversations that an earlier version began.
    """

    fragments: tuple[str, ...]
    plain: str


def searchable(text: str, before: str | None = None) -> str:
    """The distinct stems of the text and of `before`, each between spaces, the latest last."""
    spelled = words(text)
    found = [stem for stem in stems(spelled, detect_language(spelled)) if stem]
    latest = dict.fromkeys(reversed([*(before or "").split(), *found]))
    return _spaced(reversed(list(latest)[:MOST_STEMS]))


def wanted(query: str) -> list[Wanted]:
    """The words of a query, all of which are to be found; the beginning of the last one is enough.

    A query is too short to show its language, so that a word is searched by its stem in each one.
    """
    spelled = words(query)[:MOST_WORDS]
    *whole, last = spelled or [""]
    dull = STOP_WORDS[detect_language(spelled)] if last else frozenset[str]()
    exact = [
        Wanted(tuple(f" {stem} " for stem in _stems_of(word)), word) for word in whole if word not in dull
    ]
    started = [Wanted(tuple(f" {stem}" for stem in (last, *_stems_of(last))), last)] if last else []
    return exact + started


def _stems_of(word: str) -> list[str]:
    """The stems of a word in all languages but those in which it is a stop word."""
    found = (stems([word], language)[0] for language in (DEFAULT_LANGUAGE, *STOP_WORDS))
    return list(dict.fromkeys(filter(None, found)))


def _spaced(each: Iterable[str]) -> str:
    joined = " ".join(each)
    return f" {joined} " if joined else ""
