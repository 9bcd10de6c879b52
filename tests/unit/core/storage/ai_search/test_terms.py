"""No character of a question can be an operator of a query language, and terms meet across spellings."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.storage.ai_search.client import among, equal
from core.storage.ai_search.passages import LONGEST_TERM, asked_terms, lexical_query, terms_of, terms_of_name
from core.text.terms import STOP_WORDS

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


def test_filters_of_plain_values() -> None:
    assert equal("document_id", "0f-1_a") == "document_id eq '0f-1_a'"
    assert among("document_id", ["a", "b"]) == "search.in(document_id, 'a,b', ',')"
