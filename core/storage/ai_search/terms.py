"""The terms under which passages are kept and asked for: stems of our own, in which no operator survives."""

from collections.abc import Iterable, Iterator, Sequence

from core.search.document_match import name_parts
from core.search.query import parse_question
from core.text.numbers import find_dates
from core.text.terms import has_digit, stems, words

LONGEST_TERM = 100
"""The service refuses an item with a term of more than 32 KB, such as an encoded picture."""
MOST_TERMS = 64
"""Of a question; a query may have 1,024 clauses, and a term makes up to five."""
HEADING_WEIGHT, NAME_WEIGHT, SIMILAR_WEIGHT = 0.3, 0.2, 0.5
DATE_WEIGHT = 3
SHORTEST_SIMILAR = 4
_FIRST_UNSPACED = "\u0e00"


def terms_of(text: str, language: str) -> str:
    """The terms of a text in its language, in order, divided by spaces."""
    return " ".join(_terms(words(text), language) + _dates(text))


def terms_of_name(name: str) -> str:
    """The terms of a file's name: its words, and what they are made of."""
    return " ".join(dict.fromkeys(term[:LONGEST_TERM] for term in [*name_parts(name), *words(name)]))


def asked_terms(query: str, languages: Iterable[str]) -> list[str]:
    """The telling terms of a question as texts in these languages have them; there may be none."""
    told = _told(query)
    found = [term for language in sorted(set(languages)) for term in _terms(told, language)]
    return list(dict.fromkeys([*_dates(query), *found]))[:MOST_TERMS]


def lexical_query(query: str, terms: Sequence[str], *, widened: bool = False) -> str:
    """The query, in Lucene's full syntax, for passages with some of these terms.

    Words of the question in a file's name raise its passages, but do not find them. `widened` also takes
    words that start like those of the question, or differ by a letter.
    """
    dates = set(_dates(query))
    body = " ".join(f"{term}^{DATE_WEIGHT}" if term in dates else term for term in terms)
    names = " ".join(dict.fromkeys(word[:LONGEST_TERM] for word in words(query)[:MOST_TERMS]))
    similar = " ".join(_similar(query)) if widened else ""
    return (
        f"+(terms:({body}) heading_terms:({body})^{HEADING_WEIGHT} {similar})"
        f" name_terms:({names})^{NAME_WEIGHT}"
    )


def _similar(query: str) -> Iterator[str]:
    """Clauses for words that resemble those of a question: as they are written, since stems hide endings."""
    for word in dict.fromkeys(word[:LONGEST_TERM] for word in _told(query)[:MOST_TERMS]):
        if word >= _FIRST_UNSPACED:
            yield f"terms:{word}*"
        elif len(word) >= SHORTEST_SIMILAR and not has_digit(word):
            yield f"text:{word}*^{SIMILAR_WEIGHT} text:{word}~1^{SIMILAR_WEIGHT}"


def _told(query: str) -> list[str]:
    """The telling words of a question, not stemmed; dates apart, which have dashes."""
    return [word for word in parse_question(query, []).words if "-" not in word]


def _terms(spelled: list[str], language: str) -> list[str]:
    return [stem[:LONGEST_TERM] for stem in stems(spelled, language) if stem]


def _dates(text: str) -> list[str]:
    return [date.replace("-", "") for date in find_dates(text)]
