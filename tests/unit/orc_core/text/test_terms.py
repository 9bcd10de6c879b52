"""Words are normalised and stemmed in the language of the document."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orc_core.text.terms import (
    STOP_WORDS,
    base_stems,
    detect_language,
    has_digit,
    question_words,
    stems,
    words,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Balance BILLING", ["balance", "billing"]),
        ("e\ufb03cient \uff21\uff22\uff23", ["efficient", "abc"]),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("$1,234.5 and 1234.5", ["1234.5", "and", "1234.5"]),
        ("1.234,5", ["1234.5"]),
        ("1,234,567", ["1234567"]),
        ("3,5 %", ["3.5"]),
        ("1.2.3", ["1.2.3"]),
        ("31.12.2023", ["31", "12", "2023"]),
        ("1,2,3", ["1", "2", "3"]),
        ("version v2.3", ["version", "v2", "3"]),
        ("12.5m 1,234m", ["12.5", "m", "1234m"]),
        ("FY2018 FY18 FY '19 FY98", ["2018", "2018", "2019", "1998"]),
        ("out-of-net-\r\nwork", ["out", "of", "network"]),
        ("net-\nwork", ["network"]),
        ("net- \nwork", ["network"]),
        ("net-\t\nwork", ["network"]),
        ("net\u2010\nwork", ["network"]),
        ("delegat\x02ing dele\u00adgating", ["delegating", "delegating"]),
        ("2018-\n2019", ["2018", "2019"]),
        ("snake_case", ["snake", "case"]),
        ("東京都 A 水", ["東京", "京都", "a", "水"]),
        ("서울시", ["서울", "울시"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("", []),
    ],
)
def test_words_are_normalised(text: str, expected: list[str]) -> None:
    assert words(text) == expected


PIECES = "the |FY18 |fy '19|1,234.5 |31.12.2023|a_b|don’t |net-\nwork |é|²|Ａ|1.2.3 ".split("|")


@given(st.text(alphabet="aB0123.,' _-$\x01\n") | st.lists(st.sampled_from(PIECES)).map("".join))
def test_plain_text_has_the_words_that_it_has_next_to_other_text(text: str) -> None:
    # A dash makes the text one that is searched for words; plain text is split.
    assert words(text) == words(f"{text} \u2013")


@given(st.text())
def test_normalised_words_are_stable(text: str) -> None:
    for word in words(text):
        assert word
        assert not set(word) & set(" \n\t\"'*():^-+\0")


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "What is the deductible of the plan and how does it protect the members?"),
        ("de", "Wie hoch ist der Selbstbehalt und was wird von der Versicherung nicht bezahlt?"),
        ("es", "¿Cuál es el nombre del alfabeto que se usa en los problemas de la computación?"),
        ("fr", "Quelle est la franchise et qui paie le reste dans le cas d'une maladie?"),
        ("it", "Qual è il nome della città che non è nella lista degli stati?"),
        ("pt", "Qual é o nome da cidade que não está na lista dos estados?"),
        ("nl", "Wat is het eigen risico en welke kosten worden niet vergoed volgens de polis?"),
        ("ru", "Как называется город, который не был в списке и почему это так?"),
        ("en", "東京 42"),
        ("en", ""),
    ],
)
def test_the_language_is_detected_by_stop_words(language: str, text: str) -> None:
    assert detect_language(words(text)) == language


def test_every_language_has_a_stemmer() -> None:
    assert all(stems(["2018"], language) == ["2018"] for language in STOP_WORDS)


def test_stems_unite_word_forms_and_are_empty_for_stop_words() -> None:
    assert stems(["the", "providers", "provider"], "en") == ["", "provid", "provid"]
    assert stems(["die", "häuser", "haus"], "de") == ["", "haus", "haus"]


def test_question_words_are_content_words() -> None:
    question = "Please answer by relying on the document: what is the deductible of the plan?"
    assert question_words(question) == ["deductible", "plan"]


def test_a_question_of_instructions_only_keeps_its_words() -> None:
    assert question_words("Please summarize the document") == ["please", "summarize", "the", "document"]


def test_question_words_drop_stop_words_of_their_language() -> None:
    assert question_words("Wann war der Krieg, in dem man so viel will?") == ["wann", "krieg", "viel", "will"]


@pytest.mark.parametrize(
    ("language", "forms"),
    [
        ("en", "take took taken taking"),
        ("en", "pays paid payable"),
        ("en", "child children"),
        ("de", "grillen gegrillt"),
        ("de", "abrechnen abgerechnet"),
        ("de", "melden gemeldet"),
    ],
)
def test_forms_of_a_word_have_one_base(language: str, forms: str) -> None:
    assert len(set(base_stems(forms.split(), language))) == 1


def test_stop_words_have_no_base() -> None:
    assert base_stems(["the", "rent"], "en") == ["", "rent"]
    assert base_stems(["die", "miete"], "de") == ["", "miet"]


def test_terms_with_digits_are_recognised() -> None:
    assert [has_digit(term) for term in ("2018", "q3", "plan", "東京")] == [True, True, False, False]


@given(st.lists(st.sampled_from(["the", "der", "et", "no", "da", "quay", "ja"])))
def test_the_language_is_the_one_with_most_stop_words(sample: list[str]) -> None:
    hits = {code: sum(word in stop_words for word in sample) for code, stop_words in STOP_WORDS.items()}
    assert hits[detect_language(sample)] == max(hits.values())
