"""No character of a question can be an operator of a query language, and terms meet across spellings."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orc_core.search.vocabulary import shipped_vocabularies
from orc_core.storage.ai_search.client import among, equal
from orc_core.storage.ai_search.terms import (
    LONGEST_TERM,
    MOST_PHRASES,
    MOST_TERMS,
    asked_terms,
    domains_of,
    expand,
    lexical_query,
    terms_of,
    terms_of_name,
)
from orc_core.text.terms import STOP_WORDS

LANGUAGES = sorted(STOP_WORDS)
SPECIAL = re.compile(r"[+\-&|!(){}\[\]^\"~*?:\\/'\s]|^(?:AND|OR|NOT)$")
NASTY = st.one_of(
    st.text(),
    st.text(alphabet="ab1.2-/年月日+&|!(){}[]^\"~*?:\\' ANDORNOT\u0301\u3007\u1173\ufdfa", max_size=40),
)


@given(NASTY)
def test_a_term_of_a_question_has_no_special_character(query: str) -> None:
    for term in asked_terms(query, LANGUAGES):
        assert term
        assert not SPECIAL.search(term), term
        assert len(term) <= LONGEST_TERM


@given(NASTY)
def test_a_query_has_no_operators_but_ours(query: str) -> None:
    terms = asked_terms(query, ["en", "de"])
    if not terms:
        return
    built = lexical_query(query, terms, widened=True)
    left = re.sub(r"\^[\d.]+|~1|(?<=[^\s(])\*|\b(?:terms|heading_terms|name_terms|text):", "", built)
    assert not re.search(r"[-&|!{}\[\]^\"~*?:\\/']", left), built
    assert re.fullmatch(r"\+\(\([^()]*\) \([^()]*\) [^()]*\) \([^()]+\)", left), built


@given(NASTY)
def test_terms_of_texts_and_names_are_divided_by_single_spaces(text: str) -> None:
    for built in (terms_of(text, "en"), terms_of_name(text)):
        assert built == " ".join(built.split())
        assert all(len(term) <= LONGEST_TERM for term in built.split())


def test_a_date_is_one_term() -> None:
    assert "20230405" in terms_of("Signed on 5 April 2023.", "en").split()
    assert asked_terms("What happened on 2023-04-05?", ["en"])[0] == "20230405"


def test_a_question_has_the_stems_of_every_language_in_scope() -> None:
    assert set(asked_terms("houses Häuser", ["de", "en"])) >= {"haus", "hous"}
    assert asked_terms("the of and", []) == []


@pytest.mark.parametrize("value", ["a'b", "a b", "a,b", "", "a|b", "a\\b", "x' or 'x", "ä", "_a", "a" * 300])
def test_a_value_that_a_filter_would_have_to_escape_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="id"):
        equal("document_id", value)
    with pytest.raises(ValueError, match="id"):
        among("document_id", ["plain", value])


@pytest.mark.slow
@pytest.mark.parametrize("term", [term for each in shipped_vocabularies() for term in each.terms])
def test_what_a_vocabulary_adds_is_plain_terms_in_quotes(term: str) -> None:
    for expansion in expand(f"How large is the {term} of {term}?", LANGUAGES):
        for phrase in (*expansion.phrases, *expansion.titles):
            assert not any(SPECIAL.search(word) for word in phrase.split(" ")), phrase
        assert len(expansion.phrases) + len(expansion.titles) <= MOST_PHRASES


@pytest.mark.slow
def test_a_long_question_stays_below_the_services_limit_of_clauses() -> None:
    terms = [term for each in shipped_vocabularies() for term in each.terms]
    query = "How do these compare: " + ", ".join(terms)
    asked, expansions = asked_terms(query, LANGUAGES), expand(query, LANGUAGES)
    assert len(asked) == MOST_TERMS
    built = lexical_query(query, asked, expansions, widened=True)
    clauses = re.findall(r'"[^"]*"|[^\s():^"]+(?=[\s)^~*])', built)
    assert len(clauses) < 1024, len(clauses)


def test_a_document_belongs_to_a_domain_if_it_has_several_of_its_phrases() -> None:
    report = [
        terms_of(text, "en") for text in ("Net income and total assets.", "Cash flows of the fiscal year.")
    ]
    assert domains_of(report, "en") == ["_accounting"]
    assert domains_of([terms_of("Annual leave in the fiscal year.", "en")], "en") == []
