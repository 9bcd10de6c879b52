"""Questions to ask next: those that a model writes, else those that documents ask; a search answers each."""

import asyncio
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple
from xml.sax.saxutils import escape

from orc.contexts.turn_scope import TurnScopes
from orc.conversations.models import Head, Turn
from orc.conversations.turn_log import TurnLog
from orc.identity import Principal
from orc.tools.ports import SEARCH
from orc.turns.contexts import named_documents, scope_of
from orc.turns.tasks import Tasks
from orc.turns.titles import accepted
from orc_core.documents.ports import Retriever
from orc_core.documents.service import DocumentService
from orc_core.errors import NotFound, OrcError
from orc_core.models import Passage
from orc_core.names import Owner
from orc_core.text.sentences import split_pieces
from orc_core.text.terms import words

PROMPT = Path(__file__).parents[1] / "prompts" / "suggest.md"
MOST = 3
MOST_TRIED = 12
"""Candidates that are searched for; each search takes a few milliseconds."""
MOST_DOCUMENTS = 50
RELATED_PASSAGES, SEARCHED_PASSAGES = 6, 1
MOST_CHARACTERS = 2000
"""Of the question, and of each passage, that a model is shown."""
SECONDS = 10.0
"""Later than this after an answer, its reader no longer looks for what to ask."""

_SIGN = re.compile(r"^\s*(?:[-*•#]+|\d+[.)])\s+")
"""What a heading or an item of a list begins with."""


class Suggested(NamedTuple):
    """Questions to ask next, and who wrote them; `code` has taken them from the documents."""

    suggestions: list[str]
    by: Literal["model", "code"] = "code"


class Suggestions:
    """Suggests questions. `retriever` searches by words; `tasks` asks the model that writes titles."""

    def __init__(
        self, library: DocumentService, retriever: Retriever, log: TurnLog, scopes: TurnScopes, tasks: Tasks
    ) -> None:
        self._library = library
        self._retriever = retriever
        self._log = log
        self._scopes = scopes
        self._tasks = tasks
        self._prompt = PROMPT.read_text()

    async def after(
        self, owner: Owner, caller: Principal, trace_id: str, turn_id: str | None = None
    ) -> Suggested:
        """At most three questions after this turn, the latest one by default. Raises NotFound.

        The answer is not looked at: it may be of documents that the caller may not read any more.
        """
        page = await self._log.page(owner, limit=1)
        turn = next(iter(page.turns if page else ()), None)
        turn = await self._log.turn(owner, turn_id) if turn_id else turn
        if page is None or (turn_id and turn is None):
            raise NotFound("There is no such conversation or turn.")
        ids = await self._searched(owner, caller, page.head, turn) if turn else []
        if turn is None or not ids:
            return Suggested([])
        found = await self._retriever.search(turn.question, ids, RELATED_PASSAGES)
        passages = [hit.passage for hit in found.hits]
        written = await self._written(caller, turn.question, passages, trace_id) if passages else []
        asked, kept = {*words(turn.question)}, list[str]()
        for each in [*dict.fromkeys(written or questions_in(passages))][:MOST_TRIED]:
            if len(kept) < MOST and not {*words(each)} <= asked and await self._is_answered(each, ids):
                kept.append(each)
        return Suggested(kept, "model" if written else "code")

    async def _searched(self, owner: Owner, caller: Principal, head: Head, turn: Turn) -> list[str]:
        """The documents that the turn may search, as far as the caller may read them now."""
        try:
            covered = await self._scopes.of_turn(caller, turn.contexts, head)
            named = await named_documents(self._library, owner, turn.blob_names, covered)
        except NotFound:
            return []
        scope = scope_of(owner, named, covered).switched(turn.choices.tools if turn.choices else {})
        if not scope.allows(SEARCH, only_reads=True):
            return []
        found = await self._library.latest(scope.accessible, MOST_DOCUMENTS)
        return [each.document_id for each in found]

    async def _written(
        self, caller: Principal, question: str, passages: Sequence[Passage], trace_id: str
    ) -> list[str]:
        """The questions of the model; none without one, or if it fails."""
        quoted = [f"<question>\n{escape(question[:MOST_CHARACTERS])}\n</question>"]
        quoted += [f"<passage>\n{escape(each.text[:MOST_CHARACTERS])}\n</passage>" for each in passages]
        prompt = "\n\n".join([self._prompt, *quoted])
        with suppress(OrcError, TimeoutError):
            async with asyncio.timeout(SECONDS):
                reply, _ = await self._tasks.answer(prompt, caller, max_tokens=None, trace_id=trace_id)
                return [*_whole(reply.splitlines())]
        return []

    async def _is_answered(self, question: str, ids: Sequence[str]) -> bool:
        """Whether the first step of a search finds enough."""
        found = await self._retriever.search(question, ids, SEARCHED_PASSAGES)
        return any(step.served for step in found.steps[:1])


def questions_in(passages: Iterable[Passage]) -> Iterator[str]:
    """The whole questions in these passages. A heading below another one may be a part of the same title."""
    for passage in passages:
        above = ""
        for piece in split_pieces(passage.text):
            is_begun = piece.kind == above == "heading" and not piece.text.startswith("#")
            if not is_begun:
                yield from _whole([piece.text])
            above = piece.kind


def _whole(lines: Iterable[str]) -> Iterator[str]:
    """Those of these lines that are a question from its first word on, as plain text."""
    for line in lines:
        text = accepted(_SIGN.sub("", line))
        if text and text.endswith(("?", "？", "؟")) and not text[0].islower():
            yield text
