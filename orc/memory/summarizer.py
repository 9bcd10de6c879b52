"""Has a model condense old turns into fewer points; what it returns is checked and bounded."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Literal, NamedTuple

from langchain_core.messages import HumanMessage, SystemMessage
from pydantic import BaseModel, Field

from core.errors import OrcError
from core.grounding.sources import without_markers
from core.llm.chat_model import ChatModel, Meter
from core.llm.token_budget import truncate_words
from core.llm.tokens import TokenCounter
from orc.conversations.models import Turn
from orc.memory.models import Note, NoteKind, SummaryPoint
from orc.memory.notes import NOTES_PER_TURN, notes_in, shortened
from orc.memory.summary import POINT_TOKENS, VISIBLE_CITATION, tokens_of

logger = logging.getLogger(__name__)

SECONDS = 30.0
MESSAGE_TOKENS = 400
"""Of one side of a turn that the model is shown."""


class PointOfTurns(BaseModel):
    """What was asked and found out in some turns."""

    first_turn: int = Field(description="number of the first of them")
    last_turn: int = Field(description="number of the last of them")
    text: str = Field(description="one sentence, with the citation that supports it")


class NoteOfUser(BaseModel):
    """What the user said of themselves or of what they want."""

    turn: int = Field(description="number of the turn")
    kind: Literal["fact", "preference"]
    quote: str = Field(description="the user's own sentence, word for word")


class CondensedTurns(BaseModel):
    """What is kept of old turns of a conversation."""

    points: list[PointOfTurns]
    notes: list[NoteOfUser] = []


class Condensed(NamedTuple):
    """Points in the order of their turns, and notes in the user's own words."""

    points: list[SummaryPoint]
    notes: list[Note]


class Condenser:
    """Asks one model, once for a batch of turns, with a meter of its own: no turn waits or pays for it."""

    def __init__(
        self, model: ChatModel, prompt: str, counter: TokenCounter, *, seconds: float = SECONDS
    ) -> None:
        self._model = model
        self._prompt = prompt
        self._counter = counter
        self._seconds = seconds

    async def condense(self, turns: Sequence[Turn]) -> Condensed | None:
        """What the model makes of answered turns, oldest first; None where that fails or is of no use."""
        asked = [SystemMessage(self._prompt), HumanMessage("\n\n".join(map(self._shown, turns)))]
        try:
            async with asyncio.timeout(self._seconds):
                form = await self._model.structured(asked, CondensedTurns, meter=Meter(max_calls=1))
        except (OrcError, TimeoutError) as exc:
            logger.warning("old turns stay as they are, no model condensed them: %s", type(exc).__name__)
            return None
        points = self._points(form, turns)
        if not points:
            logger.warning("old turns stay as they are: the model made no point of them")
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
        """The points whose turns are there, in order and not twice, in as many tokens as any other point."""
        points: list[SummaryPoint] = []
        for made in sorted(form.points, key=lambda point: point.first_turn):
            about = [turn for turn in turns if made.first_turn <= turn.seq <= made.last_turn]
            after = points[-1].last_seq if points else 0
            text = self._text(made.text, about)
            if text and about and about[0].seq > after:
                tokens = sum(tokens_of(turn, self._counter) for turn in about)
                first, last = about[0].seq, about[-1].seq
                points.append(SummaryPoint(text=text, first_seq=first, last_seq=last, tokens=tokens))
        return points

    def _text(self, text: str, about: Sequence[Turn]) -> str:
        """A point's text without citations that its turns do not have."""
        answers = "\n".join(turn.assistant.content for turn in about if turn.assistant)
        checked = VISIBLE_CITATION.sub(lambda found: found[0] if found[0] in answers else "", text)
        return truncate_words(" ".join(checked.split()), POINT_TOKENS, self._counter)


def _notes(form: CondensedTurns, turns: Sequence[Turn]) -> list[Note]:
    """The notes that stand word for word in what the user said, in that turn."""
    said = {turn.seq: " ".join(turn.question.split()) for turn in turns}
    found: list[Note] = []
    for made in form.notes[: NOTES_PER_TURN * len(turns)]:
        quote = " ".join(made.quote.split())
        if quote and quote.casefold() in said.get(made.turn, "").casefold() and not quote.endswith("?"):
            found.append(_note(made, quote))
    return found


def _note(made: NoteOfUser, quote: str) -> Note:
    # What a pattern knows as well is a note of the same subject, which a later one takes the place of.
    for known in notes_in(quote, made.turn):
        return known
    kind = NoteKind(made.kind)
    return Note(kind=kind, text=shortened(quote), first_seen=made.turn, last_seen=made.turn)
