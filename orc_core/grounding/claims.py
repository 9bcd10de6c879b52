"""Splits an answer into sentences; headings and introductions that state nothing need no source."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from orc_core.grounding.closest import LABEL_SENTENCES
from orc_core.grounding.models import REFUTED, CitationCheck
from orc_core.grounding.units import located
from orc_core.grounding.word_lists import ALL_NEGATORS
from orc_core.markdown.brackets import Status
from orc_core.text.terms import has_digit, is_stop_word, words

MOST_COVERED = 50
"""Sentences before a marker that it can be about."""
BEGINNING = 1000
"""Characters in which nearly every text has a content word."""
MOST_INTRODUCING = 4
"""Content words of a heading or lead that states nothing."""
MOST_IN_CALL = 2
"""Content words of an exclamation that states nothing."""

_NUMBERING = re.compile(r"^\(?(?:\d+|[ivxIVX]+)(?:\.\d+)*[.)]\s*")
BULLET = re.compile(r"^(?:[•●▪◦‣·*–-]|\(?\d{1,2}[.)])\s+")
_ABBREVIATED = re.compile(r"(?<![\w.])\w{1,6}\.$")
_CONTINUATION = re.compile(r"[\d§a-z]")
LONGEST_ABBREVIATED = 8
LONGEST_JOINED = 4000
"""Characters of a claim to which numbers and the parts of a sentence are still added."""
_MARKUP = re.compile(r"[*`#]+|(?<!\w)_++|(?<!_)_++(?!\w)")
_MAX_SHORT = 200
_ENDS, _AFTER_END = (".", "!", "?", "。", "！", "？"), "\"'”’)]"
_BELOW_HEADER = re.compile(r"[\s|:]*-[\s|:-]*")
"""The row between the header of a table and its other rows, in Markdown."""
_CALLS = ("!", "！")
_ASKS = ("?", "？", "؟")
_STATED = re.compile(r"\w")
_FIGURE = re.compile(r"\d+")
_ENDED_BEFORE = re.compile(r"[.!?。！？\n]")


def only_introduces(text: str) -> bool:
    """Whether a heading, or a lead that ends in a colon, says little that could be true or false.

    It is short, and has neither a number nor a negation.
    """
    found = words(_NUMBERING.sub("", text))
    if any(map(has_digit, found)) or not ALL_NEGATORS.isdisjoint(found):
        return False
    return sum(map(_is_content, found)) <= MOST_INTRODUCING


@dataclass(slots=True)
class Claim:
    """A sentence, list item, table row or heading of an answer, or the part of one before or behind a marker.

    `block` is the number of its paragraph, list item, table or heading. `goes_on`: a marker is inside its
    sentence, and it is what follows. `check`: what is known of it and what it cites; None if that is nothing.
    `status`: the answer says that it needs no source: the sources say nothing of it, or it is talk. `start`
    and `end` are characters of the text that it was added with.
    """

    text: str
    kind: str
    block: int = 0
    goes_on: bool = False
    check: CitationCheck | None = None
    status: Status | None = None
    start: int = 0
    end: int = 0

    @property
    def short(self) -> str:
        return self.text[:_MAX_SHORT]

    @property
    def is_label(self) -> bool:
        """Whether it is a sentence of the label above closest passages."""
        return self.text.casefold() in LABEL_SENTENCES

    @property
    def is_numbering(self) -> bool:
        """Whether it is only a number or a code such as `A3.`, which begins what follows it."""
        return len(self.text) <= LONGEST_ABBREVIATED and self.text[-1:] == "." and not has_content(self.text)

    @property
    def introduces(self) -> bool:
        """Whether it is a heading, or a lead such as `The limits are:`."""
        return self.kind == "heading" or self.is_lead

    @property
    def is_lead(self) -> bool:
        """Whether it is a title or ends in a colon. Other headings can be lines that state something."""
        return self.kind == "title" or self.text.endswith(":")

    @property
    def is_ended(self) -> bool:
        """Whether it has the mark of a sentence's end."""
        return self.text.rstrip(_AFTER_END).endswith(_ENDS)

    @property
    def needs_source(self) -> bool:
        """Whether it states something: questions and `Hello!` do not, and headings and leads need not."""
        if self.status is not None or self.is_label or self.text.endswith(_ASKS):
            return False
        if self.text.endswith(_CALLS) and not has_digit(self.text):
            return sum(map(_is_content, words(self.text[:BEGINNING]))) > MOST_IN_CALL
        return not (self.is_lead and only_introduces(self.text))

    @property
    def is_covered(self) -> bool:
        """Whether it has a citation that does not differ from it."""
        return self.check is not None and self.check not in REFUTED


class Claims:
    """The sentences of an answer so far, in their order.

    `lists_closest`: the label above closest passages was added, and what follows it is no answer.
    """

    def __init__(self, question: str = "") -> None:
        self.all: list[Claim] = []
        self.lists_closest = self._says_nothing = False
        self._figures = frozenset(_FIGURE.findall(question))
        self._block = 0

    def add(self, text: str, status: Status | None = None) -> list[Claim]:
        """Add the text since the last marker; returns its sentences, none if it has no content.

        `status`: what the marker behind it says of them.
        """
        added = self.read(text)
        self.lists_closest = self.lists_closest or any(claim.is_label for claim in added)
        if status is not None:
            # What `[talk]` is about: all these sentences; `[none]`: those of the last paragraph.
            # Not one with a number that the question has not, which has a source, but for calculations.
            self._says_nothing = self._says_nothing or status == "none"
            calculates = status == "talk" and len(self._figures) > 1
            for claim in added:
                is_near = status == "talk" or claim.block == added[-1].block
                if is_near and (calculates or self._figures.issuperset(_FIGURE.findall(claim.text))):
                    claim.status = status
        self.all += added
        return added

    def read(self, text: str) -> list[Claim]:
        """The sentences of a text that follows these, without adding them."""
        added: list[Claim] = []
        for claim in self._claims_of(text):
            before = added[-1] if added else None
            # The previous claim may end in an abbreviation: `according to Art.` and `25`.
            if before and (_goes_on(before.text, claim.text) or before.is_numbering):
                before.text, before.end = f"{before.text} {claim.text}", claim.end
            elif has_content(claim.text) or has_digit(claim.text):
                added.append(claim)
            elif before and before.kind == "row" and _BELOW_HEADER.fullmatch(claim.text):
                before.kind = "title"
        if added and self.all and self.all[-1].status is None and not self.all[-1].is_ended:
            beginning = next(_STATED.finditer(text))
            added[0].goes_on = _ENDED_BEFORE.search(text, 0, beginning.start()) is None
        return added

    def _claims_of(self, text: str) -> Iterator[Claim]:
        last, end = "", 0
        for part in located(text):
            written = text[part.start : part.end]
            is_new_item = part.kind == "item" and BULLET.match(written) is not None
            is_apart = part.kind == "heading" or text.count("\n", end, part.start) > 1
            self._block += part.kind != last or is_new_item or is_apart
            last, end = part.kind, part.end
            kind = "title" if part.kind == "heading" and written.startswith("#") else part.kind
            bare = _MARKUP.sub("", BULLET.sub("", " ".join(written.split()))).strip()
            yield Claim(bare, kind, self._block, start=part.start, end=part.end)

    @property
    def uncited(self) -> list[Claim]:
        """The sentences that need a source and have none."""
        return [claim for claim in self.all if claim.needs_source and claim.check is None]

    @property
    def coverage(self) -> float:
        """The share of the sentences that need a source and have one that does not differ from them."""
        stated = [claim for claim in self.all if claim.needs_source]
        return sum(claim.is_covered for claim in stated) / len(stated) if stated else 0.0

    @property
    def report_not_found(self) -> bool:
        """Whether the answer says that nothing was found, and states nothing else."""
        return self._says_nothing and not any(claim.needs_source for claim in self.all)


def covered_by_marker(added: Sequence[Claim]) -> tuple[list[Claim], list[Claim]]:
    """The sentences that a marker behind them is about, and the heading and lead above these.

    They are those of the last paragraph, list item or table.
    """
    first = len(added) - 1
    while first and len(added) - first < MOST_COVERED:
        before = added[first - 1]
        if before.block != added[-1].block or before.introduces:
            break
        first -= 1
    above = first
    while above and added[above - 1].introduces:
        above -= 1
    return list(added[first:]), list(added[above:first])


def has_content(text: str) -> bool:
    """Whether a text has a content word; a number alone is none."""
    parts = filter(None, (text[:BEGINNING], text[BEGINNING:]))
    return any(_is_content(word) for part in parts for word in words(part))


def _is_content(word: str) -> bool:
    return not (is_stop_word(word) or has_digit(word))


def _goes_on(before: str, following: str) -> bool:
    """Whether a claim ends in an abbreviation and the next one continues it."""
    is_short = len(before) < LONGEST_JOINED and before.endswith(".")
    found = is_short and _ABBREVIATED.search(before, max(0, len(before) - LONGEST_ABBREVIATED))
    return bool(found) and _CONTINUATION.match(following) is not None
