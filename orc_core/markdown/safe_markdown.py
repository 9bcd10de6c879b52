"""Makes Markdown of a model safe to render while it streams in: no image, no HTML, no link of its choice.

Code and plain text stay as they are. What is dangerous stays readable: a space takes its effect away, and an
address becomes code. See docs/decisions/safe-answers.md.
"""

import html
import re
import string
from collections.abc import Callable, Container

from orc_core.markdown.brackets import ENTITY, is_ignorable
from orc_core.markdown.code_blocks import CodeBlocks

PIECE = 1000
"""Text is taken in by pieces of this length, so that the time grows with its length only."""
LONGEST_LINE_START = 400
LONGEST_SPAN = 400
LONGEST_ADDRESS = 2000
LONGEST_ENTITY = 40
LONGEST_START = 12
"""Characters of the beginning of an address, with a backslash before each of its marks."""
LONGEST_RUN = 20
LONGEST_BEFORE = len("https:")

HARMLESS = re.compile(r"</?(?:br|sub|sup) ?/?>", re.I)
LONGEST_HARMLESS = len("</sub />")

_OVERRIDES = str.maketrans("", "", "\u202d\u202e")
"""Characters that reverse the order of text: what is read differs from what is checked."""
_PLAIN = re.compile(r"[^\r\n`<\[\]&$/hHfFwWmMxX]++")
_LINE_END = re.compile(r"\r?\n|\r")
_TICKS = re.compile(r"`++")
_SPLITS_SPAN = re.compile(r"[|$]|\\[)\]]")
"""Tables and mathematics end before code does."""
_ENTITY_START = re.compile(r"&[#A-Za-z0-9]*")
_FORGING = frozenset(f"[]:/.{string.ascii_letters}{string.digits}")
"""No language needs a reference to write one of these."""
_STARTS = ("https://", "http://", "ftp://", "www.", "mailto:", "xmpp:")
_SCHEMES = ("http:", "https:", "ftp:")
_ADDRESS_START = re.compile(
    r"(?:(?:https?|ftp)\\?:\\?/\\?/|www\\?\.|mailto\\?:|xmpp\\?:)(?=[^\s<>\"`|\\\[\]])", re.I
)
_ADDRESS = re.compile(r"[^\s<>\"`|\\\[\]$]*+")
"""Up to a `$`: mathematics may end there, also within code."""
_AFTER_ADDRESS = ".,;:!?'*_~"
_SLASHES = re.compile(r"/++")
_DESTINATION = re.compile(r"\]\(([^()\s<>]*+)")

Step = tuple[str, int] | None
"""What is shown for the first characters and their number; None if more text has to be known."""


def made_safe(text: str, addresses: Container[str] = ()) -> str:
    """A whole text, which may link to these addresses."""
    shown: list[str] = []
    markdown = SafeMarkdown(shown.append, addresses.__contains__)
    markdown.feed(text)
    markdown.finish()
    return "".join(shown)


class SafeMarkdown:
    """Passes on text as soon as it is safe, however it is split into pieces.

    `may_link` allows links to an address; it is asked when all text before the link has been passed on.
    """

    def __init__(self, pass_on: Callable[[str], None], may_link: Callable[[str], bool]) -> None:
        self._pass_on = pass_on
        self._allows = may_link
        self._blocks = CodeBlocks()
        self.is_prose = True
        """Whether every renderer shows the line that is passed on outside of a block of code."""
        self._held = ""
        self._safe: list[str] = []
        self._before = ""
        self._is_all = False
        self._at_line_start = True
        self._is_code_line = False
        self._open_runs: set[int] = set()
        """Lengths of the runs of backticks in this paragraph that code may have begun with."""
        self._steps: dict[str, Callable[[], Step]] = {
            **dict.fromkeys("\r\n", self._line_end),
            **dict.fromkeys("hHfFwWmMxX", self._word),
            "`": self._ticks,
            "<": self._angle,
            "[": self._opening,
            "]": self._closing,
            "&": self._entity,
            "$": self._dollar,
            "/": self._slashes,
        }

    def feed(self, text: str) -> None:
        """Take in more text."""
        for start in range(0, len(text), PIECE):
            self._held += text[start : start + PIECE].translate(_OVERRIDES)
            self._scan()
        self._flush()

    def finish(self) -> None:
        """Pass on the rest: no more text follows."""
        self._is_all = True
        self._scan()
        self._flush()

    @property
    def code_end(self) -> str:
        """What ends a block of code that the finished text left open; "" if there is none."""
        return f"\n{closing}\n" if (closing := self._blocks.closing) else ""

    def _scan(self) -> None:
        while self._held:
            if self._at_line_start and not self._begin_line():
                return
            step = self._code_line() if self._is_code_line else self._next()
            if step is None:
                return
            shown, taken = step
            self._held = self._held[taken:]
            self._safe.append(shown)
            self._before = (self._before + shown)[-LONGEST_BEFORE:]

    def _flush(self) -> None:
        if self._safe:
            text, self._safe = "".join(self._safe), []
            self._pass_on(text)

    def _may_link(self, address: str) -> bool:
        self._flush()
        return self._allows(address)

    def _waits(self, known: int, longest: int) -> bool:
        """Whether all text is known and could go on, and is not too long for that."""
        return not self._is_all and known >= len(self._held) and known < longest

    def _begin_line(self) -> bool:
        """Judge the line that begins; False if more of it has to be known."""
        length = self._line_length()
        line = self._held[: min(length, LONGEST_LINE_START)]
        if self._waits(length, LONGEST_LINE_START) and self._blocks.needs_more(line):
            return False
        is_whole = length < LONGEST_LINE_START
        self._is_code_line = self._blocks.is_code(line, is_whole=is_whole)
        if self.is_prose != (self._blocks.trusted and not self._is_code_line):
            self._flush()
            self.is_prose = not self.is_prose
        if is_whole and not line.strip(" \t"):
            self._open_runs.clear()
        self._at_line_start = False
        return True

    def _line_length(self) -> int:
        end = _LINE_END.search(self._held)
        return end.start() if end else len(self._held)

    def _code_line(self) -> Step:
        length = self._line_length()
        return (self._held[:length], length) if length else self._line_end()

    def _next(self) -> Step:
        if step := self._steps.get(self._held[0]):
            return step()
        plain = _PLAIN.match(self._held)
        assert plain is not None
        return plain[0], plain.end()

    def _line_end(self) -> Step:
        if self._held == "\r" and not self._is_all:
            return None
        self._at_line_start = True
        end = _LINE_END.match(self._held)
        assert end is not None
        return end[0], end.end()

    def _ticks(self) -> Step:
        """Code within a line passes only if every renderer pairs its backticks in the same way."""
        run = _TICKS.match(self._held)
        assert run is not None
        length = run.end()
        if length >= LONGEST_RUN:
            self._blocks.distrust()
            return run[0][:LONGEST_RUN], LONGEST_RUN
        if self._waits(length, LONGEST_RUN):
            return None
        is_escaped, limit = self._before.endswith("\\"), min(self._line_length(), LONGEST_SPAN)
        found = _TICKS.finditer(self._held, length, limit + LONGEST_RUN)
        runs = [each for each in found if each.start() < limit and not is_escaped]
        place = next((n for n, each in enumerate(runs) if len(each[0]) == length), None)
        last = len(self._held) if place is None else runs[place].end()
        if not is_escaped and self._waits(last, LONGEST_SPAN + LONGEST_RUN * (place is not None)):
            return None
        if place is not None and self._blocks.trusted:
            lengths = {length, *(len(each[0]) for each in runs[:place])}
            if not lengths & self._open_runs and not _SPLITS_SPAN.search(self._held[:last]):
                return self._held[:last], last
        self._open_runs |= {length, length - is_escaped}
        return run[0], length

    def _angle(self) -> Step:
        """`<` with a space behind it if it could begin an element, a comment or a link."""
        held = self._held
        if self._waits(1, 2):
            return None
        if not (held[1:2].isascii() and (held[1:2].isalpha() or held[1:2] in ("/", "!", "?"))):
            return "<", 1
        if ">" not in held[:LONGEST_HARMLESS] and self._waits(len(held), LONGEST_HARMLESS):
            return None
        harmless = HARMLESS.match(held)
        return (harmless[0], harmless.end()) if harmless else ("< ", 1)

    def _opening(self) -> Step:
        """`[` with a space before it if it would make an image."""
        return " [" if self._before.endswith("!") else "[", 1

    def _closing(self) -> Step:
        """`]` with a space behind it if it would make a link or the definition of one."""
        if self._waits(1, 2):
            return None
        if self._held[1:2] not in ("(", ":"):
            return "]", 1
        if destination := _DESTINATION.match(self._held):
            end = destination.end()
            if self._waits(end, LONGEST_ADDRESS):
                return None
            if self._held[end : end + 1] == ")" and self._may_link(destination[1]):
                return self._held[: end + 1], end + 1
        return "] ", 1

    def _entity(self) -> Step:
        """A reference to a character loses its effect if the character could hide or forge something."""
        entity = ENTITY.match(self._held)
        if entity is None:
            start = _ENTITY_START.match(self._held)
            assert start is not None
            return None if self._waits(start.end(), LONGEST_ENTITY) else ("&", 1)
        decoded = html.unescape(entity[0])
        if decoded == entity[0]:
            return entity[0], entity.end()
        if any(character in _FORGING or is_ignorable(character) for character in decoded):
            return "& ", 1
        return entity[0] if decoded.isascii() or decoded.isspace() else decoded, entity.end()

    def _dollar(self) -> Step:
        if self._before.endswith("$"):
            # A fence in displayed mathematics is none.
            self._blocks.distrust()
        return "$", 1

    def _slashes(self) -> Step:
        run = _SLASHES.match(self._held)
        assert run is not None
        if self._waits(run.end(), LONGEST_RUN):
            return None
        follows, before = self._held[run.end() : run.end() + 1], self._before.casefold()
        if run.end() == 2 and follows.isalnum() and (before[-1:] != ":" or before.endswith(_SCHEMES)):
            return self._address(run.end())
        return run[0], run.end()

    def _word(self) -> Step:
        start = _ADDRESS_START.match(self._held)
        if start is not None:
            return self._address(start.end())
        plain = self._held[:LONGEST_START].replace("\\", "").casefold()
        if self._waits(len(self._held), LONGEST_START) and any(each.startswith(plain) for each in _STARTS):
            return None
        return self._held[0], 1

    def _address(self, start: int) -> Step:
        """A bare address as code, which no renderer makes a link."""
        found = _ADDRESS.match(self._held, start)
        assert found is not None
        if self._waits(found.end(), LONGEST_ADDRESS):
            return None
        address = self._held[: min(found.end(), LONGEST_ADDRESS)]
        address = address.rstrip(_AFTER_ADDRESS + ")" * ("(" not in address)) or address
        if self._may_link(address):
            return address, len(address)
        return self._as_code(address, self._held[len(address) : len(address) + 1]), len(address)

    def _as_code(self, address: str, follows: str) -> str:
        length = next(length for length in range(1, LONGEST_RUN + 2) if length not in self._open_runs)
        ticks = "`" * length
        before = " " if self._before.endswith(("\\", "`")) else ""
        return f"{before}{ticks}{address}{ticks}{' ' if follows == '`' else ''}"
