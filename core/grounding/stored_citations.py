"""Citations of earlier versions, of which only the text of their markers says whether their check ended."""

from collections.abc import Sequence
from typing import Any

from core.grounding.citations import NOT_CHECKED, NOT_CHECKED_END, place_of
from core.grounding.models import Citation


def with_checked(citations: Sequence[Any], answer: str) -> list[Any]:
    """The citations of a stored answer, as JSON; those without `checked` get it from the answer's text."""
    return [_with_checked(each, answer) if _lacks_it(each) else each for each in citations]


def _lacks_it(citation: Any) -> bool:
    return isinstance(citation, dict) and "checked" not in citation and not citation.get("verified")


def _with_checked(stored: dict[str, Any], answer: str) -> dict[str, Any]:
    citation = Citation.model_validate(stored)
    if citation.marks:
        markers = [answer[mark.start : mark.end] for mark in citation.marks]
        return {**stored, "checked": not all(each.endswith(NOT_CHECKED_END) for each in markers)}
    place = place_of(citation)
    is_refuted, is_open = f"[{place}, not verified]" in answer, f"[{place}{NOT_CHECKED_END}" in answer
    return {**stored, "checked": not (NOT_CHECKED in answer or (is_open and not is_refuted))}
