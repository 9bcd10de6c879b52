"""The rolling summary: a point for each answered turn, and fewer for old ones."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from core.llm.messages import OFFLINE_INTRODUCTION
from core.llm.token_budget import truncate_words
from core.llm.tokens import TokenCounter
from core.text.question_type import is_small_talk
from core.text.sentences import sentences
from core.text.terms import has_digit
from orc.conversations.models import Turn
from orc.memory.models import SummaryPoint
from orc.memory.notes import is_unproven, notes_in, says_not_found
from orc.memory.terms import Asked, terms_in

MAX_POINTS = 80
POINT_TOKENS = 60
QUESTION_TOKENS = 24
LEAST_TOKENS = 16
LEAST_WORDS = 4
"""Of an answer without citations: `Noted.` is not worth a point."""
NEVER_MERGED = 20
"""The newest points stay as they are."""
JOINT = " · "
"""Between the statements of several turns."""

VISIBLE_CITATION = re.compile(r'\[(?:Page \d+ of Document|Web page) "[^\[\]"]*"[^\[\]"]*\]')
"""A citation as answers show it: `[Page 5 of Document "a.pdf"]`, `[Web page "Title", host]`."""
_ASKED = re.compile(r"“[^”]*”\s*")
_NOT_VERIFIED = "not verified]"


class Statement(NamedTuple):
    """A sentence of an answer and the citation that stands after it."""

    text: str
    citation: str = ""

    @property
    def is_verified(self) -> bool:
        return bool(self.citation) and not self.citation.endswith(_NOT_VERIFIED)


def point_of(turn: Turn, counter: TokenCounter) -> SummaryPoint | None:
    """What was asked, and the answer's best sentence with its citation.

    None where neither says anything, where all that is said is in the user's notes, and where nothing bears
    the answer out: it would come back as something known.
    """
    if turn.assistant is None or is_small_talk(turn.question):
        return None
    if says_not_found(turn) or is_unproven(turn):
        return None
    answer = turn.assistant.content
    asked = truncate_words(" ".join(turn.question.replace("”", '"').split()), QUESTION_TOKENS, counter)
    said = _best(statements_of(answer), Asked(turn.question))
    if not said.text and notes_in(turn.question, turn.seq):
        return None
    room = POINT_TOKENS - counter.count(asked) - counter.count(said.citation)
    told = f"{truncate_words(said.text, max(room, LEAST_TOKENS), counter)} {said.citation}".strip()
    return SummaryPoint(
        text=f"“{asked}” {told}".strip(),
        first_seq=turn.seq,
        last_seq=turn.seq,
        tokens=tokens_of(turn, counter),
    )


def statements_of(answer: str) -> list[Statement]:
    """The sentences of an answer before each of its citations; where it has none, its first sentence, if that
    says anything."""
    found: list[Statement] = []
    start = 0
    for citation in VISIBLE_CITATION.finditer(answer):
        before = list(sentences(" ".join(answer[start : citation.start()].split())))
        start = citation.end()
        if before and re.search(r"\w", before[-1]):
            found.append(Statement(before[-1], citation[0]))
    if found or answer.startswith(OFFLINE_INTRODUCTION):
        return found
    first = next(sentences(" ".join(answer.split())), "")
    return [Statement(first)] if len(first.split()) >= LEAST_WORDS else []


def bounded(points: Sequence[SummaryPoint], settled_seq: int, counter: TokenCounter) -> list[SummaryPoint]:
    """At most MAX_POINTS points: of the older ones, those two neighbours become one that stand for least.

    Points of turns after `settled_seq` are left alone: they may be made anew.
    """
    kept = list(points)
    while len(kept) > MAX_POINTS:
        old = [at for at, point in enumerate(kept[:-NEVER_MERGED]) if point.last_seq <= settled_seq]
        if len(old) < 2:
            break
        at = min(old[:-1], key=lambda at: kept[at + 1].last_seq - kept[at].first_seq)
        kept[at : at + 2] = [_merged(kept[at], kept[at + 1], counter)]
    return kept


def tokens_of(turn: Turn, counter: TokenCounter) -> int:
    """The tokens of a turn's question and answer."""
    return counter.count(turn.question) + counter.count(turn.assistant.content if turn.assistant else "")


def _best(statements: Sequence[Statement], asked: Asked) -> Statement:
    """The one that a verified citation bears out, with most of the question's words; else the first."""

    def worth(statement: Statement) -> tuple[bool, int, bool]:
        shared = asked.terms & terms_in(statement.text, asked.language)
        return statement.is_verified, len(shared), has_digit(statement.text)

    return max(statements, key=worth, default=Statement(""))


def _merged(one: SummaryPoint, other: SummaryPoint, counter: TokenCounter) -> SummaryPoint:
    """One point for both, no longer than either may be: what tells least goes first, then what is older."""
    told = [part for point in (one, other) for part in _told(point.text)]
    while len(told) > 1 and counter.count(JOINT.join(told)) > POINT_TOKENS:
        told.remove(min(told, key=_worth))
    return SummaryPoint(
        text=JOINT.join(told),
        first_seq=one.first_seq,
        last_seq=other.last_seq,
        tokens=one.tokens + other.tokens,
    )


def _told(text: str) -> list[str]:
    """The statements of a point without what was asked; the question itself where there is nothing else."""
    told = text.split(JOINT)
    return told if len(told) > 1 else [_ASKED.sub("", text, count=1) or text]


def _worth(statement: str) -> tuple[bool, int]:
    is_cited = VISIBLE_CITATION.search(statement) is not None and _NOT_VERIFIED not in statement
    names = sum(word[0].isupper() or has_digit(word) for word in statement.split()[1:])
    return is_cited, names
