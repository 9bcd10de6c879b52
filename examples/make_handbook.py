"""Writes harbour-handbook.pdf, the sample document, from harbour-handbook.md beside it.

    python examples/make_handbook.py [OUTPUT.pdf]

The same source always gives the same bytes. Of Markdown it understands what the source uses: chapters
(#), sections (##), paragraphs, bullets, bold, and tables under a "Table N:" caption.
"""

import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from fpdf import FPDF
from fpdf.fonts import FontFace

HERE = Path(__file__).resolve().parent
SOURCE = HERE / "harbour-handbook.md"
TARGET = HERE / "harbour-handbook.pdf"

COMPANY = "Tarnhaven Harbour Services"
TITLE = "Staff Handbook"
EDITION = "Edition 7, in force from 1 March 2026"
MADE_AT = datetime(2026, 2, 16, 9, 0, tzinfo=UTC)
NAVY = (22, 52, 84)
GREY = (110, 118, 128)
SHADE = (232, 238, 244)

Block = tuple[str, list[str]]
Contents = list[tuple[str, int]]


class Handbook(FPDF):
    """An A4 document with a running header and footer; the cover has neither."""

    def __init__(self) -> None:
        super().__init__(format="A4")
        self.chapter = ""
        self.set_creation_date(MADE_AT)
        self.set_title(f"{COMPANY}: {TITLE}")
        self.set_author(f"{COMPANY}, People Office")
        self.set_lang("en-GB")
        self.set_margins(24, 26, 24)
        self.set_auto_page_break(True, margin=24)

    def header(self) -> None:
        if self.page_no() == 1:
            return
        self.set_y(12)
        self.style(8, colour=GREY)
        self.cell(0, 5, f"{COMPANY} - {TITLE}")
        self.cell(0, 5, self.chapter, align="R")
        self.set_y(26)

    def footer(self) -> None:
        if self.page_no() == 1:
            return
        self.set_y(-16)
        self.style(8, colour=GREY)
        self.cell(0, 5, EDITION)
        self.cell(0, 5, f"Page {self.page_no()}", align="R")

    def style(self, size: float, weight: str = "", colour: tuple[int, int, int] = (0, 0, 0)) -> None:
        self.set_font("Helvetica", weight, size)
        self.set_text_color(*colour)

    def write_block(self, text: str, height: float, indent: float = 0) -> None:
        self.set_x(self.l_margin + indent)
        self.multi_cell(0, height, text, align="L", markdown=True, new_x="LMARGIN", new_y="NEXT")


def main() -> None:
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    target.write_bytes(make_handbook(SOURCE.read_text(encoding="utf-8")))
    print(f"{target}: {target.stat().st_size:,} bytes")


def make_handbook(source: str) -> bytes:
    """The PDF. It is laid out twice: the contents page needs the page numbers of the first time."""
    _, contents = lay_out(source, [])
    pdf, _ = lay_out(source, contents)
    return bytes(pdf.output())


def lay_out(source: str, contents: Contents) -> tuple[Handbook, Contents]:
    """The document with these contents on its second page, and the contents that it really has."""
    pdf = Handbook()
    write_cover(pdf)
    write_contents(pdf, contents)
    found: Contents = []
    chapter = section = 0
    for kind, lines in blocks(source):
        match kind:
            case "chapter":
                chapter, section = chapter + 1, 0
                start_chapter(pdf, f"{chapter} {lines[0]}")
                found.append((f"{chapter} {lines[0]}", pdf.page_no()))
            case "section":
                section += 1
                start_section(pdf, f"{chapter}.{section} {lines[0]}")
            case "table":
                write_table(pdf, lines[0], [split_row(line) for line in lines[1:]])
            case "bullet":
                write_bullet(pdf, lines[0])
            case _:
                write_paragraph(pdf, " ".join(lines))
    return pdf, found


def blocks(source: str) -> Iterator[Block]:
    """The source as (kind, lines): chapter, section, table (caption first), bullet, paragraph."""
    for chunk in re.split(r"\n\s*\n", source.strip()):
        lines = chunk.splitlines()
        if match := re.match(r"(#{1,2}) (.*)", lines[0]):
            yield ("chapter" if len(match[1]) == 1 else "section"), [match[2]]
        elif lines[0].startswith("- "):
            yield from (("bullet", [line.removeprefix("- ")]) for line in lines)
        elif len(lines) > 1 and lines[1].startswith("|"):
            yield "table", lines
        else:
            yield "paragraph", lines


def split_row(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def write_cover(pdf: Handbook) -> None:
    pdf.add_page()
    pdf.set_fill_color(*NAVY)
    pdf.rect(0, 0, pdf.w, 92, style="F")
    pdf.set_fill_color(255)
    pdf.set_y(40)
    pdf.style(15, colour=(255, 255, 255))
    pdf.write_block(COMPANY, 10)
    pdf.style(34, "B", (255, 255, 255))
    pdf.write_block(TITLE, 18)
    pdf.set_y(108)
    pdf.style(13, "B", NAVY)
    pdf.write_block(EDITION, 8)
    pdf.style(10.5)
    pdf.write_block("Published by the People Office, Pier 3, Tarnhaven, on 16 February 2026.", 6)
    pdf.ln(4)
    pdf.write_block(
        "The company, its people and its rules are invented. This document ships with Orc as something to"
        " ask questions about.",
        6,
    )


def write_contents(pdf: Handbook, contents: Contents) -> None:
    pdf.chapter = "Contents"
    pdf.add_page()
    pdf.style(20, "B", NAVY)
    pdf.write_block("Contents", 14)
    pdf.style(11)
    for title, page in contents:
        pdf.cell(140, 9, title)
        pdf.cell(0, 9, str(page), align="R", new_x="LMARGIN", new_y="NEXT")


def start_chapter(pdf: Handbook, title: str) -> None:
    pdf.chapter = title
    pdf.add_page()
    pdf.start_section(title)
    pdf.style(20, "B", NAVY)
    pdf.write_block(title, 14)


def start_section(pdf: Handbook, title: str) -> None:
    """A heading, on the next page if fewer than two lines of its text would follow it here."""
    if pdf.will_page_break(26):
        pdf.add_page()
    pdf.ln(3)
    pdf.start_section(title, level=1)
    pdf.style(12.5, "B", NAVY)
    pdf.write_block(title, 8)


def write_paragraph(pdf: Handbook, text: str) -> None:
    pdf.style(10.5)
    pdf.write_block(text, 5.6)
    pdf.ln(2)


def write_bullet(pdf: Handbook, text: str) -> None:
    pdf.style(10.5)
    pdf.set_x(pdf.l_margin + 1)
    pdf.cell(4, 5.6, "\x95")
    pdf.write_block(text, 5.6, indent=5)
    pdf.ln(1)


def write_table(pdf: Handbook, caption: str, rows: list[list[str]]) -> None:
    """A captioned table; it moves to the next page rather than being cut."""
    if pdf.will_page_break(14 + 8 * len(rows)):
        pdf.add_page()
    pdf.ln(1)
    pdf.style(9.5, "B", NAVY)
    pdf.write_block(caption, 7)
    pdf.style(9.5)
    heading = FontFace(emphasis="BOLD", color=(255, 255, 255), fill_color=NAVY)
    with pdf.table(
        rows,
        headings_style=heading,
        cell_fill_color=SHADE,
        cell_fill_mode="ROWS",
        line_height=5.5,
        padding=1,
        text_align="LEFT",
        borders_layout="HORIZONTAL_LINES",
        col_widths=column_widths(rows),
    ):
        pass
    pdf.ln(3)


def column_widths(rows: list[list[str]]) -> list[int]:
    """Relative widths: the longest cell of each column, within reason."""
    return [min(max(*map(len, column), 11), 32) for column in zip(*rows, strict=True)]


if __name__ == "__main__":
    main()
