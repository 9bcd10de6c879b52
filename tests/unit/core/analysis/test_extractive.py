"""Page analysis without a model."""

import json
import statistics
import time
from collections.abc import AsyncIterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.analysis.document_context import DocumentContext
from core.analysis.extractive import analyse_page
from core.analysis.models import EXTRACTIVE, PageAnalysis
from core.extraction.sandbox import Extractor
from core.models import Page
from core.text.quotes import locate
from core.text.sentences import sentences
from devkit.shared_data import SHARED, needs_shared
from tests.unit.core.analysis.analysis_samples import CONTRACT, analyse, analyse_pages, triples

pytestmark = pytest.mark.slow

DOCUMENTS = SHARED / "data" / "open" / "docs"


def anchors_of(analysis: PageAnalysis) -> dict[str, int | None]:
    return {anchor.text: anchor.target_page for anchor in analysis.anchors}


@pytest.fixture(scope="module")
def contract() -> list[PageAnalysis]:
    return analyse_pages(CONTRACT)


def test_entities_need_a_model(contract: list[PageAnalysis]) -> None:
    assert [analysis.entities for analysis in contract] == [[], [], []]


def test_headings_are_anchors() -> None:
    (analysis,) = analyse(
        "SUMMARY OF YOUR COSTS\n\nBlood Products And Services\n\nThey are covered by us all."
    )
    assert list(anchors_of(analysis)) == ["SUMMARY OF YOUR COSTS", "Blood Products And Services"]


def test_links_are_anchors_without_the_punctuation_after_them() -> None:
    (analysis,) = analyse("Write to anna.b@www.contoso.co.uk, or see https://contoso.com/a?b=1.")
    assert [(anchor.kind, anchor.text) for anchor in analysis.anchors] == [
        ("link", "https://contoso.com/a?b=1")
    ]


def test_relations_without_a_model_are_short_forms_and_references(contract: list[PageAnalysis]) -> None:
    assert triples(contract[0]) == [
        ("Transport Security Board", "abbreviated as", "TSB"),
        ("Northwind Traders GmbH", "defined as", "Supplier"),
        ("Contoso Ltd.", "defined as", "Customer"),
        ("page 1", "refers to", "Section 4.2"),
        ("page 1", "refers to", "Table 3"),
        ("page 1", "refers to", "page 2"),
        ("page 1", "refers to", "Appendix A"),
    ]
    assert triples(contract[1]) == []


def test_anchor_leads_to_the_page_of_the_caption(contract: list[PageAnalysis]) -> None:
    assert (
        anchors_of(contract[0]).items()
        >= {"Section 4.2": 2, "Table 3": 2, "page 2": 2, "Appendix A": 2}.items()
    )
    assert anchors_of(contract[1])["Table 3"] == 2
    assert anchors_of(contract[2]) == {"表3": 2, "第4章": None}


def test_printed_page_number_leads_to_its_position_in_the_file() -> None:
    things = "trees stones rivers clouds houses streets gardens bridges".split()
    texts = [f"All about {thing}, as said on page {n + 11}.\n{n + 10}" for n, thing in enumerate(things, 1)]
    analyses = analyse(*texts)
    assert [anchors_of(each)[f"page {each.page + 11}"] for each in analyses] == [2, 3, 4, 5, 6, 7, 8, None]


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


def test_words_broken_at_line_ends_are_joined_and_still_found_on_the_page() -> None:
    text = (
        "The reimburse-\nment of costs is paid by Contoso. A reimbursement takes an in-\nnetwork doctor only."
    )
    (analysis,) = analyse(text)
    assert "reimbursement of costs" in analysis.summary
    assert "in-network doctor" in analysis.topics
    assert locate(analysis.summary, text)


def test_text_that_cannot_be_located_on_the_page_is_not_quoted() -> None:
    text = "Contoso Ltd. (the “Cus\ufffetomer”) pays. It is a large house on a hill in the town."
    (analysis,) = analyse(text)
    assert analysis.relations == []
    assert analysis.summary == "It is a large house on a hill in the town."


def test_topics_are_repeated_phrases() -> None:
    (analysis,) = analyse(
        "The ambulance services are paid. We pay ambulance services by air. When ambulance services are "
        "used, a doctor decides. The primary care physician is asked. The primary care physician knows."
    )
    assert analysis.topics[:2] == ["ambulance services", "primary care physician"]


def test_topic_is_the_phrase_a_word_mostly_belongs_to() -> None:
    (analysis,) = analyse(
        "The ambulance came. An ambulance is dear. Any ambulance helps. Our ambulance waits. "
        "They like ambulance services. We like ambulance services."
    )
    assert analysis.topics[0] == "ambulance services"


def test_chinese_topics_are_whole_words(contract: list[PageAnalysis]) -> None:
    assert contract[2].topics == ["机器学习", "研究人员"]


def test_german_topics_end_in_a_noun() -> None:
    (analysis,) = analyse(
        "Die gesetzliche Krankenversicherung zahlt sofort. Die gesetzliche Krankenversicherung hilft."
    )
    assert analysis.topics == ["gesetzliche Krankenversicherung"]


def test_analysis_of_an_empty_page_is_empty() -> None:
    (analysis,) = analyse(" \n\t\n")
    assert analysis == PageAnalysis(page=1, method=EXTRACTIVE)


def test_page_of_headings_is_summarised_by_them() -> None:
    assert (
        analyse("Contoso Electronics\nEmployee Handbook")[0].summary
        == "Contoso Electronics Employee Handbook"
    )


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.lists(st.text(max_size=400), min_size=1, max_size=4))
def test_quotes_from_any_text_are_on_its_page(texts: list[str]) -> None:
    check_quotes(texts)


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


@settings(max_examples=300, deadline=None)
@given(st.lists(FRAGMENTS, max_size=60).map(" ".join))
def test_quotes_from_any_mixture_of_patterns_are_on_their_page(text: str) -> None:
    check_quotes([text])


def check_quotes(texts: list[str]) -> None:
    for text, analysis in zip(texts, analyse(*texts), strict=True):
        said = [each for each in sentences(analysis.summary) if any(map(str.isalnum, each))]
        quotes = [relation.evidence for relation in analysis.relations] + said
        assert all(quote in " ".join(text.split()) or locate(quote, text) for quote in quotes)
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
    extractor = Extractor(memory_bytes=2**30, processes=1)
    yield extractor
    await extractor.close()


async def pages_of(extractor: Extractor, name: str) -> list[Page]:
    return list((await extractor.extract(DOCUMENTS / name, name)).pages)


@pytest.mark.slow
@needs_shared
async def test_real_benefits_book_has_expected_analysis(extract: Extractor) -> None:
    pages = await pages_of(extract, "Northwind_Health_Plus_Benefits_Details.pdf")
    analyses = analyse_pages(pages)
    by_number = {analysis.page: analysis for analysis in analyses}
    assert ("Internal Review Officer", "abbreviated as", "IRO") in triples(by_number[88])
    assert "Once The IRO Decides" in anchors_of(by_number[88])
    assert "ambulance services" in by_number[20].topics
    assert by_number[3].summary.startswith("Northwind Health Plus is a comprehensive plan")


@pytest.mark.slow
@needs_shared
async def test_real_paper_has_anchors_and_abbreviations(extract: Extractor) -> None:
    analyses = analyse_pages(await pages_of(extract, "2023.acl-long.386.pdf"))
    assert anchors_of(analyses[0])["Figure 1"] == 2
    assert anchors_of(analyses[5])["Table 1"] == 6
    assert ("Program-Guided Fact-Checking", "abbreviated as", "PROGRAMFC") in triples(analyses[0])


@pytest.mark.slow
@needs_shared
async def test_real_pages_in_spanish_and_german_have_abbreviations_and_topics(extract: Extractor) -> None:
    spanish = analyse_pages(await pages_of(extract, "xquad-es-open-1.pdf"))[6]
    assert ("Asociación Polaca de Fútbol", "abbreviated as", "PZPN") in triples(spanish)
    german = analyse_pages(await pages_of(extract, "xquad-de-open-1.pdf"))[37]
    assert all(topic.split()[-1][0].isupper() for topic in german.topics)


@pytest.mark.slow
@needs_shared
async def test_quotes_from_real_documents_are_on_their_page(extract: Extractor) -> None:
    for name in sorted(path.name for path in DOCUMENTS.glob("*.pdf")):
        pages = await pages_of(extract, name)
        for page, analysis in zip(pages, analyse_pages(pages), strict=True):
            assert all(locate(relation.evidence, page.text) for relation in analysis.relations), (
                name,
                page.number,
            )
            assert analysis.summary or not page.text.strip()
            assert len(json.dumps(analysis.model_dump())) < 20_000


@pytest.mark.slow
@needs_shared
async def test_a_page_is_analysed_within_20_ms(extract: Extractor) -> None:
    pages = await pages_of(extract, "Northwind_Health_Plus_Benefits_Details.pdf")
    context = DocumentContext.of(pages)
    spent = []
    for page in pages:
        begun = time.process_time()
        analyse_page(page, context)
        spent.append(time.process_time() - begun)
    assert statistics.median(spent) < 0.02
