"""The numbered sources of a prompt: fenced against injection, and the brackets that cite them."""

import re
import unicodedata
from collections.abc import Sequence
from urllib.parse import urlsplit
from xml.sax.saxutils import escape, unescape

from core.grounding.models import Revision
from core.models import Record

_QUOTES = {'"': "&quot;"}
_LIVE_MARKER = re.compile(r"([\[\uff3b\u3010]\W*[Ss\uff33\uff53])(?=\W*\d)")
LABEL = re.compile(r'<file document="([^"<>]*)" pages="1 to (\d+)" sources="S(\d+) to S\d+"/>')
_FENCED = re.compile(
    r'<source id="(\d+)" document="([^"<>]*)" page="(\d+)"(?: site="[^"<>]*")?>\n(.*?)\n</source>', re.S
)

WITHDRAWN = "<withdrawn_answer>"
OPENING = re.compile(r"[\[\uff3b\u3010\u3014\u27e6]")
_CLOSING = frozenset("]\uff3d\u3011\u3015\u27e7")
MAX_VISIBLE_BRACKET = 200
MAX_BRACKET = 4000

_MARKER = re.compile(r"\[\s*S\d{1,4}(?:\s*[,;]\s*S?\d{1,4})*\s*\]", re.I)
_FORGED = re.compile(r"\[(?:(?=.*\bpages?\b)(?=.*\bdocuments?\b)|(?=.*\bweb\W*pages?\b))", re.I | re.S)
_IGNORED = re.compile(r"[*_`~\\]")
_LOOK_ALIKES = (
    "a\u0430\u0251\u03b1\u0410\u0391 b\u042c\u044c\u0412\u0392\u0432 c\u0441\u03c2\u0421 d\u0501\u0500"
    " e\u0435\u0415\u0395 g\u0261\u0581 m\u043c\u041c\u039c n\u0578\u043f\u039d"
    " o\u043e\u03bf\u0585\u041e\u039f p\u0440\u03c1\u0420\u03a1 s\u0455\u0405 t\u0442\u03c4\u0422\u03a4"
    " u\u03c5\u057d w\u051d\u0461\u03c9\u051c"
).split()
"""Letters of citations, each with those of Cyrillic, Greek and other scripts that look the same."""
_TO_LATIN = str.maketrans({other: alike[0] for alike in _LOOK_ALIKES for other in alike[1:]})
_BRACKETS = str.maketrans("\uff3b\u3010\u3014\u27e6\uff3d\u3011\u3015\u27e7", "[[[[]]]]")


class Source(Record):
    """One numbered passage of a prompt; `text` begins at character `start` of the page.

    A web page has a `url`, its title as name, and the search engine's excerpt as page text.
    """

    number: int
    document_id: str
    blob_name: str
    page: int
    start: int
    text: str
    page_text: str
    url: str | None = None

    @property
    def host(self) -> str:
        """The host of a web page; empty for a document."""
        return (urlsplit(self.url).hostname or "") if self.url else ""


class AttachedFile(Record):
    """A file attached to the prompt; its pages are numbered as sources in order, page 1 as `first`."""

    document_id: str
    blob_name: str
    first: int
    pages: int


class FencedSource(Record):
    """A source as it can be read back from a prompt."""

    number: int
    blob_name: str
    page: int
    text: str


def without_markers(text: str) -> str:
    """The text with `[S2]` written `[S 2]`: a model that copies it cites nothing."""
    return _LIVE_MARKER.sub(r"\1 ", text)


def fence(sources: Sequence[Source]) -> str:
    """The sources as quoted material; no text in them can open or close a fence, or cite a source."""
    fenced = []
    for source in sources:
        site = f' site="{escape(source.host, _QUOTES)}"' if source.url else ""
        name, text = escape(source.blob_name, _QUOTES), escape(without_markers(source.text))
        opening = f'<source id="{source.number}" document="{name}" page="{source.page}"{site}>'
        fenced.append(f"{opening}\n{text}\n</source>")
    return "\n".join(fenced)


def read_fenced(prompt: str) -> list[FencedSource]:
    """The sources that `fence` wrote into a prompt, in order."""
    return [
        FencedSource(
            number=int(number), blob_name=unescape(name, {"&quot;": '"'}), page=int(page), text=unescape(text)
        )
        for number, name, page, text in _FENCED.findall(prompt)
    ]


def label(file: AttachedFile) -> str:
    """The line before an attached file, with the numbers of its pages; a name cannot break out of it."""
    last = file.first + file.pages - 1
    name = escape(file.blob_name, _QUOTES)
    return f'<file document="{name}" pages="1 to {file.pages}" sources="S{file.first} to S{last}"/>'


def without_fenced(prompt: str) -> str:
    """The prompt without its sources: the instructions and the question."""
    return LABEL.sub("", _FENCED.sub("", prompt)).strip()


def withdrawn(revision: Revision) -> str:
    """The previous answer and its issues, fenced."""
    answer = escape(without_markers(revision.answer))
    issues = "\n".join(f"- {escape(without_markers(' '.join(issue.split())))}" for issue in revision.issues)
    return f"{WITHDRAWN}\n{answer}\n</withdrawn_answer>\n<what_was_wrong>\n{issues}\n</what_was_wrong>"


def bracketed(text: str, *, is_all: bool) -> str | None:
    """The bracket that `text` begins with, or None if more text could change it.

    It ends at its closing bracket or at a maximum length, however the text is split into pieces.
    """
    depth = visible = 0
    for index, character in enumerate(text[:MAX_BRACKET]):
        depth += bool(OPENING.match(character)) - (character in _CLOSING)
        visible += not (character.isspace() or unicodedata.category(character) == "Cf")
        if depth == 0 or visible == MAX_VISIBLE_BRACKET:
            return text[: index + 1]
    return text[:MAX_BRACKET] if is_all or len(text) >= MAX_BRACKET else None


def cited_numbers(bracket: str) -> list[int]:
    """The source numbers of a marker, each once; none if it is no marker."""
    plain = _plain(bracket)
    if not _MARKER.fullmatch(plain):
        return []
    return list(dict.fromkeys(int(digits) for digits in re.findall(r"\d+", plain)))


def is_forged(bracket: str) -> bool:
    """Whether a bracket looks like a checked citation, which only code may write."""
    return _FORGED.match(_plain(bracket).translate(_TO_LATIN)) is not None


def visible_name(blob_name: str) -> str:
    """A file name that can neither close a citation nor open one."""
    plain = "".join(" " if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") else c for c in blob_name)
    plain = OPENING.sub("(", plain.replace('"', "'"))
    return "".join(")" if character in _CLOSING else character for character in plain)


def _plain(text: str) -> str:
    seen = "".join(c for c in text.translate(_BRACKETS) if unicodedata.category(c) != "Cf")
    return " ".join(_IGNORED.sub("", unicodedata.normalize("NFKC", seen)).split())
