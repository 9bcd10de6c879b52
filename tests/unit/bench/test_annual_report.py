"""The long report: always the same, as dense as real ones, with an outline and what is asked for."""

import io

import pytest
from pypdf import PdfReader

from bench.annual_report import COMPANY, FACTS, make_report
from orc_core.llm.tokens import TiktokenCounter

pytestmark = pytest.mark.slow

PAGES = 10


@pytest.fixture(scope="module")
def report() -> PdfReader:
    return PdfReader(io.BytesIO(make_report(PAGES)))


def test_the_same_number_of_pages_gives_the_same_bytes() -> None:
    assert make_report(2) == make_report(2)


def test_pages_have_about_a_thousand_tokens_under_a_running_header(report: PdfReader) -> None:
    texts = [page.extract_text() for page in report.pages]
    assert len(texts) == PAGES
    assert all(COMPANY in text for text in texts)
    tokens = sum(map(TiktokenCounter().count, texts))
    assert 900 * PAGES < tokens < 1200 * PAGES


def test_each_fact_is_there_once_and_on_another_page(report: PdfReader) -> None:
    texts = [" ".join(page.extract_text().split()) for page in report.pages]
    places = [[number for number, text in enumerate(texts) if fact in text] for fact in FACTS]
    assert all(len(found) == 1 for found in places)
    assert len({found[0] for found in places}) == len(FACTS)
    assert sum(text.count("Kellmouth") for text in texts) == len(FACTS)


def test_the_outline_has_a_chapter_with_its_sections(report: PdfReader) -> None:
    chapter, sections = report.outline
    assert report.get_destination_page_number(chapter) == 0  # type: ignore[arg-type]
    assert len(sections) == 3
