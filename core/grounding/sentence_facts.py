"""What code can compare of a parsed sentence: its clauses, opposites, conditions and negations."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from core.grounding.opposites import (
    CHANGES,
    CONDITIONS,
    CONDITIONS_OR_TIMES,
    ENDLESS,
    EXCEPTIONS,
    MAYBE,
    MODALS,
    PREFIXES,
    QUALIFIERS,
    Sides,
    sides_of,
)
from core.grounding.tokens import UNITS_LOOKED_AT, Clause, Token, tokenize
from core.text.terms import DEFAULT_LANGUAGE

_JOINING = dict.fromkeys("and und et y e en".split(), "and") | dict.fromkeys("or oder ou o of".split(), "or")
_ENDS = {
    preposition: (end,)
    for end, prepositions in (
        ("from", "from ab desde dès seit since depuis"),
        ("to", "to auf à a hasta"),
        ("by", "by um"),
    )
    for preposition in prepositions.split()
}
"""Prepositions before a number that make it the beginning, the end or the size of a change."""
_BEFORE_CHANGE = frozenset("of von de en".split())
"""Prepositions before the beginning or the size of a change, if the clause has a word of one."""
_ENDS_OF_MAYBE = frozenset(word.rpartition("-")[2] for word in MAYBE)
_RATES = frozenset("a an per each every je pro par por".split())

LEAST_IN_SENTENCE = 3
"""Words before a point that is no abbreviation."""
LEAST_IN_ROW = 3
"""Fewer numbers occur together by chance."""
BEGINNING, CUT_TOKENS = 1000, 5
"""Characters in which nearly every text has a content word, and tokens that may differ where it is cut."""


def clauses(tokens: Sequence[Token]) -> list[Clause]:
    """The clauses of a sentence; clauses too short to say anything alone are joined to the next.

    In a row of a table each cell with its label, such as `Price: 5`, is a clause; cells without are together.
    """
    if any(token.breaks == "|" for token in tokens):
        return _cells(tokens)
    found: list[Clause] = [[]]
    content = 0
    for token in tokens:
        if token.breaks and content >= (3 if token.breaks == "," else 2):
            found.append([])
            content = 0
        elif not token.breaks:
            found[-1].append(token)
            content += token.is_content and not token.is_letter
    if len(found) > 1 and sum(token.is_content for token in found[-1]) < 2:
        found[-2:] = [found[-2] + found[-1]]
    return found


def _cells(tokens: Sequence[Token]) -> list[Clause]:
    """The labelled cells of a row, or the sentences of its cells; a text can have more than one row."""
    found: list[Clause] = [[]]
    has_label = False
    for token in tokens:
        is_end = token.breaks in (".", "!", "?") and len(found[-1]) >= LEAST_IN_SENTENCE
        if is_end or (token.breaks == "|" and has_label):
            found.append([])
        has_label = token.breaks == ":" or (has_label and token.breaks != "|")
        if not token.breaks:
            found[-1].append(token)
    return [clause for clause in found if clause]


def has_content(text: str, language: str = DEFAULT_LANGUAGE) -> bool:
    """Whether a text has a content word; a number alone is none."""
    beginning = tokenize(text[:BEGINNING], language)[:-CUT_TOKENS] if len(text) > BEGINNING else ()
    return any(map(_is_content_word, beginning)) or any(map(_is_content_word, tokenize(text, language)))


def has_row(text: str, language: str = DEFAULT_LANGUAGE) -> bool:
    """Whether a text has as many numbers as a row of a table that is checked without content words."""
    return sum(token.kind == "number" for token in tokenize(text, language)) >= LEAST_IN_ROW


def _is_content_word(token: Token) -> bool:
    return token.is_content and token.kind not in ("number", "bound", "tick")


def negations(tokens: Iterable[Token]) -> int:
    """How often a text or clause negates."""
    return len([token for token in tokens if token.negates])


def says_maybe(clause: Sequence[Token]) -> bool:
    """Whether a clause has a word of MAYBE; `may not` and the month of May are none."""
    if _ENDS_OF_MAYBE.isdisjoint([token.written.casefold() for token in clause]):
        return False
    return any(
        _joined_word(token, before) in MAYBE
        and token.written != "May"
        and not (following and following.negates)
        for before, token, following in zip([None, *clause], clause, [*clause[1:], None], strict=False)
    )


def _joined_word(token: Token, before: Token | None) -> str:
    """The word in small letters, with the one that a hyphen joins it to: `peut-être`."""
    word = token.written.casefold()
    return f"{before.written.casefold()}-{word}" if before and token.is_joined else word


def sides(clause: Sequence[Token]) -> Sides:
    """The words of a clause that can exclude others, without a verb before a negation: `may not`, `must not`.

    A compound such as `full-time` excludes other first parts, a rate such as `5 euros a day` other units.
    """
    found: set[tuple[str, str]] = set()
    for before, token, following in zip([None, *clause], clause, [*clause[1:], None], strict=False):
        is_month = token.written == "May"  # as a verb it begins questions only
        is_word = token.kind != "number" or token.written.isalpha()
        if is_word and not is_month and not (following and following.negates):
            found |= _sides_of_token(token, before)
    found |= _ends_of_change(clause)
    number, at = "", 0
    for index, (before, token) in enumerate(pairwise(clause)):
        if token.is_joined and token.stem:
            found.add((f"-{token.stem}", before.written.casefold()))
        if before.kind == "number":
            number, at = before.stem, index
        elif number and before.written.casefold() in _RATES and index - at <= UNITS_LOOKED_AT and token.stem:
            found.add((f"{number} per", token.stem))
    return frozenset(found)


def _ends_of_change(clause: Sequence[Token]) -> set[tuple[str, str]]:
    """What its numbers are by their prepositions: the beginning, the end or the size of a change."""
    numbers = [token for token in clause if token.kind == "number" and token.after]
    changes = numbers and any(token.written.casefold() in CHANGES for token in clause)
    return {
        (f"by {token.stem}", end)
        for token in numbers
        for end in (
            ("from", "by") if changes and token.after in _BEFORE_CHANGE else _ENDS.get(token.after, ())
        )
    }


def _sides_of_token(token: Token, before: Token | None) -> Sides:
    """Those of its word, or that of what changes its meaning: `non-smoking`, `vice president`."""
    word, changes = token.written.casefold(), before.written.casefold() if before else ""
    is_prefixed = before and token.is_joined and not before.is_joined and changes in PREFIXES
    if is_prefixed or (changes in QUALIFIERS and token.is_content):
        return frozenset({(word, changes)})
    return sides_of(word)


def condition(tokens: Sequence[Token]) -> frozenset[str]:
    """The content words of a sentence's first condition that the rest of it does not have.

    Of an exception or a time, which can end without a mark, only the first one. A time is a condition of what
    may or must be done: `after the second year, the owner may raise the rent`.
    """
    spelled = [token.written.casefold() for token in tokens]
    opening = CONDITIONS if MODALS.isdisjoint(spelled) else CONDITIONS_OR_TIMES
    first = next((at for at, word in enumerate(spelled) if word in opening), None)
    if first is None:
        return frozenset()
    behind = (at for at, each in enumerate(tokens) if at > first and each.breaks in (",", ";", ":", "|"))
    end = next(behind, len(tokens))
    if spelled[first] in ENDLESS:
        return frozenset([token.stem for token in tokens[first + 1 : end] if token.is_content][:1])
    rest = {token.stem for token in (*tokens[:first], *tokens[end:])}
    return frozenset(token.stem for token in tokens[first + 1 : end] if token.is_content) - rest


def excepts(tokens: Sequence[Token]) -> bool:
    """Whether a sentence has an exception."""
    return any(token.written.casefold() in EXCEPTIONS for token in tokens)


def joined_pairs(tokens: Sequence[Token]) -> Sides:
    """The content words on both sides of each `and` and `or`, with which of the two it is."""
    found: set[tuple[str, str]] = set()
    before, joining = "", ""
    for token in tokens:
        if token.is_content:
            if before and joining:
                found.add((" ".join(sorted((before, token.stem))), joining))
            before, joining = token.stem, ""
        elif word := _JOINING.get(token.written.casefold()):
            joining = word
    return frozenset(found)
