"""Passages of generated pages with tables, CJK and blank runs: exact, in order, complete, without overlap."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orc_core.documents.passages import LONGEST, split_pages
from orc_core.models import Page

CELLS = st.one_of(
    st.text("abcdefgh", min_size=1, max_size=9),
    st.integers(-99_999, 99_999).map("{:,}".format),
    st.sampled_from(["", "—", "12.5 %", "€ 1.200,50", "n/a"]),
)
ROWS = st.integers(2, 6).flatmap(lambda n: st.lists(CELLS, min_size=n, max_size=n))
TABLES = st.tuples(ROWS, st.sampled_from([" | ", "\t", "  "]), st.integers(1, 90)).map(
    lambda drawn: "\n".join(drawn[1].join([*drawn[0], str(row)]) for row in range(drawn[2]))
)
PROSE = st.lists(st.text("abcdefgh", min_size=1, max_size=9), min_size=1, max_size=200).map(
    lambda words: " ".join(words).capitalize() + "."
)
CJK = st.lists(
    st.text("保険は医師の診察と薬の費用東京夏天한국어", min_size=1, max_size=40), min_size=1, max_size=60
).map("。".join)
BLANKS = st.text(" \n\t\r\f\u00a0\u2003\u3000", max_size=300)
HEADINGS = st.sampled_from(["1.2 Terms of use", "OVERVIEW", "# Setup", "第一章 概要", "PART II"])
UNBROKEN = st.integers(1, 3000).map("x".__mul__)
PARTS = st.one_of(TABLES, PROSE, CJK, BLANKS, HEADINGS, UNBROKEN, st.text(max_size=60))
TEXTS = st.tuples(st.lists(PARTS, max_size=8), st.sampled_from(["\n", "\n\n", "\r\n", " ", ""])).map(
    lambda drawn: drawn[1].join(drawn[0])
)
DOCUMENTS = st.lists(st.tuples(TEXTS, st.sampled_from(["", "Sheet 1", "Kapitel 2"])), max_size=5).map(
    lambda drawn: [Page(number=n, text=text, label=label) for n, (text, label) in enumerate(drawn, 1)]
)


@pytest.mark.slow
@given(DOCUMENTS)
def test_passages_are_exact_in_order_and_omit_only_white_space(pages: list[Page]) -> None:
    passages = split_pages("d", pages)
    assert [passage.page for passage in passages] == sorted(passage.page for passage in passages)
    for page in pages:
        position = 0
        for passage in (each for each in passages if each.page == page.number):
            assert page.text[passage.start : passage.end] == passage.text == passage.text.strip() != ""
            assert len(passage.text) <= LONGEST
            assert position <= passage.start
            assert page.text[position : passage.start].strip() == ""
            position = passage.end
        assert page.text[position:].strip() == ""
