"""ODP, one unit for each slide."""

from pathlib import Path

from lxml.etree import _Element

from core.extraction.errors import unreadable
from core.extraction.odf import open_package, plain, read_body
from core.extraction.packages import attribute, local
from core.extraction.pages import Reading, Unit

_UNSEEN = frozenset({"page-number", "date-time", "footer", "header"})


def read(source: Path, memory_bytes: int) -> Reading:
    """The slides in their order, each with its tables and speaker notes."""
    body = read_body(open_package(source, memory_bytes), "presentation")
    slides = list(body.iterfind("{*}page"))
    if not slides:
        raise unreadable("empty")
    return Reading((_slide(slide) for slide in slides), len(slides))


def _slide(slide: _Element) -> Unit:
    lines = [plain(child) for child in slide if local(child) != "notes" and not _is_unseen(child)]
    lines += [f"Notes: {said}" for notes in slide.iterfind("{*}notes") if (said := _said(notes))]
    return Unit("\n".join(filter(None, lines)), _title(slide))


def _said(notes: _Element) -> str:
    return "\n".join(filter(None, (plain(child) for child in notes if not _is_unseen(child))))


def _is_unseen(shape: _Element) -> bool:
    return attribute(shape, "class") in _UNSEEN


def _title(slide: _Element) -> str:
    titles = (plain(shape) for shape in slide if attribute(shape, "class") == "title")
    return " ".join(next(titles, "").split())
