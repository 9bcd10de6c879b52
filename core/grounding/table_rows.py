"""Compares a sentence with a row of a table: `B-200 costs EUR 7` with `Article: B-200 | Price EUR: 7`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from core.grounding.opposites import CONDITIONS, MAYBE, ONLY, exclude
from core.grounding.sentence_facts import joined_pairs
from core.grounding.signs import same_sign
from core.grounding.tokens import Clause, Token
from core.text.numbers import CURRENCIES

_FIXED = frozenset(CURRENCIES.values())
_PRICE, COST = "price", "cost"
"""Stems: a sentence with `costs` has the label `Price`."""
NEUTRAL = frozenset({COST, "amount", "come", "equal", "list", "record", "show", "state"})
"""Stems of words that a sentence needs and a row does not have."""
_LIMITING = CONDITIONS | MAYBE | ONLY
_DIRECTIONS = frozenset(
    "from to by until before after between through von nach aus bis durch zwischen de à par desde hasta por"
    " da van naar door".split()  # prose: data
)
"""Prepositions before a value that only the label of its cell would explain: `from Oslo`."""
_OF = frozenset("of de du des von van di da do to for with over für zu pour para".split())  # prose: data
"""Prepositions that connect a relation with its other end: `the manager of Ann`."""
_JOINING = frozenset("y e o".split())  # prose: data
_IN = frozenset("in at im en à".split())  # prose: data
_AS = frozenset("as als comme como".split())  # prose: data
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
    """A cell of a row: the words of its label, and those of its value."""

    label: Clause
    value: Clause

    @property
    def labels(self) -> frozenset[str]:
        """The stems of its label, without currencies."""
        return _stems(self.label)

    @property
    def names_row(self) -> bool:
        """Whether its label says that its value is a name of the row."""
        return bool(self.label) and all(token.written.casefold() in _NAMES for token in self.label)

    @property
    def is_number(self) -> bool:
        """Whether its value has no words."""
        return all(token.kind == "number" for token in self.value if token.is_content)

    @property
    def length(self) -> int:
        """The number of content words of its value."""
        return sum(token.is_content for token in self.value)

    def place_in(self, said: Sequence[Token]) -> int | None:
        """Where the content words of a sentence have the whole value, which may have the label's currency."""
        written = {each.written.casefold() for each in self.label}
        codes = frozenset(code for name, code in CURRENCIES.items() if name in written)
        wanted = [token for token in self.value if token.is_content]
        places = range(len(said) - len(wanted) + 1) if wanted else ()
        pairs = ((at, zip(said[at:], wanted, strict=False)) for at in places)
        return next((at for at, each in pairs if all(_same(one, other, codes) for one, other in each)), None)


def cells_of(tokens: Sequence[Token]) -> list[Cell]:
    """The cells of a row; none if there are fewer than two, or one without a label."""
    found: list[Cell] = []
    rows: list[list[Token]] = [[]]
    for token in tokens:
        if token.breaks == "|":
            rows.append([])
        else:
            rows[-1].append(token)
    for cell in filter(None, rows):
        end = next((at for at, token in enumerate(cell) if token.breaks == ":"), None)
        if end is None:
            return []
        found.append(
            Cell(*([t for t in part if t.breaks in ("", "and")] for part in (cell[:end], cell[end + 1 :])))
        )
    return found if len(found) > 1 else []


def says(claim: Sequence[Token], row: Sequence[Cell]) -> bool:
    """Whether the row says what the claim says: one value by its label, and which row it is.

    The claim has to have the label of one cell and its whole value, and the whole value of the first cell, or
    of another one that names the row. All its other words have to be among these.
    """
    said = [token for token in claim if token.is_content]
    if not row or len(said) > MOST_WORDS or len(row) > MOST_CELLS:
        return False
    named = _named(row, said)
    if named is None or _limits(claim) or not _is_next(named, row, said):
        return False
    whole = [cell for cell in row if cell is not named and cell.place_in(said) is not None]
    known = [token for cell in (named, *whole) for token in (*cell.label, *cell.value)]
    if any(token.negates for token in (*claim, *known)) or any(token.breaks == "|" for token in claim):
        return False
    if exclude(joined_pairs(claim), joined_pairs(known)) or _joins(claim) > _joins(known):
        return False
    subject = next((cell for cell in whole if cell is row[0] or cell.names_row), None)
    if subject is None or not _in_order(whole, said) or _is_turned(subject, named, claim):
        return False
    if not named.is_number and any(cell.is_number for cell in whole if cell is not subject):
        return False  # `Ann's manager Bob earns 5`
    return _all_known(said, known, whole)


def _named(row: Sequence[Cell], said: Sequence[Token]) -> Cell | None:
    """The only cell whose label a claim has, besides that of the first one: `article B-200`."""
    stems = _stems(said) | ({_PRICE} if COST in _stems(said) else frozenset())
    named = [cell for cell in row if cell.labels and cell.labels <= stems]
    named = [cell for cell in named if not any(cell.labels < other.labels for other in named)]
    named = [cell for cell in named if cell is not row[0]]
    return named[0] if len(named) == 1 else None


def _is_next(named: Cell, row: Sequence[Cell], said: Sequence[Token]) -> bool:
    """Whether a claim has the value of a cell, and no number of another cell as close to its label.

    A number within the words of a cell, such as `Station 4711`, is neither, and one of the label no value.
    """
    own = named.place_in(said)
    if own is None:
        return False
    labels = [at for at, token in enumerate(said) if token.stem in named.labels | {COST}]
    found = [(cell, cell.place_in(said)) for cell in row if cell is not named]
    places = [(cell, at) for cell, at in found if at is not None]
    in_words = {
        at for cell, first in places if not cell.is_number for at in range(first, first + cell.length)
    }
    numbers = [at for cell, at in places if cell.is_number and at not in in_words]
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

    A number cannot be a name, and without its whole label nothing says what the value is. The claim keeps the
    order if the value comes after the subject and its label and not after `of` (except as in `is in the city
    of Lima`), or if it comes first, as in `Bob is the manager of Ann`.
    """
    if named.is_number and not subject.is_number:
        return False
    if not _spelled(named.label) <= _spelled(claim):
        return True
    content = [at for at, token in enumerate(claim) if token.is_content]
    said = [claim[at] for at in content]
    first, value = subject.place_in(said), named.place_in(said)
    label = next(at for at, token in enumerate(said) if token.stem in named.labels)
    assert first is not None and value is not None, "both were found before"
    own = _before(claim, content[first]), _before(claim, content[value])
    if first < value:
        is_last = label > value and not named.is_number  # `Ann is Bob's manager`
        if is_last and _before(claim, content[label]).isdisjoint(_AS):
            return True
        return not own[1].isdisjoint(_OF) and _before(claim, content[label]).isdisjoint(_IN)
    return not (value < label < first) or own[0].isdisjoint(_OF)


def _joins(tokens: Iterable[Token]) -> int:
    return sum(token.written.casefold() in _JOINING or token.breaks == "and" for token in tokens)


def _before(claim: Sequence[Token], at: int) -> frozenset[str]:
    """The function words directly before a word."""
    found = takewhile(lambda token: not token.is_content, reversed(claim[:at]))
    return frozenset(token.written.casefold() for token in found)


def _all_known(said: Sequence[Token], known: Sequence[Token], whole: Sequence[Cell]) -> bool:
    """Whether all words of a claim are among those of the cells, and no value of `whole` has a direction."""
    stems = _stems(known) | NEUTRAL
    directed = _stems(token for token in said if token.after in _DIRECTIONS)
    values = _stems(token for cell in whole for token in cell.value)
    return all(token.stem in stems for token in said) and directed.isdisjoint(values)


def _limits(claim: Sequence[Token]) -> bool:
    return any(token.written.casefold() in _LIMITING and token.written != "May" for token in claim)


def _same(claimed: Token, found: Token, codes: frozenset[str]) -> bool:
    """Whether a claim has a word or number of a value; `codes` are the currencies of its label."""
    if claimed.stem != found.stem or claimed.kind != found.kind:
        return False
    if claimed.kind != "number":
        return True
    fixed, own = _FIXED.intersection(claimed.near), _FIXED.intersection(found.near)
    if not own <= fixed <= own | codes or claimed.other_end != found.other_end:
        return False
    return same_sign(claimed.sign, found.sign, says_loss=False, spends=False)


def _spelled(tokens: Iterable[Token]) -> frozenset[str]:
    return frozenset(token.written.casefold() for token in tokens if token.is_content)


def _stems(tokens: Iterable[Token]) -> frozenset[str]:
    return frozenset(token.stem for token in tokens if token.is_content)
