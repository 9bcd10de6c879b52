"""The second reading of an attempt: a judge reads what code left undecided, once the text is there."""

import asyncio
import logging
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, get_args

from orc.graphs.models import Attempt, ConversationState, Run
from orc.graphs.sources import PageKey, cited_texts, key_of
from orc.judges.ports import UNKNOWN, Judgement, Pair, SupportJudge, Verdict, confirmed
from orc_core.errors import BudgetExceeded, DeadlineExceeded, OrcError
from orc_core.grounding.checks import Page
from orc_core.grounding.claims import Claim, Claims, covered_by_marker
from orc_core.grounding.models import (
    REFUTED,
    Citation,
    CitationCheck,
    Grounding,
    Mark,
    Objection,
    StatusMark,
    WrittenMark,
    written_marks,
)
from orc_core.grounding.units import around
from orc_core.llm.tokens import take_each_fitting
from orc_core.text.quotes import locate

JUDGED = frozenset(("supported", "unsupported"))
"""The checks of a citation that a judge has read."""
ReadPage = Callable[[Citation], Page]
"""The page of a citation; read once for all citations of it."""
logger = logging.getLogger(__name__)
MOST_SENTENCES = 20
"""Undecided sentences of an answer that a judge is shown; the others stay undecided."""


@dataclass
class Stated:
    """Sentences of an answer that markers next to each other are about, with these markers.

    `text` has what introduces them, and the beginning of a sentence that a marker divides; `shared` are the
    citations of that beginning. `named` has the places that a judge has found for citations without one.
    """

    text: str
    claims: Sequence[Claim]
    shared: Sequence[int] = ()
    marks: list[WrittenMark] = field(default_factory=list)
    verdict: Verdict = UNKNOWN
    named: dict[PageKey, dict[str, Any]] = field(default_factory=dict)

    @property
    def cited(self) -> list[int]:
        """The citations of its markers by index."""
        return [written.index for written in self.marks]


class SecondReading:
    """An answer with its citations, as a judge reads it."""

    def __init__(self, answer: str, citations: Sequence[Citation], statuses: Sequence[StatusMark]) -> None:
        self._citations = citations
        self._claims = Claims()
        self._stated: list[Stated] = []
        places: list[tuple[int, WrittenMark | StatusMark]] = [(each.at, each) for each in statuses]
        places += [(written.mark.start, written) for written in written_marks(citations)]
        end = 0
        for start, place in sorted(places, key=lambda each: each[0]):
            status = place.status if isinstance(place, StatusMark) else None
            added = self._claims.add(answer[end:start], status)
            end = start
            if added or not self._stated:
                claims, above = covered_by_marker(added) if added else ([], [])
                text = " ".join(claim.text for claim in (*above, *claims))
                # The rest of a sentence can be from the source of its beginning, too.
                is_rest = bool(claims) and claims[0].goes_on and bool(self._stated)
                before = self._stated[-1] if is_rest else Stated("", ())
                self._stated.append(Stated(f"{before.text} {text}".strip(), claims, before.cited))
            if isinstance(place, WrittenMark):
                self._stated[-1].marks.append(place)
                end = place.mark.end
        self._claims.add(answer[end:])
        self.undecided = [each for each in self._stated if each.claims and self._is_undecided(each)]

    def _is_undecided(self, stated: Stated) -> bool:
        cited = [self._citations[index] for index in stated.cited]
        return bool(cited) and all(each.check == "reworded" and not each.closest for each in cited)

    def take_over(self, before: "SecondReading") -> None:
        """Give undecided sentences the verdicts that the same sentences had before."""
        known = {each.text: [before._citations[index] for index in each.cited] for each in before._stated}
        for each in self.undecided:
            for citation in known.get(each.text, ()):
                if citation.check in JUDGED:
                    said = {"verdict": citation.check, "reason": citation.reason}
                    each.verdict = Verdict.model_validate(said)
                    each.named[key_of(citation)] = citation.model_dump(include={"quote", "start", "end"})

    def pair(self, stated: Stated, page: ReadPage) -> Pair:
        """The sentences, and the units that they cite with what is around them, or the page without units."""
        texts = []
        for index in dict.fromkeys((*stated.shared, *stated.cited)):
            citation = self._citations[index]
            found = page(citation)
            if not citation.quote:
                texts.append(found.text)
                continue
            if found.text[citation.start : citation.end] != citation.quote:
                # The page has changed. Without all of what is cited nothing can be said of a sentence.
                return Pair(sentence=stated.text, evidence="")
            units, start, end = found.units, citation.start, citation.end
            cited = [number for number, unit in enumerate(units) if unit.start < end and start < unit.end]
            shown = sorted({number for each in cited for number in around(units, each)})
            texts.append("\n".join(found.text[units[number].start : units[number].end] for number in shown))
        return Pair(sentence=stated.text, evidence="\n\n".join(dict.fromkeys(texts)) if all(texts) else "")

    def citations(self) -> list[Citation]:
        """The citations with the verdicts on what cites them.

        A citation whose markers have several verdicts becomes one for each, with its markers.
        """
        judged: list[tuple[int, Citation, Mark]] = []
        for stated, written in ((each, mark) for each in self._stated for mark in each.marks):
            citation, said = self._citations[written.index], stated.verdict
            if said.verdict != "unknown":
                is_supported = said.verdict == "supported"
                place = stated.named.get(key_of(citation), {}) if is_supported and not citation.quote else {}
                changed = {"check": said.verdict, "reason": "" if is_supported else said.reason, **place}
                citation = citation.model_copy(update=changed)
            judged.append((written.index, citation, written.mark))
        found: dict[tuple[int, str, str, int], tuple[Citation, list[Mark]]] = {}
        for index, citation, mark in sorted(judged, key=lambda each: each[0]):
            key = (index, citation.check, citation.reason, citation.end)
            found.setdefault(key, (citation, []))[1].append(mark)
        return [citation.model_copy(update={"marks": marks}) for citation, marks in found.values()]

    def grounding(self, grounding: Grounding) -> Grounding:
        """The checks of the answer with the verdicts."""
        citations = self.citations()
        counts = Counter(each.check for each in citations)
        refuted = [each for each in self.undecided if each.verdict.verdict == "unsupported"]
        needing = sum(claim.needs_source for claim in self._claims.all)
        lost = sum(claim.needs_source for each in refuted for claim in each.claims)
        changed: dict[str, Any] = {check: counts[check] for check in get_args(CitationCheck)}
        changed["citations"] = len(citations)
        changed["grounded"] = grounding.grounded and counts.keys().isdisjoint(REFUTED)
        changed["not_found"] = grounding.not_found and not refuted
        changed["coverage"] = max(0.0, grounding.coverage - lost / max(1, needing))
        objections = [
            Objection.to(
                "unsupported",
                self._citations[each.cited[0]],
                each.claims[-1].short,
                each.verdict.reason or "it does not support this.",
            )
            for each in refuted
        ]
        changed["objections"] = [*grounding.objections, *objections]
        return grounding.model_copy(update=changed)


class Reading(NamedTuple):
    """The attempt with the verdicts, what the judge said of all of it, and why it said nothing."""

    attempt: Attempt
    judgement: Judgement | None = None
    failure: str | None = None


async def read_again(state: ConversationState, run: Run) -> Reading:
    """Have the judge read the undecided sentences of the answer, in one call; none without such sentences.

    After a correction it reads what is new. A judge that fails leaves the attempt as it is.
    """
    attempt = state.attempt
    if run.resources.judge is None or run.context.settings.critic == "off" or attempt.grounding is None:
        return Reading(attempt)
    try:
        reading = SecondReading(attempt.answer or "", attempt.citations, attempt.grounding.statuses)
        if not (unread := _unread(reading, state)):
            return Reading(attempt)
        judgement = await _judged(reading, unread, state, run, run.resources.judge)
        judged = {"citations": reading.citations(), "grounding": reading.grounding(attempt.grounding)}
    except OrcError as exc:
        return Reading(attempt, failure=exc.message)
    except Exception:
        # The answer is there: an error of the judge must not lose it.
        logger.exception("judge.failed")
        return Reading(attempt, failure="It failed unexpectedly.")
    return Reading(attempt.model_copy(update=judged), judgement)


def _unread(reading: SecondReading, state: ConversationState) -> list[Stated]:
    """The undecided sentences, without those that a correction has left as they were."""
    if not state.earlier or state.is_second_retrieval:
        return reading.undecided
    earlier = state.earlier[-1]
    statuses = earlier.grounding.statuses if earlier.grounding else ()
    before = SecondReading(earlier.answer or "", earlier.citations, statuses)
    known = {each.text for each in before.undecided}
    return [each for each in reading.undecided if each.text not in known]


async def _judged(
    reading: SecondReading,
    unread: Sequence[Stated],
    state: ConversationState,
    run: Run,
    judge: SupportJudge,
) -> Judgement:
    """What the judge says; its verdicts are with the sentences then."""
    seconds = min(run.context.settings.critic_seconds, seconds_left(run))
    if seconds <= 0:
        raise DeadlineExceeded("The turn has no time left for it.")
    if calls_left(state, run) < 1:
        raise BudgetExceeded("The turn has no model call left for it.")
    asked, count = unread[:MOST_SENTENCES], run.resources.counter.count
    try:
        async with asyncio.timeout(seconds):
            texts = await cited_texts(state.attempt.citations, state, run)
            pages = {key: Page(text) for key, text in texts.items()}
            paired = [(each, reading.pair(each, lambda cited: pages[key_of(cited)])) for each in asked]
            fitting = take_each_fitting(
                [(stated, pair) for stated, pair in paired if pair.evidence],
                run.context.settings.retrieval_tokens,
                lambda each: count(each[1].sentence) + count(each[1].evidence),
            )
            if not fitting:
                raise OrcError("The sentences are too long for it, or their pages have changed.")
            pairs = [pair for _, pair in fitting]
            judgement = await judge.judge(state.query, pairs, budget=run.context.budget)
    except TimeoutError as exc:
        raise DeadlineExceeded(f"It did not answer within {seconds:.3g} s.") from exc
    for (stated, pair), said in zip(fitting, judgement.verdicts, strict=False):
        stated.verdict = confirmed(pair, said)
        for key in (
            key_of(each) for index in stated.cited if not (each := state.attempt.citations[index]).quote
        ):
            # The unit with all of the judge's quote, if there is one, is the place.
            page, (start, end) = pages[key], locate(said.quote, pages[key].text) or (-1, 0)
            having = (unit for unit in page.units if unit.start <= start and end <= unit.end)
            stated.named[key] = next(
                ({"quote": page.of(unit), "start": unit.start, "end": unit.end} for unit in having), {}
            )
    return judgement


def calls_left(state: ConversationState, run: Run) -> int:
    """The model calls left. Those of document_chat count, which writes the answers of its turns."""
    answers = run.context.budget.by_tools.model_calls if state.blob_names else 0
    return run.context.budget.calls_left - answers


def seconds_left(run: Run) -> float:
    """The time left for improving the answer."""
    return (
        math.inf if run.context.ends_at is None else run.context.ends_at - asyncio.get_running_loop().time()
    )
