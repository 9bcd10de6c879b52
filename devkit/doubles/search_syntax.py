"""What AI Search reads of what Orc writes: OData filters and two query languages, as matchers over items.

The grammars are those of the service's "OData expression syntax reference", "Lucene query syntax" and "Simple
query syntax" (learn.microsoft.com/azure/search). What is not written here is refused as the service refuses
nonsense: of filters `or`, parentheses and other comparisons; of queries operators in words, negations and
escapes, so that an operator from a question is seen.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

Item = dict[str, Any]
Filter = Callable[[Item], bool]


class Malformed(Exception):
    """An expression that the service would answer with 400."""


class Field(NamedTuple):
    """What filters and queries may do with a field."""

    type: str
    filterable: bool
    searchable: bool


STRING, STRINGS, NUMBER = "Edm.String", "Collection(Edm.String)", "Edm.Int32"
_VALUES = r"'(?P<values>[^']*)', ','\)"
_CLAUSES: dict[str, tuple[str, Callable[[Any, str], bool]]] = {
    rf"(?P<name>\w+)/any\((?P<p>\w+): search\.in\((?P=p), {_VALUES}\)": (
        STRINGS,
        lambda found, values: not set(values.split(",")).isdisjoint(found or ()),
    ),
    r"(?P<name>\w+)/any\((?P<values>)\)": (STRINGS, lambda found, _: bool(found)),
    rf"search\.in\((?P<name>\w+), {_VALUES}": (STRING, lambda found, values: found in values.split(",")),
    r"(?P<name>\w+) eq '(?P<values>[^']*)'": (STRING, lambda found, value: bool(found == value)),
    r"(?P<name>\w+) ne (?P<values>null)": (STRING, lambda found, _: found is not None),
    r"(?P<name>\w+) ge (?P<values>\d+)": (
        NUMBER,
        lambda found, least: found is not None and found >= int(least),
    ),
    r"(?P<name>\w+) lt (?P<values>\d+)": (NUMBER, lambda found, end: found is not None and found < int(end)),
}


def parse_filter(text: str, fields: dict[str, Field]) -> Filter:
    """The filter as a function of an item. Raises Malformed."""
    clauses = [_parse_clause(clause, fields) for clause in text.split(" and ")]
    return lambda item: all(fits(item) for fits in clauses)


def _parse_clause(clause: str, fields: dict[str, Field]) -> Filter:
    wanted = not clause.startswith("not ")
    for pattern, (kind, compare) in _CLAUSES.items():
        if match := re.fullmatch(pattern, clause.removeprefix("not ")):
            name, values = match["name"], match["values"]
            if name not in fields or not fields[name].filterable or fields[name].type != kind:
                raise Malformed(f"'{name}' is not a filterable field of this kind.")
            return lambda item: compare(item.get(name), values) is wanted
    raise Malformed(f"Syntax error at '{clause}' in $filter.")


class Term(NamedTuple):
    """A word, the start of words (`*`), or words at most some `edits` away (`~1`)."""

    text: str
    field: str | None = None
    starts: bool = False
    edits: int = 0
    boost: float = 1.0


class Phrase(NamedTuple):
    """Words that stand together."""

    text: str
    field: str | None = None
    boost: float = 1.0


class Clauses(NamedTuple):
    """What must be there, and what may be there."""

    must: "list[Node]"
    should: "list[Node]"
    boost: float = 1.0


Node = Term | Phrase | Clauses
_WORD = r"(?P<word>[^\s+|&!(){}\[\]^\"~*?:\\/-][^\s+|&(){}\[\]^\"~*?:\\]*)"
_LUCENE = re.compile(
    rf'\s*(?P<plus>\+?)(?:(?P<field>\w+):)?(?:(?P<open>\()|"(?P<phrase>[^"]*)"|{_WORD}(?:(?P<starts>\*)|~(?P<edits>\d))?)'
)
_CLOSED = re.compile(r"\s*\)")
_BOOST = re.compile(r"\^(\d+(?:\.\d+)?)")
_SIMPLE = re.compile(rf'\s*(?:(?P<mark>[+|()])|"(?P<phrase>[^"]*)"|{_WORD}(?=[\s)]|$))')
_OPERATORS = {"AND", "OR", "NOT"}


def parse_full(text: str, fields: dict[str, Field]) -> Node:
    """A query in Lucene's syntax. Raises Malformed."""
    parser = _LuceneParser(text.rstrip(), fields)
    found = parser.clauses(None)
    if not parser.ended:
        raise Malformed("Unbalanced parentheses in the search text.")
    return found


class _LuceneParser:
    def __init__(self, text: str, fields: dict[str, Field]) -> None:
        self._text = text
        self._place = 0
        self._fields = fields

    @property
    def ended(self) -> bool:
        return self._place == len(self._text)

    def clauses(self, field: str | None) -> Clauses:
        found = Clauses([], [])
        while not self.ended and not _CLOSED.match(self._text, self._place):
            match = self._take(_LUCENE)
            (found.must if match["plus"] else found.should).append(self._node(match, field))
        return found

    def _node(self, match: re.Match[str], field: str | None) -> Node:
        field = match["field"] or field
        if field and not (field in self._fields and self._fields[field].searchable):
            raise Malformed(f"'{field}' is not a searchable field.")
        node: Node
        if match["open"]:
            node = self.clauses(field)
            self._take(_CLOSED)
            if not any(node[:2]):
                raise Malformed("Empty parentheses in the search text.")
        elif match["phrase"] is not None:
            node = Phrase(match["phrase"], field)
        else:
            node = Term(_plain(match["word"]), field, bool(match["starts"]), int(match["edits"] or 0))
        boosted = _BOOST.match(self._text, self._place)
        if boosted is None:
            return node
        self._place = boosted.end()
        return node._replace(boost=float(boosted[1]))

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str]:
        match = pattern.match(self._text, self._place)
        if match is None:
            raise Malformed(f"Failed to parse the search text at position {self._place}.")
        self._place = match.end()
        return match


def parse_simple(text: str) -> Node:
    """A query in the simple syntax: operators join all that is left of them with what follows."""
    tokens, place, text = list[re.Match[str]](), 0, text.rstrip()
    while place < len(text):
        match = _SIMPLE.match(text, place)
        if match is None:
            raise Malformed(f"Failed to parse the search text at position {place}.")
        tokens.append(match)
        place = match.end()
    return _simple_clauses(tokens)


def _simple_clauses(left: list[re.Match[str]]) -> Clauses:
    found, operator = Clauses([], []), ""
    while left and (token := left.pop(0))["mark"] != ")":
        if token["mark"] in {"+", "|"}:
            operator = token["mark"]
            continue
        phrase, word = token["phrase"], token["word"]
        node = Phrase(phrase) if phrase is not None else Term(_plain(word)) if word else _simple_clauses(left)
        found, operator = _joined(found, operator or "|", node), ""
    return found


def _joined(found: Clauses, operator: str, node: Node) -> Clauses:
    if not any(found[:2]):
        return Clauses([node], []) if operator == "+" else Clauses([], [node])
    if operator == "+":
        earlier = found.must if not found.should else [found] if found.should[1:] else found.should
        return Clauses([*earlier, node], [])
    return Clauses([], [*([found] if found.must else found.should), node])


def _plain(word: str) -> str:
    if word in _OPERATORS:
        raise Malformed(f"The operator {word} is not written here.")
    return word
