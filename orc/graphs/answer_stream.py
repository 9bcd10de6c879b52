"""The stream of a model's words to the user: every citation in it is checked by code."""

import json
import re
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from orc.events import CitationMarked, Event, Token
from orc.graphs.models import ConversationState, ToolResult
from orc.tools.ports import LISTING
from orc_core.grounding.citations import WITHOUT_SOURCE, CitationWriter
from orc_core.grounding.models import Grounding
from orc_core.grounding.sources import Source
from orc_core.grounding.word_lists import ALL_NEGATORS, CARDINALS
from orc_core.llm.errors import ReplyCut, empty_reply
from orc_core.text.terms import STOP_WORDS
from orc_core.text.wording import has_subject

_OF_LISTS = frozenset(
    "following document documents file files pdf called named uploaded attached available one list"
    " conversation folgende folgenden dokument dokumente datei dateien namens hochgeladen verfügbar eine ein"
    " liste unterhaltung suivant suivants fichier fichiers nommé disponible un une hay documento documentos"
    " siguiente siguientes archivo archivos llamado uno lista".split()
)
_WITHOUT_CONTENT = _OF_LISTS.union(*STOP_WORDS.values()) - ALL_NEGATORS
_VALUES = {"one": 1, **CARDINALS["en"]}
_WORD = re.compile(r"[^\W\d_]+|\d+")
_FIGURE = re.compile(r"\d+(?:[.,'’]\d+)*")


# Why text is made harmless here and not in clients: docs/decisions/safe-answers.md.
class AnswerStream:
    """Emits text as it comes, with its markers replaced by checked citations of `sources`; `writer` has them.

    Text that imitates a checked citation is defused. Numbers of the `question` differ from no source. `text`
    is all text so far, without surrounding space.
    """

    def __init__(self, emit: Callable[[Event], None], sources: Sequence[Source], question: str) -> None:
        self._emit = emit
        self.writer = CitationWriter(sources, question)
        self._has_begun = False

    @property
    def text(self) -> str:
        return self.writer.text

    def write(self, delta: str) -> None:
        """Emit more of the model's text."""
        self._has_begun = self._has_begun or bool(delta.strip())
        self._show(self.writer.feed(delta))

    def finish(self) -> None:
        """Emit the text that was held back, and check the whole."""
        self._show(self.writer.finish())

    def add_notes(self, *, needs_sources: bool) -> None:
        """Say at the end of an answer that it has no source, or was cut."""
        self._show(self.writer.add_notes(needs_sources=needs_sources))

    @asynccontextmanager
    async def accept_cut(self, cap: int | None) -> AsyncIterator[None]:
        """Keep the text of a reply that reached `cap`, or a limit of the model; any other end is an error."""
        try:
            yield
        except ReplyCut as exc:
            if exc.is_kept and not self._has_begun:
                self.write(exc.text)
            if not exc.is_kept or not self._has_begun:
                raise
            self.writer.cut(cap)

    def _show(self, text: str) -> None:
        if text:
            self._emit(Token(text=text))
        for written in self.writer.take_marks():
            self._emit(CitationMarked.of(written))


def answer_fields(
    stream: AnswerStream, results: Sequence[ToolResult], state: ConversationState
) -> dict[str, Any]:
    """The fields of the attempt after its answer was streamed; DependencyDown if the answer is empty.

    Talk, and a list of the documents, has no grounding, unless it was cut.
    """
    if not stream.text:
        raise empty_reply()
    checks = stream.writer.grounding
    if checks.is_talk or _needs_no_sources(stream.text, results, state):
        stream.add_notes(needs_sources=False)
        cut = [each for each in checks.objections if each.code == "cut"]
        grounding = Grounding(grounded=False, objections=cut) if cut else None
        return {"answer": stream.text, "grounding": grounding}
    stream.add_notes(needs_sources=True)
    return {"answer": stream.text, "citations": stream.writer.citations, "grounding": checks}


def _needs_no_sources(answer: str, results: Sequence[ToolResult], state: ConversationState) -> bool:
    """Whether the answer only lists the documents, or no lookup was planned.

    A list is one if the question is about the documents as such or the answer says no more, and every figure
    of the answer comes from the list.
    """
    if any(result.name != LISTING for result in results):
        return False
    if state.plan is None or not state.plan.looks_up:
        return not state.blob_names
    if not results:
        return False
    listed = [document for result in results for document in result.content.get("documents", [])]
    known = [*map(str, range(len(listed) + 1)), json.dumps(listed, ensure_ascii=False)]
    asks_for_it = not has_subject(state.query)
    says_no_more = _only_lists(answer, [document.get("filename", "") for document in listed])
    return (asks_for_it or says_no_more) and _figures(answer) <= _figures(*known)


def _only_lists(answer: str, filenames: Iterable[str]) -> bool:
    """Whether an answer names some of these documents, or their right number, and says nothing else."""
    names = sorted({name.casefold() for name in filenames}, key=len, reverse=True)
    rest = answer.removesuffix(WITHOUT_SOURCE).casefold()
    said, count = rest, len(names)
    for name in names:
        said = said.replace(name, " ")
    return said != rest and all(
        word == str(count) or _VALUES.get(word) == count or (word in _WITHOUT_CONTENT and word not in _VALUES)
        for word in _WORD.findall(said)
    )


def _figures(*texts: str) -> set[str]:
    return {figure for text in texts for figure in _FIGURE.findall(text)}
