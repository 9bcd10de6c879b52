"""The terms of texts and questions in Azure AI Search, and the clauses that search for them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from orc_core.search.document_match import name_parts
from orc_core.search.query import parse_question
from orc_core.search.vocabulary import MIN_KNOWN_PHRASES, Phrase, shipped_vocabularies
from orc_core.text.numbers import find_dates
from orc_core.text.terms import has_digit, stems, words

LONGEST_TERM = 100
"""The service refuses an item with a term of more than 32 KB, such as an encoded picture."""
MOST_TERMS = 64
"""Of a question; a query may have 1,024 clauses, and a term makes up to five."""
HEADING_WEIGHT, NAME_WEIGHT, SIMILAR_WEIGHT = 0.3, 0.2, 0.5
DATE_WEIGHT = 3
PHRASE_WEIGHT, TITLE_WEIGHT, UNWEIGHTED = 0.7, 1.5, 0.01
MOST_PHRASES = 160
"""Of a question's expansions; a phrase is one clause in each of two fields."""
SHORTEST_SIMILAR = 4
_FIRST_UNSPACED = "\u0e00"


def terms_of(text: str, language: str) -> str:
    """The terms of a text in its language, in order, divided by spaces."""
    return " ".join(_terms(words(text), language) + _dates(text))


def terms_of_name(name: str) -> str:
    """The terms of a file's name: its words, and what they are made of."""
    return " ".join(dict.fromkeys(term[:LONGEST_TERM] for term in [*name_parts(name), *words(name)]))


def asked_terms(query: str, languages: Iterable[str]) -> list[str]:
    """The significant terms of a question, as texts in these languages have them; there may be none."""
    asked = _query_words(query)
    found = [term for language in sorted(set(languages)) for term in _terms(asked, language)]
    return list(dict.fromkeys([*_dates(query), *found]))[:MOST_TERMS]


def lexical_query(
    query: str, terms: Sequence[str], expansions: Iterable["Expansion"] = (), *, widened: bool = False
) -> str:
    """The query, in Lucene's full syntax, for passages with some of these terms or of these expansions.

    Words of the question in a file's name raise its passages, but do not find them. `widened` also takes
    words that start like those of the question, or differ by a letter.
    """
    dates = set(_dates(query))
    body = " ".join(f"{term}^{DATE_WEIGHT}" if term in dates else term for term in terms)
    names = " ".join(dict.fromkeys(word[:LONGEST_TERM] for word in words(query)[:MOST_TERMS]))
    more = " ".join([*(each.lucene() for each in expansions), *(_similar(query) if widened else ())])
    return (
        f"+(terms:({body}) heading_terms:({body})^{HEADING_WEIGHT} {more}) name_terms:({names})^{NAME_WEIGHT}"
    )


class Expansion(NamedTuple):
    """Phrases that a domain adds to a question; they count in documents with the term `domain` only.

    `phrases` may be anywhere in a passage, `titles` are those of the kinds of pages that are looked for.
    """

    domain: str
    phrases: list[str]
    titles: list[str]

    def lucene(self) -> str:
        """A clause in Lucene's full syntax."""
        titles = _quoted(self.titles, " ")
        found = [f"terms:({_quoted(self.phrases, ' ')})^{PHRASE_WEIGHT}"] if self.phrases else []
        found += [f"heading_terms:({titles})^{TITLE_WEIGHT} terms:({titles})"] if titles else []
        return f"(+heading_terms:{self.domain}^{UNWEIGHTED} +({' '.join(found)}))"

    def simple(self) -> str:
        """A clause in the simple syntax, for any of the searched fields."""
        return f"({self.domain} + ({_quoted([*self.titles, *self.phrases], ' | ')}))"


def expand(query: str, languages: Iterable[str]) -> list[Expansion]:
    """The expansions of a question by the product's vocabularies, as texts in these languages have them."""
    spoken = sorted(set(languages))
    made: list[Expansion] = []
    for found in parse_question(query, shipped_vocabularies()).expansions:
        titles = _spellings((title for kind in found.kinds for title in kind.titles), spoken)
        lines = (line for kind in found.kinds for line in kind.lines)
        concepts = (phrase for concept in found.concepts for phrase in concept)
        phrases = _spellings((*concepts, *lines), spoken)[: max(0, MOST_PHRASES - len(titles))]
        if phrases or titles:
            made.append(Expansion(domain_term(found.domain), phrases, titles[:MOST_PHRASES]))
    return made


def _spellings(phrases: Iterable[Phrase], languages: Sequence[str]) -> list[str]:
    """The terms of phrases in each of these languages, divided by spaces; empty ones are left out."""
    found = (" ".join(_terms(list(phrase), language)) for phrase in phrases for language in languages)
    return list(dict.fromkeys(filter(None, found)))


def _quoted(phrases: Sequence[str], divider: str) -> str:
    return divider.join(f'"{phrase}"' for phrase in phrases)


def domain_term(domain: str) -> str:
    """The term that marks the passages of a domain's documents; no word of a text has an underscore."""
    return f"_{domain}"


def domains_of(texts: Iterable[str], language: str) -> list[str]:
    """The marks of the domains that a document with these terms belongs to."""
    body = "".join(f" {text} " for text in texts)
    return [
        domain_term(each.domain)
        for each in shipped_vocabularies()
        if sum(f" {known} " in body for known in _spellings(each.known_by, [language])) >= MIN_KNOWN_PHRASES
    ]


def _similar(query: str) -> Iterator[str]:
    """Clauses for words that resemble those of a question: as they are written, since stems hide endings."""
    for word in dict.fromkeys(word[:LONGEST_TERM] for word in _query_words(query)[:MOST_TERMS]):
        if word >= _FIRST_UNSPACED:
            yield f"terms:{word}*"
        elif len(word) >= SHORTEST_SIMILAR and not has_digit(word):
            yield f"text:{word}*^{SIMILAR_WEIGHT} text:{word}~1^{SIMILAR_WEIGHT}"


def _query_words(query: str) -> list[str]:
    """The significant words of a question, not stemmed, without dates, which have dashes."""
    return [word for word in parse_question(query, []).words if "-" not in word]


def _terms(spelled: list[str], language: str) -> list[str]:
    return [stem[:LONGEST_TERM] for stem in stems(spelled, language) if stem]


def _dates(text: str) -> list[str]:
    return [date.replace("-", "") for date in find_dates(text)]
