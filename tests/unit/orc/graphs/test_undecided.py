"""What a judge is shown of an answer, and what its verdicts change."""

import pytest

from orc.graphs.second_reading import SecondReading
from orc.graphs.sources import key_of
from orc.judges.ports import Verdict
from orc_core.grounding.checks import Page
from orc_core.grounding.citations import CitationWriter
from orc_core.grounding.closest import NOT_FOUND_ANSWER
from orc_core.grounding.sources import Source

TEXT = (
    "# Fees\n\nThe club was founded in 1902. "
    + "It has a long and rich history on the river bank. " * 4
    + "\n\n"
    "The fee is 10 crowns a year.\n\nFamilies pay 15.\n\n# Dogs\n\nDogs are welcome in the hall."
)
TABLE = "| Member | Fee |\n| --- | --- |\n| Child | 4 |\n| Adult | 10 |\n| Senior | 7 |\n| Family | 15 |"
SUPPORTED, UNSUPPORTED = Verdict(verdict="supported"), Verdict(verdict="unsupported", reason="No.")


def read(said: str, *texts: str) -> tuple[SecondReading, CitationWriter]:
    """The second reading of an answer from pages with these texts."""
    pages = [
        Source(number=n, document_id=f"d{n}", blob_name="a.pdf", page=n, start=0, text=text, page_text=text)
        for n, text in enumerate(texts or (TEXT,), 1)
    ]
    writer = CitationWriter(pages)
    answer = writer.feed(said) + writer.finish()
    by_id = {page.document_id: Page(page.page_text) for page in pages}
    reading = SecondReading(answer.strip(), writer.citations, writer.grounding.statuses)
    reading.by_id = by_id  # type: ignore[attr-defined]
    return reading, writer


def pairs(reading: SecondReading) -> list[tuple[str, str]]:
    by_id = reading.by_id  # type: ignore[attr-defined]
    found = [reading.pair(each, lambda cited: by_id[cited.document_id]) for each in reading.undecided]
    return [(pair.sentence, pair.evidence) for pair in found]


def test_only_sentences_in_other_words_are_undecided() -> None:
    said = "The fee is 10 crowns a year. [S1] It is 99. [S1] Everyone pays something yearly. [S1] Hello!"
    assert [sentence for sentence, _ in pairs(read(said)[0])] == ["Everyone pays something yearly."]


def test_the_evidence_is_the_unit_with_its_neighbours_and_heading() -> None:
    [(_, evidence)] = pairs(read("Every member owes ten crowns. [S1]")[0])
    assert evidence.startswith("# Fees\n")
    assert "The fee is 10 crowns a year." in evidence
    assert "Families pay 15." in evidence
    assert "Dogs are welcome" not in evidence


def test_the_evidence_of_a_sentence_that_shares_no_word_with_the_page_is_the_page() -> None:
    reading, writer = read("Pets may come along. [S1]")
    assert [(each.quote, each.start, each.end) for each in writer.citations] == [("", 0, 0)]
    assert pairs(reading) == [("Pets may come along.", TEXT)]


def test_the_evidence_of_a_row_has_the_header_of_its_table() -> None:
    [(_, evidence)] = pairs(read("Grown-ups, that is an adult, owe ten. [S1]", TABLE)[0])
    assert "| Member | Fee |" in evidence
    assert "| Adult | 10 |" in evidence
    assert "Family" not in evidence


def test_markers_next_to_each_other_are_one_piece_of_evidence() -> None:
    reading, writer = read("Members owe ten; pets may enter. [S1][S2]", "The fee is 10.", "Dogs are welcome.")
    [(sentence, evidence)] = pairs(reading)
    assert sentence == "Members owe ten; pets may enter."
    assert evidence == "The fee is 10.\n\nDogs are welcome."
    reading.undecided[0].verdict = SUPPORTED
    assert [each.check for each in reading.citations()] == ["supported", "supported"]
    assert reading.grounding(writer.grounding).supported == 2


def test_the_rest_of_a_sentence_is_judged_with_its_beginning() -> None:
    reading, _ = read(
        "Members owe ten [S1] while pets may enter [S2].", "The fee is 10.", "Dogs are welcome."
    )
    assert [sentence for sentence, _ in pairs(reading)] == [
        "Members owe ten",
        "Members owe ten while pets may enter",
    ]
    reading.undecided[1].verdict = UNSUPPORTED
    assert [each.check for each in reading.citations()] == ["reworded", "unsupported"]


def test_a_lead_is_shown_with_what_it_introduces() -> None:
    [(sentence, _)] = pairs(read("Everybody pays:\n\n- members owe a sum yearly [S1]")[0])
    assert sentence == "Everybody pays: members owe a sum yearly"


@pytest.mark.parametrize(
    ("verdicts", "checks"),
    [
        ([SUPPORTED, SUPPORTED], ["supported"]),
        ([SUPPORTED, Verdict()], ["supported", "reworded"]),
        ([SUPPORTED, UNSUPPORTED], ["supported", "unsupported"]),
        ([Verdict(), UNSUPPORTED], ["reworded", "unsupported"]),
    ],
)
def test_a_verdict_is_about_the_markers_of_its_sentences_alone(
    verdicts: list[Verdict], checks: list[str]
) -> None:
    reading, writer = read("Pay yearly. [S1] Members owe it. [S1]", "The fee is 10.")
    for stated, verdict in zip(reading.undecided, verdicts, strict=True):
        stated.verdict = verdict
    assert [each.check for each in reading.citations()] == checks
    marks = sorted(mark.start for each in reading.citations() for mark in each.marks)
    assert marks == [mark.start for mark in writer.citations[0].marks]
    assert all(not each.reason or each.check == "unsupported" for each in reading.citations())
    grounding, refuted = reading.grounding(writer.grounding), verdicts.count(UNSUPPORTED)
    assert (grounding.grounded, grounding.coverage) == (not refuted, 1 - refuted / 2)
    assert [each.code for each in grounding.objections] == ["unsupported"] * refuted
    assert grounding.citations == len(checks)


def test_a_place_that_a_judge_names_is_that_of_its_sentence_alone() -> None:
    reading, writer = read("Pets come along. [S1] Cats, for instance. [S1]", "Dogs are welcome.")
    assert [each.quote for each in writer.citations] == [""]
    first, second = reading.undecided
    first.verdict = second.verdict = SUPPORTED
    first.named[key_of(writer.citations[0])] = {"quote": "Dogs are welcome.", "start": 0, "end": 17}
    assert [(each.quote, len(each.marks)) for each in reading.citations()] == [
        ("Dogs are welcome.", 1),
        ("", 1),
    ]


def test_the_places_that_a_judge_has_named_stay_with_a_sentence_of_several_sources() -> None:
    said, pages = "Members owe ten; pets may enter. [S1][S2]", ("The fee is 10.", "Dogs are welcome.")
    before, writer = read(said, *pages)
    before.undecided[0].verdict = SUPPORTED
    named = {"quote": pages[1], "start": 0, "end": len(pages[1])}
    before.undecided[0].named[key_of(writer.citations[1])] = named
    assert [each.quote for each in before.citations()] == [*pages]
    after, _ = read(said, *pages)
    after.take_over(SecondReading(writer.text.strip(), before.citations(), []))
    assert [(each.quote, each.check) for each in after.citations()] == [(page, "supported") for page in pages]


def test_without_verdicts_nothing_changes() -> None:
    reading, writer = read("The fee is 10 crowns a year. [S1] It is 99. [S1] Everyone pays. [S1] No source.")
    assert reading.citations() == writer.citations
    assert reading.grounding(writer.grounding) == writer.grounding


def test_a_not_found_answer_with_an_unsupported_sentence_is_no_longer_one() -> None:
    reading, writer = read(f"{NOT_FOUND_ANSWER} Members owe a sum. [S1]", "The fee is 10.")
    reading.undecided[0].verdict = UNSUPPORTED
    assert not reading.grounding(writer.grounding).not_found


def test_what_no_source_has_counts_for_nothing_when_a_sentence_is_rejected() -> None:
    said = "The documents do not name the owner. [none] Pets sleep there. [S1] Ships sail by. [S1]"
    reading, writer = read(said)
    assert [sentence for sentence, _ in pairs(reading)] == ["Pets sleep there.", "Ships sail by."]
    reading.undecided[0].verdict = UNSUPPORTED
    assert reading.grounding(writer.grounding).coverage == 0.5
