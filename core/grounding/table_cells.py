"""The cells of a row of a table: `Article: B-200 | Price EUR: 7`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from core.grounding.signs import same_sign
from core.grounding.tokens import Clause, Token
from core.text.numbers import CURRENCIES, MONTHS

_FIXED = frozenset(CURRENCIES.values())
_DATE = frozenset("date datum fecha".split())
"""Words of a label that a sentence can leave out: a date shows what it is."""
_NAMES = frozenset(
    "name names full title employee customer part product item article description designation bezeichnung"
    " beschreibung mitarbeiter kunde artikel nom désignation client"  # prose: data
    " produit nombre descripción producto artículo".split()  # prose: data
)
"""Words of the label of a cell that names the row as the first one does: `Article: B-200 | Name: Nut`."""


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
        return content_stems(needed if content_stems(needed) else self.label)

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


def content_stems(tokens: Iterable[Token]) -> frozenset[str]:
    """The stems of the content words and numbers, without the zeros behind the point of an amount."""
    return frozenset(_without_zeros(token) for token in tokens if token.is_content)


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
