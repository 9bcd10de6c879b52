"""Makes Markdown of a model safe to render while it streams in: no image, no HTML, no link of its choice.

Code, mathematics and plain text stay as they are. What is dangerous stays readable: a space takes its effect
away, and an address becomes code. See docs/adr/0095.
"""

import html
import re
import string
from collections.abc import Callable, Container
from html.entities import html5

from core.grounding.brackets import ENTITY, is_ignorable
from core.grounding.code_blocks import CodeBlocks

PIECE = 1000
"""Text is taken in by pieces of this length, so that the time grows with its length only."""
LONGEST_LINE_START = 400
LONGEST_SPAN = 400
LONGEST_TAG = 2000
LONGEST_ADDRESS = 2000
LONGEST_ENTITY = 40
LONGEST_NAME = 40
LONGEST_RUN = 20
LONGEST_BEFORE = len("https:")

HARMLESS = re.compile(r"</?(?:br|sub|sup) ?/?>", re.I)
LONGEST_HARMLESS = len("</sub />")
ELEMENTS = frozenset(
    "a abbr acronym address animate animatemotion animatetransform applet area article aside audio b"
    " base basefont bdi bdo bgsound big blink blockquote body br button canvas caption center circle"
    " cite code col colgroup content data datalist dd defs del desc details dfn dialog dir div dl dt"
    " element ellipse em embed fencedframe fieldset figcaption figure font footer foreignobject form"
    " frame frameset g h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe image img input ins isindex"
    " kbd keygen label legend li line link listing main map mark marquee math menu menuitem meta meter"
    " mi mn mo ms mtext multicol nav nextid nobr noembed noframes noscript object ol optgroup option"
    " output p param path picture plaintext polygon polyline portal pre progress q rb rect rp rt rtc"
    " ruby s samp script search section select set shadow slot small source spacer span strike strong"
    " style sub summary sup svg symbol table tbody td template text textarea textpath tfoot th thead"
    " time title tr track tspan tt u ul use var video view wbr xmp".split()
)
"""Elements of HTML and SVG, which have an effect even without attributes."""

_OVERRIDES = "\u202d\u202e"
"""Characters that reverse the order of text: what is read differs from what is checked."""
_DROPPED = str.maketrans("", "", _OVERRIDES)
_PLAIN = re.compile(rf"[^\r\n`<\[\]&$/hHfFwWmMxX{_OVERRIDES}]++")
_LINE_END = re.compile(r"\r?\n|\r")
_TICKS = re.compile(r"`++")
_BLANK_LINE = re.compile(r"[ \t]*+")
_BEFORE_LABEL = re.compile(r"[ \t>*+\-.)\d]*+")
_SPLITS_SPAN = re.compile(r"[|$]|\\[)\]]")
"""Tables and mathematics end before code does."""
_NAME = re.compile(rf"[A-Za-z!?][^\s/<>]{{,{LONGEST_NAME}}}")
_TAG_NAME = re.compile(r"[A-Za-z][\w.-]*")
_TAG_END = re.compile(r"[<>]|\n[ \t]*\n")
_ATTRIBUTE = re.compile(r"[A-Za-z-]{2}\s*=|=\s*[\"']")
"""Attributes with an effect have names of at least two letters; a quoted value may contain `>`."""
_ENTITY_START = re.compile(r"&[#A-Za-z0-9]*")
_FORGING = frozenset(f"[]:/.{string.ascii_letters}{string.digits}")
"""No language needs a reference to write one of these."""
_STARTS = ("https://", "http://", "ftp://", "www.", "mailto:", "xmpp:")
_SCHEMES = ("http:", "https:", "ftp:")
_ADDRESS_START = re.compile(
    r"(?:(?:https?|ftp)\\?:\\?/\\?/|www\\?\.|mailto\\?:|xmpp\\?:)(?=[^\s<>\"`|\\\[\]])", re.I
)
_ADDRESS = re.compile(r"[^\s<>\"`|\\\[\]]*+")
_AFTER_ADDRESS = ".,;:!?'*_~"
_SLASHES = re.compile(r"/++")
_ARGUMENTS = re.compile(r"\((?>(?:[A-Za-z](?![A-Za-z])|[0-9 ,+\-*^=_|'])*)\)")
LONGEST_ARGUMENTS = 40
_DESTINATION = re.compile(r"\([^()\s<>]*+")

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
        self._held = ""
        self._read = 0
        """Characters of what is held that are part of an address whose end is not known yet."""
        self._safe: list[str] = []
        self._before = ""
        self._is_all = False
        self._at_line_start = True
        self._is_code_line = False
        self._only_markers = True
        self._in_label = False
        self._bracket = ""
        self._open_runs: set[int] = set()
        self._steps: dict[str, Callable[[], Step]] = {
            **dict.fromkeys("\r\n", self._line_end),
            **dict.fromkeys("hHfFwWmMxX", self._word),
            **dict.fromkeys(_OVERRIDES, lambda: ("", 1)),
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
            self._held += text[start : start + PIECE]
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
            self._held, self._read = self._held[taken:], 0
            if shown:
                self._safe.append(shown)
                self._before = (self._before + shown)[-LONGEST_BEFORE:]
                self._only_markers = self._only_markers and bool(_BEFORE_LABEL.fullmatch(shown))

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
        end = _LINE_END.search(self._held)
        length = end.start() if end else len(self._held)
        line = self._held[: min(length, LONGEST_LINE_START)]
        if end is None and self._waits(length, LONGEST_LINE_START) and self._blocks.needs_more(line):
            return False
        is_whole = length < LONGEST_LINE_START
        self._is_code_line = self._blocks.is_code(line, is_whole=is_whole)
        if is_whole and _BLANK_LINE.fullmatch(line):
            self._open_runs.clear()
            self._in_label = False
        self._at_line_start, self._only_markers = False, True
        return True

    def _code_line(self) -> Step:
        end = _LINE_END.search(self._held)
        if end and end.start() == 0:
            return self._line_end()
        length = end.start() if end else len(self._held)
        return self._held[:length].translate(_DROPPED), length

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
            self._blocks.trusted = False
            return run[0][:LONGEST_RUN], LONGEST_RUN
        if self._waits(length, LONGEST_RUN):
            return None
        lengths, end = {length}, None
        if not self._before.endswith("\\"):
            line_end = _LINE_END.search(self._held)
            limit = min(line_end.start() if line_end else LONGEST_SPAN, LONGEST_SPAN)
            for other in _TICKS.finditer(self._held, length):
                if other.start() >= limit:
                    break
                lengths.add(other.end() - other.start())
                if other.end() - other.start() == length:
                    end = other
                    break
            if end is None and line_end is None and self._waits(len(self._held), LONGEST_SPAN):
                return None
            if end and self._waits(end.end(), LONGEST_SPAN + LONGEST_RUN):
                return None
        is_code = end and not lengths & self._open_runs and self._blocks.trusted
        if end and is_code and not _SPLITS_SPAN.search(self._held[: end.end()]):
            return self._held[: end.end()].translate(_DROPPED), end.end()
        self._open_runs |= {length, length - 1} if self._before.endswith("\\") else {length}
        return run[0], length

    def _angle(self) -> Step:
        """`<` with a space behind it if it could begin an element, a comment or a link."""
        held = self._held
        if self._waits(1, 2):
            return None
        name = _NAME.match(held, 1)
        if name is None and held[1:2] != "/":
            return "<", 1
        if ">" not in held[:LONGEST_HARMLESS] and self._waits(len(held), LONGEST_HARMLESS):
            return None
        if harmless := HARMLESS.match(held):
            return harmless[0], harmless.end()
        if name is None or name[0][0] in "!?":
            return "< ", 1
        if self._waits(name.end(), LONGEST_NAME):
            return None
        if ":" in name[0]:
            return self._autolink()
        if name[0].casefold() in ELEMENTS:
            return "< ", 1
        return self._unknown_element(name.end()) if _TAG_NAME.fullmatch(name[0]) else ("<", 1)

    def _autolink(self) -> Step:
        address = _ADDRESS.match(self._held, 1)
        assert address is not None
        if self._waits(address.end(), LONGEST_ADDRESS):
            return None
        if self._held[address.end() : address.end() + 1] == ">" and self._may_link(address[0]):
            return self._held[: address.end() + 1], address.end() + 1
        return "< ", 1

    def _unknown_element(self, start: int) -> Step:
        """`x<y` stays as it is. With attributes it could be an element that acts."""
        end = _TAG_END.search(self._held, start)
        if end is None and self._waits(len(self._held), LONGEST_TAG):
            return None
        region = self._held[start : min(end.start() if end else LONGEST_TAG, LONGEST_TAG)]
        is_cut = len(region) + start >= LONGEST_TAG
        return ("< ", 1) if is_cut or _ATTRIBUTE.search(region) else ("<", 1)

    def _opening(self) -> Step:
        self._bracket = "![" if self._before.endswith("!") else "["
        self._in_label = self._in_label or self._only_markers
        return "[", 1

    def _closing(self) -> Step:
        """`]` with a space behind it if it would make a link, an image or the definition of a link."""
        if self._waits(1, 2):
            return None
        follows, defines = self._held[1:2], self._in_label and not self._before.endswith("\\")
        step: Step = ("]", 1)
        if follows == "(":
            step = self._link()
        elif follows == ":" and defines:
            step = self._definition()
        if step is not None:
            self._in_label = self._in_label and not defines
            self._bracket = "]"
        return step

    def _link(self) -> Step:
        if self._bracket != "[":
            return "] ", 1
        destination = _DESTINATION.match(self._held, 1)
        assert destination is not None
        arguments = _ARGUMENTS.match(self._held, 1)
        if arguments and arguments.end() <= LONGEST_ARGUMENTS:
            return "]", 1
        if self._waits(destination.end(), LONGEST_ADDRESS):
            return None
        if ")" not in self._held[: LONGEST_ARGUMENTS + 1] and self._waits(len(self._held), LONGEST_ARGUMENTS):
            return None
        end = destination.end()
        if self._held[end : end + 1] == ")" and self._may_link(destination[0][1:]):
            return self._held[: end + 1], end + 1
        return "] ", 1

    def _definition(self) -> Step:
        """Only a line that is nothing but an address, perhaps with a title, defines a link."""
        end = _LINE_END.search(self._held)
        if end is None and self._waits(len(self._held), LONGEST_LINE_START):
            return None
        words = self._held[2 : min(end.start() if end else LONGEST_LINE_START, LONGEST_LINE_START)].split()
        is_prose = len(words) > 1 and words[1][0] not in "\"'(" and words[0][0] != "<"
        return ("]", 1) if is_prose else ("] ", 1)

    def _entity(self) -> Step:
        """A reference to a character loses its effect if the character could hide or forge something."""
        entity = ENTITY.match(self._held)
        if entity is None:
            start = _ENTITY_START.match(self._held)
            assert start is not None
            return None if self._waits(start.end(), LONGEST_ENTITY) else ("&", 1)
        decoded = html.unescape(entity[0])
        if entity[0][1] != "#" and entity[0][1:] not in html5:
            return entity[0], entity.end()
        if any(character in _FORGING or is_ignorable(character) for character in decoded):
            return "& ", 1
        if decoded.isascii() or decoded.isspace():
            return entity[0], entity.end()
        return decoded, entity.end()

    def _dollar(self) -> Step:
        if self._waits(1, 2):
            return None
        if self._held[1:2] != "$":
            return "$", 1
        self._blocks.in_math = not self._blocks.in_math
        return "$$", 2

    def _slashes(self) -> Step:
        run = _SLASHES.match(self._held)
        assert run is not None
        if self._waits(run.end(), LONGEST_RUN):
            return None
        follows = self._held[run.end() : run.end() + 1]
        before = self._before.casefold()
        if run.end() == 2 and follows.isalnum() and (before[-1:] != ":" or before.endswith(_SCHEMES)):
            return self._address(run.end())
        return run[0], run.end()

    def _word(self) -> Step:
        start = _ADDRESS_START.match(self._held)
        if start is not None:
            return self._address(start.end())
        plain = self._held[:LONGEST_NAME].replace("\\", "").casefold()
        if self._waits(len(self._held), LONGEST_NAME) and any(each.startswith(plain) for each in _STARTS):
            return None
        return self._held[0], 1

    def _address(self, start: int) -> Step:
        """A bare address as code, which no renderer makes a link."""
        found = _ADDRESS.match(self._held, max(start, self._read))
        assert found is not None
        if self._waits(found.end(), LONGEST_ADDRESS):
            self._read = found.end()
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
