"""A model's own words on their way to the user: a citation that no code has checked cannot pass."""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from core.grounding.citations import CitationWriter, mark_truncated
from core.grounding.models import Grounding
from core.grounding.sources import Source
from core.llm.chat_model import empty_reply
from core.text.question_type import asks_for_listing, is_statement
from core.text.strip_stream import Trimmed
from orc.events import Event, Token
from orc.graphs.models import ConversationState, ToolResult
from orc.tools.ports import LISTING

_FIGURE = re.compile(r"\d+(?:[.,'’]\d+)*")


class Speech:
    """Emits text as it comes, with its markers turned into checked citations of `sources`.

    Whatever else could be taken for a checked citation is defused. `text` is all that was said, without the
    space around it. `cut`: the
    limit in tokens that the model reached before it had said all. Numbers of the `question` are no claims.
    """

    def __init__(
        self, emit: Callable[[Event], None], sources: Sequence[Source] = (), question: str = ""
    ) -> None:
        self._emit = emit
        self._writer = CitationWriter(sources, question)
        self._trimmed = Trimmed()
        self._has_begun = False
        self.text = ""
        self.cut: int | None = None

    @property
    def writer(self) -> CitationWriter:
        """What was cited, and what the checks found."""
        return self._writer

    @property
    def has_begun(self) -> bool:
        """Whether anything was said, or is held back."""
        return self._has_begun

    def say(self, delta: str) -> None:
        """Pass on more of the model's text."""
        self._has_begun = self._has_begun or bool(delta.strip())
        self._pass_on(self._writer.feed(delta))

    def end(self) -> str:
        """Pass on what was held back; the whole text."""
        self._pass_on(self._writer.finish())
        return self.text

    def _pass_on(self, text: str) -> None:
        if text := self._trimmed.feed(text):
            self.text += text
            self._emit(Token(text=text))


def checked(speech: Speech, results: Sequence[ToolResult], state: ConversationState) -> dict[str, Any]:
    """What the state keeps of the checks, unless the answer is talk, or tells only which documents there are.

    Of talk that was cut it is kept that it was. DependencyDown where nothing was said that could be shown.
    """
    if not speech.text:
        raise empty_reply()
    if _is_talk(speech.text, results, state):
        return (
            {} if speech.cut is None else {"grounding": mark_truncated(Grounding(grounded=False), speech.cut)}
        )
    grounding = speech.writer.grounding
    return {
        "citations": speech.writer.citations,
        "grounding": grounding if speech.cut is None else mark_truncated(grounding, speech.cut),
    }


def _is_talk(answer: str, results: Sequence[ToolResult], state: ConversationState) -> bool:
    """Whether nothing was to be looked up; or whether no more than was done is called for, and the answer has
    no figure from elsewhere: of a list of documents, or of what the user tells."""
    if any(result.name != LISTING for result in results):
        return False
    if state.plan is None or not state.plan.looks_up:
        return not state.blob_names
    if results:
        listed = [document for result in results for document in result.content.get("documents", [])]
        known = [*map(str, range(len(listed) + 1)), json.dumps(listed, ensure_ascii=False)]
        return asks_for_listing(state.query) and _figures(answer) <= _figures(*known)
    said = [message.content for message in state.history if message.role == "user"]
    known = [state.question, *said, *(note.text for note in state.recalled.notes)]
    return is_statement(state.question) and _figures(answer) <= _figures(*known)


def _figures(*texts: str) -> set[str]:
    return {figure for text in texts for figure in _FIGURE.findall(text)}
