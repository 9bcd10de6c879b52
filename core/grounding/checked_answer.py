"""An answer that is checked away from the event loop while it is written, with a deadline."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from core.errors import OrcError
from core.grounding.checks import (
    CheckedEnd,
    CheckedMarker,
    check_end,
    check_marker,
    check_marker_in_brief,
    find_conflicts,
)
from core.grounding.citations import CitationWriter, Marker
from core.grounding.claims import Claims
from core.grounding.models import Citation, Grounding, WrittenMark
from core.grounding.numbers import has_numbers
from core.grounding.objections import Objection
from core.grounding.sources import Source
from core.infra.text_processes import Arguments, InThread, Result, TextWork

CHECK_SECONDS = 2.0
"""Of processor time for one check; ordinary ones take milliseconds."""
IN_PLACE = 6000
"""A check of a smaller size runs in this process: another one costs more than the check."""
MARKER_IN_PLACE, MOST_IN_PLACE = 15_000, 1000
"""The size of a marker's check that begins in this process, and the comparisons after which it moves to
another one. An ordinary check takes 20 to 600 comparisons and 2 ms; a thousand take some 20 ms."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Checker:
    """Runs the checks of answers for the users of one organization, those below a size in this process."""

    text: TextWork = field(default_factory=InThread)
    whose: str = ""
    in_place: int = IN_PLACE

    async def check_marker(self, claims: Claims, text: str, sources: Sequence[Source]) -> CheckedMarker:
        """The check of a marker: begun in this process, and repeated in another if it takes long."""
        if self.in_place and _size(text, sources) <= MARKER_IN_PLACE:
            checked = check_marker_in_brief(claims, text, sources, MOST_IN_PLACE)
            if checked is not None:
                return checked
        return await self.text.run(
            check_marker, claims, text, sources, seconds=CHECK_SECONDS, whose=self.whose
        )

    async def run(
        self, function: Callable[[*Arguments], Result], *arguments: *Arguments, size: int
    ) -> Result:
        """What the check returns. Raises Overdue if it takes too long."""
        if size <= self.in_place:
            return function(*arguments)
        return await self.text.run(function, *arguments, seconds=CHECK_SECONDS, whose=self.whose)


class CheckedAnswer:
    """A CitationWriter whose checks a `checker` runs. If one fails, the answer counts as not checked."""

    def __init__(self, sources: Sequence[Source], question: str, checker: Checker) -> None:
        self._writer = CitationWriter(sources, question, deferred=True)
        self._checker = checker

    async def feed(self, delta: str) -> str:
        """Take in more of the model's text; returns what can be shown."""
        shown = []
        # A citation is checked before the text behind it is read, which may link to what it cites.
        for piece in _split_behind_brackets(delta):
            self._writer.feed(piece)
            shown.append(await self._settled())
        return "".join(shown)

    async def finish(self) -> str:
        """Return the text that was still held back, and check the whole answer."""
        self._writer.finish()
        shown = await self._settled()
        try:
            self._writer.conclude(*await self._check_end())
        except OrcError as exc:
            self._give_up(exc)
        return shown

    @property
    def code_end(self) -> str:
        """What to append before a note, so that no open block of code contains it; otherwise empty."""
        return self._writer.code_end

    @property
    def label(self) -> str:
        """What to append to the finished answer if nothing supports it or it was not checked."""
        return self._writer.label

    @property
    def grounding(self) -> Grounding:
        """The result of the code checks."""
        return self._writer.grounding

    @property
    def citations(self) -> list[Citation]:
        """Every distinct citation so far, with the marks of its markers."""
        return self._writer.citations

    def take_marks(self) -> list[WrittenMark]:
        """The markers that were shown since the last call."""
        return self._writer.take_marks()

    async def _settled(self) -> str:
        pieces, pass_on = self._writer.take(), self._writer.pass_on
        shown = [pass_on(each) if isinstance(each, str) else await self._settle(each) for each in pieces]
        return "".join(shown)

    async def _check_end(self) -> tuple[CheckedEnd, list[Objection]]:
        claims, text = self._writer.rest()
        end = await self._checker.run(check_end, claims, text, size=_size(text))
        if not any(has_numbers(claim.text) for claim in end.uncovered):
            return end, []
        sources, unsupported = self._writer.sources, "".join(claim.text for claim in end.uncovered)
        compared = end, sources, self._writer.question
        return end, await self._checker.run(find_conflicts, *compared, size=_size(unsupported, sources))

    async def _settle(self, marker: Marker) -> str:
        checked = None
        if not self._writer.is_unchecked:
            try:
                checked = await self._checker.check_marker(*self._writer.request(marker))
            except OrcError as exc:
                self._give_up(exc)
        return self._writer.settle(marker, checked)

    def _give_up(self, reason: OrcError) -> None:
        log.warning("an answer was not checked: %s", reason.code)
        self._writer.is_unchecked = True


def _size(text: str, sources: Sequence[Source] = ()) -> int:
    """The size of a check: each character of the text may be compared with every page."""
    return 10 * len(text) + sum(len(source.page_text) for source in sources)


def _split_behind_brackets(delta: str) -> list[str]:
    *pieces, last = delta.split("]")
    return [piece + "]" for piece in pieces] + ([last] if last else [])
