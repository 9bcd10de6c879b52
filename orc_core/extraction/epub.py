"""EPUB: one unit for each chapter file in reading order, or several if it is long."""

import posixpath
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote

from lxml.etree import XMLSyntaxError, _Element

from orc_core.errors import UnsupportedDocument
from orc_core.extraction.html import parse
from orc_core.extraction.packages import ABSENT, Package, attribute, local
from orc_core.extraction.pages import Unit, UnitStream, fit, unreadable
from orc_core.extraction.properties import of_elements
from orc_core.extraction.text import decode

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_MARKUP = frozenset({"application/xhtml+xml", "text/html", "application/xml", "text/xml"})
_CONTENTS = "application/x-dtbncx+xml"
_LONGEST_TITLE = 200


def read(source: Path, memory_bytes: int) -> UnitStream:
    """The chapters, labelled by the table of contents or their own headings."""
    book = _Book(Package(source, memory_bytes))
    parts = (part for chapter in book.chapters for part in fit(book.unit(chapter)))
    return UnitStream(parts, properties=book.properties)


class _Book:
    """The package document: the parts, their order and their titles."""

    def __init__(self, package: Package) -> None:
        self._package = package
        file = self._package.tree(_CONTAINER).find(".//{*}rootfile")
        place = "" if file is None else file.get("full-path", "")
        root = self._package.root(place)
        if root is None:
            raise unreadable("corrupt")
        self.properties = of_elements(next(root.iterfind("{*}metadata"), ABSENT), "")
        self._folder = posixpath.dirname(place)
        items = [item for item in root.iterfind("{*}manifest/{*}item") if item.get("href")]
        self._parts = {item.get("id", ""): self._resolve(item.get("href", "")) for item in items}
        self._types = {self._parts[item.get("id", "")]: item.get("media-type", "") for item in items}
        spine = (item.get("idref", "") for item in root.iterfind("{*}spine/{*}itemref"))
        self.chapters = [self._parts[item] for item in spine if item in self._parts]
        if not self.chapters:
            raise unreadable("empty")
        # Copy protection encrypts chapters. A book with only encrypted fonts can be read.
        links = self._package.tree(_ENCRYPTION).iter("{*}CipherReference")
        locked = {self._resolve(link.get("URI", ""), folder="") for link in links}
        if locked & set(self.chapters):
            raise unreadable("encrypted")
        self._titles = self._read_titles(items)
        sheets = (name for name, kind in self._types.items() if kind == "text/css")
        self._css = "\n".join((package.content(name) or b"").decode("utf-8", "replace") for name in sheets)

    def unit(self, part: str) -> Unit:
        """A chapter's text; empty if the part is missing or an image."""
        content = self._package.content(part) if self._types[part] in _MARKUP else None
        try:
            blocks, title, _ = parse(decode(content or b""), self._css)
        except UnsupportedDocument:  # one damaged chapter does not make the others unreadable
            return Unit("", self._titles.get(part, ""))
        chapter = list(blocks)
        heading = next((block.heading for block in chapter if block.heading), "")
        return Unit("\n".join(block.text for block in chapter), self._titles.get(part) or heading or title)

    def _resolve(self, link: str, folder: str | None = None) -> str:
        path = unquote(link.partition("#")[0])
        where = posixpath.join("/", self._folder if folder is None else folder, path)
        return posixpath.normpath(where).lstrip("/")

    def _read_titles(self, items: list[_Element]) -> dict[str, str]:
        titles: dict[str, str] = {}
        for item in items:
            if "nav" in item.get("properties", "").split() or item.get("media-type") == _CONTENTS:
                part = self._parts[item.get("id", "")]
                with suppress(XMLSyntaxError):  # the chapters' own headings are used instead
                    for link, title in _entries(self._package.tree(part)):
                        titles.setdefault(self._resolve(link, posixpath.dirname(part)), title)
        return titles


def _entries(contents: _Element) -> Iterator[tuple[str, str]]:
    """Links and titles of a table of contents, in the form of EPUB 3 (`a`) or 2 (`navPoint`)."""
    for node in contents.iter("{*}a", "{*}navPoint"):
        if local(node) == "a":
            link, label = attribute(node, "href"), node
        else:
            target, label = node.find("{*}content"), node.find("{*}navLabel")
            link = None if target is None else target.get("src")
        if link and label is not None and (title := " ".join("".join(label.itertext()).split())):
            yield link, title[:_LONGEST_TITLE]
