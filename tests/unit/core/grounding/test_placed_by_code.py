"""Code names the source of a sentence only if exactly one that was shown has its words."""

from collections.abc import Sequence

import pytest

from core.grounding import answer_checks
from core.grounding.citations import WITHOUT_SOURCE, CitationWriter
from core.grounding.models import Citation
from core.grounding.sources import Source

LEAVE = "Every full-time employee has 28 working days of annual leave. Unused leave lapses on 31 March."
DEVICES = "A lost device is reported to the duty desk within two hours. The duty desk wipes it from afar."
QUOTED = "Every full-time employee has 28 working days of annual leave."


def shown(*texts: str) -> list[Source]:
    return [
        Source(number=n, document_id="d", blob_name="a.pdf", page=n, start=0, text=text, page_text=text)
        for n, text in enumerate(texts, 1)
    ]


def written(reply: str, sources: Sequence[Source] = shown(LEAVE, DEVICES)) -> tuple[str, CitationWriter]:
    writer = CitationWriter(sources, "How much leave do I get?")
    pieces = [reply[at : at + 7] for at in range(0, len(reply), 7)]
    return "".join(map(writer.feed, pieces)) + writer.finish() + writer.label, writer


def places(citations: Sequence[Citation]) -> list[tuple[int, str, str]]:
    return [(each.page, each.check, each.placed_by) for each in citations]


@pytest.mark.parametrize("marked", ["", "\n", " [S7]", " [S2]", " [S2][S7]", "\n\n[S7]"])
def test_a_sentence_without_its_source_gets_the_one_that_has_its_words(marked: str) -> None:
    text, writer = written(f"{QUOTED}{marked}")
    assert text.split() == f'{QUOTED} [Page 1 of Document "a.pdf"]'.split()
    assert places(writer.citations) == [(1, "quoted", "code")]
    [citation] = writer.citations
    [mark] = citation.marks
    assert text[mark.start : mark.end] == '[Page 1 of Document "a.pdf"]'
    assert (writer.grounding.grounded, writer.grounding.objections) == (True, [])
    assert [each.citation.placed_by for each in writer.take_marks()] == ["code"]


def test_each_sentence_of_a_paragraph_has_its_own_source() -> None:
    _, writer = written(f"{QUOTED} The duty desk wipes it from afar.")
    assert places(writer.citations) == [(1, "quoted", "code"), (2, "quoted", "code")]


def test_a_source_that_the_answer_names_stays_its_own() -> None:
    _, writer = written(f"{QUOTED} [S1] You have 28 days. [S1]")
    assert places(writer.citations) == [(1, "quoted", "answer"), (1, "reworded", "answer")]


@pytest.mark.parametrize(
    "reply",
    [
        "You have 28 days of leave a year.",
        "Every full-time employee has 30 working days of annual leave.",
        "Every full-time employee does not have 28 working days of annual leave.",
        f"{QUOTED} They are paid twice.",
        f"Not covered:\n- {QUOTED}",
        f"| {QUOTED} |\n| --- |\n| x |",
    ],
)
def test_what_is_not_in_the_words_of_one_source_gets_none(reply: str) -> None:
    text, writer = written(reply)
    assert writer.citations == []
    assert text.endswith(WITHOUT_SOURCE)


def test_a_block_of_code_that_is_not_closed_gets_none() -> None:
    assert written(f"```\n{QUOTED}")[1].citations == []


def test_a_page_without_text_may_be_the_source_that_the_answer_says() -> None:
    _, writer = written(f"{QUOTED} [S3]", shown(LEAVE, DEVICES, " "))
    assert [(each.page, each.placed_by) for each in writer.citations] == [(3, "answer")]


def test_words_that_two_sources_have_are_no_place() -> None:
    _, writer = written(QUOTED, shown(LEAVE, DEVICES, LEAVE))
    assert writer.citations == []


@pytest.mark.parametrize("status", ["none", "talk"])
def test_what_needs_no_source_gets_none(status: str) -> None:
    _, writer = written(f"The duty desk wipes it from afar. [{status}]")
    assert writer.citations == []


def test_many_pages_are_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_checks, "MOST_SEARCHED", len(LEAVE))
    assert written(QUOTED)[1].citations == []
