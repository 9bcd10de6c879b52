"""The entries of an export: each citation with a number and what the check of it found."""

from datetime import UTC, datetime
from typing import Any

import pytest

from devkit.exported import TRANSCRIPT
from devkit.remembered_turns import BEGUN, answered, citation
from orc.contexts.withholding import withheld
from orc.conversations.models import Failure, Turn, TurnContext, TurnStatus
from orc.exports.transcript import NOTES, Transcript, numbered, numbers_of
from orc.exports.tree import mark, with_numbers
from orc.words import words_of
from orc_core.extraction.formats import Format
from orc_core.grounding.citations import CUT_NOTE, NO_SUCH_SOURCE, WITHOUT_SOURCE
from orc_core.grounding.models import Mark

PAGE_5 = '[Page 5 of Document "handbook.pdf"]'
PAGE_6 = '[Page 6 of Document "handbook.pdf", not verified]'
SAID = words_of("en").say
PAGE_7 = '[Page 7 of Document "handbook.pdf", not checked]'


def test_the_number_of_a_citation_is_in_the_place_of_its_markers() -> None:
    citations = [citation(5), citation(6, verified=False), citation(7, verified=False)]
    answer = f"One. {PAGE_5} Two. {PAGE_6} Three. {PAGE_7} Again. {PAGE_5}"
    assert with_numbers(numbered(answer, citations, [4, 5, 6])) == "One. [4] Two. [5] Three. [6] Again. [4]"


def test_marks_tell_citations_of_one_page_apart() -> None:
    first, second = [citation(6, verified=False).model_copy(update={"quote": quote}) for quote in "ab"]
    answer = f"😀 One. {PAGE_6} Two. {PAGE_6.replace('verified', 'checked')}{PAGE_5}"
    ends = [answer.index("]") + 1, answer.index("checked]") + len("checked]")]
    starts = [answer.index("["), answer.index("[", ends[0])]
    marks = [[Mark(start=start, end=end)] for start, end in zip(starts, ends, strict=True)]
    cited = [
        first.model_copy(update={"marks": marks[0]}),
        second.model_copy(update={"marks": marks[1]}),
        citation(5).model_copy(update={"marks": [Mark(start=ends[1], end=len(answer))]}),
    ]
    assert with_numbers(numbered(answer, cited, [7, 8, 9])) == "😀 One. [7] Two. [8][9]"
    same = [first.model_copy(update={"marks": marks[0]}), second.model_copy(update={"marks": marks[0]})]
    assert with_numbers(numbered(answer[: ends[0]] + ".", same, [7, 8])) == "😀 One. [7][8]."


def test_an_answer_cannot_imitate_a_mark() -> None:
    assert with_numbers(numbered(f"One {mark(3)}. {PAGE_5}", [citation(5)], [1])).count("[") == 1


def test_citations_of_one_page_without_marks_share_their_numbers() -> None:
    assert with_numbers(numbered(f"One. {PAGE_5}", [citation(5), citation(5)], [1, 2])) == "One. [1][2]"


def test_a_source_has_the_label_of_its_page() -> None:
    assert place_of(page_label="iv") == "page 5 (iv)"
    assert place_of(page_label="Fees", media_type=Format.PPTX.media_type) == "page 5 (Fees)"


def test_files_without_pages_have_sections_and_sheets() -> None:
    for form in (Format.CSV, Format.DOCX, Format.MARKDOWN, Format.XLSX):
        assert place_of(media_type=form.media_type) == "section 5"
        assert place_of(media_type=form.media_type, page_label="Budget") == "Budget"
    for form in (Format.PDF, Format.TIFF, Format.ODP):
        assert place_of(media_type=form.media_type) == "page 5"


def place_of(**fields: str) -> str:
    turn = answered(1, "How long?", f"Long. {PAGE_5}")
    assert turn.assistant
    answer = turn.assistant.model_copy(update={"citations": [citation(5).model_copy(update=fields)]})
    [source] = TRANSCRIPT.entry_of(turn.model_copy(update={"assistant": answer})).sources
    return source.place


def test_contexts_are_named_at_the_question_and_at_the_source() -> None:
    turn = answered(1, "How long?", f"Long. {PAGE_5}")
    assert turn.assistant
    names = {"context_type": "folder", "context_id": "c", "context_name": "Rail 2024"}
    cited = citation(5).model_copy(update=names)
    contexts = [
        TurnContext(type="folder", id="c", name="Rail 2024"),
        TurnContext(type="folder", id="d", name="Water", active=False),
        TurnContext(type="folder", id="e"),
    ]
    answer = turn.assistant.model_copy(update={"citations": [cited]})
    entry = TRANSCRIPT.entry_of(turn.model_copy(update={"assistant": answer, "contexts": contexts}))
    assert entry.documents == ['folder "Rail 2024"']
    assert entry.sources[0].place == 'page 5, in folder "Rail 2024"'


def test_a_replaced_turn_says_so() -> None:
    turn = answered(1, "How long?").model_copy(update={"replaced_by": "t-2"})
    assert noted(turn) == (turn_text(turn), SAID("export.replaced"))


def test_a_page_has_one_number_in_each_answer_as_on_the_web_page() -> None:
    cited = [citation(5), citation(6), citation(5)]
    assert numbers_of(cited) == [1, 2, 1]
    marks = [[Mark(start=start, end=start + 1)] for start in (1, 3, 5)]
    marked = [each.model_copy(update={"marks": mark}) for each, mark in zip(cited, marks, strict=True)]
    turn = answered(2, "How long?", f"Long. {PAGE_5}")
    assert turn.assistant
    message = turn.assistant.model_copy(update={"content": "a^b^c^", "citations": marked})
    entry = TRANSCRIPT.entry_of(turn.model_copy(update={"assistant": message}))
    assert with_numbers(entry.answer or "") == "a[1]b[2]c[1]"
    assert [(source.number, source.place, len(source.quotes)) for source in entry.sources] == [
        (1, "page 5", 2),
        (2, "page 6", 1),
    ]


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        ({}, "same words"),
        ({"check": "reworded"}, "in other words"),
        ({"check": "differs", "missing": ["1,084"]}, "differs: 1,084 is not on the page"),
        ({"closest": True}, "closest passage, not an answer"),
        ({"check": "reworded", "closest": True}, "closest passage, not an answer"),
    ],
)
def test_the_verdict_is_that_of_the_check_in_words(fields: dict[str, Any], verdict: str) -> None:
    turn = answered(1, "How long?", f"Long. {PAGE_5}")
    assert turn.assistant
    answer = turn.assistant.model_copy(update={"citations": [citation().model_copy(update=fields)]})
    [source] = TRANSCRIPT.entry_of(turn.model_copy(update={"assistant": answer})).sources
    assert source.quotes[0].verdict == verdict


def test_what_code_adds_to_an_answer_is_in_the_language_of_the_reader() -> None:
    turn = answered(1, "How long?", f"Long. {NO_SUCH_SOURCE} {WITHOUT_SOURCE}{CUT_NOTE}")
    answer = Transcript(words_of("de")).entry_of(turn).answer
    assert answer
    assert [each for each in NOTES if each in answer] == []
    assert answer.count("[") == 3
    assert "[keine Quelle, nicht geprüft]" in answer
    hidden = Transcript(words_of("de")).entry_of(withheld(turn)).answer
    assert hidden and hidden.startswith("[zurückgehalten: ")


def test_turns_without_an_answer_say_why() -> None:
    turn = answered(1, "How long?")
    without = {"assistant": None, "status": TurnStatus.FAILED}
    failed = turn.model_copy(update={**without, "failure": Failure(code="unavailable", message="No model.")})
    stopped = turn.model_copy(update={"status": TurnStatus.STOPPED})
    assert noted(stopped) == (turn_text(turn), SAID("export.stopped"))
    pending = turn.model_copy(update={"assistant": None, "status": TurnStatus.PENDING})
    assert [noted(failed), noted(pending), noted(turn)] == [
        (None, SAID("export.failed")),
        (None, SAID("export.pending")),
        (turn_text(turn), ""),
    ]


def noted(turn: Turn) -> tuple[str | None, str]:
    entry = TRANSCRIPT.entry_of(turn)
    return entry.answer, entry.note


def turn_text(turn: Turn) -> str:
    assert turn.assistant
    return turn.assistant.content


@pytest.mark.parametrize(
    ("language", "zone", "asked_at"),
    [
        ("en", "UTC", "Jan 9, 2025, 00:30 UTC"),
        ("en", "Asia/Tokyo", "Jan 9, 2025, 09:30"),
        ("de", "Europe/Berlin", "09.01.2025, 01:30"),
        ("fr", "Europe/Paris", "09/01/2025 01:30"),
        ("en", "../etc/passwd", "Jan 9, 2025, 00:30 UTC"),
        ("de", "Nowhere", "09.01.2025, 00:30 UTC"),
    ],
)
def test_times_are_those_of_the_reader_as_the_language_writes_them(
    language: str, zone: str, asked_at: str
) -> None:
    turn = answered(1, "How long?").model_copy(
        update={"created_at": datetime.fromisoformat("2025-01-09T02:30+02:00")}
    )
    assert Transcript(words_of(language), zone).entry_of(turn).asked_at == asked_at
    assert BEGUN.tzinfo is UTC
