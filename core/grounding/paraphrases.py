"""Compares a sentence of an answer with sentences of a page that may say it in other words."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from core.grounding.effort import Effort
from core.grounding.opposites import IN_CASE, ONLY, POSSIBLE, Sides, exclude
from core.grounding.order_of_tokens import is_turned, replaces_word, same_order
from core.grounding.quotes import Span
from core.grounding.sentence_facts import clauses, joined_pairs, negations, says_maybe, sides
from core.grounding.signs import LOSSES, SPENDING, same_sign
from core.grounding.tokens import Clause, Token, matches
from core.text.terms import is_stop_word

MIN_IN_CLAUSE = 0.7
MIN_IN_WINDOW = 0.7


@dataclass(frozen=True, slots=True)
class Part:
    """A clause with what comparisons need.

    `anchors` are its names and numbers. `names` are the words that a name of another clause may repeat.
    """

    tokens: Clause
    stems: frozenset[str]
    negations: int
    anchors: list[Token]
    names: frozenset[str]
    says_loss: bool
    spends: bool
    sides: Sides
    says_only: bool
    says_maybe: bool
    says_possible: bool

    @classmethod
    def of(cls, clause: Clause) -> "Part":
        """The facts of a clause."""
        stems = frozenset(token.stem for token in clause if token.is_content)
        anchors = [token for token in clause if token.kind != "word" or token.is_name]
        names = frozenset(token.stem for token in clause if token.kind != "number")
        spelled = {token.written.casefold() for token in clause}
        return cls(
            clause,
            stems,
            negations(clause),
            anchors,
            names,
            says_loss=not spelled.isdisjoint(LOSSES),
            spends=not spelled.isdisjoint(SPENDING),
            sides=sides(clause),
            says_only=not spelled.isdisjoint(ONLY),
            says_maybe=says_maybe(clause),
            says_possible=not spelled.isdisjoint(POSSIBLE),
        )

    def limits_alike(self, claimed: Token, found: Token) -> bool:
        """Whether a number of a page has the same signs, or this clause has words for them."""
        if not same_sign(claimed.sign, found.sign, says_loss=self.says_loss, spends=self.spends):
            return False
        wanted = {found.bound, found.other_end} - {""}
        return wanted <= {anchor.stem for anchor in self.anchors}


@dataclass(frozen=True, slots=True)
class PageSentence:
    """A sentence or row of a page, with what comparisons need."""

    span: Span
    parts: list[Part]
    words: frozenset[str]
    negations: int
    has_names: bool
    joined: Sides
    asks: bool
    condition: frozenset[str]
    excepts: bool
    is_record: bool
    """Whether it is a row of a table, or a label with its value."""
    row: Sequence[Token]
    """The tokens of a row with labels."""


@dataclass(frozen=True, slots=True)
class ClaimParts:
    """The facts of a sentence of an answer that are compared; `has_condition` also if it breaks off."""

    parts: list[Part]
    stems: frozenset[str]
    negations: int
    joined: Sides
    has_condition: bool

    @classmethod
    def of(cls, tokens: Sequence[Token]) -> "ClaimParts":
        """The facts of a parsed sentence."""
        parts = [part for part in map(Part.of, clauses(tokens)) if part.stems]
        stems = frozenset[str]().union(*(part.stems for part in parts))
        breaks_off = bool(tokens) and is_stop_word(tokens[-1].written.casefold())
        has_condition = breaks_off or any(token.written.casefold() in IN_CASE for token in tokens)
        return cls(parts, stems, negations(tokens), joined_pairs(tokens), has_condition)

    def leaves_out_condition(self, units: Iterable[PageSentence]) -> bool:
        """Whether it has neither a condition nor a word of one that these sentences have.

        The word of an exception counts only in a claim that negates: `dogs pay, but not in May`.
        """
        return not self.has_condition and any(
            unit.condition and (not unit.condition & self.stems or (unit.excepts and not self.negations))
            for unit in units
        )


def supports(claim: ClaimParts, window: list[PageSentence], effort: Effort) -> bool:
    """Whether the sentences of a window together say each clause of a claim; False if the effort is spent."""
    missing = len(claim.stems.difference(*[unit.words for unit in window]))
    if not effort.spend() or len(claim.stems) - missing < MIN_IN_WINDOW * len(claim.stems):
        return False
    places: list[int] = []
    for part in claim.parts:
        index = next((i for i in range(len(window)) if _holds(part, window, i, effort)), None)
        if index is None:
            return False
        places.append(index)
    used = {index: window[index] for index in places}
    if claim.leaves_out_condition(used.values()) or not _names_records(claim.parts, places, used):
        return False
    if exclude(claim.joined, frozenset[tuple[str, str]]().union(*(unit.joined for unit in window))):
        return False
    return sum(unit.negations for unit in used.values()) == sum(part.negations for part in claim.parts)


def _names_records(parts: Sequence[Part], places: Sequence[int], used: Mapping[int, PageSentence]) -> bool:
    """Whether each part from a record says something of a name that the other records lack."""
    records = {index: unit.words for index, unit in used.items() if unit.is_record}
    for part, place in zip(parts, places, strict=True):
        others = [words for index, words in records.items() if index != place]
        names = {anchor.stem for anchor in part.anchors if anchor.kind not in ("number", "bound")}
        if place in records and others and not (part.stems - names and all(names - each for each in others)):
            return False
    return True


def _holds(part: Part, window: list[PageSentence], index: int, effort: Effort) -> bool:
    """Whether one clause of a sentence says the same as `part`.

    A clause without names may refer to the names before it in its sentence, and a sentence without names to
    those of the sentences before; a row of a table does not, and a cell has to have all words of `part`.
    """
    unit = window[index]
    if unit.asks or unit.row or not effort.spend(len(unit.parts)):
        return False
    before = (
        [] if unit.has_names or unit.is_record else [each for other in window[:index] for each in other.parts]
    )
    context = set[str]().union(*(each.names for each in before))
    for number, found in enumerate(unit.parts):
        has_own = any(token.is_name for token in (found.tokens[1:] if number == 0 else found.tokens))
        if _says(part, found, frozenset() if has_own else context):
            return True
        context |= found.names
    return False


def _says(part: Part, found: Part, context: AbstractSet[str]) -> bool:
    """`context` are the words of the sentence and of those before it that names may be among."""
    if part.negations != found.negations or len(part.stems & found.stems) < MIN_IN_CLAUSE * len(part.stems):
        return False
    for anchor in part.anchors:
        is_before = anchor.is_name and anchor.stem in context
        if not is_before and not any(
            matches(anchor, token) and part.limits_alike(anchor, token) for token in found.tokens
        ):
            return False
    if part.says_only and not found.says_only:
        return False
    if (found.says_maybe and not part.says_possible) or (part.says_maybe and not found.says_possible):
        return False
    if is_turned(part.tokens, found.tokens) or replaces_word(part.tokens, found.tokens):
        return False
    return same_order(part.anchors, found.tokens) and not exclude(part.sides, found.sides)
