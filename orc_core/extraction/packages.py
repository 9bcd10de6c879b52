"""Zip packages of XML parts; in Office files relations link the parts."""

import posixpath
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from lxml.etree import Element, XMLParser, _Element, fromstring, iterparse

from orc_core.extraction.pages import unreadable

ADDRESS = re.compile(r"(?:https?://|mailto:)\S{1,300}\Z")
ABSENT = Element("absent")
"""In the place of what a file may lack."""
SAFE = {"resolve_entities": False, "no_network": True}
_EMBEDDED = frozenset({"package", "oleObject"})
TREE_FACTOR = 20
"""Memory per byte of XML: 11 to 14 bytes measured for the tree, the rest for its text."""


class Relation(NamedTuple):
    """A link from one part to another: its purpose, and the name of the other part."""

    purpose: str
    part: str


class Package:
    """A package open for reading. Missing parts read as None."""

    def __init__(self, source: Path, memory_bytes: int) -> None:
        self._archive = zipfile.ZipFile(source)
        # Office compares the names of parts without regard to case.
        self._names = {name.replace("\\", "/").lstrip("/").lower(): name for name in self._archive.namelist()}
        self._largest_part = memory_bytes // TREE_FACTOR

    def main_part(self, default: str) -> str:
        relations = self.relations("").values()
        return next((link.part for link in relations if link.purpose == "officeDocument"), default)

    def root(self, part: str) -> _Element | None:
        """The part's XML, parsed without resolving entities or fetching anything."""
        content = self.content(part)
        if content is None:
            return None
        return fromstring(content, XMLParser(remove_comments=True, remove_pis=True, **SAFE))

    def tree(self, part: str) -> _Element:
        """The same, or an element without content if there is no such part."""
        root = self.root(part)
        return ABSENT if root is None else root

    def content(self, part: str) -> bytes | None:
        """The part's bytes. Raises UnreadableDocument if there is too little memory to parse them."""
        if part.lower() not in self._names:
            return None
        info = self._archive.getinfo(self._names[part.lower()])
        if info.file_size > self._largest_part:
            raise unreadable("too_much_memory")
        return self._archive.read(info)

    def elements(self, part: str, *names: str) -> Iterator[_Element]:
        """The elements of these names, one after the other. Each lasts until the next: a part may be big."""
        if part.lower() not in self._names:
            return
        with self._archive.open(self._names[part.lower()]) as file:
            tags = [f"{{*}}{name}" for name in names]
            for _, element in iterparse(file, tag=tags, remove_comments=True, remove_pis=True, **SAFE):
                yield element
                element.clear()
                while element.getprevious() is not None:
                    del element.getparent()[0]

    def relations(self, part: str) -> dict[str, Relation]:
        """The part's links within the package, by id."""
        folder = posixpath.dirname(part)
        links: dict[str, Relation] = {}
        for link in self._relations(part):
            target = link.get("Target")
            if target and link.get("TargetMode") != "External":
                where = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
                links[link.get("Id", "")] = Relation(link.get("Type", "").rpartition("/")[2], where)
        return links

    def addresses(self, part: str) -> dict[str, str]:
        external = {link.get("Id", ""): link.get("Target", "") for link in self._relations(part)}
        return {name: target for name, target in external.items() if ADDRESS.match(target)}

    def attached(self, *parts: str) -> Iterator[str]:
        """A line with the names of the files that are embedded in these parts, if there are any."""
        links = (link for part in parts for link in self.relations(part).values())
        names = [posixpath.basename(link.part) for link in links if link.purpose in _EMBEDDED]
        if names:
            yield f"Attached files (not read): {', '.join(names)}"

    def _relations(self, part: str) -> _Element:
        folder, name = posixpath.split(part)
        return self.tree(posixpath.join(folder, "_rels", f"{name}.rels"))

    def related(self, part: str, *purposes: str) -> Iterator[_Element]:
        """The parts that this part links to for these purposes."""
        for link in self.relations(part).values():
            root = self.root(link.part) if link.purpose in purposes else None
            if root is not None:
                yield root


def local(element: _Element) -> str:
    """The element's name without namespace: strict and transitional files differ only in namespaces."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def attribute(element: _Element, name: str) -> str | None:
    """The value of an attribute, whatever its namespace."""
    for key, value in element.attrib.items():
        if key.rpartition("}")[2] == name:
            return str(value)
    return None


def link_id(element: _Element) -> str:
    """The attribute `r:id`; `id` without a prefix would be another."""
    return next((str(given) for key, given in element.attrib.items() if str(key).endswith("}id")), "")


def integer(text: str | None, default: int = 0) -> int:
    """The number in an attribute; the default if it is none, or one of too many figures."""
    return int(text) if text and text.isdecimal() and len(text) < 9 else default


def with_address(text: str, address: str) -> str:
    """The text of a link with its address behind it, unless the text shows it."""
    plain = address.removeprefix("mailto:").partition("?")[0] if address.startswith("mailto:") else address
    core = plain.removeprefix("https://").removeprefix("http://").rstrip("/")
    return text if not plain or not text.strip() or core in text else f"{text.rstrip()} ({plain})"
