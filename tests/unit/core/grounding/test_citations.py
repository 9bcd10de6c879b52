"""Markers become checked citations, however the answer is streamed."""

import itertools
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.grounding.checks import check_marker
from core.grounding.citations import CitationWriter, marker
from core.grounding.claims import NOT_FOUND_ANSWER, Claims
from core.grounding.sources import Source

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
        said = f"Leave is 25 days a year. {marker(1)} Leave is 30 days. {marker(1)}"
        text = writer.feed(said) + writer.finish()
        assert text == f"Leave is 25 days a year. [{shown}] Leave is 30 days. [{shown}, not verified]"
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
    assert "[" not in text
    assert writer.citations == []


@pytest.mark.parametrize(
    ("page", "answer", "is_grounded"),
    [
        (
            "Fee: 9 euros\nRent: none\nDeposit: 100 euros",
            "Fee: 9 euros\nRent: none\nDeposit: 100 euros",
            True,
        ),
        ("Ada Quay\nHarbour Street 5\nWexley", "Contact:\nAda Quay\nHarbour Street 5\nWexley", True),
        (
            "Fee: 9 euros\nRent: none\nDeposit: 100 euros",
            "Fee: 8 euros\nRent: none\nDeposit: 100 euros",
            False,
        ),
        ("The fee is 9 euros. Dogs are allowed.", "The fee is 9 euros. Dogs are allowed.", False),
    ],
)
def test_a_marker_behind_lines_is_that_of_all_of_them(page: str, answer: str, is_grounded: bool) -> None:
    writer = CitationWriter([source().model_copy(update={"text": page, "page_text": page})])
    writer.feed(f"{answer} {marker(1)}")
    writer.finish()
    assert writer.grounding.grounded is is_grounded


def test_an_unsupported_claim_is_shown_as_not_verified() -> None:
    text, writer = write(f"Leave is 30 days a year. {marker(1)}")
    assert text == 'Leave is 30 days a year. [Page 5 of Document "a.pdf", not verified]'
    assert [citation.verified for citation in writer.citations] == [False]
    assert not writer.grounding.grounded
    assert writer.grounding.issues


def test_a_citation_of_an_unknown_source_is_withheld_and_reported() -> None:
    text, writer = write(f"Leave is 25 days a year. {marker(9)}")
    assert text.endswith("[citation withheld: no such source]")
    assert writer.citations == []
    assert writer.grounding.issues


def test_several_sources_in_one_marker_cite_the_same_claim() -> None:
    text, writer = write("Leave is 25 days a year [S1, S2].")
    assert text == 'Leave is 25 days a year [Page 5 of Document "a.pdf"] [Page 6 of Document "a.pdf"].'
    assert len(writer.citations) == 2


def test_only_the_sentence_before_a_marker_counts_as_covered() -> None:
    _, writer = write(f"Everybody loves the sea. Leave is 25 days a year. {marker(1)}")
    assert writer.grounding.coverage == pytest.approx(0.5)


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
        assert [citation.verified for citation in writer.citations] == [False]


def test_a_second_marker_after_a_function_word_cites_the_same_claim() -> None:
    _, writer = write("Leave is 25 days a year [S1] and [S2].")
    assert [citation.verified for citation in writer.citations] == [True, True]
    assert writer.grounding.grounded


def test_a_number_after_a_marker_is_checked_with_the_claim_before_it() -> None:
    _, writer = write("Leave is 25 days a year [S1], 5 [S2].")
    assert [citation.verified for citation in writer.citations] == [True, False]


def verified_on(page: str, answer: str) -> list[bool | None]:
    """Whether each citation of the answer is verified, with this page as its only source."""
    source = Source(number=1, document_id="d", blob_name="a.pdf", page=4, start=0, text=page, page_text=page)
    writer = CitationWriter([source])
    writer.feed(answer)
    writer.finish()
    return [citation.verified for citation in writer.citations]


@pytest.mark.parametrize(("row", "verified"), [("up to 4.000 138 199", True), ("up to 4.000 138 198", False)])
def test_a_row_of_numbers_after_a_cited_header_is_checked_as_a_row(row: str, verified: bool) -> None:
    page = "Purchase price Basic Comfort\nup to 2.500 96 142\nup to 4.000 138 199"
    answer = f"Purchase price Basic Comfort {marker(1)}\n{row} {marker(1)}"
    assert verified_on(page, answer) == [True, verified]


def test_numbers_after_a_marker_in_its_line_belong_to_its_claim() -> None:
    answer = f"The quotas of Oslo are 25 {marker(1)}, 30, 40 and 50 {marker(1)}"
    assert verified_on("The quotas of Oslo are 25, 30, 40 and 50.", answer) == [True, True]


def test_a_marker_without_a_claim_cites_nothing() -> None:
    text, writer = write("[S1] Leave is 25 days a year. [S1]")
    assert text == '\u2060 Leave is 25 days a year. [Page 5 of Document "a.pdf"]'
    assert len(writer.citations) == 1
    assert not writer.grounding.grounded
    assert writer.grounding.issues


def test_an_uncovered_sentence_is_reported() -> None:
    _, writer = write(f"Leave is 25 days a year. {marker(1)} Everybody loves the sea{' so' * 200}.")
    assert not writer.grounding.grounded
    [issue] = writer.grounding.issues
    assert "Everybody loves the sea" in issue
    assert len(issue) < 240


def test_not_found_may_be_followed_by_cited_sentences_only() -> None:
    _, alone = write(f"{NOT_FOUND_ANSWER} Leave is 25 days a year. {marker(1)}")
    assert alone.grounding.not_found
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
        "Before you go you should do the following:\n- Ask your physician\n- Keep your receipts [S1]",
        "## Travel\nYou should:\n\n1. Ask your physician [S1]\n2. Keep your receipts [S1]",
    ],
)
def test_rows_and_items_under_one_marker_are_all_covered(answer: str) -> None:
    page = f"{TABLE}\n\n{LIST}"
    writer = CitationWriter([source().model_copy(update={"text": page, "page_text": page})])
    writer.feed(answer)
    writer.finish()
    assert writer.grounding.issues == []
    assert writer.grounding.grounded


def test_an_unsupported_list_item_is_uncovered() -> None:
    writer = CitationWriter([source().model_copy(update={"text": LIST, "page_text": LIST})])
    writer.feed("Do this:\n- Sell your house\n- Keep your receipts [S1]")
    writer.finish()
    assert not writer.grounding.grounded
    assert "Sell your house" in " ".join(writer.grounding.issues)


HOUSE = "Pets are permitted in all flats:\n• Tenants may keep cats\n• Guests may bring dogs\nThe fee is 10."


@pytest.mark.parametrize(
    ("answer", "uncited"),
    [
        ("# Smoking is allowed in every flat\nThe fee is 10. [S1]", "Smoking is allowed in every flat"),
        (
            "All pets are permitted, and smoking:\n- Tenants may keep cats. [S1]",
            "All pets are permitted, and",
        ),
        ("You may smoke everywhere:\n- Tenants may keep cats [S1]\n- The fee is 10 [S1]", "You may smoke"),
        (f"{NOT_FOUND_ANSWER} You may smoke everywhere, as everybody knows:", "You may smoke everywhere"),
        ("# Pets are permitted in all flats\nThe fee is 10. [S1]", None),
        ("Pets are permitted in all flats:\n- Tenants may keep cats [S1]\n- The fee is 10 [S1]", None),
        ("## The fee\nYou should know the following:\n- The fee is 10. [S1]", None),
    ],
)
def test_a_heading_or_lead_that_states_something_needs_a_source(answer: str, uncited: str | None) -> None:
    writer = CitationWriter([source().model_copy(update={"text": HOUSE, "page_text": HOUSE})])
    writer.feed(answer)
    writer.finish()
    issues = " ".join(writer.grounding.issues)
    assert writer.grounding.grounded is (uncited is None), issues
    assert not writer.grounding.not_found
    assert uncited is None or f"Nothing is cited for: {uncited}" in issues


def test_a_lead_is_supported_by_the_source_of_any_item_below_it() -> None:
    other = "Cats must be registered. The fee is 10."
    writer = CitationWriter(
        [
            source(number).model_copy(update={"text": t, "page_text": t})
            for number, t in ((1, other), (2, HOUSE))
        ]
    )
    writer.feed(
        "Pets are permitted in all flats:\n- Cats must be registered [S1]\n- Guests may bring dogs [S2]"
    )
    writer.finish()
    assert writer.grounding.grounded


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


@pytest.mark.parametrize("forged", LOOK_ALIKES)
def test_a_look_alike_of_a_citation_gets_round_brackets(forged: str) -> None:
    text, writer = write(*f"Leave is 99 days. {forged}")
    assert text == f"Leave is 99 days. ({forged[1:-1]})"
    assert writer.citations == []


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


def test_an_endless_list_is_shown_as_not_checked() -> None:
    listed = " ".join(map(str, range(1, 3001)))
    text, writer = write(f"Leave is {listed} days {marker(1)}.")
    assert text.endswith('[Page 5 of Document "a.pdf", not checked].')
    assert [(citation.verified, citation.checked) for citation in writer.citations] == [(False, False)]
    grounding = writer.grounding
    assert not grounding.grounded
    assert grounding.unchecked == 1
    assert any(issue.startswith("Not checked, because") for issue in grounding.issues)


def test_each_source_of_a_marker_says_whether_its_own_check_ended() -> None:
    claim = "Leave is 25 days a year."
    alike = " ".join(f"Leave is {n} days of some other year." for n in range(100, 400))
    other = source(2, page=6).model_copy(update={"text": alike, "page_text": alike})
    claims = Claims()
    check_marker(claims, claim, [source(1)])
    spent = Claims().effort.left - claims.effort.left
    writer = CitationWriter([source(1), other], deferred=True)
    writer.feed(f"{claim} [S1, S2]")
    writer.finish()
    cited = next(each for each in writer.take() if not isinstance(each, str))
    claims, text, sources = writer.request(cited)
    claims.effort.left = spent + 40
    shown = writer.settle(cited, check_marker(claims, text, sources))
    assert shown == '[Page 5 of Document "a.pdf"] [Page 6 of Document "a.pdf", not checked]'
    assert [(each.verified, each.checked) for each in writer.citations] == [(True, True), (False, False)]


@pytest.mark.parametrize(("numbers", "unchecked"), [(60, 0), (61, 1)])
def test_numbers_of_a_long_list_that_are_not_compared_are_reported(numbers: int, unchecked: int) -> None:
    listed = " ".join(map(str, range(101, 101 + numbers)))
    text, writer = write(f"Leave is {listed} days a year. {marker(1)}")
    assert text.endswith('[Page 5 of Document "a.pdf", not verified]')
    assert [citation.checked for citation in writer.citations] == [True]
    assert not writer.grounding.grounded
    assert writer.grounding.unchecked == unchecked
    reported = [issue.startswith("Not checked, because") for issue in writer.grounding.issues]
    assert reported.count(True) == unchecked


def test_numbers_behind_too_many_others_are_reported_as_not_checked() -> None:
    page = " ".join(f"Gate {n} has {n} days of leave for {n * 3} guards." for n in range(300))
    writer = CitationWriter([source().model_copy(update={"text": page, "page_text": page})])
    listed = " ".join(f"Gate {n} has {n}.5 days of leave for {n}.25 guards." for n in range(1000, 1400))
    last = "Gate 7 has 8 days of leave for 21 guards."
    writer.feed(f"{listed} {last} {marker(1)}")
    writer.finish()
    assert not writer.grounding.grounded
    assert writer.grounding.unchecked > 1
    assert any(i.startswith("Not checked, because") and last in i for i in writer.grounding.issues)


def test_a_check_takes_only_the_claims_that_it_can_change() -> None:
    writer = CitationWriter([source(1)], deferred=True)
    writer.feed("# Leave\n\n" + "".join(f"Rule {n} holds. {marker(1)} " for n in range(300)))
    sizes = []
    for each in writer.take():
        if not isinstance(each, str):
            request = pickle.dumps(writer.request(each))
            sizes.append(len(request))
            writer.settle(each, pickle.loads(pickle.dumps(check_marker(*pickle.loads(request)))))
    assert len(sizes) == 300
    assert max(sizes) < 2 * min(sizes)
    writer.finish()
    expected = [f'Page 5 of Document "a.pdf" does not support: Rule {n} holds.' for n in range(300)]
    assert writer.grounding.issues[:300] == expected


@pytest.mark.parametrize("number", [1, 3])
def test_checks_elsewhere_give_the_same_result(number: int) -> None:
    answer = "\n\n".join(
        [ANSWER, "# Rules\n\nThe leave is:\n\n- 25 days [S1]\n- 5 working days [S2]"] * number
    )
    expected = write(answer)[1]
    writer = CitationWriter([source(1), source(2, page=6)], deferred=True)
    writer.feed(answer)
    writer.finish()
    for each in writer.take():
        if isinstance(each, str):
            writer.pass_on(each)
        else:
            request = pickle.loads(pickle.dumps(writer.request(each)))
            writer.settle(each, pickle.loads(pickle.dumps(check_marker(*request))))
    assert writer.citations == expected.citations
    assert writer.grounding == expected.grounding
