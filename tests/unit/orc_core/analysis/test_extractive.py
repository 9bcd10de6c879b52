"""Page analysis without a model."""

import json
import statistics
import time
from collections.abc import AsyncIterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devkit.shared_data import SHARED, needs_shared
from orc_core.analysis.document_context import DocumentContext
from orc_core.analysis.extractive import analyse_page
from orc_core.analysis.models import EXTRACTIVE, PageAnalysis
from orc_core.extraction.extractor import PRELOADED, Extractor
from orc_core.infra.sandbox import Sandbox
from orc_core.models import Page
from orc_core.text.quotes import locate
from orc_core.text.sentences import sentences
from tests.unit.orc_core.analysis.analysis_samples import CONTRACT, analyse, analyse_pages

pytestmark = pytest.mark.slow

DOCUMENTS = SHARED / "data" / "open" / "docs"


def anchors_of(analysis: PageAnalysis) -> dict[str, int | None]:
    return {anchor.text: anchor.target_page for anchor in analysis.anchors}


@pytest.fixture(scope="module")
def contract() -> list[PageAnalysis]:
    return analyse_pages(CONTRACT)


def test_headings_are_anchors() -> None:
    (analysis,) = analyse(
        "SUMMARY OF YOUR COSTS\n\nBlood Products And Services\n\nThey are covered by us all."
    )
    assert list(anchors_of(analysis)) == ["SUMMARY OF YOUR COSTS", "Blood Products And Services"]


def test_entities_relations_and_references_need_a_model(contract: list[PageAnalysis]) -> None:
    assert all(not analysis.entities and not analysis.relations for analysis in contract)
    assert {anchor.kind for analysis in contract for anchor in analysis.anchors} == {"heading"}


def test_words_broken_at_line_ends_are_joined_and_still_found_on_the_page() -> None:
    text = "The reimburse-\nment of costs is paid by Contoso. A reimbursement takes a doctor only."
    (analysis,) = analyse(text)
    assert "reimbursement of costs" in analysis.summary
    assert locate(analysis.summary, text)


def test_summary_consists_of_sentences_of_the_page(contract: list[PageAnalysis]) -> None:
    for page, analysis in zip(CONTRACT, contract, strict=True):
        said = list(sentences(analysis.summary))
        assert 1 <= len(said) <= 3
        assert all(locate(sentence, page.text) for sentence in said)


def test_running_headers_are_left_out_of_headings_and_summaries() -> None:
    header = "Contoso Plan Handbook 2024"
    analyses = analyse(
        *(f"{header}\nTopic {n} Is Here\nThe matter is number {n} of them all.\nPage {n}" for n in range(9))
    )
    for analysis in analyses:
        assert header not in anchors_of(analysis)
        assert "Handbook" not in analysis.summary


def test_pages_that_differ_only_in_numbers_have_summaries() -> None:
    analyses = analyse(*(f"Form {n}\nNumber {n} of the register" for n in range(1, 9)))
    assert [each.summary for each in analyses] == [
        f"Form {n} Number {n} of the register" for n in range(1, 9)
    ]


def test_topics_are_repeated_phrases() -> None:
    (analysis,) = analyse(
        "The ambulance services are paid. We pay ambulance services by air. When ambulance services are "
        "used, a doctor decides. The primary care physician is asked. The primary care physician knows."
    )
    assert analysis.topics[:2] == ["ambulance services", "primary care physician"]


def test_analysis_of_an_empty_page_is_empty() -> None:
    (analysis,) = analyse(" \n\t\n")
    assert analysis == PageAnalysis(page=1, method=EXTRACTIVE)


def test_page_of_headings_is_summarised_by_them() -> None:
    assert (
        analyse("Contoso Electronics\nEmployee Handbook")[0].summary
        == "Contoso Electronics Employee Handbook"
    )


FRAGMENTS = st.sampled_from(
    [
        *(
            "Contoso Ltd.",
            "acquired",
            "Fabrikam Inc.",
            "(the “Company”)",
            "(CLT)",
            "Table 3",
            "§ 4.2",
            "e\u0301",
        ),
        *(
            ". ",
            ".\n",
            "-\n",
            "\n\n",
            " | ",
            "\u00ad",
            "\x02",
            "\ufffe",
            "机器学习",
            "ﬁnance",
            "12. ",
            "März 2020",
            "?",
        ),
        *(
            "see page 4",
            "Dr. ",
            "Maria Schmidt",
            ", director of ",
            "is part of",
            "the ",
            "does not",
            "$5",
            "İ",
            "ß",
            "of",
        ),
    ]
)


MIXTURES = st.lists(FRAGMENTS, max_size=60).map(" ".join)


@settings(max_examples=300)
@given(st.lists(st.text(max_size=400) | MIXTURES, min_size=1, max_size=4))
def test_quotes_from_any_text_are_on_its_page(texts: list[str]) -> None:
    check_quotes(texts)


def check_quotes(texts: list[str]) -> None:
    for text, analysis in zip(texts, analyse(*texts), strict=True):
        said = [each for each in sentences(analysis.summary) if any(map(str.isalnum, each))]
        assert all(quote in " ".join(text.split()) or locate(quote, text) for quote in said)
        assert len(analysis.model_dump_json()) < 40_000


def test_very_long_lines_are_analysed_in_bounded_time() -> None:
    texts = [
        "a" * 200_000,
        "A." * 100_000,
        "1" * 200_000,
        "((" * 100_000,
        " " * 200_000 + "x",
        "A " * 100_000,
        "-\n" * 90_000,
    ]
    for text in texts:
        begun = time.process_time()
        analyse(text)
        assert time.process_time() - begun < 3, text[:5]


@pytest.fixture
async def extract() -> AsyncIterator[Extractor]:
    box = Sandbox(*PRELOADED)
    yield Extractor(box, processes=1)
    await box.close()


async def pages_of(extractor: Extractor, name: str) -> list[Page]:
    return list((await extractor.extract(DOCUMENTS / name, name)).pages)


@pytest.mark.slow
@needs_shared
async def test_real_benefits_book_has_expected_analysis_within_20_ms_a_page(extract: Extractor) -> None:
    pages = await pages_of(extract, "Northwind_Health_Plus_Benefits_Details.pdf")
    context, analyses, spent = DocumentContext.of(pages), dict[int, PageAnalysis](), list[float]()
    for page in pages:
        begun = time.process_time()
        analyses[page.number] = analyse_page(page, context)
        spent.append(time.process_time() - begun)
    assert "Once The IRO Decides" in anchors_of(analyses[88])
    assert analyses[20].topics[0] == "ambulance"
    assert analyses[3].summary.startswith("Northwind Health Plus is a comprehensive plan")
    assert statistics.median(spent) < 0.02


@pytest.mark.slow
@needs_shared
async def test_each_page_of_real_documents_has_a_short_analysis(extract: Extractor) -> None:
    smallest = sorted(DOCUMENTS.glob("*.pdf"), key=lambda path: path.stat().st_size)[:5]
    for source in smallest:
        pages = await pages_of(extract, source.name)
        for page, analysis in zip(pages, analyse_pages(pages), strict=True):
            assert analysis.summary or not page.text.strip(), (source.name, page.number)
            assert len(json.dumps(analysis.model_dump())) < 20_000
