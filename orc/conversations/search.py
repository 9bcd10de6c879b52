"""The search in a user's conversations: by stems of titles and questions, by parts of words in answers."""

import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from orc.conversations.models import Turn
from orc_core.text.normal_forms import normalized
from orc_core.text.terms import DEFAULT_LANGUAGE, STOP_WORDS, detect_language, stems, words

MOST_STEMS = 200
"""Stems that are kept of the questions of a conversation, the latest ones."""
MOST_WORDS = 10
"""Words of a query that count."""
PASSAGE_CHARACTERS = 120
MOST_SAID = 500
"""Turns with words of a query that are looked at, the latest ones."""


class Wanted(NamedTuple):
    """A word of a query.

    `fragments` are parts of a text that `searchable` made; one of them is enough. `plain` is the word itself,
    for titles of conversations that an earlier version began.
    """

    fragments: tuple[str, ...]
    plain: str

    @property
    def parts(self) -> set[str]:
        """What one of has to be in a text as it was written, in lower case."""
        return {self.plain, *(fragment.strip() for fragment in self.fragments)}


def searchable(text: str, before: str | None = None) -> str:
    """The distinct stems of both texts without accents, each between spaces, the latest last."""
    spelled = words(text)
    found = _folded_stems(spelled, detect_language(spelled))
    latest = dict.fromkeys(reversed([*(before or "").split(), *found]))
    kept = " ".join(reversed(list(latest)[:MOST_STEMS]))
    return f" {kept} " if kept else ""


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
    begun = dict.fromkeys((last, without_accents(last), *_stems_of(last)))
    started = [Wanted(tuple(f" {stem}" for stem in begun), last)] if last else []
    return exact + started


def passage(turn: Turn, query: Sequence[Wanted]) -> str:
    """A part of the turn around a word of the query; "" if not all words are in it.

    Markers of sources do not count, but the names of the files that are cited do.
    """
    answer, begun, parts = (turn.assistant.content if turn.assistant else ""), 0, list[str]()
    marks = (mark for each in turn.citations for mark in each.marks)
    for mark in sorted(marks, key=lambda mark: mark.start):
        parts.append(answer[begun : mark.start].rstrip())
        begun = max(begun, mark.end)
    names = ", ".join(dict.fromkeys(citation.blob_name for citation in turn.citations))
    texts = ["".join([*parts, answer[begun:]]), turn.question, names]
    places = [[_place(lowered, word) for word in query] for lowered in [text.lower() for text in texts]]
    if not all(max(of_word) >= 0 for of_word in zip(*places, strict=True)):
        return ""
    text, at = next((text, at) for text, row in zip(texts, places, strict=True) for at in row if at >= 0)
    start, end = max(0, at - PASSAGE_CHARACTERS // 4), at + PASSAGE_CHARACTERS
    # Words stay whole.
    start = text.rfind(" ", 0, start) + 1 if start else 0
    shown = " ".join(text[start : text.rfind(" ", at, end) if end < len(text) else None].split())
    return f"{'… ' if start else ''}{shown}{' …' if end < len(text) else ''}"


def latest_passages(turns: Iterable[Turn], query: Sequence[Wanted]) -> dict[str, tuple[str, str]]:
    """A turn and a passage of it for each conversation that has one, by id: the latest, which comes first."""
    found: dict[str, tuple[str, str]] = {}
    for turn in turns:
        if turn.conversation_id not in found and (part := passage(turn, query)):
            found[turn.conversation_id] = (turn.turn_id, part)
    return found


def _place(lowered: str, word: Wanted) -> int:
    """Where the word is in a text in lower case; -1 if it is not there."""
    return min((at for part in word.parts if (at := lowered.find(part)) >= 0), default=-1)


def _stems_of(word: str) -> list[str]:
    """The stems of a word in all languages but those in which it is a stop word.

    They are with accents, too: an earlier version has stored those.
    """
    languages = (DEFAULT_LANGUAGE, *STOP_WORDS)
    found = (stem for each in languages for stem in (*stems([word], each), *_folded_stems([word], each)))
    return list(dict.fromkeys(filter(None, found)))


def _folded_stems(spelled: list[str], language: str) -> list[str]:
    """The stems without accents, each behind that of the word without accents if it is another one.

    An ending is known with its accents only: `habitación` and `habitaciones` have a stem that `habitacion`
    has not.
    """
    plain = stems([*map(without_accents, spelled)], language)
    pairs = zip(plain, map(without_accents, stems(spelled, language)), strict=True)
    return [stem for pair in pairs if pair[1] for stem in dict.fromkeys(pair) if stem]


def without_accents(text: str) -> str:
    """The text with each letter in the place of its accented forms: `ü` and `u` are the same."""
    return "".join(each for each in normalized("NFKD", text) if not unicodedata.combining(each))
