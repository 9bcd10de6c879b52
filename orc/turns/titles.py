"""Titles of conversations, which a model writes in the background from the first question alone."""

import asyncio
import logging
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from langchain_core.messages import HumanMessage, SystemMessage
from pydantic import BaseModel, Field

from orc.conversations.models import Head, Started, TitleBy, Turn
from orc.conversations.turn_log import TurnLog
from orc.events import Event, TitleUpdated
from orc_core.errors import OrcError
from orc_core.llm.chat_model import CallBudget, ChatModel
from orc_core.llm.factory import ChatModels
from orc_core.llm.tokens import TokenCounter, truncate
from orc_core.names import Owner
from orc_core.text.provenance import opening_words

PROMPT = Path(__file__).parents[1] / "prompts" / "chat_session_title.md"
QUESTION_TOKENS = 500
TITLE_SECONDS = 20.0
"""Later than this after the question a title is not wanted any more."""
WAIT_SECONDS = 1.0
"""How long the end of a turn waits for its title. A later one is stored and shown in the next listing."""
TITLED_TURNS = 3
"""If the title of the first turn fails, the next ones try again."""
MOST_CHARACTERS = 80
MOST_WORDS = 12
_QUOTES = "\"'`“”„‟«»‘’‚"
_MARKED = re.compile(r"[\[\]<>{}#*_`|]|https?:")

logger = logging.getLogger(__name__)


class Title(BaseModel):
    """The title of a conversation."""

    title: str = Field(description="at most eight words, in the language of the message")


def accepted(text: str) -> str | None:
    """The title that a model has given: one line of visible text; None if it is something else."""
    title = " ".join(text.strip().strip(_QUOTES).split(" ")).strip().removesuffix(".")
    if not 1 <= len(title) <= MOST_CHARACTERS or len(title.split()) > MOST_WORDS:
        return None
    if any(unicodedata.category(character)[0] == "C" or character in "\u2028\u2029" for character in title):
        return None
    return None if _MARKED.search(title) or title.endswith(":") else title


@dataclass(frozen=True)
class PendingTitle:
    """The title of one turn's conversation, which is made while the turn is answered; it delays no text."""

    is_due: asyncio.Event
    writing: asyncio.Task[None] | None = None

    async def settle(self, seconds: float = WAIT_SECONDS) -> None:
        """Wait for the title for so long after the answer. A later one is stored without a reader."""
        self.is_due.set()
        if self.writing is not None:
            await asyncio.wait([self.writing], timeout=seconds)


class Titles:
    """Titles the conversations of a process. Without a model, the words of the first question stay.

    A model that writes the answers too begins with the title after the answer: a server of one's own
    answers one request at a time. `changed` is called after a title was stored.
    """

    def __init__(
        self, log: TurnLog, models: ChatModels, counter: TokenCounter, changed: Callable[[Owner], None]
    ) -> None:
        self._log = log
        self._model = models.titler
        self._writes_answers = models.titler is not None and models.titler.name == models.writer.name
        self._prompt = PROMPT.read_text()
        self._counter = counter
        self._changed = changed
        self._writing: set[asyncio.Task[None]] = set()

    def begin(self, owner: Owner, begun: Started, emit: Callable[[Event], None]) -> PendingTitle:
        """Emit the title that the question has given, and have a better one made."""
        head, turn, is_due = begun.head, begun.turn, asyncio.Event()
        if (turn.seq == 1 or turn.replaces) and head.title_by is TitleBy.WORDS:
            emit(title_event(head))
        is_open = head.title_by in (None, TitleBy.FILE, TitleBy.WORDS) and turn.seq <= TITLED_TURNS
        if self._model is None or not is_open:
            return PendingTitle(is_due)
        if not self._writes_answers:
            is_due.set()
        task = asyncio.create_task(self._title(owner, turn, self._model, emit, is_due))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)
        return PendingTitle(is_due, task)

    async def close(self) -> None:
        """Give up the titles that are not there yet."""
        for task in self._writing:
            task.cancel()
        await asyncio.gather(*self._writing, return_exceptions=True)

    async def _title(
        self,
        owner: Owner,
        turn: Turn,
        model: ChatModel,
        emit: Callable[[Event], None],
        is_due: asyncio.Event,
    ) -> None:
        await is_due.wait()
        try:
            async with asyncio.timeout(TITLE_SECONDS):
                # What others wrote in it could have the model write any title.
                question = opening_words(await self._first_question(owner, turn))
                title = None
                if question:
                    quoted = escape(truncate(question, QUESTION_TOKENS, self._counter))
                    messages = [
                        SystemMessage(content=self._prompt),
                        HumanMessage(content=f"<message>\n{quoted}\n</message>"),
                    ]
                    reply = await model.structured(messages, Title, budget=CallBudget(max_calls=2))
                    title = accepted(reply.title)
                if title is None:
                    logger.info("a title of turn %s was not accepted", turn.turn_id)
                    return
                head = await self._log.retitle(owner, title, TitleBy.MODEL)
            if (head.title, head.title_by) == (title, TitleBy.MODEL):
                emit(title_event(head))
                self._changed(owner)
        except (OrcError, TimeoutError) as exc:
            logger.info("turn %s has no title: %s", turn.turn_id, type(exc).__name__)
        except Exception:
            # The outermost edge of a background task.
            logger.exception("the title of turn %s failed", turn.turn_id)

    async def _first_question(self, owner: Owner, turn: Turn) -> str:
        """The first question of the conversation, in its last version."""
        if turn.seq == 1:
            return turn.question
        turns = {each.turn_id: each for each in await self._log.turns(owner, limit=TITLED_TURNS)}
        first = next(iter(turns.values()), turn)
        while (version := turns.get(first.replaced_by or "")) is not None:
            first = version
        return first.question


def title_event(head: Head) -> TitleUpdated:
    """The event of a conversation's present title."""
    by = head.title_by or TitleBy.WORDS
    return TitleUpdated(conversation_id=head.conversation_id, title=head.title or "", by=by)
