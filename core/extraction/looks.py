"""How a piece of text looks."""

from typing import NamedTuple

from core.extraction.raised import lowered, raised
from core.extraction.symbols import with_symbols


class Look(NamedTuple):
    """1 if text is raised, -1 if lowered; whether it is struck or hidden; its font."""

    rise: int = 0
    is_gone: bool = False
    font: str = ""

    def shown(self, text: str) -> str:
        """The text as people see it, if it is not gone."""
        text = with_symbols(text, self.font)
        return raised(text) if self.rise > 0 else lowered(text) if self.rise < 0 else text
