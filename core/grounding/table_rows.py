"""Compares a sentence with a row of a table: `B-200 costs EUR 7` with `Article: B-200 | Price EUR: 7`."""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise, takewhile

from core.grounding.equal_words import groups_of, neutral_words
from core.grounding.opposites import CONDITIONS, MAYBE, ONLY, exclude
from core.grounding.sentence_facts import joined_pairs
from core.grounding.table_cells import Cell, cells_of, content_stems
from core.grounding.tokens import PREPOSITIONS, Token
from core.text.numbers import SCALES

_LIMITING = CONDITIONS | MAYBE | ONLY
_DIRECTIONS = frozenset(
    "from until before after between through ab nach vor bis durch zwischen seit desde hasta entre vers"
    " naar door".split()  # prose: data
)
"""Prepositions before a value that only the label of its cell would explain: `from Oslo`."""
_ARTICLES = frozenset("a an".split())
"""English articles that are prepositions in other languages."""
_RATES = frozenset("per pro je".split())
"""Prepositions before a unit: `EUR 7 per 100 pcs`."""
_OF = frozenset("of de du des del von des van da do to for with over für zu pour para".split())  # prose: data
"""Prepositions that connect a relation with its other end: `the manager of Ann`."""
_BY = frozenset("by durch par por".split())
"""Prepositions before the subject of a verb in the passive voice; `von` is one with a form of `werden`."""
_FUTURE = frozenset("wird werden".split())
_PASSIVE = _FUTURE | frozenset("wurde wurden worden".split())
_JOINING = frozenset("e o".split())  # prose: data
_IN = frozenset("in at im en à dans".split())
"""Prepositions before a value that is followed by its label: `works in the Sales department`."""
_HAS = frozenset("has have had hat hatte haben avait ont tiene tienen tenía".split())
_IS = frozenset(
    "is are was were be been ist sind war waren gewesen est sont était étaient été es son era eran"
    " sido".split()
)
"""Between a name and a label they say that the name has this role: `Ann is the manager of Bob`."""
_HEDGES = frozenset(
    "should would will can could shall all any each every than about around approximately"
    " soll sollen sollte sollten würde würden kann können konnte könnte noch statt alle jeder jede jedes um"
    " über unter etwa rund devrait pourrait peut environ tous debe puede podría cada todos unos".split()
)
"""Words that change what a value says: it can, should or would be, or is one of others."""
_AS = frozenset("as als comme como".split())  # prose: data
MOST_WORDS, MOST_CELLS = 40, 100
"""Of a sentence and a row that are compared: each cell is looked for at each word."""


def says(claim: Sequence[Token], row: Sequence[Cell]) -> bool:
    """Whether the row says what the claim says: which row it is, and a value by its label.

    A claim with more values has to say each of them in a separate part, with its label: `B-200 costs EUR 7
    and weighs 5 g`. The parts are about the row that the first one names. A claim that is a row itself has
    the first cell and any of the others.
    """
    if row and (copied := {cell.facts for cell in cells_of(claim)}):
        return row[0].facts in copied and copied <= {cell.facts for cell in row}
    if not row or len(row) > MOST_CELLS or sum(token.is_content for token in claim) > MOST_WORDS:
        return False
    if any(token.negates or token.breaks == "?" for token in claim) or _is_limited(claim, row):
        return False
    if _states(claim, row):
        return True
    parts = _parts(claim)
    if len(parts) < 2 or (subject := _subject(row, _content(parts[0]))) is None:
        return False
    first = parts[0]
    starts = [[] if _subject(row, _content(part)) else subject.value for part in parts]
    stated = [_states([*start, *part], row, is_part=True) for start, part in zip(starts, parts, strict=True)]
    is_apposition = content_stems(first) <= content_stems(
        (*subject.label, *subject.value)
    ) and _ends_in_comma(claim, first)
    return all(stated[1:]) and (stated[0] or is_apposition)


def _is_limited(claim: Sequence[Token], row: Sequence[Cell]) -> bool:
    """Whether a claim has a condition, a possibility or the like that the row does not have."""
    known = {token.written.casefold() for cell in row for token in (*cell.label, *cell.value)}
    spelled = {token.written.casefold() for token in claim if token.written != "May"}
    return not spelled.isdisjoint(_LIMITING) or not (spelled & _HEDGES) <= known


def _parts(claim: Sequence[Token]) -> list[list[Token]]:
    """The parts of a claim between its commas and conjunctions."""
    found: list[list[Token]] = [[]]
    for token in claim:
        if token.breaks in (",", ";") or (token.breaks == "and" and token.written != "&"):
            found.append([])
        else:
            found[-1].append(token)
    return [part for part in found if any(token.is_content for token in part)]


def _ends_in_comma(claim: Sequence[Token], part: Sequence[Token]) -> bool:
    return any(token is part[-1] and behind.breaks == "," for token, behind in pairwise(claim))


def _states(claim: Sequence[Token], row: Sequence[Cell], *, is_part: bool = False) -> bool:
    """Whether the row has the one value of a claim by its label.

    The claim has to have the label of one cell and its whole value, and the whole value of the first cell, or
    of another one that names the row. All its other words have to be among these. A part of a longer claim
    has no other values.
    """
    said = _content(claim)
    named = _named(row, said)
    if named is None or not _is_next(named, row, said):
        return False
    whole = [cell for cell in row if cell is not named and cell.place_in(said) is not None]
    known = [token for cell in (named, *whole) for token in (*cell.label, *cell.value)]
    if any(token.negates for token in known) or _joins(claim) > _joins(known):
        return False
    if exclude(joined_pairs(claim), joined_pairs(known)):
        return False
    subject = next((cell for cell in whole if cell is row[0] or cell.names_row), None)
    if subject is None or not _in_order(whole, said) or _is_turned(subject, named, claim):
        return False
    own = named.place_in(said)
    others = [c for c in whole if c is not row[0] and not c.names_row and c.place_in(said) != own]
    if others and (is_part or (not named.is_number and any(cell.is_number for cell in others))):
        return False  # `Ann's manager Bob earns 5`
    if named.is_number and not _scales(row[0].label) <= content_stems(said):
        return False
    if named.is_number and not _FUTURE.isdisjoint(_words(claim)):
        return False  # `wird 250 Euro betragen`
    return _all_known(said, known) and not _is_directed(claim, (subject, named), others)


def _content(tokens: Iterable[Token]) -> list[Token]:
    return [token for token in tokens if token.is_content]


def _subject(row: Sequence[Cell], said: Sequence[Token]) -> Cell | None:
    """The first cell, or another one that names the row, whose whole value is in a part of a claim."""
    return next((c for c in row if (c is row[0] or c.names_row) and c.place_in(said) is not None), None)


def _named(row: Sequence[Cell], said: Sequence[Token]) -> Cell | None:
    """The only cell whose label a claim has, besides that of the first one: `article B-200`."""
    stems = content_stems(said)
    groups = frozenset[tuple[str, int]]().union(*map(groups_of, stems))
    named = [
        cell
        for cell in row
        if cell.labels and all(not groups.isdisjoint(groups_of(stem)) for stem in cell.labels - stems)
    ]
    named = [cell for cell in named if not any(cell.labels < other.labels for other in named)]
    named = [cell for cell in named if cell is not row[0]]
    return named[0] if len(named) == 1 else None


def _places_of_label(cell: Cell, said: Sequence[Token]) -> list[int]:
    """Where a sentence has words of the label, or words that say the same: `costs` for `Price`."""
    groups = frozenset[tuple[str, int]]().union(*map(groups_of, cell.labels))
    return [
        at
        for at, token in enumerate(said)
        if token.stem in cell.labels or not groups.isdisjoint(groups_of(token.stem))
    ]


def _is_next(named: Cell, row: Sequence[Cell], said: Sequence[Token]) -> bool:
    """Whether a claim has the value of a cell, and no number of another cell as close to its label.

    A number within the words of a cell, such as `Station 4711`, is neither, and one of the label no value.
    """
    own = named.place_in(said)
    if own is None:
        return False
    labels = _places_of_label(named, said)
    found = [(cell, cell.place_in(said)) for cell in row if cell is not named]
    places = [(cell, at) for cell, at in found if at is not None]
    in_words = {
        at for cell, first in places if not cell.is_number for at in range(first, first + cell.length)
    }
    in_value = range(own, own + named.length)  # `11` of `11 May 2017`
    numbers = [at for cell, at in places if cell.is_number and at not in {*in_words, *in_value}]
    distance, *others = (min(abs(at - label) for label in labels) for at in (own, *numbers))
    return own not in {*in_words, *labels} and all(distance < other for other in others)


def _in_order(cells: Sequence[Cell], said: Sequence[Token]) -> bool:
    """Whether a claim has names of different columns in the order of these: `Oslo-Bergen`.

    A name of the row, or one with a number, can be anywhere: `the hex nut (B-200)`.
    """
    names = [cell for cell in cells if not cell.names_row and all(t.kind == "word" for t in cell.value)]
    places = [cell.place_in(said) or 0 for cell in names]
    return places == sorted(places)


def _is_turned(subject: Cell, named: Cell, claim: Sequence[Token]) -> bool:
    """Whether a claim may turn round a value that can be a name: `Ann manages Bob` of `Manager: Bob`.

    A number cannot be a name. Of two names, only these forms are known to keep the direction: `Ann's manager
    is Bob`, `Ann has the manager Bob`, `the manager of Ann is Bob`, `Bob is the manager of Ann`, `Bob is
    Ann's manager`, `Bob manages Ann` and `Ann is managed by Bob`.
    """
    if named.is_number and not subject.is_number:
        return False
    content = [at for at, token in enumerate(claim) if token.is_content]
    said = [claim[at] for at in content]
    first, value = subject.place_in(said), named.place_in(said)
    label = _places_of_label(named, said)[0]
    assert first is not None and value is not None, "both were found before"
    start = first  # `the manager of the department Sales`
    while start and said[start - 1].stem in subject.labels:
        start -= 1
    before_name, before_value = _before(claim, content[start]), _before(claim, content[value])
    if not frozenset(t.written.casefold() for t in named.label if t.stem in named.labels) <= _spelled(claim):
        agents = _BY if _PASSIVE.isdisjoint(_words(claim)) else _BY | {"von"}
        behind_verb = _words(claim[content[label] : content[first]])
        is_active = value < label < first and behind_verb.isdisjoint(_BY | _OF)
        return before_value.isdisjoint(agents) and not is_active
    before_label = _before(claim, content[label])
    if value < first:
        is_possessed = content[label] == content[first] + subject.length and label == first + subject.length
        if named.names_row or not before_label.isdisjoint(PREPOSITIONS.keys() - _ARTICLES):
            return True
        return not is_possessed and not (value < label < first and _is_of(before_name))
    if label < first:
        return not _is_of(before_name)
    if named.is_number:
        return _relates(before_label, before_value)
    return _takes_role(before_label, before_value, is_last=label > value)


def _takes_role(before_label: AbstractSet[str], before_value: AbstractSet[str], *, is_last: bool) -> bool:
    """Whether the name in front has the role of a label, and not the value: `Ann is the manager of Bob`.

    `is_last`: the label is behind the value, as in `Ann works in the Sales department`.
    """
    if is_last:
        return before_value.isdisjoint(_IN) and before_label.isdisjoint(_AS)
    if not before_label.isdisjoint(_IS) and before_label.isdisjoint(_IN):
        return True
    if not before_label.isdisjoint(_AS):
        return not before_value.isdisjoint(_OF | _HAS)
    return _relates(before_label, before_value)


def _is_of(before: AbstractSet[str]) -> bool:
    """Whether these words before a name connect it with the word before: `of`, `des`, but not `ist der`."""
    return not before.isdisjoint(_OF) or ("der" in before and before.isdisjoint(_IS))


def _relates(before_label: AbstractSet[str], before_value: AbstractSet[str]) -> bool:
    """Whether a value is the other end of its label, and not what it is: `Ann, manager of Bob`."""
    return not before_value.isdisjoint(_OF) and before_label.isdisjoint(_HAS | _IN)


def _joins(tokens: Iterable[Token]) -> int:
    return sum(token.written.casefold() in _JOINING or token.breaks == "and" for token in tokens)


def _before(claim: Sequence[Token], at: int) -> frozenset[str]:
    """The function words directly before a word."""
    found = takewhile(lambda token: not token.is_content, reversed(claim[:at]))
    return frozenset(token.written.casefold() for token in found)


def _all_known(said: Sequence[Token], known: Sequence[Token]) -> bool:
    """Whether all words of a claim are among those of the cells, or say the same as one."""
    stems = content_stems(known)
    groups = frozenset[tuple[str, int]]().union(*map(groups_of, stems))
    others = content_stems(said) - stems - neutral_words()
    return all(not groups.isdisjoint(groups_of(stem)) for stem in others)


def _is_directed(claim: Sequence[Token], cells: Sequence[Cell], others: Sequence[Cell]) -> bool:
    """Whether a claim gives a value a direction that only its label would explain."""
    said = _content(claim)
    for cell in (*cells, *others):
        at = cell.place_in(said)
        after = said[at].after if at is not None else ""
        if any(token.written.casefold() == after for token in cell.label):
            continue
        is_deadline = after == "by" and cell.is_number
        is_end = after == "to" and cell is not cells[-1]  # `amounts to 5`
        is_unlabelled = after not in _RATES | {""} and cell in others
        if after in _DIRECTIONS or is_deadline or is_end or is_unlabelled:
            return True
    return False


def _scales(label: Iterable[Token]) -> frozenset[str]:
    return frozenset(token.stem for token in label if token.written.casefold() in SCALES)


def _words(tokens: Iterable[Token]) -> frozenset[str]:
    return frozenset(token.written.casefold() for token in tokens)


def _spelled(tokens: Iterable[Token]) -> frozenset[str]:
    return frozenset(token.written.casefold() for token in tokens if token.is_content)
