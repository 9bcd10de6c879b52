"""Markers become checked citations, in whatever pieces the answer arrives."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.grounding.answers import NOT_FOUND_ANSWER
from core.grounding.markers import CitationWriter, marker
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


def test_a_claim_that_the_page_does_not_bear_out_is_shown_as_not_verified() -> None:
    text, writer = write(f"Leave is 30 days a year. {marker(1)}")
    assert text == 'Leave is 30 days a year. [Page 5 of Document "a.pdf", not verified]'
    assert [citation.verified for citation in writer.citations] == [False]
    assert not writer.grounding.grounded
    assert writer.grounding.issues


def test_a_source_that_was_never_given_is_withheld_and_said() -> None:
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


def test_a_citation_that_the_model_wrote_itself_cannot_pass_for_a_checked_one() -> None:
    text, writer = write('Leave is 99 days. [Page 1 of Document "a.pdf"]')
    assert "[Page" not in text
    assert writer.citations == []


def test_brackets_that_are_no_markers_stay() -> None:
    text, _ = write("See [12] and [Smith 2020] and [so on")
    assert text == "See [12] and [Smith 2020] and [so on"


def test_the_sentence_for_nothing_found_is_recognised() -> None:
    _, writer = write(NOT_FOUND_ANSWER)
    assert writer.grounding.not_found
    assert not writer.grounding.grounded


ANSWER = (
    f"Leave is 25 days a year. {marker(1)} Requests are approved within 5 working days [S2]. "
    'Not so: [S7] [Page 3 of Document "x"] [12] [s1 ,S2] end ['
)


@given(st.lists(st.integers(0, len(ANSWER)), max_size=20))
def test_however_the_stream_is_cut_the_text_and_the_citations_are_the_same(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(ANSWER)]
    pieces = [ANSWER[a:b] for a, b in itertools.pairwise(edges)]
    whole_text, whole = write(ANSWER)
    cut_text, cut = write(*pieces)
    assert cut_text == whole_text
    assert cut.citations == whole.citations
    assert cut.grounding == whole.grounding
