"""Takes the space around a text away while the text still comes in."""


class Trimmed:
    """Space at the beginning is dropped; what may be the space at the end is held back until more follows."""

    def __init__(self) -> None:
        self._space = ""
        self._has_begun = False

    def feed(self, text: str) -> str:
        """What of the text so far has not been passed on, and is not at either end of it."""
        held = self._space + text
        held = held if self._has_begun else held.lstrip()
        shown = held.rstrip()
        self._space = held[len(shown) :]
        self._has_begun = self._has_begun or bool(shown)
        return shown
