"""Passages as a model sees them: numbered, fenced, and unable to break out of their fence."""

import re
from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from core.documents.models import Record

_TAG = re.compile(r'<source id="(\d+)" document=("[^"]*"|\'[^\']*\') page="(\d+)">\n(.*?)\n</source>', re.S)


class Source(Record):
    """One numbered passage of a prompt. `text` stands on the page from character `start` on."""

    number: int
    document_id: str
    blob_name: str
    page: int
    start: int
    text: str
    page_text: str


def fence(sources: Sequence[Source]) -> str:
    """The sources as quoted material for a prompt; `<`, `>` and `&` in their text are escaped."""
    return "\n".join(_fence_one(source) for source in sources)


def _fence_one(source: Source) -> str:
    document = quoteattr(source.blob_name)
    head = f'<source id="{source.number}" document={document} page="{source.page}">'
    return f"{head}\n{escape(source.text)}\n</source>"
