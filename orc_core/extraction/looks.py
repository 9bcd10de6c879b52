"""How a piece of text looks."""

from typing import NamedTuple

from orc_core.extraction.raised import lowered, raised
from orc_core.extraction.symbols import with_symbols


class Look(NamedTuple):
    """1 if text is raised, -1 if lowered; by which properties it is struck or hidden; its font."""

    rise: int = 0
    gone: frozenset[str] = frozenset()
    font: str = ""

    @property
    def is_gone(self) -> bool:
        """Whether people do not see the text, or see it struck."""
        return bool(self.gone)

    def switched(self, name: str, *, is_on: bool) -> "Look":
        """The look with a property that strikes or hides text on or off; others of the kind stay."""
        return self._replace(gone=self.gone | {name} if is_on else self.gone - {name})

    def shown(self, text: str) -> str:
        """The text as people see it, if it is not gone."""
        text = with_symbols(text, self.font)
        return raised(text) if self.rise > 0 else lowered(text) if self.rise < 0 else text
