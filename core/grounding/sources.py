"""Passages as a model sees them: numbered, fenced, and unable to break out of their fence."""

import re
from collections.abc import Sequence
from urllib.parse import urlsplit
from xml.sax.saxutils import escape, unescape

from core.grounding.models import Revision
from core.models import Record

_QUOTES = {'"': "&quot;"}
_LIVE_MARKER = re.compile(r"([\[\uff3b\u3010]\W*[Ss\uff33\uff53])(?=\W*\d)")
_LABEL = re.compile(r'<file document="([^"<>]*)" pages="1 to (\d+)" sources="S(\d+) to S\d+"/>')
_FENCED = re.compile(
    r'<source id="(\d+)" document="([^"<>]*)" page="(\d+)"(?: site="[^"<>]*")?>\n(.*?)\n</source>', re.S
)


class Source(Record):
    """One numbered passage of a prompt. `text` stands on the page from character `start` on.

    A page of the web has a `url`, its title for a name, and for a page's text what a search engine quotes.
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
        """Whose page of the web it is; empty for a document's."""
        return (urlsplit(self.url).hostname or "") if self.url else ""


class AttachedFile(Record):
    """A file that the model reads itself; its pages are sources in their order, `first` being page 1."""

    document_id: str
    blob_name: str
    first: int
    pages: int


class FencedSource(Record):
    """What a reader of the prompt can tell of a source."""

    number: int
    blob_name: str
    page: int
    text: str


def without_markers(text: str) -> str:
    """The text with `[S2]` written `[S 2]`: a model that copies it cites nothing."""
    return _LIVE_MARKER.sub(r"\1 ", text)


def fence(sources: Sequence[Source]) -> str:
    """The sources as quoted material; nothing in a text can open or close a fence, or cite."""
    return "\n".join(
        f"{_opening(source)}\n{escape(without_markers(source.text))}\n</source>" for source in sources
    )


def _opening(source: Source) -> str:
    site = f' site="{escape(source.host, _QUOTES)}"' if source.url else ""
    name = escape(source.blob_name, _QUOTES)
    return f'<source id="{source.number}" document="{name}" page="{source.page}"{site}>'


def read_fenced(prompt: str) -> list[FencedSource]:
    """The sources that `fence` wrote into a prompt, in order."""
    return [
        FencedSource(
            number=int(number), blob_name=unescape(name, {"&quot;": '"'}), page=int(page), text=unescape(text)
        )
        for number, name, page, text in _FENCED.findall(prompt)
    ]


def label(file: AttachedFile) -> str:
    """What stands before an attached file: whose pages are which sources. A name cannot break out of it."""
    last = file.first + file.pages - 1
    name = escape(file.blob_name, _QUOTES)
    return f'<file document="{name}" pages="1 to {file.pages}" sources="S{file.first} to S{last}"/>'


def read_labels(prompt: str) -> list[AttachedFile]:
    """The files that `label` wrote into a prompt, in order; whose they are it does not tell."""
    return [
        AttachedFile(
            document_id="", blob_name=unescape(name, {"&quot;": '"'}), first=int(first), pages=int(pages)
        )
        for name, pages, first in _LABEL.findall(prompt)
    ]


def without_fenced(prompt: str) -> str:
    """The prompt less its sources: the instructions and the question."""
    return _LABEL.sub("", _FENCED.sub("", prompt)).strip()


WITHDRAWN = "<withdrawn_answer>"


def withdrawn(revision: Revision) -> str:
    """The earlier answer, and what was wrong with it, fenced."""
    answer = escape(without_markers(revision.answer))
    issues = "\n".join(f"- {escape(without_markers(' '.join(issue.split())))}" for issue in revision.issues)
    return f"{WITHDRAWN}\n{answer}\n</withdrawn_answer>\n<what_was_wrong>\n{issues}\n</what_was_wrong>"
