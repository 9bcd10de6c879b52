"""What AI Search reads: OData filters, and its two query languages, as matchers over items.

The grammar is the one in the service's "OData expression syntax reference", without dates and geography, and
of lambdas only `any` with `search.in`; of "Lucene query syntax" all but ranges, regular expressions and
proximity; and "Simple query syntax" (learn.microsoft.com/azure/search). What is outside is refused as the
service refuses nonsense.
"""

import re
from collections.abc import Callable, Sequence
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


_TOKEN = re.compile(
    r"\s*(?:(?P<string>'(?:[^']|'')*')|(?P<number>-?\d+(?:\.\d+)?)"
    r"|(?P<word>search\.in|[A-Za-z_]\w*)|(?P<mark>[(),/:]))"
)
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda one, other: one == other,
    "ne": lambda one, other: one != other,
    "gt": lambda one, other: one is not None and one > other,
    "ge": lambda one, other: one is not None and one >= other,
    "lt": lambda one, other: one is not None and one < other,
    "le": lambda one, other: one is not None and one <= other,
}


def parse_filter(text: str, fields: dict[str, Field]) -> Filter:
    """The filter as a function of an item. Raises Malformed."""
    parser = _FilterParser(_tokens(text), fields)
    found = parser.disjunction()
    if parser.left:
        raise Malformed(f"Syntax error at '{parser.left[0][1]}' in $filter.")
    return found


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens, place = [], 0
    text = text.rstrip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None or match.lastgroup is None:
            raise Malformed(f"Syntax error at position {place} in $filter.")
        tokens.append((match.lastgroup, match[match.lastgroup]))
        place = match.end()
    return tokens


class _FilterParser:
    def __init__(self, tokens: list[tuple[str, str]], fields: dict[str, Field]) -> None:
        self.left = tokens
        self._fields = fields

    def disjunction(self) -> Filter:
        found = [self._conjunction()]
        while self._take("word", "or"):
            found.append(self._conjunction())
        return lambda item: any(each(item) for each in found)

    def _conjunction(self) -> Filter:
        found = [self._negation()]
        while self._take("word", "and"):
            found.append(self._negation())
        return lambda item: all(each(item) for each in found)

    def _negation(self) -> Filter:
        if self._take("word", "not"):
            denied = self._negation()
            return lambda item: not denied(item)
        if self._take("mark", "("):
            inner = self.disjunction()
            self._need("mark", ")")
            return inner
        if self._take("word", "search.in"):
            return self._search_in()
        if self.left[1:2] == [("mark", "/")]:
            return self._any()
        return self._comparison()

    def _any(self) -> Filter:
        """Whether a collection has any value, or any that a `search.in` has."""
        name = self._field("Collection(Edm.String)")
        for kind, value in (("mark", "/"), ("word", "any"), ("mark", "(")):
            self._need(kind, value)
        if self._take("mark", ")"):
            return lambda item: bool(item.get(name))
        variable = self._need("word")
        self._need("mark", ":")
        self._need("word", "search.in")
        wanted = self._wanted(lambda: self._need("word", variable))
        self._need("mark", ")")
        return lambda item: not wanted.isdisjoint(item.get(name) or ())

    def _search_in(self) -> Filter:
        names: list[str] = []
        wanted = self._wanted(lambda: names.append(self._field("Edm.String")))
        return lambda item: item.get(names[0]) in wanted

    def _wanted(self, what: Callable[[], object]) -> set[str]:
        """The values of a `search.in`, whose first argument `what` reads."""
        self._need("mark", "(")
        what()
        self._need("mark", ",")
        values = _unquoted(self._need("string"))
        delimiters = _unquoted(self._need("string")) if self._take("mark", ",") else " ,"
        self._need("mark", ")")
        return set(re.split(f"[{re.escape(delimiters)}]", values)) - {""}

    def _comparison(self) -> Filter:
        name = self._field()
        compare = _COMPARISONS.get(operator := self._need("word"))
        if compare is None:
            raise Malformed(f"Unknown operator '{operator}' in $filter.")
        value = self._constant(self._fields[name].type, operator)
        return lambda item: compare(item.get(name), value)

    def _constant(self, kind: str, operator: str) -> Any:
        if operator in {"eq", "ne"} and self._take("word", "null"):
            return None
        if kind == "Edm.String":
            return _unquoted(self._need("string"))
        number = self._need("number")
        return float(number) if "." in number else int(number)

    def _field(self, kind: str | None = None) -> str:
        name = self._need("word")
        field = self._fields.get(name)
        if field is None or not field.filterable or (kind and field.type != kind):
            raise Malformed(f"'{name}' is not a filterable field of this kind.")
        return name

    def _take(self, kind: str, value: str) -> bool:
        taken = bool(self.left) and self.left[0] == (kind, value)
        if taken:
            self.left.pop(0)
        return taken

    def _need(self, kind: str, value: str | None = None) -> str:
        if not self.left or self.left[0][0] != kind or (value and self.left[0][1] != value):
            raise Malformed(f"Expected a {value or kind} in $filter.")
        return self.left.pop(0)[1]


def _unquoted(literal: str) -> str:
    return literal[1:-1].replace("''", "'")


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
    """What must be there, may be there, and must not be there."""

    must: "list[Node]"
    should: "list[Node]"
    must_not: "list[Node]"
    boost: float = 1.0


Node = Term | Phrase | Clauses
_SPECIAL = '+-&|!(){}[]^"~*?:\\/'


def parse_full(text: str, fields: dict[str, Field], mode: str) -> Node:
    """A query in Lucene's syntax. Raises Malformed."""
    parser = _LuceneParser(text, fields, mode)
    return parser.clauses(None, closed=False)


class _LuceneParser:
    def __init__(self, text: str, fields: dict[str, Field], mode: str) -> None:
        self._text = text
        self._place = 0
        self._fields = fields
        self._mode = mode

    def clauses(self, field: str | None, *, closed: bool) -> Clauses:
        found = Clauses([], [], [])
        joined = False
        while (character := self._peek()) and character != ")":
            if joined_now := self._operator():
                joined = joined_now == "AND"
                continue
            into, node = self._clause(field, found)
            if joined and found.should and into is found.should:
                found.must.append(found.should.pop())
                into = found.must
            joined = False
            into.append(node)
        if closed != (self._peek() == ")"):
            raise Malformed("Unbalanced parentheses in the search text.")
        self._place += closed
        if closed and not any(found[:3]):
            raise Malformed("Empty parentheses in the search text.")
        return found

    def _operator(self) -> str:
        match = re.compile(r"(AND|OR|&&|\|\|)(?![^\s(])").match(self._text, self._place)
        if match is None:
            return ""
        self._place = match.end()
        return "AND" if match[1] in {"AND", "&&"} else "OR"

    def _clause(self, field: str | None, found: Clauses) -> tuple[list[Node], Node]:
        into = found.must if self._mode == "all" else found.should
        negated = re.compile(r"[-!]|NOT\s").match(self._text, self._place)
        if negated:
            self._place = negated.end()
        elif self._peek() == "+":
            self._place, into = self._place + 1, found.must
        if named := re.compile(r"(\w+):").match(self._text, self._place):
            self._place, field = named.end(), named[1]
            if field not in self._fields or not self._fields[field].searchable:
                raise Malformed(f"'{field}' is not a searchable field.")
        node = self._boosted(self._primary(field))
        if not negated:
            return into, node
        # If any clause will do, "not this" is one of them.
        return (found.must_not, node) if self._mode == "all" else (found.should, Clauses([], [], [node]))

    def _primary(self, field: str | None) -> Node:
        character = self._peek()
        if character == "(":
            self._place += 1
            return self.clauses(field, closed=True)
        if character == '"':
            end = self._text.find('"', self._place + 1)
            if end < 0:
                raise Malformed("Unbalanced quotes in the search text.")
            words, self._place = self._text[self._place + 1 : end], end + 1
            return Phrase(words, field)
        return self._term(field)

    def _term(self, field: str | None) -> Term:
        written = ""
        while self._place < len(self._text) and not (character := self._text[self._place]).isspace():
            if character == "\\" and self._place + 1 < len(self._text):
                self._place += 1
                character = self._text[self._place]
            elif character in _SPECIAL and not (written and character in "+-&|!/"):
                break
            written += character
            self._place += 1
        if not written:
            raise Malformed(f"Failed to parse the search text at position {self._place}.")
        if suffix := re.compile(r"\*|~(\d?)").match(self._text, self._place):
            self._place = suffix.end()
            if suffix[0] == "*":
                return Term(written, field, starts=True)
            return Term(written, field, edits=int(suffix[1] or 2))
        return Term(written, field)

    def _boosted(self, node: Node) -> Node:
        if self._place >= len(self._text) or self._text[self._place] != "^":
            return node
        boost = re.compile(r"\^(\d+(?:\.\d+)?)").match(self._text, self._place)
        if boost is None:
            raise Malformed("A boost must be a number.")
        self._place = boost.end()
        return node._replace(boost=float(boost[1]))

    def _peek(self) -> str:
        while self._place < len(self._text) and self._text[self._place].isspace():
            self._place += 1
        return self._text[self._place : self._place + 1]


def parse_simple(text: str, mode: str) -> Node:
    """A query in the simple syntax, in which everything means something: `+`, `|`, and what has neither."""
    written = re.findall(r'"(?:\\.|[^"\\])*"?|[+|()]|(?:\\.|[^\s+|()"\\])+', text)
    return _SimpleParser(written, mode).clauses()


class _SimpleParser:
    """Operators join what is left of them, all of it, with what follows; parentheses come first."""

    def __init__(self, tokens: Sequence[str], mode: str) -> None:
        self._left = list(tokens)
        self._usual = "+" if mode == "all" else "|"

    def clauses(self) -> Clauses:
        found, operator = Clauses([], [], []), ""
        while self._left and (token := self._left.pop(0)) != ")":
            if token in {"+", "|"}:
                operator = token
                continue
            node = self.clauses() if token == "(" else _simple_node(token)
            found, operator = _joined(found, operator or self._usual, node), ""
        return found


def _joined(found: Clauses, operator: str, node: Node) -> Clauses:
    if not any(found[:3]):
        return Clauses([node], [], []) if operator == "+" else Clauses([], [node], [])
    if operator == "+":
        earlier = found.must if not found.should else [found] if found.should[1:] else found.should
        return Clauses([*earlier, node], [], [])
    return Clauses([], [*([found] if found.must else found.should), node], [])


def _simple_node(token: str) -> Node:
    if token.startswith("-") and len(token) > 1:
        return Clauses([], [], [_simple_node(token[1:])])
    plain = re.sub(r"\\(.)", r"\1", token.strip('"'))
    if token.startswith('"'):
        return Phrase(plain)
    starts = token.endswith("*") and not token.endswith("\\*") and len(plain) > 1
    return Term(plain[:-1], starts=True) if starts else Term(plain)
