"""The rolling summary: a point for each answered turn, and fewer for old ones.

With a model, old turns are condensed into fewer points; what the model returns is checked and bounded.
"""

import asyncio
import logging
import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import Literal, NamedTuple

from langchain_core.messages import HumanMessage, SystemMessage
from pydantic import BaseModel, Field

from orc.conversations.models import Turn
from orc.memory.models import Note, NoteKind, SummaryPoint
from orc.memory.notes import (
    NOTES_PER_TURN,
    Asked,
    is_question,
    is_unproven,
    notes_in,
    says_not_found,
    shortened,
    shows_passages,
    terms_in,
)
from orc_core.errors import OrcError
from orc_core.grounding.sources import without_markers
from orc_core.llm.chat_model import CallBudget, ChatModel
from orc_core.llm.messages import OFFLINE_INTRODUCTION, OFFLINE_SEARCH_OFF
from orc_core.llm.tokens import TokenCounter, truncate_words
from orc_core.search.bm25 import floored, idf_of_terms
from orc_core.text.provenance import own_words
from orc_core.text.sentences import sentences
from orc_core.text.terms import has_digit
from orc_core.text.wording import is_small_talk

logger = logging.getLogger(__name__)

MAX_POINTS = 80
POINT_TOKENS = 96
QUESTION_TOKENS = 24
LEAST_TOKENS = 16
MOST_STATEMENTS = 12
LEAST_WORDS = 4
"""Words of an answer without citations: `Noted.` is not worth a point."""
NEVER_MERGED = 20
"""So many of the newest points are not merged."""
JOINT = " · "
"""Separates the statements of several turns."""

VISIBLE_CITATION = re.compile(
    r'\[(?:Page \d+ of Document|Web page) "[^\[\]"]*"(?: in [a-z]+ "[^\[\]"]*")?[^\[\]"]*\]'
)
"""A citation as answers show it: `[Page 5 of Document "a.pdf"]`, `[Web page "Title", host]`.

That of a document outside of the focus names its context: `[Page 5 of Document "a.pdf" in folder "Rail"]`.
"""
_BLOCK_END = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*+•|#]|\d{1,2}[.)]\s))")
"""Before another paragraph, item or row of an answer."""
_WORD = re.compile(r"\w")
_ASKED = re.compile(r"“[^”]*”\s*")
_NOT_VERIFIED = ("not there]", "not verified]", "not checked]")
"""Ends of markers of sentences that differ from their page, the last two in answers of earlier versions."""


class Statement(NamedTuple):
    """A sentence of an answer and the citation after it."""

    text: str
    citation: str = ""

    @property
    def is_verified(self) -> bool:
        return bool(self.citation) and not self.citation.endswith(_NOT_VERIFIED)


def point_of(turn: Turn, counter: TokenCounter) -> SummaryPoint | None:
    """The question, and what was answered: the sentences of the answer with their citations, in order.

    If some citations are verified, these sentences only, otherwise the first one. Of a long answer the
    sentences remain that have most of what distinguishes the question. None if neither has content, if the
    notes have it all, and if nothing supports the answer: it would come back as something known.
    """
    if turn.assistant is None or is_small_talk(turn.question):
        return None
    if says_not_found(turn) or shows_passages(turn) or is_unproven(turn):
        return None
    answer = turn.assistant.content
    asked = truncate_words(" ".join(turn.question.replace("”", '"').split()), QUESTION_TOKENS, counter)
    found = statements_of(answer)
    found = [each for each in found if each.is_verified] or found[:1]
    if not found and notes_in(turn.question, turn.seq):
        return None
    said = _within(found, Asked(turn.question), POINT_TOKENS - counter.count(asked), counter)
    text = f"“{asked}” {said}".strip()
    seq, tokens = turn.seq, tokens_of(turn, counter)
    return SummaryPoint(text=text, first_seq=seq, last_seq=seq, tokens=tokens, shown=(seq, seq))


def _within(found: Sequence[Statement], question: Asked, tokens: int, counter: TokenCounter) -> str:
    """The statements that fit, in order; the most relevant one always, shortened if need be.

    A term counts the more, the fewer of the statements have it: a row's name more than a table's title.
    """
    texts = [question.terms & terms_in(each.text, question.language) for each in found]
    weights = floored(idf_of_terms(question.terms, texts))
    best_first = sorted(
        range(len(found)),
        key=lambda at: (question.share(weights, found[at].text), has_digit(found[at].text)),
        reverse=True,
    )
    kept: dict[int, Statement] = {}
    for at in best_first[:MOST_STATEMENTS]:
        text, citation = found[at]
        cited = {each.citation for each in kept.values()}
        size = counter.count(text) + (0 if citation in cited else counter.count(citation))
        if not kept and size > tokens:
            least = max(tokens - counter.count(citation), LEAST_TOKENS)
            return f"{truncate_words(text, least, counter)} {citation}".strip()
        if size <= tokens:
            kept[at] = found[at]
            tokens -= size
    in_order = [kept[at] for at in sorted(kept)]
    return " ".join(
        each.text
        if following and following.citation == each.citation
        else f"{each.text} {each.citation}".strip()
        for each, following in zip_longest(in_order, in_order[1:])
    )


def statements_of(answer: str) -> list[Statement]:
    """The sentences of an answer that its citations are about; without citations, its first sentence if that
    has content.

    A citation is about the text of its paragraph or item before it, behind an earlier citation.
    """
    found: list[Statement] = []
    start = 0
    for citation in VISIBLE_CITATION.finditer(answer):
        blocks = [each for each in _BLOCK_END.split(answer[start : citation.start()]) if _WORD.search(each)]
        start = citation.end()
        said = sentences(" ".join(blocks[-1].split())) if blocks else ()
        found += [Statement(each, citation[0]) for each in said if _WORD.search(each)]
    # Earlier versions had another text behind its first sentence.
    if found or answer.startswith((OFFLINE_INTRODUCTION.partition(". ")[0], *OFFLINE_SEARCH_OFF.values())):
        return found
    first = next(sentences(" ".join(answer.split())), "")
    return [Statement(first)] if len(first.split()) >= LEAST_WORDS else []


def bounded(points: Sequence[SummaryPoint], settled_seq: int, counter: TokenCounter) -> list[SummaryPoint]:
    """At most MAX_POINTS points: the two older neighbours that cover the fewest turns are merged first.

    Points of turns after `settled_seq` are not merged, as they may still be replaced.
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


def _merged(one: SummaryPoint, other: SummaryPoint, counter: TokenCounter) -> SummaryPoint:
    """One point for both in the size of one: the least informative statements are dropped, oldest first."""
    parts = [part for point in (one, other) for part in _statements_in(point.text)]
    while len(parts) > 1 and counter.count(JOINT.join(parts)) > POINT_TOKENS:
        parts.remove(min(parts, key=_worth))
    text, tokens = JOINT.join(parts), one.tokens + other.tokens
    origins = [*one.origin, *other.origin]
    first, last = one.first_seq, max(one.last_seq, other.last_seq)
    shown = min(origins), max(origins)
    return SummaryPoint(text=text, first_seq=first, last_seq=last, tokens=tokens, shown=shown)


def _statements_in(text: str) -> list[str]:
    """The statements of a point without the question; the question itself if there is nothing else."""
    parts = text.split(JOINT)
    return parts if len(parts) > 1 else [_ASKED.sub("", text, count=1) or text]


def _worth(statement: str) -> tuple[bool, int]:
    is_doubted = any(label in statement for label in _NOT_VERIFIED)
    is_cited = VISIBLE_CITATION.search(statement) is not None and not is_doubted
    names = sum(word[0].isupper() or has_digit(word) for word in statement.split()[1:])
    return is_cited, names


SECONDS = 30.0
MOST_CALLS = 4
"""A request in each form of structured output, and a correction."""
MESSAGE_TOKENS = 400
"""Tokens of each side of a turn that the model sees."""


class PointOfTurns(BaseModel):
    """What was asked and found in some turns."""

    first_turn: int = Field(description="number of the first of them")
    last_turn: int = Field(description="number of the last of them")
    text: str = Field(description="one sentence, with the citation that supports it")


class NoteOfUser(BaseModel):
    """What the user said about themselves or wants."""

    turn: int = Field(description="number of the turn")
    kind: Literal["fact", "preference"]
    quote: str = Field(description="the user's own sentence, word for word")


class CondensedTurns(BaseModel):
    """The points and notes that replace old turns of a conversation."""

    points: list[PointOfTurns]
    notes: list[NoteOfUser] = []


class Condensed(NamedTuple):
    """Points in the order of their turns, and notes in the user's own words."""

    points: list[SummaryPoint]
    notes: list[Note]


class Summarizer:
    """Asks one model once for a batch of turns, with its own call budget: no turn waits for it."""

    def __init__(
        self, model: ChatModel, prompt: str, counter: TokenCounter, *, seconds: float = SECONDS
    ) -> None:
        self._model = model
        self._prompt = prompt
        self._counter = counter
        self._seconds = seconds

    async def condense(self, turns: Sequence[Turn]) -> Condensed | None:
        """What the model makes of answered turns, oldest first; None if that fails or is unusable."""
        asked = [SystemMessage(self._prompt), HumanMessage("\n\n".join(map(self._shown, turns)))]
        try:
            async with asyncio.timeout(self._seconds):
                form = await self._model.structured(asked, CondensedTurns, budget=CallBudget(MOST_CALLS))
        except (OrcError, TimeoutError) as exc:
            logger.warning("old turns stay whole, the model did not condense them: %s", type(exc).__name__)
            return None
        points = self._points(form, turns)
        if not points:
            logger.warning("old turns stay whole: the model made no point of them")
            return None
        return Condensed(points, _notes(form, turns))

    def _shown(self, turn: Turn) -> str:
        sides = (turn.question, turn.assistant.content if turn.assistant else "")
        # One line each: a line of a quoted document must not look like another turn's.
        user, assistant = (
            truncate_words(" ".join(without_markers(side).split()), MESSAGE_TOKENS, self._counter)
            for side in sides
        )
        return f"Turn {turn.seq}\nuser: {user}\nassistant: {assistant}"

    def _points(self, form: CondensedTurns, turns: Sequence[Turn]) -> list[SummaryPoint]:
        """The points whose turns exist, in order, each turn in one point at most, cut to POINT_TOKENS."""
        points: list[SummaryPoint] = []
        shown = (turns[0].seq, turns[-1].seq)
        for made in sorted(form.points, key=lambda point: point.first_turn):
            about = [turn for turn in turns if made.first_turn <= turn.seq <= made.last_turn]
            after = points[-1].last_seq if points else 0
            answers = "\n".join(turn.assistant.content for turn in about if turn.assistant)
            text = truncate_words(_cited_in(answers, made.text), POINT_TOKENS, self._counter)
            if text and about and about[0].seq > after:
                tokens = sum(tokens_of(turn, self._counter) for turn in about)
                first, last = about[0].seq, about[-1].seq
                point = SummaryPoint(text=text, first_seq=first, last_seq=last, tokens=tokens, shown=shown)
                points.append(point)
        return points


def _cited_in(answers: str, text: str) -> str:
    """The text of a point without citations that its answers do not have."""
    checked = VISIBLE_CITATION.sub(lambda found: found[0] if found[0] in answers else "", text)
    return " ".join(checked.split())


def _notes(form: CondensedTurns, turns: Sequence[Turn]) -> list[Note]:
    """The notes that quote what the user wrote in that turn word for word."""
    said = {turn.seq: " ".join(own_words(turn.question).split()) for turn in turns}
    found: list[Note] = []
    for made in form.notes[: NOTES_PER_TURN * len(turns)]:
        quote = " ".join(made.quote.split())
        if quote and quote.casefold() in said.get(made.turn, "").casefold() and not is_question(quote):
            is_lasting = any(note.lasting for note in notes_in(quote, made.turn))
            kind, seen = NoteKind(made.kind), {"first_seen": made.turn, "last_seen": made.turn}
            found.append(Note(kind=kind, lasting=is_lasting, text=shortened(quote), **seen))
    return found
