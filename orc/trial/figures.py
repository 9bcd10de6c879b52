"""The figures of a trial, for each label that questions were asked under."""

from collections.abc import Iterable, Sequence
from statistics import median
from typing import NamedTuple, get_args

from orc.trial.outcomes import Outcome
from orc_core.grounding.models import Citation, CitationCheck

CHECKS: tuple[CitationCheck, ...] = get_args(CitationCheck)


class Figure(NamedTuple):
    """A number, a share (`value` of `of`), or nothing that could be measured."""

    name: str
    value: float | None
    of: int | None = None
    unit: str = ""

    @property
    def share(self) -> float:
        """From 0 to 1; 0 if it is no share."""
        return (self.value or 0) / self.of if self.of else 0.0

    @property
    def shown(self) -> str:
        """For people."""
        if self.value is None or self.of == 0:
            return "-"
        if self.of is not None:
            return f"{self.value:.0f} of {self.of} ({self.share:.0%})"
        is_whole = self.value == round(self.value) or self.value >= 100
        number = f"{self.value:,.0f}" if is_whole else f"{self.value:.3g}"
        return f"{number} {self.unit}".strip()


def figures(outcomes: Sequence[Outcome]) -> list[Figure]:
    """The figures of outcomes under one label."""
    ended = [each for each in outcomes if not each.error]
    citations = [citation for each in ended for citation in each.citations]
    markers, unread = sum(each.markers for each in ended), sum(len(each.unread) for each in ended)
    costs = [each.cost_usd for each in ended]
    whole_cost = sum(cost for cost in costs if cost is not None)
    return [
        Figure("turns with an answer", len(ended), len(outcomes)),
        _share("answers that say nothing was found", (each.kind == "not_found" for each in ended)),
        _share("answers with a citation", (bool(each.citations) for each in ended)),
        Figure("format kept: markers read, of what looks like one", markers, markers + unread),
        _share("the expected page is cited", (each.on_page for each in ended)),
        _share("what is cited has the expected fact", (each.in_place for each in ended)),
        Figure("citations whose quote is on its page", sum(e.standing for e in ended), len(citations)),
        *(Figure(f"citations: {name}", _count(citations, name), len(citations)) for name in CHECKS),
        Figure("sentences without a source, an answer", _mean(each.uncited for each in ended)),
        Figure("answers corrected, or looked up again", sum(each.attempts > 1 for each in ended), len(ended)),
        Figure("model calls, a turn", _mean(each.usage.model_calls for each in ended)),
        Figure("tokens read, a turn", _mean(each.usage.input_tokens for each in ended)),
        Figure("tokens written, a turn", _mean(each.usage.output_tokens for each in ended)),
        Figure("first token, median", _median(each.first_token_seconds for each in ended), unit="s"),
        Figure("whole turn, median", _median(each.seconds for each in ended), unit="s"),
        Figure("cost of all turns", None if None in costs or not costs else whole_cost, unit="USD"),
    ]


def by_label(outcomes: Iterable[Outcome]) -> dict[str, list[Outcome]]:
    """The outcomes under each label, in the order of the labels' first question."""
    found: dict[str, list[Outcome]] = {}
    for each in outcomes:
        found.setdefault(each.label, []).append(each)
    return found


def _count(citations: Sequence[Citation], check: CitationCheck) -> int:
    return sum(citation.check == check for citation in citations)


def _share(name: str, found: Iterable[bool | None]) -> Figure:
    known = [each for each in found if each is not None]
    return Figure(name, sum(known), len(known))


def _mean(values: Iterable[float]) -> float | None:
    known = list(values)
    return sum(known) / len(known) if known else None


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None
