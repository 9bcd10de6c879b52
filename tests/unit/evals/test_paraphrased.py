"""The eval of paraphrases: it makes sentences about rows, and few sentences are misjudged."""

from collections import Counter

import pytest

from evals.paraphrased import CitedPage, Sentence, measure, read, rows_of
from evals.splits import Half

pytestmark = pytest.mark.slow

PAGE = "Prices of 2024\n\nArticle | Price\nArticle: Nut | Price: 7\nArticle: Bolt | Price: 9"


def test_rows_are_those_with_labels() -> None:
    assert rows_of(PAGE) == [{"Article": "Nut", "Price": "7"}, {"Article": "Bolt", "Price": "9"}]


def test_a_sentence_by_template_is_right_for_its_row_and_wrong_with_the_value_of_another() -> None:
    by_kind: dict[str, list[str]] = {}
    for sentence in read("tuning"):
        if sentence.page.file == "alquiler_es.toml":
            by_kind.setdefault(sentence.kind, []).append(sentence.text)
    assert "La renta del piso 2B es de 865 euros." in by_kind["right, by template"]
    assert "La renta del piso 2B es de 690 euros." in by_kind["row, by template"]
    assert not set(by_kind["right, by template"]) & set(by_kind["row, by template"])


def test_a_sentence_is_misjudged_if_the_check_takes_it_for_the_contrary() -> None:
    page = CitedPage("prices", 1, "The nut costs seven euros. The bolt is out of stock.")
    said = [("The nut costs seven euros.", "right"), ("The nut costs nine euros.", "figure")]
    exchanged = [(said[0][0], "figure"), (said[1][0], "right")]
    sentences = [Sentence(text, kind, page, "en") for text, kind in (*said, *exchanged)]
    assert measure(sentences).misjudged == sentences[2:]


@pytest.mark.parametrize(
    ("half", "failed", "by_template", "passed"), [("tuning", 38, 11, 2), ("test", 53, 24, 16)]
)
def test_no_more_sentences_are_misjudged_than_published(
    half: Half, failed: int, by_template: int, passed: int
) -> None:
    counts = measure(read(half))
    misjudged = Counter(each.kind for each in counts.misjudged)
    assert misjudged.pop("right", 0) <= failed
    assert misjudged.pop("right, by template", 0) <= by_template
    assert misjudged["row, by template"] == 0
    assert misjudged.total() <= passed
    assert counts.total.total() > 600
