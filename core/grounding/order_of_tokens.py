"""Whether the names, numbers and words of a claim have the same relation to each other on the page."""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import accumulate, pairwise

from core.grounding.equal_words import say_the_same
from core.grounding.opposites import MODALS
from core.grounding.tokens import AGENTS, BEFORE_BEGINNING, BEFORE_END, Token, matches

_NO_MEANS = frozenset(("", *"to an à a of de von for für pour para".split()))
"""Prepositions before what something is done to or for, or belongs to; others are of times and means."""
ANY = "*"
_Series = tuple[tuple[str, ...], bool]
"""The unit of numbers, and whether those at the beginning of a change are left out."""


def same_order(claim: Sequence[Token], page: Sequence[Token]) -> bool:
    """Whether the names and numbers of a claim have the same relation to each other on the page.

    Their order may change together with the voice (`by`), or if both keep their prepositions. Between two of
    them the page may have no other number of the same unit: `Oslo 5, Bergen 6` does not relate Oslo and 6.
    """
    places = _first_places(claim, page)
    numbers = _Numbers(page)
    for (one, at), (other, there) in pairwise(zip(claim, places, strict=True)):
        if at is None or there is None or one.stem == other.stem:
            continue
        if not _same_relation(one, other, page[at], page[there], reversed_=there < at):
            return False
        if numbers.compete(one, at, there) or numbers.compete(other, at, there):
            return False
    return True


def is_turned(claim: Sequence[Token], page: Sequence[Token]) -> bool:
    """Whether three words of a claim are in the reverse order on the page: subject, verb and object.

    In another voice (`by`) they have to be: the agent comes first in the other clause. Words that one of both
    repeats are left out.
    """
    agents = _agents(claim, page), _agents(page, claim)
    if agents[0] != agents[1]:
        return _has_other_agent(*((claim, page) if agents[0] > agents[1] else (page, claim)))
    place_in_claim, place_on_page = _places_of_words(claim), _places_of_words(page)
    places = [place_on_page[stem] for stem in place_in_claim if stem in place_on_page]
    highest_before = accumulate(places, max)
    lowest_behind = reversed(list(accumulate(reversed(places), min)))
    return any(high > at > low for high, at, low in zip(highest_before, places, lowest_behind, strict=True))


def _agents(clause: Sequence[Token], other: Sequence[Token]) -> int:
    """How many words are behind `by` and in the other clause too; it may leave out a means: `by email`."""
    known = {token.stem for token in other}
    return sum(token.after in AGENTS and token.stem in known for token in clause if token.is_content)


def _has_other_agent(passive: Sequence[Token], active: Sequence[Token]) -> bool:
    """Whether the agent of one clause is behind subject and verb of the other, where it is no time or means.

    `The bank is informed by the customer` of `the bank informs the customer`.
    """
    places = _places_of_words(active)
    shared = [token for token in passive if token.stem in places and token.kind not in ("number", "bound")]
    at = next((at for at, token in enumerate(shared) if token.after in AGENTS), None)
    if at is None or len(shared) == 1 or active[places[shared[at].stem]].after not in _NO_MEANS:
        return False
    others = shared[:at] or shared[1:2]
    return places[shared[at].stem] > max(places[others[0].stem], places[others[-1].stem])


def replaces_word(claim: Sequence[Token], page: Sequence[Token]) -> bool:
    """Whether a claim has another word in the place of one of the page: `storage key`, `server key`.

    The place is behind the same preposition, if any, between the same two words, or between one and an end of
    the clause; or behind the same word and preposition; anywhere if it is the only difference. Words that say
    the same may replace each other, and a word may move to another place.
    """
    times, found = (Counter(token.stem for token in clause) for clause in (claim, page))
    said, places = _words_by_place(claim), _words_by_place(page)
    added = {place: {word for word in words if times[word] > found[word]} for place, words in said.items()}
    return _replaces_one(claim, page) or any(
        not say_the_same(word, other)
        for place, words in added.items()
        for other in places.get(place, ())
        if not times[other]
        for word in words
    )


def _replaces_one(claim: Sequence[Token], page: Sequence[Token]) -> bool:
    """Whether one word is their only difference, wherever it is: `In Hall B, the board meets` of a committee.

    Words with opposites, whose stems are no words, are compared by their sides.
    """
    said, found = ({t.stem for t in clause if t.is_content and t.stem.isalpha()} for clause in (claim, page))
    missing, others = said - found, found - said
    return len(missing) == len(others) == 1 and not say_the_same(*missing, *others)


def _words_by_place(clause: Sequence[Token]) -> dict[tuple[str, str, str], set[str]]:
    """The content words of a clause, without numbers, by the words on both sides and the preposition.

    Behind a preposition they are also found by that and the word before it, with ANY as the word behind.
    """
    found: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    content = [token for token in clause if token.is_content]
    stems = ["", *(token.stem for token in content), ""]
    for before, token, behind in zip(stems, content, stems[2:], strict=False):
        if token.kind != "number":
            found[before, token.after, behind].add(token.stem)
            if token.after:
                found[before, token.after, ANY].add(token.stem)
    return found


def _places_of_words(clause: Sequence[Token]) -> dict[str, int]:
    """The content words that occur once, with their places."""
    times = Counter(token.stem for token in clause)
    return {
        token.stem: at
        for at, token in enumerate(clause)
        if token.is_content
        and token.kind not in ("number", "bound")
        and times[token.stem] == 1
        and token.written.casefold() not in MODALS
    }


def _first_places(claim: Sequence[Token], page: Sequence[Token]) -> list[int | None]:
    """Where the page has each token of the claim first; None if it does not have it."""
    by_stem: dict[str, list[int]] = defaultdict(list)
    for place, token in enumerate(page):
        by_stem[token.stem].append(place)
    first: dict[tuple[str, bool, tuple[str, ...]], int | None] = {}
    places = []
    for token in claim:
        # What `matches` looks at: a claim may repeat one token thousands of times.
        key = token.stem, token.kind == "number", token.near
        if key not in first:
            first[key] = next((at for at in by_stem.get(token.stem, ()) if matches(token, page[at])), None)
        places.append(first[key])
    return places


class _Numbers:
    """The numbers of a page by their units: a long page is not read again for each pair of a claim.

    For the end of a change its beginning is no other number: `fell from 95 to 82 euros`.
    """

    def __init__(self, page: Sequence[Token]) -> None:
        self._places: dict[_Series, list[int]] = defaultdict(list)
        for place, token in enumerate(page):
            if token.kind == "number":
                self._places[token.near[:1], False].append(place)
                if token.after not in BEFORE_BEGINNING:
                    self._places[token.near[:1], True].append(place)
        self._page = page
        self._ends: dict[_Series, list[int]] = {}

    def compete(self, wanted: Token, at: int, there: int) -> bool:
        """Whether another number of the same unit as this one is between these places."""
        series = wanted.near[:1], wanted.after in BEFORE_END
        if wanted.kind != "number" or series not in self._places:
            return False
        places = self._places[series]
        index = bisect_right(places, at)
        if index < len(places) and self._page[places[index]].stem == wanted.stem:
            index = self._ends_of_runs(series)[index]
        return index < len(places) and places[index] < there

    def _ends_of_runs(self, series: _Series) -> list[int]:
        """For each number of a series, the index of the next one that is not the same number."""
        if series not in self._ends:
            stems = [self._page[place].stem for place in self._places[series]]
            ends = list(range(1, len(stems) + 1))
            for index in range(len(stems) - 2, -1, -1):
                if stems[index] == stems[index + 1]:
                    ends[index] = ends[index + 1]
            self._ends[series] = ends
        return self._ends[series]


def _same_relation(one: Token, other: Token, at: Token, there: Token, *, reversed_: bool) -> bool:
    """Whether two tokens of a claim are related as `at` and `there`, where the page has them.

    In another voice their order is reversed, but for a part and its whole: `seen by 7 of 210 patients`.
    """
    agents = [token.after in AGENTS for token in (one, other, at, there)]
    same = one.after == at.after, other.after == there.after
    if sum(agents[:2]) != sum(agents[2:]):
        is_whole = other.after == there.after != ""
        return is_whole != reversed_
    return not reversed_ or (all(same) and bool(one.after or other.after))
