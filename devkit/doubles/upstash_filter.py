"""The grammar of Upstash Vector's metadata filters (upstash.com/docs/vector/features/filtering).

What is not published there is refused: strings have no escapes, and array indexes are not written here.
"""

import re
from collections.abc import Callable
from fnmatch import fnmatchcase
from operator import eq, ge, gt, le, lt, ne
from typing import Any

Metadata = dict[str, Any]
Test = Callable[[Metadata], bool]
Literal = str | float

_TOKEN = re.compile(
    r"""\s*(?:(?P<string>'[^']*'|"[^"]*")|(?P<number>-?\d+(?:\.\d+)?)(?![\w.])"""
    r"""|(?P<operator><=|>=|!=|[=<>(),])|(?P<word>[a-zA-Z_][a-zA-Z_0-9.]*))"""
)
_ORDER = {"<": lt, "<=": le, ">": gt, ">=": ge}
_SAME = {"=": eq, "!=": ne}
_WORDS = {"AND", "OR", "NOT", "IN", "GLOB", "CONTAINS", "HAS", "FIELD"}
_MISSING = object()


class Malformed(Exception):
    """A filter that the grammar does not have."""


def parse_filter(text: str) -> Test:
    """The test that metadata must pass. Raises Malformed."""
    parser = _Parser(_tokens(text))
    test = parser.any_of()
    if parser.rest:
        raise Malformed(f"unexpected {parser.rest[0][1]!r}")
    return test


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens, at = [], 0
    while text[at:].strip():
        found = _TOKEN.match(text, at)
        if found is None:
            raise Malformed(f"unexpected {text[at:].strip()[:20]!r}")
        kind = str(found.lastgroup)
        value = found[kind]
        is_word = kind == "word" and value.upper() in _WORDS
        tokens.append(("operator", value.upper()) if is_word else (kind, value))
        at = found.end()
    return tokens


class _Parser:
    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self.rest = tokens

    def any_of(self) -> Test:
        tests = [self._all_of()]
        while self._accept("OR"):
            tests.append(self._all_of())
        return lambda metadata: any(test(metadata) for test in tests)

    def _all_of(self) -> Test:
        tests = [self._one()]
        while self._accept("AND"):
            tests.append(self._one())
        return lambda metadata: all(test(metadata) for test in tests)

    def _one(self) -> Test:
        if self._accept("("):
            test = self.any_of()
            self._expect(")")
            return test
        if self._accept("HAS"):
            wanted = not self._accept("NOT")
            self._expect("FIELD")
            name = self._take("word")
            return lambda metadata: (_value(metadata, name) is not _MISSING) is wanted
        return self._comparison(self._take("word"))

    def _comparison(self, name: str) -> Test:
        wanted = not self._accept("NOT")
        if self._accept("IN"):
            literals = self._literals()
            return lambda metadata: _known(metadata, name, lambda value: (value in literals) is wanted)
        if self._accept("GLOB"):
            pattern = self._string().replace("[^", "[!")
            return lambda metadata: _known(metadata, name, lambda v: fnmatchcase(str(v), pattern) is wanted)
        if self._accept("CONTAINS"):
            literal = self._literal()
            return lambda metadata: _known(metadata, name, lambda v: (literal in v) is wanted)
        sign = self._take("operator")
        if not wanted or sign not in _SAME | _ORDER:
            raise Malformed(f"unexpected {sign!r}")
        if sign in _ORDER and self.rest[:1] and self.rest[0][0] != "number":
            raise Malformed(f"{sign!r} compares numbers")
        compare, other = (_SAME | _ORDER)[sign], self._literal()
        return lambda metadata: _known(metadata, name, lambda value: bool(compare(value, other)))

    def _literals(self) -> list[Literal]:
        self._expect("(")
        literals = [self._literal()]
        while self._accept(","):
            literals.append(self._literal())
        self._expect(")")
        return literals

    def _literal(self) -> Literal:
        if self.rest[:1] and self.rest[0][0] == "string":
            return self._string()
        if self.rest[:1] and self.rest[0][1].lower() in ("true", "false"):
            return self.rest.pop(0)[1].lower() == "true"
        return float(self._take("number"))

    def _string(self) -> str:
        return self._take("string")[1:-1]

    def _take(self, kind: str) -> str:
        if not self.rest or self.rest[0][0] != kind:
            raise Malformed(f"{kind} expected, not {self.rest[0][1] if self.rest else 'the end'!r}")
        return self.rest.pop(0)[1]

    def _accept(self, operator: str) -> bool:
        if self.rest[:1] != [("operator", operator)]:
            return False
        self.rest.pop(0)
        return True

    def _expect(self, operator: str) -> None:
        if not self._accept(operator):
            raise Malformed(f"{operator!r} expected")


def _value(metadata: Any, name: str) -> Any:
    for key in name.split("."):
        if not isinstance(metadata, dict) or key not in metadata:
            return _MISSING
        metadata = metadata[key]
    return metadata


def _known(metadata: Metadata, name: str, test: Callable[[Any], bool]) -> bool:
    value = _value(metadata, name)
    try:
        return value is not _MISSING and test(value)
    except TypeError:
        return False
