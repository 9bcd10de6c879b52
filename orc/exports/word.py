"""Writes an export as a Word file, in a child process: answers keep their headings, lists and tables."""

import json
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from io import BytesIO
from typing import TYPE_CHECKING, Any

from docx import Document
from docx.shared import Pt
from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from orc.exports.tree import Entry, Heading, with_numbers
from orc_core.infra.sandbox_child import ChildMessage

if TYPE_CHECKING:
    from docx.text.paragraph import Paragraph

INDENT = 18.0
"""Points that each level of a list is further in."""
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LINE_BREAK = re.compile("<br ?/?>", re.I)


def write_word(heading: dict[str, Any], entries: Sequence[str]) -> Iterator[ChildMessage]:
    """The file. The entries are JSON."""
    writer = WordWriter(Heading.read(heading))
    for entry in entries:
        writer.write(Entry.read(json.loads(entry)))
    yield ChildMessage({}, writer.finish())


class WordWriter:
    """Sets an export in the styles of Word, so that a template can change them."""

    def __init__(self, heading: Heading) -> None:
        self._document = Document()
        self._about = heading.labels.about
        self._document.core_properties.title = _clean(heading.title)
        self._document.core_properties.author = "Orc"
        now = datetime.now(UTC)
        self._document.core_properties.created = self._document.core_properties.modified = now
        self._document.add_heading(_clean(heading.title), level=0)
        self._document.add_paragraph(_clean(heading.line), style="Subtitle")
        self._markdown = MarkdownIt("commonmark", {"html": False}).enable("table")

    def write(self, entry: Entry) -> None:
        """Add one turn."""
        self._document.add_heading(_clean(entry.question), level=1)
        about = f" · {self._about}: {', '.join(entry.documents)}" if entry.documents else ""
        self._document.add_paragraph(_clean(f"{entry.number}. {entry.asked_at}{about}"), style="Caption")
        for node in SyntaxTreeNode(self._markdown.parse(_clean(entry.answer or ""))).children:
            self._block(node)
        if entry.note:
            self._document.add_paragraph(_clean(entry.note), style="Intense Quote")
        for source in entry.sources:
            named = self._document.add_paragraph(_clean(f"[{source.number}] "), style="List Paragraph")
            named.add_run(_clean(source.document)).bold = True
            named.add_run(_clean(f", {source.place}"))
            for quote in source.quotes:
                if quote is source.quotes[0]:
                    named.add_run(_clean(f": {quote.verdict}"))
                else:
                    self._document.add_paragraph(_clean(quote.verdict), style="List Paragraph")
                if quote.text:
                    self._document.add_paragraph(_clean(" ".join(quote.text.split())), style="Quote")

    def finish(self) -> bytes:
        """The file."""
        file = BytesIO()
        self._document.save(file)
        return file.getvalue()

    def _block(self, node: SyntaxTreeNode, style: str = "Normal", level: int = 0, label: str = "") -> None:
        match node.type:
            case "heading":
                # Below the question, which is the first level.
                self._inline(self._document.add_heading(level=min(int(node.tag[1]) + 1, 9)), node)
            case "bullet_list" | "ordered_list":
                first = int(node.attrs.get("start", 1))
                for number, item in enumerate(node.children, start=first):
                    mark = "• " if node.type == "bullet_list" else f"{number}. "
                    if not item.children or item.children[0].type != "paragraph":
                        self._paragraph("List Paragraph", level + 1).add_run(mark)
                        mark = ""
                    for place, each in enumerate(item.children):
                        self._block(each, "List Paragraph", level + 1, "" if place else mark)
            case "blockquote":
                for each in node.children:
                    self._block(each, "Quote", level)
            case "table":
                rows = [row.children for part in node.children for row in part.children]
                table = self._document.add_table(len(rows), len(rows[0]), style="Table Grid")
                for row, cells in zip(table.rows, rows, strict=True):
                    for cell, source in zip(row.cells, cells, strict=True):
                        self._inline(cell.paragraphs[0], source, bold=source.type == "th")
            case "fence" | "code_block":
                code = with_numbers(node.content.rstrip("\n"))
                self._paragraph(style, level).add_run(code).font.name = "Consolas"
            case "hr":
                pass
            case _:
                paragraph = self._paragraph(style, level)
                paragraph.add_run(label)
                self._inline(paragraph, node)

    def _paragraph(self, style: str, level: int) -> "Paragraph":
        paragraph = self._document.add_paragraph(style=style)
        if level:
            paragraph.paragraph_format.left_indent = Pt(INDENT * level)
        return paragraph

    def _inline(self, paragraph: "Paragraph", node: SyntaxTreeNode, *, bold: bool = False) -> None:
        """The text of a block with its emphasis. The address of a link is shown, and leads nowhere."""
        for each in node.children:
            if each.type in {"text", "code_inline", "image"}:
                is_code, content = each.type == "code_inline", with_numbers(each.content)
                for place, text in enumerate([content] if is_code else _LINE_BREAK.split(content)):
                    if place:
                        paragraph.add_run().add_break()
                    run = paragraph.add_run(text)
                    run.bold = bold or _is_inside(each, "strong") or None
                    run.italic = _is_inside(each, "em") or None
                    if is_code:
                        run.font.name = "Consolas"
            elif each.type in {"softbreak", "hardbreak"}:
                paragraph.add_run().add_break()
            else:
                self._inline(paragraph, each, bold=bold)
                if each.type == "link":
                    address = self._markdown.normalizeLinkText(str(each.attrs["href"]))
                    if "".join(part.content for part in each.children) != address:
                        paragraph.add_run(with_numbers(f" ({address})"))


def _is_inside(node: SyntaxTreeNode, kind: str) -> bool:
    above = node.parent
    while above is not None:
        if above.type == kind:
            return True
        above = above.parent
    return False


def _clean(text: str) -> str:
    """The text without what XML cannot hold."""
    return _NO_XML.sub("\ufffd", text)
