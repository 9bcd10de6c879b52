"""Closest passages are checked like any citation, and never count as an answer."""

import pytest

from orc_core.grounding.citations import CitationWriter, marker
from orc_core.grounding.closest import closest_label
from orc_core.grounding.sources import Source

PAGE = "Inventories were 11,360. Cost of sales was 38,730."


def write(text: str) -> CitationWriter:
    source = Source(number=1, document_id="d", blob_name="a.pdf", page=4, start=0, text=PAGE, page_text=PAGE)
    writer = CitationWriter([source])
    for character in text:
        writer.feed(character)
    writer.finish()
    return writer


QUESTION = "What were the inventories?"


@pytest.mark.parametrize(
    "question",
    [
        QUESTION,
        "Wie hoch waren die Vorräte?",
        "Quel est le montant des stocks ?",
        "¿Cuáles son los inventarios?",
        "Hoe groot waren de voorraden?",
    ],
)
def test_closest_passages_are_verified_and_labelled(question: str) -> None:
    passages = f"- Inventories were 11,360. {marker(1)}\n- Cost of sales was 38,730. {marker(1)}"
    writer = write(f"{closest_label(question)}\n\n{passages}")
    assert [(each.verified, each.closest) for each in writer.citations] == [(True, True)] * 2
    checks = writer.grounding
    assert (checks.grounded, checks.not_found, checks.closest_passages) == (True, False, True)
    assert writer.add_notes() == ""


def test_a_numbered_passage_is_no_part_of_the_label() -> None:
    page = "✓ A3. Inventories were counted in May."
    source = Source(number=1, document_id="d", blob_name="a.pdf", page=4, start=0, text=page, page_text=page)
    writer = CitationWriter([source])
    writer.feed(f"{closest_label(QUESTION)}\n\n- {page} {marker(1)}")
    writer.finish()
    assert [(each.quote, each.verified) for each in writer.citations] == [(page, True)]
    assert writer.citations[0].closest
    assert writer.grounding.issues == []


def test_an_answer_is_not_labelled_as_close() -> None:
    writer = write(f"Inventories were 11,360. {marker(1)}")
    assert not writer.citations[0].closest
    assert not writer.grounding.closest_passages


def test_a_passage_that_is_not_on_the_page_fails_its_check_below_the_label_too() -> None:
    writer = write(f"{closest_label(QUESTION)}\n\n- Inventories were 99,999. {marker(1)}")
    assert [(each.check, each.closest) for each in writer.citations] == [("differs", True)]
    assert not writer.grounding.grounded
    assert not writer.grounding.not_found


def test_a_claim_below_the_label_still_needs_a_source() -> None:
    writer = write(f"{closest_label(QUESTION)}\n\nThe turnover is probably 3.4.")
    assert writer.grounding.issues == ["Nothing is cited for: The turnover is probably 3.4."]
    assert not writer.grounding.not_found
