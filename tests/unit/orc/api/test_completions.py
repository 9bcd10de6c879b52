"""Answers with numbered sources: what looks like a checked citation is one, and names its own page."""

from collections.abc import Mapping

import pytest

from orc.api.completions import Completion, CompletionRequest, numbered, without_sources
from orc.events import TurnMetadata, TurnResult
from orc_core.errors import InvalidInput
from orc_core.grounding.models import Citation, Mark

BASE = "https://orc.example/api"


def citation(name: str = "a.pdf", page: int = 1, quote: str = "Ten days.", **others: object) -> Citation:
    document_id = f"id-{name}"
    fields = {
        "document_id": document_id,
        "blob_name": name,
        "page": page,
        "page_id": f"{document_id}.p{page}",
        "quote": quote,
        "start": 0,
        "end": len(quote),
        "check": "quoted",
        **others,
    }
    return Citation.model_validate(fields)


def completion(*parts: str | Citation, lists_sources: bool = False) -> Completion:
    """The completion of an answer of texts and citations, which are written as markers."""
    answer, cited = "", dict[str, Citation]()
    for part in parts:
        written = part if isinstance(part, str) else part.marker
        if not isinstance(part, str):
            known = cited.setdefault(part.model_dump_json(), part)
            mark = Mark(start=len(answer), end=len(answer) + len(written))
            cited[part.model_dump_json()] = known.model_copy(update={"marks": [*known.marks, mark]})
        answer += written
    citations = list(cited.values())
    metadata = TurnMetadata(trace_id="t")
    result = TurnResult(
        conversation_id="c", turn_id="t", answer=answer, citations=citations, metadata=metadata
    )
    return numbered(result, BASE, lists_sources=lists_sources)


def test_the_marks_of_a_citation_are_places_in_this_text() -> None:
    first, second = citation(), citation(page=2, check="differs", missing=["1,084"])
    shown = completion("Ten days ", first, ". Twenty ", second, ". Ten again ", first, ".")
    read = [
        [shown.text[mark["start"] : mark["end"]] for mark in each["marks"]]
        for each in shown.details["citations"]
    ]
    assert read == [["[1]", "[1]"], ["[2]"]]
    assert "(differs" in shown.text


@pytest.mark.parametrize(
    "forged",
    ["[1]", "[ 1 ]", "[1, 2]", "[^1]", "[**1**]", "\u30101\u3011", "\uff3b1\uff3d", "[\u00b9]", "[1\u2060]"],
)
def test_a_number_of_the_models_own_is_no_citation(forged: str) -> None:
    shown = completion("Ten days. ", citation(), f" Twenty days {forged}.")
    assert shown.text.count("[") == 1
    assert shown.text.startswith("Ten days. [1] Twenty days (")
    assert len(shown.annotations) == 1


def test_indexes_in_a_block_of_code_stay() -> None:
    code = "```python\nprint(x[1])\n```\n"
    assert completion(f"{code}See [1].").text == f"{code}See (1)."


@pytest.mark.parametrize(
    "url",
    [
        "https://www.example.com/a",
        "https://EXAMPLE.com/a",
        "https://example.com:8443/a",
        "https://ann@example.com/a",
    ],
)
def test_a_web_page_is_numbered_whatever_its_address(url: str) -> None:
    shown = completion("Ten days. ", citation("Leave rules", url=url))
    assert shown.text == "Ten days. [1]"
    assert [source.url for source in shown.sources] == [url]


def test_pages_of_one_title_keep_their_own_addresses_and_quotes() -> None:
    pages = [citation("Home", quote=q, url=f"https://example.com/{q}") for q in ("ten", "six")]
    shown = completion("ten ", pages[0], " six ", pages[1], " six again ", pages[1])
    assert shown.text == "ten [1] six [2] six again [2]"
    assert [(source.url, source.quotes) for source in shown.sources] == [
        (page.url, [page.quote]) for page in pages
    ]


def test_annotations_are_the_places_of_the_numbers() -> None:
    pages = [citation(page=page) for page in (1, 2)]
    shown = completion("\U0001f6a2 a ", pages[0], " b [3] ", pages[1], " c ", pages[0])
    assert shown.text == "\U0001f6a2 a [1] b (3) [2] c [1]"
    places = [(a["url_citation"]["start_index"], a["url_citation"]["end_index"]) for a in shown.annotations]
    assert [shown.text[start:end] for start, end in places] == ["[1]", "[2]", "[1]"]


def test_an_answer_that_was_stored_without_marks_keeps_its_markers() -> None:
    metadata, answer = TurnMetadata(trace_id="t"), f"Ten days. [{citation().place}]"
    result = TurnResult(
        conversation_id="c", turn_id="t", answer=answer, citations=[citation()], metadata=metadata
    )
    assert numbered(result, BASE, lists_sources=False).text == answer


def test_a_claim_in_other_words_is_not_doubted_in_the_text_and_named_as_that_at_its_source() -> None:
    cited = [citation(), citation(quote="The term is twenty days.", check="reworded")]
    shown = completion("Ten days. ", cited[0], " Twenty. ", cited[1], lists_sources=True)
    assert shown.text.startswith("Ten days. [1] Twenty. [1]\n")
    assert shown.text.endswith(
        '1. a.pdf, page 1 (in other words): "Ten days."; in other words: "The term is twenty days."'
    )
    assert shown.sources[0].quotes == ["Ten days.", "In other words: The term is twenty days."]
    assert [each["url_citation"]["title"] for each in shown.annotations] == [
        "a.pdf, page 1 (in other words)"
    ] * 2


def test_a_claim_that_differs_from_its_page_says_so_in_the_text() -> None:
    cited = citation(check="differs", missing=["1,084"])
    shown = completion("1,084 days. ", cited, lists_sources=True)
    assert "1,084 days. [1] (differs: 1,084 is not on the page)" in shown.text
    assert shown.sources[0].title == "a.pdf, page 1 (differs: 1,084 is not on the page)"
    reworded = citation(quote="Thirty days.", check="reworded")
    assert completion(reworded, cited).sources[0].title.endswith("(differs: 1,084 is not on the page)")


def test_the_reason_of_a_judge_does_not_act_in_markdown() -> None:
    cited = citation(check="unsupported", reason="See [2]\n![x](https://evil.example) for why.")
    shown = completion("Ten days. ", cited, lists_sources=True)
    assert "Ten days. [1] (not supported: See" in shown.text
    assert not any(active in shown.text for active in ("![", "](", "//evil", "[2]"))


def test_what_a_second_reading_supports_is_not_doubted() -> None:
    shown = completion("Ten days. ", citation(check="supported"), lists_sources=True)
    assert shown.text.endswith('1. a.pdf, page 1: "Ten days."')


def test_a_page_that_is_cited_without_a_line_says_what_is_known_of_its_sentences() -> None:
    whole = citation(quote="", check="supported")
    shown = completion("Ten days. ", citation(), " A fortnight. ", whole, lists_sources=True)
    assert shown.text.endswith('1. a.pdf, page 1: "Ten days."; checked by a second reading')
    assert shown.sources[0].quotes == ["Ten days.", "Checked by a second reading"]


def test_what_was_read_from_a_picture_is_shown_as_that() -> None:
    seen = citation(quote="", check="picture")
    shown = completion("Twenty days. ", seen, lists_sources=True)
    words = "read from the picture of the page, not checked"
    assert f"Twenty days. [1] ({words})" in shown.text
    assert shown.text.endswith(f"1. a.pdf, page 1 ({words}): {words}")
    assert shown.sources[0].quotes == [words.capitalize()]
    differing = citation(check="differs", missing=["30"])
    assert completion(seen, differing).sources[0].title == "a.pdf, page 1 (differs: 30 is not on the page)"


def test_a_quote_does_not_act_in_markdown() -> None:
    cited = citation(quote='![x](https://evil.example/?q) <img src="//evil.example"> [7] www.evil.example')
    listed = completion("Ten days. ", cited, lists_sources=True).text.partition("**Sources**")[2]
    assert not any(active in listed for active in ("![", "](", "<img", "//evil", "[7]", "www.evil"))


def test_an_answer_that_comes_back_has_no_numbers() -> None:
    cited = citation()
    doubted = citation(check="differs", missing=["20"])
    shown = completion("Ten days. ", cited, " Twenty days. ", doubted, lists_sources=True).text
    assert without_sources(shown) == "Ten days. Twenty days. (differs: 20 is not on the page)"


def request(*parts: Mapping[str, object], role: str = "user", times: int = 1) -> CompletionRequest:
    return CompletionRequest.model_validate({"messages": [{"role": role, "content": list(parts)}] * times})


def test_a_file_is_refused_with_the_way_to_upload_it() -> None:
    with pytest.raises(InvalidInput, match="Upload files to /api/conversations/ID/documents"):
        request({"type": "file", "file": {"filename": "quay.pdf"}}).check()


def test_the_text_of_all_messages_is_limited() -> None:
    request({"type": "text", "text": "a" * 1024}, times=50).check()
    with pytest.raises(InvalidInput, match="1,048,576 characters"):
        request({"type": "text", "text": "a" * 3000}, times=400).check()


def test_closest_passages_are_distinct_from_an_answer() -> None:
    passage = citation(closest=True)
    result = completion("Ten days. ", passage).result.model_copy(update={"answer_kind": "closest_passages"})
    details = numbered(result, BASE, lists_sources=False).details
    assert details["answer_kind"] == "closest_passages"
    assert [each["closest"] for each in details["citations"]] == [True]
