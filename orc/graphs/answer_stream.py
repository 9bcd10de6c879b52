"""The stream of a model's words to the user: every citation in it is checked by code."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from core.grounding.citations import CitationWriter, StreamStripper, mark_truncated
from core.grounding.models import Grounding
from core.grounding.sources import Source
from core.llm.chat_model import empty_reply
from core.llm.errors import ReplyCut
from core.text.question_type import asks_for_listing, is_statement
from orc.events import Event, Token
from orc.graphs.models import ConversationState, ToolResult
from orc.tools.ports import LISTING

_FIGURE = re.compile(r"\d+(?:[.,'’]\d+)*")


class AnswerStream:
    """Emits text as it comes, with its markers replaced by checked citations of `sources`; `writer` has them.

    Text that imitates a checked citation is defused. Numbers of the `question` are no claims. `text` is all
    text so far, without surrounding space. `cut` is the cap in tokens, if the model reached it.
    """

    def __init__(
        self, emit: Callable[[Event], None], sources: Sequence[Source] = (), question: str = ""
    ) -> None:
        self._emit = emit
        self.writer = CitationWriter(sources, question)
        self._trimmed = StreamStripper()
        self._has_begun = False
        self.text = ""
        self.cut: int | None = None

    def write(self, delta: str) -> None:
        """Emit more of the model's text."""
        self._has_begun = self._has_begun or bool(delta.strip())
        self._pass_on(self.writer.feed(delta))

    def finish(self) -> None:
        """Emit the text that was held back."""
        self._pass_on(self.writer.finish())

    @contextmanager
    def accept_cut(self, cap: int | None) -> Iterator[None]:
        """Keep the text of a reply that ends at its cap; any other end before its time is an error."""
        try:
            yield
        except ReplyCut as exc:
            if cap is None or not exc.at_limit or not self._has_begun:
                raise
            self.cut = cap

    def _pass_on(self, text: str) -> None:
        if text := self._trimmed.feed(text):
            self.text += text
            self._emit(Token(text=text))


def answer_fields(
    stream: AnswerStream, results: Sequence[ToolResult], state: ConversationState
) -> dict[str, Any]:
    """The fields of the attempt after its answer was streamed; DependencyDown if the answer is empty.

    Talk, and a list of the documents, has no grounding, unless it was cut.
    """
    if not stream.text:
        raise empty_reply()
    if _needs_no_sources(stream.text, results, state):
        grounding = None if stream.cut is None else mark_truncated(Grounding(grounded=False), stream.cut)
        return {"answer": stream.text, "grounding": grounding}
    checked = stream.writer.grounding
    return {
        "answer": stream.text,
        "citations": stream.writer.citations,
        "grounding": checked if stream.cut is None else mark_truncated(checked, stream.cut),
    }


def _needs_no_sources(answer: str, results: Sequence[ToolResult], state: ConversationState) -> bool:
    """Whether the answer is talk or only lists the documents.

    It is if no lookup was planned; or if the question asks for the list or is a statement, and every figure
    of the answer comes from the list or from the user.
    """
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
