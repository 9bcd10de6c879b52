"""Additions to the text of a PDF page: fields of a form, notes, and names of attached files."""

from collections.abc import Iterator, Sequence
from ctypes import POINTER, c_ulong, c_ushort, cast, create_string_buffer
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pypdfium2
from pypdfium2 import raw

from orc_core.extraction.pdf_struck import Points, annotated_lines
from orc_core.extraction.pdf_word_boxes import as_shown
from orc_core.extraction.reading_order import Layout, Line, layout_of, lines_of
from orc_core.extraction.word_boxes import NOWHERE, WORD, Edges

MAX_ANNOTATIONS = 2_000
MAX_VALUE = 4_000
MOST_COMPARED = 1_000_000
"""Fields times words of a page; beyond it, fields are at the end of the page."""
NOT_READ = "Attached files (not read)"
TICKED, NOT_TICKED = "☒", "☐"
_HIDDEN = raw.FPDF_ANNOT_FLAG_HIDDEN | raw.FPDF_ANNOT_FLAG_NOVIEW
_PASSWORD = 1 << 13
_BOXES = frozenset({raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON})
_VALUES = frozenset({raw.FPDF_FORMFIELD_TEXTFIELD, raw.FPDF_FORMFIELD_COMBOBOX, raw.FPDF_FORMFIELD_LISTBOX})
_NO_NOTES = frozenset({raw.FPDF_ANNOT_WIDGET, raw.FPDF_ANNOT_LINK, raw.FPDF_ANNOT_POPUP})
_LEAST_SHARED = 0.5
"""A word is on the line of a field if they share this part of the lower one's height."""


class Field(NamedTuple):
    """A field of a form: its name, what is filled in, and where (see word_boxes.py)."""

    name: str
    value: str
    box: Edges


class Additions(NamedTuple):
    """The fields of a page in reading order, its notes as lines of text, and what may strike words out."""

    fields: Sequence[Field] = ()
    notes: Sequence[str] = ()
    struck: Sequence[Points] = ()


def read_additions(page: pypdfium2.PdfPage) -> Additions:
    fields: list[Field] = []
    notes: list[str] = []
    struck: list[Points] = []
    for index in range(min(raw.FPDFPage_GetAnnotCount(page.raw), MAX_ANNOTATIONS)):
        annotation = raw.FPDFPage_GetAnnot(page.raw, index)
        if not annotation:
            continue
        try:
            if raw.FPDFAnnot_GetFlags(annotation) & _HIDDEN:
                continue
            kind = raw.FPDFAnnot_GetSubtype(annotation)
            if kind == raw.FPDF_ANNOT_WIDGET and page.formenv is not None:
                fields += _field(page, annotation)
            elif kind not in _NO_NOTES and (said := _string(annotation, b"Contents")):
                author = _string(annotation, b"T")
                notes.append(f"Note ({author}): {said}" if author else f"Note: {said}")
            if kind == raw.FPDF_ANNOT_STRIKEOUT:
                struck += annotated_lines(annotation)
            elif kind == raw.FPDF_ANNOT_FILEATTACHMENT and (
                attached := raw.FPDFAnnot_GetFileAttachment(annotation)
            ):
                notes.append(f"{NOT_READ}: {text_of(partial(raw.FPDFAttachment_GetName, attached))}")
        finally:
            raw.FPDFPage_CloseAnnot(annotation)
    fields.sort(key=lambda field: (field.box[1], field.box[0]))
    return Additions(fields, notes, struck)


def unread_parts(document: pypdfium2.PdfDocument) -> Iterator[str]:
    """What the document has and is not read, in lines of text."""
    if document.get_formtype() == raw.FORMTYPE_XFA_FULL:
        yield "The fields of this form (XFA) were not read."
    names = [name for name, _ in _attachments(document) if not _is_pdf(name)]
    if names:
        yield f"{NOT_READ}: {', '.join(filter(None, names)) or len(names)}"


def attached_pdfs(document: pypdfium2.PdfDocument) -> Iterator[tuple[str, bytes]]:
    for name, attachment in _attachments(document):
        if _is_pdf(name):
            size = c_ulong()
            raw.FPDFAttachment_GetFile(attachment, None, 0, size)
            content = create_string_buffer(size.value)
            raw.FPDFAttachment_GetFile(attachment, content, size, size)
            yield name, content.raw


def _attachments(document: pypdfium2.PdfDocument) -> Iterator[tuple[str, Any]]:
    for index in range(min(raw.FPDFDoc_GetAttachmentCount(document.raw), MAX_ANNOTATIONS)):
        attachment = raw.FPDFDoc_GetAttachment(document.raw, index)
        yield text_of(partial(raw.FPDFAttachment_GetName, attachment)), attachment


def _is_pdf(name: str) -> bool:
    return name.lower().endswith(".pdf")


def with_additions(layout: Layout, additions: Additions) -> Layout:
    """The page with each value on the line of its field, and the notes at the end."""
    if not additions.fields and not additions.notes:
        return layout
    if len(additions.fields) * len(layout.boxes) > MOST_COMPARED:
        additions = Additions((), as_lines(additions))
    lines = lines_of(layout)
    for field in additions.fields:
        _insert(lines, field)
    for note in additions.notes:
        lines += [Line(line, [[NOWHERE] for _ in WORD.findall(line)]) for line in note.splitlines()]
    return layout_of(lines)


def as_lines(additions: Additions) -> list[str]:
    """The fields with their names and the notes, for a page on which no place of a word is known."""
    return [*(f"{field.name}: {field.value}" for field in additions.fields), *additions.notes]


def _insert(lines: list[Line], field: Field) -> None:
    """Put the value behind the word to its left, before the word to its right, or below what is above."""
    placed = [
        (number, place, word[-1])
        for number, line in enumerate(lines)
        for place, word in enumerate(line.words)
        if word[-1] != NOWHERE
    ]
    middle = field.box[0] + field.box[2]
    level = [at for at in placed if _is_level(at[2], field.box)]
    left = [at for at in level if at[2][0] + at[2][2] <= middle]
    added = [[field.box] for _ in WORD.findall(field.value)]
    if level:
        number, place, _ = max(left, key=lambda at: at[2][2]) if left else min(level, key=lambda at: at[2][0])
        line, place = lines[number], place + bool(left)
        cut = [0, *(word.end() for word in WORD.finditer(line.text))][place]
        pieces = (line.text[:cut].rstrip(), field.value, line.text[cut:].lstrip())
        lines[number] = Line(
            " ".join(filter(None, pieces)), [*line.words[:place], *added, *line.words[place:]]
        )
        return
    above = [at for at in placed if at[2][3] <= field.box[3]]
    after = max(above, key=lambda at: at[2][3])[0] + 1 if above else 0
    lines.insert(after, Line(field.value, added))


def _is_level(word: Edges, box: Edges) -> bool:
    shared = min(word[3], box[3]) - max(word[1], box[1])
    return shared >= _LEAST_SHARED * min(word[3] - word[1], box[3] - box[1])


def _field(page: pypdfium2.PdfPage, annotation: Any) -> Iterator[Field]:
    """The field if something is filled in, or if it is a box to tick."""
    form = page.formenv.raw
    kind = raw.FPDFAnnot_GetFormFieldType(form, annotation)
    if kind in _BOXES:
        value = TICKED if raw.FPDFAnnot_IsChecked(form, annotation) else NOT_TICKED
    elif kind in _VALUES and not raw.FPDFAnnot_GetFormFieldFlags(form, annotation) & _PASSWORD:
        value = _of_form(raw.FPDFAnnot_GetFormFieldValue, form, annotation)
        options = range(min(raw.FPDFAnnot_GetOptionCount(form, annotation), MAX_ANNOTATIONS))
        if chosen := [at for at in options if raw.FPDFAnnot_IsOptionSelected(form, annotation, at)]:
            labels = (partial(raw.FPDFAnnot_GetOptionLabel, form, annotation, at) for at in chosen)
            value = ", ".join(map(text_of, labels))
    elif kind == raw.FPDF_FORMFIELD_SIGNATURE and raw.FPDFAnnot_HasKey(annotation, b"V"):
        value = "(signed electronically)"
    else:
        return
    if value := " ".join(value.split()):
        name = _of_form(raw.FPDFAnnot_GetFormFieldAlternateName, form, annotation)
        edges = raw.FS_RECTF()
        raw.FPDFAnnot_GetRect(annotation, edges)
        points = np.array([[edges.left, edges.top, edges.right, edges.bottom]], np.float64)
        (left, top, right, bottom) = as_shown(page, points)[0].tolist()
        name = name or _of_form(raw.FPDFAnnot_GetFormFieldName, form, annotation)
        yield Field(name, value, (left, top, right, bottom))


def _of_form(read: Any, form: Any, annotation: Any) -> str:
    return text_of(partial(read, form, annotation))


def _string(annotation: Any, key: bytes) -> str:
    return text_of(partial(raw.FPDFAnnot_GetStringValue, annotation, key)).strip()


def text_of(read: Any) -> str:
    """What one of PDFium's functions writes into a buffer, in UTF-16 with a zero at the end."""
    size = min(read(None, 0), 2 * MAX_VALUE)
    buffer = create_string_buffer(size)
    read(cast(buffer, POINTER(c_ushort)), size)
    return buffer.raw.decode("utf-16-le", "ignore").partition("\0")[0]
