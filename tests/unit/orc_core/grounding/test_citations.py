"""Markers become checked citations, however the answer is streamed."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orc_core.grounding.citations import CitationWriter, marker
from orc_core.grounding.closest import NOT_FOUND_ANSWER
from orc_core.grounding.sources import Source

PAGE = "Leave is 25 days a year. The harbour master approves requests within 5 working days."


def source(number: int = 1, page: int = 5) -> Source:
    return Source(
        number=number, document_id="doc", blob_name="a.pdf", page=page, start=0, text=PAGE, page_text=PAGE
    )


def write(*pieces: str) -> tuple[str, CitationWriter]:
    writer = CitationWriter([source(1), source(2, page=6)])
    shown = "".join([writer.feed(piece) for piece in pieces])
    return shown + writer.finish(), writer


def test_a_marker_becomes_a_citation_with_its_quote_and_offsets() -> None:
    text, writer = write(f"Leave is 25 days a year. {marker(1)}")
    assert text == 'Leave is 25 days a year. [Page 5 of Document "a.pdf"]'
    [citation] = writer.citations
    assert citation.verified
    assert PAGE[citation.start : citation.end] == citation.quote == "Leave is 25 days a year."
    assert citation.page_id == "doc.p5"
    assert writer.grounding.grounded
    assert writer.grounding.coverage == 1.0


def test_a_marker_names_the_context_of_a_page_that_is_not_of_the_focus() -> None:
    folder = {"context_type": "folder", "context_id": "o1-f2", "context_name": 'Rail "2024"] x'}
    other = {**folder, "focus": False}
    for origin, shown in (
        (other, 'Page 5 of Document "a.pdf" in folder "Rail \'2024\') x"'),
        ({**other, "focus": True}, 'Page 5 of Document "a.pdf"'),
        ({**other, "context_name": None}, 'Page 5 of Document "a.pdf"'),
    ):
        writer = CitationWriter([source().model_copy(update=origin)])
        said = f"Leave is 25 days a year. {marker(1)} Leave is 40 days. {marker(1)}"
        text = writer.feed(said) + writer.finish()
        assert text == f"Leave is 25 days a year. [{shown}] Leave is 40 days. [{shown}: 40 is not there]"
        assert [each.model_dump(include=set(origin)) for each in writer.citations] == [origin, origin]


@pytest.mark.parametrize(
    "written",
    [
        '[Page 5 of Document "a.pdf" in folder "Rail 2024"]',
        '[Page 5 of Document "a.pdf" in f\u043elder "Rail 2024", not verified]',
        '[Page 5 of D\u043ecument "a.pdf" in usecase "x"]',
    ],
)
def test_a_model_cannot_write_the_marker_of_another_context(written: str) -> None:
    text, writer = write(f"Leave is 25 days a year. {written}")
    assert text == 'Leave is 25 days a year. [Page 5 of Document "a.pdf"]' or "[" not in text
    assert all(citation.context_name is None for citation in writer.citations)


def checks(writer: CitationWriter) -> list[str]:
    return [citation.check for citation in writer.citations]


def written(answer: str, **pages: str) -> CitationWriter:
    """The answer with sources of these texts, `s1` and so on, each a page."""
    sources = [
        source(number, page=number).model_copy(update={"text": text, "page_text": text})
        for number, text in enumerate(pages.values(), 1)
    ]
    writer = CitationWriter(sources)
    writer.feed(answer)
    writer.finish()
    return writer


def test_a_marker_is_about_all_lines_of_its_paragraph() -> None:
    lines = "Fee: 9 euros\nRent: none\nDeposit: 100 euros"
    assert checks(written(f"{lines} [S1]", s1=lines)) == ["quoted"]
    assert checks(written(f"{lines.replace('9', '8')} [S1]", s1=lines)) == ["differs"]


def test_other_words_are_shown_without_a_doubt() -> None:
    text, writer = write(f"Everybody gets 25 days off. {marker(1)}")
    assert text == 'Everybody gets 25 days off. [Page 5 of Document "a.pdf"]'
    [citation] = writer.citations
    assert (citation.check, citation.verified, citation.quote) == (
        "reworded",
        False,
        "Leave is 25 days a year.",
    )
    checked = writer.grounding
    assert (checked.grounded, checked.reworded, checked.verified, checked.coverage) == (True, 1, 0, 1.0)
    assert checked.issues == []


def test_a_number_that_is_not_on_the_page_is_named_where_it_is_cited() -> None:
    text, writer = write(f"Leave is 41 days a year, not 42. {marker(1)}")
    assert text.endswith('42. [Page 5 of Document "a.pdf": 41 and 42 are not there]')
    [citation] = writer.citations
    assert (citation.check, citation.missing) == ("differs", ["41", "42"])
    assert citation.quote == "Leave is 25 days a year."
    assert (writer.grounding.grounded, writer.grounding.differs, writer.grounding.coverage) == (False, 1, 0.0)


def test_many_numbers_that_are_not_there_are_not_all_named() -> None:
    text, writer = write(f"Leave is 31, 32, 33, 34 or 35 days. {marker(1)}")
    assert text.endswith('[Page 5 of Document "a.pdf": 31, 32, 33 and 2 others are not there]')
    assert writer.citations[0].missing == ["31", "32", "33", "34", "35"]


def test_a_number_of_the_question_differs_from_no_source() -> None:
    writer = CitationWriter([source()], question="Do 30 people get leave?")
    writer.feed("All 30 people get leave [S1].")
    writer.finish()
    assert checks(writer) == ["reworded"]


def test_the_check_of_a_marker_is_the_worst_of_its_sentences() -> None:
    quoted, reworded, differs = "Leave is 25 days a year.", "Everybody gets 25 days off.", "It was 24 days."
    for said, check in (
        (f"{quoted} {quoted}", "quoted"),
        (f"{quoted} {reworded}", "reworded"),
        (f"{differs} {reworded} {quoted}", "differs"),
    ):
        assert checks(write(f"{said} {marker(1)}")[1]) == [check]


def test_a_marker_is_about_nothing_before_its_paragraph_item_or_table() -> None:
    for before in ("It was 24 days.\n\n", "- It was 24 days.\n- ", "It was 24 days. [S2]\n"):
        _, writer = write(f"{before}Leave is 25 days a year. {marker(1)}")
        assert checks(writer)[-1] == "quoted", before
        assert not writer.grounding.grounded


def test_a_marker_in_a_separate_line_is_about_the_paragraph_before() -> None:
    assert checks(write(f"Leave is 25 days a year.\n\n{marker(1)}")[1]) == ["quoted"]


def test_markers_next_to_each_other_are_one_piece_of_evidence() -> None:
    pages = {"s1": "Ada has 25 days.", "s2": "Bob has 31 days."}
    for markers in ("[S1][S2]", "[S1] [S2]", "[S1], [S2]", "[S1, S2]"):
        assert checks(written(f"Ada gets 25 days, Bob gets 31 {markers}.", **pages)) == ["reworded"] * 2
        assert checks(written(f"Ada has 25 days {markers}.", **pages)) == ["quoted", "reworded"]
        assert checks(written(f"Ada has 26 days {markers}.", **pages)) == ["differs"] * 2


def test_a_quote_is_the_place_of_the_source_that_fits_best() -> None:
    page = (
        "Moles\n\nThe quay opens at seven. Dogs are welcome on the mole. The harbour master approves."
        "\n\nGrade | Days\nA | 28\nB | 30\n"
    )
    for said, quote in (
        ("You may take your dogs along.", "Dogs are welcome on the mole."),
        ("In grade B there are 30 days.", "B | 30"),
        ("The quay opens at seven, and dogs are welcome.", page[7:61]),
        ("Who knows?", ""),
    ):
        [citation] = written(f"{said} [S1]", s1=page).citations
        assert (citation.quote, page[citation.start : citation.end]) == (quote, quote)


def test_a_quote_is_in_the_passage_that_is_cited() -> None:
    page = "Dogs are welcome.\n\nCats are not. Dogs are washed."
    start = page.index("Cats")
    cut = source().model_copy(update={"page_text": page, "start": start, "text": page[start:]})
    writer = CitationWriter([cut])
    writer.feed("Dogs! [S1]")
    writer.finish()
    assert writer.citations[0].quote == "Dogs are washed."


def test_what_follows_a_marker_in_its_sentence_has_its_source() -> None:
    _, writer = write("Leave is 25 days [S1] in every year.")
    assert writer.grounding.grounded
    _, writer = write("Leave is 25 days [S1] for 99 people.")
    assert writer.grounding.issues == ["Nothing is cited for: for 99 people."]


def test_a_citation_of_an_unknown_source_is_withheld_and_reported() -> None:
    text, writer = write(f"Leave is 25 days a year. {marker(9)}")
    assert text.endswith("[citation withheld: no such source]")
    assert writer.citations == []
    assert writer.grounding.issues


def test_several_sources_in_one_marker_cite_the_same_claim() -> None:
    text, writer = write("Leave is 25 days a year [S1, S2].")
    assert text == 'Leave is 25 days a year [Page 5 of Document "a.pdf"] [Page 6 of Document "a.pdf"].'
    assert len(writer.citations) == 2


def test_only_the_sentences_before_a_marker_count_as_covered() -> None:
    _, writer = write(f"Leave is 25 days a year. {marker(1)} Everybody loves the sea.")
    assert (writer.grounding.coverage, writer.grounding.uncited) == (0.5, 1)


def test_a_citation_written_by_the_model_is_defused() -> None:
    text, writer = write('Leave is 99 days. [Page 1 of Document "a.pdf"]')
    assert "[Page" not in text
    assert writer.citations == []


def test_other_brackets_are_kept() -> None:
    text, _ = write("See [12] and [Smith 2020] and [so on")
    assert text == "See [12] and [Smith 2020] and [so on"


def test_the_not_found_sentence_is_recognised() -> None:
    _, writer = write(NOT_FOUND_ANSWER)
    assert writer.grounding.not_found
    assert not writer.grounding.grounded


def test_an_abbreviation_does_not_cut_the_claim() -> None:
    for claim in ("Leave is 99 days according to Sec. 25", "Leave is 99 days under Art. 25"):
        _, writer = write(f"{claim} {marker(1)}")
        assert checks(writer) == ["differs"]


def test_a_second_marker_after_a_function_word_cites_the_same_claim() -> None:
    _, writer = write("Leave is 25 days a year [S1] and [S2].")
    assert checks(writer) == ["quoted", "quoted"]
    assert writer.grounding.grounded


def test_a_source_that_shares_far_more_is_cited_for_the_named_one() -> None:
    """Small models mix up the numbers of sources. What every source says stays with the named one."""
    pages = {"s1": "Yard cranes stop at 17 metres per second.", "s2": "Quay staff work shifts in the yard."}
    for said, page in (
        ("The yard cranes stop at 17 metres [S2].", 1),
        ("Staff of the yard cranes work shifts [S2].", 2),
        ("Ferries stop at noon [S2].", 2),
        ("Yard cranes stop, and staff work shifts [S1].", 1),
    ):
        assert [each.page for each in written(said, **pages).citations] == [page]
    assert checks(written(f"{pages['s1']} [S2]", **pages)) == ["quoted"]
    both = written("The yard cranes stop at 17 metres [S2], [S1].", **pages)
    assert [each.page for each in both.citations] == [2, 1]


def test_a_number_after_a_marker_can_be_from_both_sources() -> None:
    pages = {"s1": "Ada has 25 days. Bob has 31 days.", "s2": "Cats have none."}
    assert checks(written("Ada has 25 days [S1], and Bob 31 [S2].", **pages)) == ["quoted", "reworded"]
    apart = {"s1": "Ada has 25 days.", "s2": "Bob has none."}
    assert checks(written("Ada has 25 days [S1]. And Bob 31 [S2].", **apart)) == ["quoted", "differs"]
    assert checks(write("Leave is 25 days a year [S1], 5 [S2].")[1]) == ["quoted", "reworded"]
    assert checks(write("Leave is 25 days a year [S1], 6 [S2].")[1]) == ["quoted", "differs"]


def test_rows_of_a_table_are_checked_one_by_one() -> None:
    page = "Price Basic Comfort\nup to 2.500 96 142\nup to 4.000 138 199"
    table = "| Price | Basic |\n|---|---|\n| up to 2.500 | 96 [S1] |\n| up to 4.000 | {} [S1] |"
    assert checks(written(table.format(138), s1=page))[-1] == "reworded"
    assert checks(written(table.format(137), s1=page))[-1] == "differs"


def test_a_marker_without_a_claim_cites_nothing() -> None:
    text, writer = write("[S1] Leave is 25 days a year. [S1]")
    assert text == 'Leave is 25 days a year. [Page 5 of Document "a.pdf"]'
    assert len(writer.citations) == 1
    assert writer.grounding.issues == ["The answer cites source 1 for nothing."]


def test_an_uncovered_sentence_is_reported() -> None:
    _, writer = write(f"Leave is 25 days a year. {marker(1)} Everybody loves the sea{' so' * 200}.")
    assert not writer.grounding.grounded
    [issue] = writer.grounding.issues
    assert "Everybody loves the sea" in issue
    assert len(issue) < 240


def test_what_was_not_found_keeps_the_rest_of_an_answer_good() -> None:
    _, alone = write(f"Leave is 25 days a year. {marker(1)} {NOT_FOUND_ANSWER}")
    assert (alone.grounding.grounded, alone.grounding.not_found) == (True, False)
    _, more = write(f"{NOT_FOUND_ANSWER} Leave is probably 99 days.")
    assert not more.grounding.not_found
    _, within = write(f"It is wrong to say: {NOT_FOUND_ANSWER} Leave is 99 days.")
    assert not within.grounding.not_found


TABLE = "City Meals Hotel Other\nLisbon EUR 46 EUR 135 EUR 30\nRome EUR 40 EUR 120 EUR 25"
LIST = "Before you go you should do the following:\n• Ask your physician\n• Keep your receipts\n"


@pytest.mark.parametrize(
    "answer",
    [
        "City Meals Hotel Other [S1]\nLisbon EUR 46 EUR 135 EUR 30 [S1]",
        "City Meals Hotel Other\nLisbon EUR 46 EUR 135 EUR 30\nRome EUR 40 EUR 120 EUR 25 [S1]",
        "Before you go you should do the following:\n- Ask your physician [S1]\n- Keep your receipts [S1]",
        "## Travel\nYou should:\n\n1. Ask your physician [S1]\n2. Keep your receipts [S1]",
    ],
)
def test_rows_and_cited_items_are_all_covered(answer: str) -> None:
    grounding = written(answer, s1=f"{TABLE}\n\n{LIST}").grounding
    assert grounding.issues == []
    assert grounding.grounded


def test_an_item_without_a_marker_is_uncited() -> None:
    grounding = written("Do this:\n- Sell your house\n- Keep your receipts [S1]", s1=LIST).grounding
    assert grounding.issues == ["Nothing is cited for: Sell your house"]
    assert not grounding.grounded


HOUSE = "Pets are permitted in all flats:\n• Tenants may keep cats\n• Guests may bring dogs\nThe fee is 10."


@pytest.mark.parametrize(
    ("answer", "uncited"),
    [
        ("# No smoking in flats\n\nSome text.\n\nThe fee is 10. [S1]", "No smoking in flats"),
        (f"{NOT_FOUND_ANSWER} You may smoke 20 cigarettes everywhere:", "You may smoke 20"),
        ("# Pets are permitted in all flats\nThe fee is 10. [S1]", None),
        ("Pets are permitted in all flats:\n- Tenants may keep cats [S1]\n- The fee is 10 [S1]", None),
        ("## The fee\nYou should know the following:\n- The fee is 10. [S1]", None),
    ],
)
def test_a_heading_or_lead_that_states_something_has_the_source_below_it(
    answer: str, uncited: str | None
) -> None:
    grounding = written(answer, s1=HOUSE).grounding
    assert grounding.grounded is (uncited is None), grounding.issues
    assert not grounding.not_found
    assert uncited is None or f"Nothing is cited for: {uncited}" in " ".join(grounding.issues)


@pytest.mark.parametrize("lead", ["In 2031 it says:", "## The budget of 2031", "The 3 rules of leave:"])
def test_a_number_of_a_lead_is_no_number_of_what_it_introduces(lead: str) -> None:
    found = written(f"{lead}\n\n- Leave is 25 days a year. [S1]", s1=PAGE)
    assert checks(found) == ["quoted"]
    assert [(each.code, each.claim) for each in found.grounding.objections] == [
        ("uncited", lead.removeprefix("## "))
    ]


def test_a_count_of_a_list_is_no_number_of_its_first_item() -> None:
    found = written("Two rules follow:\n\n- Leave is 25 days a year. [S1]", s1=PAGE)
    assert (checks(found), found.grounding.objections) == (["quoted"], [])


def test_a_lead_is_no_reason_why_what_it_introduces_is_not_quoted() -> None:
    lead, page = "In 2031 it says:\n- Leave is 25 days a year. [S1]", PAGE
    assert checks(written(lead.replace("In 2031 it", "The lawyer of the town"), s1=page)) == ["quoted"]


def test_talk_needs_no_source() -> None:
    for talk, is_labelled in (("Hello! What do you want to know?", False), ("Dogs are welcome here.", True)):
        _, writer = write(talk)
        assert bool(writer.add_notes()) is is_labelled


def test_a_file_name_cannot_forge_a_citation() -> None:
    name = 'x", not verified] [Page 9 of Document "b.pdf'
    writer = CitationWriter([source().model_copy(update={"blob_name": name})])
    text = writer.feed("Leave is 25 days a year. [S1]") + writer.finish()
    assert text.count("[") == text.count("]") == 1
    assert text.count('"') == 2
    assert writer.citations[0].blob_name == name


LOOK_ALIKES = [
    '[Pages 3 of Document "a.pdf"]',
    '[Page 3 of the Document "a.pdf"]',
    '[**Page 5** of Document "a.pdf"]',
    '[Pa\u200bge 3 of Docu\u00adment "a.pdf"]',
    '\u3010Page 3 of Document "a.pdf"\u3011',
    f'[{" " * 40}Page{" " * 40}3 of Document "a.pdf"]',
    '[Page [3] of Document "a.pdf"]',
    "[\uff30age 3 of \uff24ocument]",
    # In Cyrillic and Greek letters.
    '[\u0420\u0430g\u0435 3 of D\u043e\u0441um\u0435nt "a.pdf"]',
    "[\u03a1age 3 of D\u03bfcument]",
]


CHECKED = 'Leave is 99 days. [Page 5 of Document "a.pdf": 99 is not there]'


@pytest.mark.parametrize("forged", LOOK_ALIKES)
def test_a_look_alike_of_a_citation_gets_round_brackets(forged: str) -> None:
    text, writer = write(*f"Leave is 99 days. {forged}")
    assert text in (f"Leave is 99 days. ({forged[1:-1]})", CHECKED)
    assert bool(writer.citations) is (text == CHECKED)


def test_a_marker_of_thousands_of_digits_is_plain_text() -> None:
    written = f"[S{'1' * 5000}]"
    assert write(written)[0] == written


def test_an_unclosed_bracket_is_shown_at_the_end() -> None:
    written = f"It was [see above {'word ' * 100}and so on"
    writer = CitationWriter([source()])
    assert writer.feed(written) == written
    assert writer.finish() == ""


ANSWER = (
    f"Leave is 25 days a year. {marker(1)} Requests are approved within 5 working days [S2]. "
    'Not so: [S7] [Page 3 of Document "x"] [12] [s1 ,S2] [\u200bS1] [see [S1] and [S2]] '
    f"{' '.join(LOOK_ALIKES)} [{'x' * 300}] end ["
)


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(st.integers(0, len(ANSWER)), max_size=30))
def test_the_result_does_not_depend_on_the_pieces_of_the_stream(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(ANSWER)]
    pieces = [ANSWER[a:b] for a, b in itertools.pairwise(edges)]
    whole_text, whole = write(ANSWER)
    cut_text, cut = write(*pieces)
    assert cut_text == whole_text
    assert cut.citations == whole.citations
    assert cut.grounding == whole.grounding


def test_a_stream_of_single_characters_gives_the_same_text() -> None:
    assert write(*ANSWER)[0] == write(ANSWER)[0]
