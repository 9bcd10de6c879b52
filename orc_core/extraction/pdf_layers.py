"""Layers of a PDF page (optional content) that are off: PDFium reads their text, and does not draw it."""

from collections.abc import Iterable
from ctypes import PYFUNCTYPE, addressof, c_int, c_ulong, c_void_p, cast, create_string_buffer

import pypdfium2
from pypdfium2 import raw

from orc_core.extraction.pdf_annotations import text_of
from orc_core.extraction.pdf_word_boxes import pointer

MOST_LAYERS = 50
"""Further ones of a page are read, whether they are on or off."""
_PIXELS = 300
"""The longer side of the picture that shows whether a layer is drawn."""
_OPTIONAL = "OC\0".encode("utf-16-le")
# Without the argument conversion of pypdfium2.raw: pages have thousands of objects, and few have layers.
_RETURNS_ADDRESS, _RETURNS_INT = PYFUNCTYPE(c_void_p), PYFUNCTYPE(c_int)
_get_object = _RETURNS_ADDRESS(cast(raw.FPDFPage_GetObject, c_void_p).value or 0)
_get_mark = _RETURNS_ADDRESS(cast(raw.FPDFPageObj_GetMark, c_void_p).value or 0)
_count_marks = _RETURNS_INT(cast(raw.FPDFPageObj_CountMarks, c_void_p).value or 0)
_get_name = _RETURNS_INT(cast(raw.FPDFPageObjMark_GetName, c_void_p).value or 0)


def leave_out_hidden(page: pypdfium2.PdfPage) -> None:
    """Switch the objects of layers that are off from the page, before its text is read."""
    layers: dict[str, list[int]] = {}
    count = raw.FPDFPage_CountObjects(page.raw)
    for place, mark in _optional(page, count):
        layers.setdefault(_layer(mark), []).append(place)
    if not layers:
        return
    hidden: list[int] = []
    _switch(page, range(count), is_on=False)
    for places in list(layers.values())[:MOST_LAYERS]:
        _switch(page, places, is_on=True)
        hidden += [] if _is_drawn(page) else places
        _switch(page, places, is_on=False)
    _switch(page, set(range(count)).difference(hidden), is_on=True)


def _optional(page: pypdfium2.PdfPage, count: int) -> Iterable[tuple[int, int]]:
    """The objects that are in a layer, with the address of the mark that says so."""
    handle = pointer(cast(page.raw, c_void_p).value or 0)
    name, length = create_string_buffer(len(_OPTIONAL)), c_ulong()
    into = pointer(addressof(name)), c_ulong(len(_OPTIONAL)), pointer(addressof(length))
    for place in range(count):
        thing = pointer(_get_object(handle, place))
        for number in range(_count_marks(thing)):
            mark = _get_mark(thing, c_ulong(number))
            if _get_name(pointer(mark), *into) and length.value == len(_OPTIONAL) and name.raw == _OPTIONAL:
                yield place, mark
                break


def _layer(mark: int) -> str:
    """The name of the layer; "" if it has none."""
    length = c_ulong()

    def read(buffer: object, size: int) -> int:
        shown = cast(c_void_p(mark), raw.FPDF_PAGEOBJECTMARK)
        raw.FPDFPageObjMark_GetParamStringValue(shown, b"Name", buffer, size, length)
        return length.value

    return text_of(read)


def _switch(page: pypdfium2.PdfPage, places: Iterable[int], *, is_on: bool) -> None:
    for place in places:
        raw.FPDFPageObj_SetIsActive(raw.FPDFPage_GetObject(page.raw, place), is_on)


def _is_drawn(page: pypdfium2.PdfPage) -> bool:
    """Whether anything is drawn of the objects that are switched on."""
    picture = page.render(
        scale=_PIXELS / max(*page.get_size(), 1), fill_color=(0, 0, 0, 0), may_draw_forms=False
    )
    return bool(picture.to_numpy().any())
