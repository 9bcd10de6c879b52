"""Compares a sentence with a row of a table: `B-200 costs EUR 7` with `Article: B-200 | Price EUR: 7`."""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise, takewhile

from core.grounding.equal_words import groups_of, neutral_words
from core.grounding.opposites import CONDITIONS, MAYBE, ONLY, exclude
from core.grounding.sentence_facts import joined_pairs
from core.grounding.signs import same_sign
from core.grounding.tokens import PREPOSITIONS, Clause, Token
from core.text.numbers import CURRENCIES, MONTHS, SCALES

_FIXED = frozenset(CURRENCIES.values())
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
_GERMAN = frozenset("der die das den dem".split())
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
_DATE = frozenset("date datum fecha".split())
"""Words of a label that a sentence can leave out: a date shows what it is."""
_NAMES = frozenset(
    "name names full title employee customer part product item article description designation bezeichnung"
    " beschreibung mitarbeiter kunde artikel nom désignation client"  # prose: data
    " produit nombre descripción producto artículo".split()  # prose: data
)
"""Words of the label of a cell that names the row as the first one does: `Article: B-200 | Name: Nut`."""
MOST_WORDS, MOST_CELLS = 40, 100
"""Of a sentence and a row that are compared: each cell is looked for at each word."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a row: the words of its label, and those of its value.

    `codes` are the currencies of its label, and of that of the first cell: `EUR million: Revenue`.
    """

    label: Clause
    value: Clause
    codes: frozenset[str]

    @property
    def labels(self) -> frozenset[str]:
        """The stems of its label that a sentence about it needs, without currencies."""
        needed = [token for token in self.label if token.written.casefold() not in _DATE]
        return _stems(needed if _stems(needed) else self.label)

    @property
    def facts(self) -> frozenset[tuple[object, ...]]:
        """What a cell with the same label and value has, in any spelling of its words and numbers."""
        return frozenset(
            (part, place, each.stem, each.sign, each.near, each.bound, each.other_end, each.negates)
            # `and` is not `or`, and EUR not USD.
            + ((each.written.casefold(),) if each.breaks or not each.stem else ())
            for part, tokens in enumerate((self.label, self.value))
            for place, each in enumerate(tokens)
        )

    @property
    def names_row(self) -> bool:
        """Whether its label says that its value is a name of the row."""
        return bool(self.label) and all(token.written.casefold() in _NAMES for token in self.label)

    @property
    def is_number(self) -> bool:
        """Whether its value has no words, except the month of a date."""
        content = [token for token in self.value if token.is_content]
        words = [token.written.casefold() for token in content if token.kind != "number"]
        return not words or (len(words) < len(content) and MONTHS.keys() >= set(words))

    @property
    def length(self) -> int:
        """The number of content words of its value."""
        return sum(token.is_content for token in self.value)

    def place_in(self, said: Sequence[Token]) -> int | None:
        """Where the content words of a sentence have the whole value, which may have the label's currency."""
        wanted = [token for token in self.value if token.is_content]
        places = range(len(said) - len(wanted) + 1) if wanted else ()
        pairs = ((at, zip(said[at:], wanted, strict=False)) for at in places)
        same = ((at, all(_same(one, other, self.codes) for one, other in each)) for at, each in pairs)
        return next((at for at, is_same in same if is_same), None)


def cells_of(tokens: Sequence[Token]) -> list[Cell]:
    """The cells of a row; none if there are fewer than two, or one without a label."""
    found: list[Cell] = []
    rows: list[list[Token]] = [[]]
    for token in tokens:
        if token.breaks == "|":
            rows.append([])
        else:
            rows[-1].append(token)
    first: frozenset[str] | None = None
    for cell in filter(None, rows):
        end = next((at for at, token in enumerate(cell) if token.breaks == ":"), None)
        if end is None:
            return []
        label, value = (
            [t for t in part if t.breaks in ("", "and")] for part in (cell[:end], cell[end + 1 :])
        )
        written = {each.written.casefold() for each in label}
        codes = frozenset(code for name, code in CURRENCIES.items() if name in written)
        first = codes if first is None else first
        found.append(Cell(label, value, codes | first))
    return found if len(found) > 1 else []


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
    is_apposition = _stems(first) <= _stems((*subject.label, *subject.value)) and _ends_in_comma(claim, first)
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
    if named.is_number and not _scales(row[0].label) <= _stems(said):
        return False
    return _all_known(said, known) and not _is_directed(claim, (subject, named), others)


def _content(tokens: Iterable[Token]) -> list[Token]:
    return [token for token in tokens if token.is_content]


def _subject(row: Sequence[Cell], said: Sequence[Token]) -> Cell | None:
    """The first cell, or another one that names the row, whose whole value is in a part of a claim."""
    return next((c for c in row if (c is row[0] or c.names_row) and c.place_in(said) is not None), None)


def _named(row: Sequence[Cell], said: Sequence[Token]) -> Cell | None:
    """The only cell whose label a claim has, besides that of the first one: `article B-200`."""
    stems = _stems(said)
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
        return not _FUTURE.isdisjoint(_words(claim))  # `wird 250 Euro betragen`
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
        is_passive = not before_value.isdisjoint(agents) and before_name.isdisjoint(agents)
        behind_verb = _words(claim[content[label] : content[first]])
        return not is_passive and not (value < label < first and behind_verb.isdisjoint(_BY | _OF))
    before_label = _before(claim, content[label])
    if value < first:
        is_possessed = content[label] == content[first] + subject.length and label == first + subject.length
        if named.names_row or not before_label.isdisjoint(_HAS | _IN | PREPOSITIONS.keys() - _ARTICLES):
            return True
        return not is_possessed and not (value < label < first and _is_of(before_name))
    if label < first:
        return not _is_of(before_name)
    is_of = not before_value.isdisjoint(_OF) and before_label.isdisjoint(_HAS | _IN)
    if named.is_number:
        return is_of
    if label > value:
        return before_value.isdisjoint(_IN) and before_label.isdisjoint(_AS)
    if not before_label.isdisjoint(_IS) and before_label.isdisjoint(_IN):
        return True
    if not before_label.isdisjoint(_AS):
        return not before_value.isdisjoint(_OF | _HAS)
    return is_of or _is_genitive(before_value)


def _is_of(before: AbstractSet[str]) -> bool:
    """Whether these words before a name connect it with what is before them: `of the`, `des`."""
    return not before.isdisjoint(_OF) or _is_genitive(before)


def _is_genitive(before: AbstractSet[str]) -> bool:
    """Whether a German article is in the genitive case, as in `eine Tochter der Coda SE`, not `ist der`."""
    return "der" in before and before.isdisjoint(_IS)


def _joins(tokens: Iterable[Token]) -> int:
    return sum(token.written.casefold() in _JOINING or token.breaks == "and" for token in tokens)


def _before(claim: Sequence[Token], at: int) -> frozenset[str]:
    """The function words directly before a word."""
    found = takewhile(lambda token: not token.is_content, reversed(claim[:at]))
    return frozenset(token.written.casefold() for token in found)


def _all_known(said: Sequence[Token], known: Sequence[Token]) -> bool:
    """Whether all words of a claim are among those of the cells, or say the same as one."""
    stems = _stems(known)
    groups = frozenset[tuple[str, int]]().union(*map(groups_of, stems))
    others = _stems(said) - stems - neutral_words()
    return all(not groups.isdisjoint(groups_of(stem)) for stem in others)


def _is_directed(claim: Sequence[Token], cells: Sequence[Cell], others: Sequence[Cell]) -> bool:
    """Whether a claim gives a value a direction that only its label would explain."""
    said = _content(claim)
    free = _RATES if _GERMAN & _words(claim) else _RATES | _ARTICLES
    for cell in (*cells, *others):
        at = cell.place_in(said)
        after = said[at].after if at is not None else ""
        if any(token.written.casefold() == after for token in cell.label):
            continue
        is_deadline = after == "by" and cell.is_number
        is_end = after == "to" and cell is not cells[-1]  # `amounts to 5`
        is_unlabelled = after not in free | {""} and cell in others
        if after in _DIRECTIONS or is_deadline or is_end or is_unlabelled:
            return True
    return False


def _scales(label: Iterable[Token]) -> frozenset[str]:
    return frozenset(token.stem for token in label if token.written.casefold() in SCALES)


def _same(claimed: Token, found: Token, codes: frozenset[str]) -> bool:
    """Whether a claim has a word or number of a value; `codes` are the currencies of its label."""
    if claimed.kind != found.kind or _without_zeros(claimed) != _without_zeros(found):
        return False
    if claimed.kind != "number":
        return True
    fixed, own = _FIXED.intersection(claimed.near), _FIXED.intersection(found.near)
    if not own <= fixed <= own | codes or claimed.other_end != found.other_end:
        return False
    return same_sign(claimed.sign, found.sign, says_loss=False, spends=False)


def _without_zeros(token: Token) -> str:
    """The stem of a token, of an amount without the zeros behind its point: `7.5` of `7.50`."""
    is_decimal = token.kind == "number" and token.stem.count(".") == 1
    return token.stem.rstrip("0").rstrip(".") if is_decimal else token.stem


def _words(tokens: Iterable[Token]) -> frozenset[str]:
    return frozenset(token.written.casefold() for token in tokens)


def _spelled(tokens: Iterable[Token]) -> frozenset[str]:
    return frozenset(token.written.casefold() for token in tokens if token.is_content)


def _stems(tokens: Iterable[Token]) -> frozenset[str]:
    return frozenset(_without_zeros(token) for token in tokens if token.is_content)
