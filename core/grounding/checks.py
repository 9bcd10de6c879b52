"""The checks of an answer as pure functions, which can run in another process."""

import pickle
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from core.grounding.claims import Claim, Claims
from core.grounding.effort import LONGEST_CHECKED, Effort
from core.grounding.evidence import SourceEvidence
from core.grounding.numbers import NumberConflicts
from core.grounding.objections import Objection
from core.grounding.quotes import Span
from core.grounding.sources import Source

PARSED_SOURCES = 32


class SourceCheck(NamedTuple):
    """The spans of a source that support each claim that a marker cites, the last claim first.

    The last claim is the one being cited: `spans[0]` is of it.

    `has_ended`: the check of the last claim ended; if it is false, there is no span for it.
    """

    spans: list[Span | None]
    has_ended: bool = True


class CheckedMarker(NamedTuple):
    """The claims up to a marker, and the check of those it cites against each of its sources."""

    claims: Claims
    checks: list[SourceCheck]


class CheckedEnd(NamedTuple):
    """The claims of a whole answer. `uncovered` are those that need a source and have none.

    `closest`: a label says that the citations come close to the question and do not answer it.
    """

    claims: Claims
    uncovered: list[Claim]
    coverage: float
    not_found: bool
    closest: bool = False


def check_marker(claims: Claims, text: str, sources: Sequence[Source]) -> CheckedMarker:
    """Add the text before a marker to the claims, and check those that it cites against its sources.

    A marker checks the last claim, and marks the claims that this one introduces or lists too. Of the claims
    it takes and returns the open part: an answer may have thousands.
    """
    claims.add(text)
    return CheckedMarker(claims, [_check(claims.cited, source, claims.effort) for source in sources])


def check_marker_in_brief(
    claims: Claims, text: str, sources: Sequence[Source], most: int
) -> CheckedMarker | None:
    """What `check_marker` returns; None if that takes more than `most` comparisons. Changes no argument."""
    tried: Claims = pickle.loads(pickle.dumps(claims, pickle.HIGHEST_PROTOCOL))
    tried.effort = claims.effort.part(most)
    checked = check_marker(tried, text, sources)
    left = claims.effort.less(tried.effort, most)
    if tried.effort.is_spent and not left.is_spent:
        return None
    tried.effort = left
    return checked


def check_end(claims: Claims, text: str) -> CheckedEnd:
    """Add the rest of the answer to the claims, and find what is not supported."""
    claims.add(text)
    return CheckedEnd(
        claims, claims.uncovered, claims.coverage, claims.report_not_found, claims.lists_closest
    )


def find_conflicts(end: CheckedEnd, sources: Sequence[Source], question: str) -> list[Objection]:
    """The numbers of unsupported claims that the sources contradict; those of the question do not count.

    Claims with more to compare than the checks do are marked as unchecked. Those read from a picture are not
    compared: it may have the number.
    """
    conflicts = NumberConflicts(sources, question)
    compared = [claim for claim in end.uncovered if not claim.is_pictured]
    of_claim = {text: conflicts.find(text) for text in dict.fromkeys(claim.text for claim in compared)}
    found = [objection for claim in compared for objection in of_claim[claim.text]]
    for claim in compared:
        claim.is_unchecked = claim.is_unchecked or claim.text in conflicts.left_out
    return found


def _check(cited: Sequence[Claim], source: Source, effort: Effort) -> SourceCheck:
    if not cited:
        return SourceCheck([])
    if source.pictured:
        return _read_from_picture(cited)
    evidence = _evidence_of(source.page_text, source.start, source.text)
    found = [_find(claim, evidence, effort) for claim in cited]
    cited[0].is_cited = True
    for claim, (span, has_ended) in zip(cited, found, strict=True):
        claim.is_covered = claim.is_covered or span is not None
        claim.is_unchecked = not has_ended and not claim.is_covered
    return SourceCheck([span for span, _ in found], has_ended=found[0][1])


def _find(claim: Claim, evidence: SourceEvidence, effort: Effort) -> tuple[Span | None, bool]:
    """The span that supports the claim, and whether the search for it ended."""
    span = evidence.find(claim.text, effort)
    return span, span is not None or not (effort.is_spent or len(claim.text) > LONGEST_CHECKED)


def _read_from_picture(cited: Sequence[Claim]) -> SourceCheck:
    """Nothing is known about these claims: there is no text to compare them with."""
    cited[0].is_cited = True
    for claim in cited:
        claim.is_pictured = True
    return SourceCheck([None] * len(cited), has_ended=False)


@lru_cache(PARSED_SOURCES)
def _evidence_of(page_text: str, start: int, text: str) -> SourceEvidence:
    """Passages are cited more than once: in an answer, and under other numbers in others."""
    source = Source(
        number=0, document_id="", blob_name="", page=1, start=start, text=text, page_text=page_text
    )
    return SourceEvidence(source)
