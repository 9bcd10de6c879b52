"""A model's own words on their way to the user: a citation that no code has checked cannot pass."""

from collections.abc import Callable

from core.grounding.markers import CitationWriter
from orc.events import Event, Token


class Speech:
    """Emits text as it comes, less what could be taken for a checked citation; `text` is all of it."""

    def __init__(self, emit: Callable[[Event], None]) -> None:
        self._emit = emit
        self._writer = CitationWriter([])
        self.text = ""

    def say(self, delta: str) -> None:
        """Pass on more of the model's text."""
        self._pass_on(self._writer.feed(delta))

    def end(self) -> str:
        """Pass on what was held back; the whole text."""
        self._pass_on(self._writer.finish())
        return self.text

    def _pass_on(self, text: str) -> None:
        if text:
            self.text += text
            self._emit(Token(text=text))
