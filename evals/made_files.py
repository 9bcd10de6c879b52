"""Twenty small files of many formats with what their readers have to give: python -m evals.made_files FOLDER

Each has patterns of what is right and of readings that would be wrong. Without a folder, ours are tried.
"""

import io
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import docx
import openpyxl
import pptx
from docx.oxml import OxmlElement
from fpdf import FPDF, FontFace
from openpyxl.comments import Comment
from openpyxl.styles import Font

from orc_core.errors import OrcError
from orc_core.extraction.reading import read_file


class Made(NamedTuple):
    """A file, and regular expressions of what is right and of what would be wrong in its text."""

    name: str
    content: bytes
    right: tuple[str, ...]
    wrong: tuple[str, ...] = ()


def _saved(document: object) -> bytes:
    buffer = io.BytesIO()
    document.save(buffer)  # type: ignore[attr-defined]
    return buffer.getvalue()


def _raised_word() -> bytes:
    document = docx.Document()
    line = document.add_paragraph("The deposit is EUR 410")
    line.add_run("3").font.superscript = True
    line.add_run(" and the load 10")
    line.add_run("4").font.superscript = True
    return _saved(document)


def _reviewed_word() -> bytes:
    document = docx.Document()
    line = document.add_paragraph("Travel costs EUR ")
    line.add_run("64").font.strike = True
    line.add_run("71 a day.")
    document.add_paragraph().add_run("Secret: 999").font.hidden = True
    comment = document.add_comment(line.runs, text="Ask Tilda first.", author="Ole")
    assert comment is not None
    return _saved(document)


def _merged_word() -> bytes:
    document = docx.Document()
    table = document.add_table(3, 3)
    for row, cells in zip(
        table.rows, (("Quay", "Berth", "Fee"), ("North", "Bell", "340"), ("", "Crane", "560")), strict=True
    ):
        for cell, text in zip(row.cells, cells, strict=True):
            cell.text = text
    table.cell(1, 0).merge(table.cell(2, 0))
    return _saved(document)


def _symbol_word() -> bytes:
    document = docx.Document()
    line = document.add_paragraph("Patients ")
    sign = OxmlElement("w:sym")
    for name, value in (("font", "Symbol"), ("char", "F0A3")):
        sign.set(f"{{http://schemas.openxmlformats.org/wordprocessingml/2006/main}}{name}", value)
    line.add_run()._r.append(sign)
    line.add_run(" 45 kg take 15 mg.")
    return _saved(document)


def _slides(*, is_hidden: bool) -> bytes:
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[5])
    slide.shapes[0].text = "Fleet"
    table = slide.shapes.add_table(3, 2, 0, 0, 4_000_000, 2_000_000).table
    for row, cells in enumerate((("Ship", "Berth"), ("Curlew", "3"), ("Dunlin", "5"))):
        for column, text in enumerate(cells):
            table.cell(row, column).text = text
    slide.notes_slide.notes_text_frame.text = "Mention the strike."
    if is_hidden:
        slide._element.set("show", "0")
    presentation.core_properties.title, presentation.core_properties.author = "Fleet 2026", "Runa Lind"
    return _saved(presentation)


def _sheet(rows: list[list[object]], **formats: str) -> bytes:
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    sheet.title = "Prices"
    for row in rows:
        sheet.append(row)
    for place, code in formats.items():
        sheet[place].number_format = code
    sheet["B2"].comment = Comment("Agreed in May.", "Tilda")
    return _saved(book)


def _struck_sheet() -> bytes:
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    for row in (["Item", "Price"], ["Rope", 12], ["Rope", 15]):
        sheet.append(row)
    sheet["B2"].font = Font(strike=True)
    sheet.row_dimensions[3].hidden = True
    return _saved(book)


def _pdf(*lines: str, title: str = "") -> bytes:
    document = FPDF()
    document.set_font("helvetica", size=11)
    document.set_title(title)
    document.set_author("Runa Lind")
    document.add_page()
    for line in lines:
        document.multi_cell(0, 7, line, markdown=True, new_x="LMARGIN", new_y="NEXT")
    return bytes(document.output())


def _raised_pdf() -> bytes:
    document = FPDF()
    document.set_font("helvetica", size=11)
    document.add_page()
    document.write(8, "The notice is 30")
    document.char_vpos = "SUP"
    document.write(8, "2")
    document.char_vpos = "LINE"
    document.write(8, " days.")
    return bytes(document.output())


def _table_pdf() -> bytes:
    document = FPDF()
    document.set_font("helvetica", size=11)
    document.add_page()
    with document.table(headings_style=FontFace(), text_align="RIGHT") as table:
        for cells in (
            ("Depot", "Jan", "Feb", "Mar"),
            ("West", "3", "40", "5"),
            ("East", "7", "", "9"),
            ("Mid", "1", "2", "8"),
        ):
            row = table.row()
            for cell in cells:
                row.cell(cell)
    return bytes(document.output())


def _rtf(body: str) -> bytes:
    return ("{\\rtf1\\ansi{\\info{\\title Lease}{\\author Runa Lind}}" + body + "}").encode()


YEARS = [["Country", 2019, 2020, 2021], ["Denmark", 8.2, None, 8.9], ["Norway", 7.7, 9.1, 8.0]]
MAIL = "From: Runa Lind <runa@example.org>\nTo: Ole\nSubject: Slipway\n\nThe slipway closes on 9 May.\n"


def made() -> list[Made]:
    """The files, one or two of each format."""
    html = (
        "<title>Sauna</title><p>Costs EUR <s>5</s> 12<sup>1</sup> a visit.<p style='display:none'>Costs EUR 3"
    )
    spans = (
        "<table><tr><th>House<th>Cabin<th>Price<tr><td rowspan=2>Double<td>87<td>105<tr><td>88<td>110</table>"
    )
    return [
        Made("raised.docx", _raised_word(), (r"410\[3\]|410 ?[³(^]", r"10\^4|10⁴"), ("4103", "104\\b")),
        Made("reviewed.docx", _reviewed_word(), ("EUR 71", "Ask Tilda"), ("64", "Secret")),
        Made("merged.docx", _merged_word(), ("North[^\n]*Crane",), ()),
        Made("symbol.docx", _symbol_word(), ("≤ ?45",), ()),
        Made(
            "fleet.pptx", _slides(is_hidden=False), ("Dunlin[^\n]*5", "Mention the strike", "Runa Lind"), ()
        ),
        Made("hidden.pptx", _slides(is_hidden=True), ("hidden", "Curlew[^\n]*3"), ()),
        Made(
            "years.xlsx",
            _sheet(YEARS, B2='"€" 0.0'),
            ("2021[^\n]*8.9|Denmark[^\n]*\\|\\s*(NaN)?\\s*\\|\\s*8.9", "Agreed in May"),
            ("Denmark \\| 8.2 \\| 8.9",),
        ),
        Made(
            "codes.xlsx",
            _sheet([["Town", "Code"], ["Oldenburg", 1067], ["Hours", 1.5625]], B2="00000", B3="[h]:mm"),
            ("01067", "37:30"),
            ("\\b1067", "1 day"),
        ),
        Made("struck.xlsx", _struck_sheet(), ("15", "hidden"), ("\\b12\\b",)),
        Made("raised.pdf", _raised_pdf(), (r"30\[2\]|30 ?[²(^]",), ("302",)),
        Made(
            "depots.pdf",
            _table_pdf(),
            ("West[^\n]*3[^\n]*40[^\n]*5", r"East[^\n]*7[^\n]*\|\s*\|[^\n]*9"),
            ("3405", "79\\b"),
        ),
        Made(
            "about.pdf",
            _pdf("The slipway is 40 metres long.", title="Slipway"),
            ("Runa Lind", "1 page", "40 metres"),
            (),
        ),
        Made(
            "deleted.rtf",
            _rtf(r"Open until {\deleted 20:00}{22:30}.\par 28{\super 1} days."),
            ("22:30", r"28\[1\]|28 ?[¹(^]", "Runa Lind"),
            ("20:00", "281"),
        ),
        Made("struck.rtf", _rtf(r"The rate is {\strike 85} 97.\par"), ("97",), ("85",)),
        Made("sauna.html", html.encode(), ("12",), ("EUR 3", "\\b5\\b", "121")),
        Made("cabins.html", spans.encode(), ("Double[^\n]*88[^\n]*110",), ("88: 110|\n\\| 88 \\|",)),
        Made(
            "years.csv",
            b"Country,2019,2020\nDenmark,,8.9\nNorway,7.7,9.1\n",
            ("2020[^\n]*8.9|Denmark[^\n]*\\|\\s*(nan)?\\s*\\| ?8.9",),
            ("Denmark \\| 8.9",),
        ),
        Made("export.xls", spans.encode(), ("Double[^\n]*88[^\n]*110",), ()),
        Made("slipway.eml", MAIL.encode(), ("9 May", "Runa Lind"), ()),
        Made(
            "tide.md",
            b"# Tides\n\n| Day | High |\n| --- | --- |\n| Mon | 4.2 |\n\n~~Fee 5~~ Fee 6\n",
            ("Mon[^\n]*4.2", "Fee 6"),
            (),
        ),
    ]


def judged(file: Made, text: str) -> tuple[int, int, int]:
    """How many values are right, lost and wrong in this text."""
    right = sum(re.search(each, text) is not None for each in file.right)
    return right, len(file.right) - right, sum(re.search(each, text) is not None for each in file.wrong)


def _read(folder: Path, file: Made) -> str:
    source = folder / file.name
    source.write_bytes(file.content)
    try:
        opened, *pages = read_file(str(source), file.name, 1 << 30, 1)
    except OrcError as error:
        return str(error)
    texts = [page.content[int(str(page.fields.get("boxes", 0))) :].decode() for page in pages]
    return "\n".join([*texts, str(opened.fields["properties"])])


def main() -> None:
    """Write the files and what is expected, or print what our readers give."""
    if folder := next(iter(sys.argv[1:]), None):
        for file in made():
            (Path(folder) / file.name).write_bytes(file.content)
        expected = {file.name: (file.right, file.wrong) for file in made()}
        (Path(folder) / "expected.json").write_text(json.dumps(expected))
        return
    with tempfile.TemporaryDirectory() as place:
        found = {file.name: judged(file, _read(Path(place), file)) for file in made()}
    for name, counts in found.items():
        print(f"{name:16} right {counts[0]}  lost {counts[1]}  wrong {counts[2]}")
    print("sum", *(sum(column) for column in zip(*found.values(), strict=True)))


if __name__ == "__main__":
    main()
