"""Layers of a PDF page (optional content) that are off: PDFium reads their text, and does not draw it."""

from collections.abc import Iterable, Iterator, Sequence
from ctypes import c_ulong, c_ushort
from typing import Any

import pypdfium2
from pypdfium2 import raw

from orc_core.extraction.pdf_annotations import text_of

MOST_LAYERS = 50
"""Further ones of a page are read, whether they are on or off."""
_PIXELS = 300
"""The longer side of the picture that shows whether a layer is drawn."""
_OPTIONAL = "OC\0".encode("utf-16-le")


def objects_of(page: pypdfium2.PdfPage) -> list[Any]:
    """What is drawn on the page."""
    return [raw.FPDFPage_GetObject(page.raw, at) for at in range(raw.FPDFPage_CountObjects(page.raw))]


def leave_out_hidden(page: pypdfium2.PdfPage, objects: Sequence[Any]) -> None:
    """Switch the objects of layers that are off from the page, before its text is read."""
    layers: dict[str, list[Any]] = {}
    for thing, mark in _optional(objects):
        layers.setdefault(_name(mark), []).append(thing)
    if not layers:
        return
    hidden: list[Any] = []
    _switch(objects, is_on=False)
    for things in list(layers.values())[:MOST_LAYERS]:
        _switch(things, is_on=True)
        hidden += [] if _is_drawn(page) else things
        _switch(things, is_on=False)
    _switch(objects, is_on=True)
    _switch(hidden, is_on=False)


def _optional(objects: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """The objects that are in a layer, with the mark that says so."""
    name, length = (c_ushort * 3)(), c_ulong()
    for thing in objects:
        for number in range(raw.FPDFPageObj_CountMarks(thing)):
            mark = raw.FPDFPageObj_GetMark(thing, number)
            is_read = raw.FPDFPageObjMark_GetName(mark, name, len(_OPTIONAL), length)
            if is_read and length.value == len(_OPTIONAL) and bytes(name) == _OPTIONAL:
                yield thing, mark
                break


def _name(mark: Any) -> str:
    """The name of the layer; "" if it has none."""
    length = c_ulong()

    def read(buffer: Any, size: int) -> int:
        raw.FPDFPageObjMark_GetParamStringValue(mark, b"Name", buffer, size, length)
        return length.value

    return text_of(read)


def _switch(objects: Iterable[Any], *, is_on: bool) -> None:
    for thing in objects:
        raw.FPDFPageObj_SetIsActive(thing, is_on)


def _is_drawn(page: pypdfium2.PdfPage) -> bool:
    """Whether anything is drawn of the objects that are switched on."""
    scale = _PIXELS / max(*page.get_size(), 1)
    picture = page.render(scale=scale, fill_color=(0, 0, 0, 0), may_draw_forms=False)
    return bool(picture.to_numpy().any())
