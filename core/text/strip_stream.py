"""White space around a text that arrives in pieces."""


class StreamStripper:
    """Drops leading white space; holds back white space that may be trailing until more text follows."""

    def __init__(self) -> None:
        self._space = ""
        self._has_begun = False

    def feed(self, text: str) -> str:
        """The part of the text that can be passed on now."""
        held = self._space + text
        held = held if self._has_begun else held.lstrip()
        shown = held.rstrip()
        self._space = held[len(shown) :]
        self._has_begun = self._has_begun or bool(shown)
        return shown
