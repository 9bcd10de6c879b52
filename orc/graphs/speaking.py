"""A model's own words on their way to the user: a citation that no code has checked cannot pass."""

from collections.abc import Callable, Sequence
from typing import Any

from core.contract import Grounding
from core.grounding.answers import cut_at
from core.grounding.markers import CitationWriter
from core.grounding.sources import Source
from orc.events import Event, Token
from orc.graphs.models import LISTING, ToolResult


class Speech:
    """Emits text as it comes, with its markers turned into checked citations of `sources`.

    Whatever else could be taken for a checked citation is defused. `text` is all that was said. `cut`: the
    limit in tokens that the model reached before it had said all. Numbers of the `question` are no claims.
    """

    def __init__(
        self, emit: Callable[[Event], None], sources: Sequence[Source] = (), question: str = ""
    ) -> None:
        self._emit = emit
        self._writer = CitationWriter(sources, question)
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
        if text:
            self.text += text
            self._emit(Token(text=text))


def checked(speech: Speech, results: Sequence[ToolResult]) -> dict[str, Any]:
    """What the state keeps of the checks, where the answer speaks of what documents say.

    It does once a tool was asked that tells more than which documents there are. Of talk that was cut
    it is kept that it was.
    """
    if all(result.name == LISTING for result in results):
        return {} if speech.cut is None else {"grounding": cut_at(Grounding(grounded=False), speech.cut)}
    grounding = speech.writer.grounding
    return {
        "citations": speech.writer.citations,
        "grounding": grounding if speech.cut is None else cut_at(grounding, speech.cut),
    }
