"""ODT, by page where the file says where its pages end, otherwise by heading."""

from pathlib import Path

from lxml.etree import _Element

from core.extraction.odf import CONTENT, STYLES, Edges, blocks, open_package, plain, read_body
from core.extraction.pages import Reading, paged_units


def read(source: Path, memory_bytes: int) -> Reading:
    """Body text with tables, text boxes and notes in place; running headers once, at the end."""
    package = open_package(source, memory_bytes)
    body = read_body(package, "text")
    styles = package.root(STYLES)
    edges = Edges(package.root(CONTENT), styles)
    return Reading(paged_units(list(blocks(body, edges)), _running_lines(styles)))


def _running_lines(styles: _Element | None) -> list[str]:
    """The distinct lines of headers and footers that say something."""
    lines: dict[str, None] = {}
    for container in [] if styles is None else styles.iterfind("{*}master-styles/{*}master-page/{*}*"):
        lines.update((line.strip(), None) for line in plain(container).splitlines())
    return [line for line in lines if any(character.isalpha() for character in line)]
