"""What a turn did and showed, from its events: the steps in its result, and the answer so far."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeVar

from orc.events import CitationMarked, Correction, Critique, Event, Reset, Revised, Token, Tool, ToolStep
from orc_core.grounding.models import Citation

Kind = TypeVar("Kind", bound=Event)


def steps_of(events: Sequence[Event]) -> dict[str, Any]:
    """The fields of a turn's metadata that say how its answer came about."""
    return {
        "tools": _tools(events),
        # The result has the citations already.
        "critiques": [
            event.model_copy(update={"citations": None}) for event in events if isinstance(event, Critique)
        ],
        "withdrawn": [event.reason for event in events if isinstance(event, Reset)],
        "corrections": _corrections(events),
    }


def shown_text(events: Sequence[Event]) -> str:
    """The text of the answer that a reader has: the tokens since the last reset or revision."""
    shown: list[str] = []
    for event in events:
        if isinstance(event, Reset | Revised):
            shown = [event.answer] if isinstance(event, Revised) else []
        elif isinstance(event, Token):
            shown.append(event.text)
    return "".join(shown)


def shown_citations(events: Sequence[Event]) -> list[Citation]:
    """The citations of the text that a reader has, with its marks, as judged."""
    shown: dict[int, Citation] = {}
    for event in events:
        if isinstance(event, Reset | Revised):
            shown = dict(enumerate(event.citations)) if isinstance(event, Revised) else {}
        elif isinstance(event, CitationMarked):
            known = shown.setdefault(event.index, event.citation.model_copy(update={"marks": []}))
            shown[event.index] = known.model_copy(update={"marks": [*known.marks, event.mark]})
        elif isinstance(event, Critique) and event.citations is not None:
            shown = dict(enumerate(event.citations))
    return [shown[index] for index in sorted(shown)]


def _corrections(events: Sequence[Event]) -> list[Correction]:
    """Those of the text that a reader has."""
    found: list[Correction] = []
    for event in events:
        if isinstance(event, Reset):
            found.clear()
        elif isinstance(event, Revised):
            found += event.corrections
    return found


def last_of(events: Sequence[Event], kind: type[Kind]) -> Kind | None:
    """The last event of this kind, if there is one."""
    return next((event for event in reversed(events) if isinstance(event, kind)), None)


def _tools(events: Sequence[Event]) -> list[ToolStep]:
    steps: list[ToolStep] = []
    begun: Counter[str] = Counter()
    for event in events:
        if not isinstance(event, Tool) or event.status == "progress":
            continue
        if event.status == "started":
            begun[event.name] += 1
            continue
        begun[event.name] -= 1
        steps.append(ToolStep.model_validate(event.model_dump(include=set(ToolStep.model_fields))))
    unfinished = (+begun).elements()
    return [*steps, *(ToolStep(name=name, status="unfinished") for name in unfinished)]
