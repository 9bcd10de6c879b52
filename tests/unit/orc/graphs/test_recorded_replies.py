"""Replies that models really wrote, and what their readers see of them.

recorded_replies/README.md says where they come from. Each is streamed through the product as it was written;
a reply that is served again needs no model, and takes a millisecond.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from orc.events import CitationMarked, Event, Token
from orc.graphs.answer_stream import AnswerStream
from orc.trial.outcomes import has_texts
from orc_core.grounding.models import Citation, Mark
from orc_core.grounding.sources import Source

FOLDER = Path(__file__).parent / "recorded_replies"
BY_HAND, STYLES = "large, by hand", "other styles, by hand"
DELTA = 12
"""Characters that arrive together."""
MOST_DIFFERING = 0.05
LEAST_LOCATED = 0.94

Line = Mapping[str, Any]


class Read(NamedTuple):
    """A reply as its reader sees it: a line of the file, the text, and each marker with its citation."""

    line: Line
    text: str
    marked: Sequence[tuple[Mark, Citation]]


def lines_of(name: str) -> list[Line]:
    return [json.loads(line) for line in (FOLDER / name).read_text("utf-8").splitlines()]


@cache
def pages() -> dict[tuple[str, int], str]:
    return {(each["document"], each["page"]): each["text"] for each in lines_of("pages.jsonl")}


def sources_of(line: Line) -> Iterator[Source]:
    for number, document, page, start, end in line["sources"]:
        text = pages()[document, page]
        yield Source(
            number=number,
            document_id=document,
            blob_name=document,
            page=page,
            start=start,
            text=text[start:end],
            page_text=text,
        )


@cache
def replies() -> list[Read]:
    return [read(line) for line in lines_of("replies.jsonl")]


def read(line: Line) -> Read:
    events: list[Event] = []
    stream = AnswerStream(events.append, list(sources_of(line)), line["question"])
    for at in range(0, len(line["reply"]), DELTA):
        stream.write(line["reply"][at : at + DELTA])
    stream.finish()
    marked = [(each.mark, each.citation) for each in events if isinstance(each, CitationMarked)]
    return Read(line, "".join(each.text for each in events if isinstance(each, Token)), marked)


class Labelled(NamedTuple):
    """A citation of a reply by hand: texts of the source that bear it out, and whether it is wrong."""

    citation: Citation
    facts: Sequence[str]
    is_wrong: bool


def by_hand() -> list[Labelled]:
    own = [each for each in replies() if each.line["model"] in (BY_HAND, STYLES)]
    return [
        Labelled(citation, facts, is_wrong)
        for each in own
        for (_, citation), facts, is_wrong in zip(
            each.marked,
            each.line["facts"],
            each.line.get("wrong") or [False] * len(each.line["facts"]),
            strict=True,
        )
    ]


@pytest.mark.slow
def test_every_citation_has_a_quote_that_is_on_its_page() -> None:
    cited = [citation for each in replies() for _, citation in each.marked]
    assert len(cited) > 100
    assert sum(not citation.quote for citation in cited) == 1  # "the largest of the three ships"
    for citation in cited:
        text = pages()[citation.blob_name, citation.page]
        assert text[citation.start : citation.end] == citation.quote


def test_marks_are_where_the_text_cites() -> None:
    for each in replies():
        for mark, citation in each.marked:
            assert each.text[mark.start : mark.end].startswith(f"[Page {citation.page} of Document ")


@pytest.mark.parametrize(("model", "least"), [(BY_HAND, 1.0)])
def test_the_format_is_kept_as_it_was_when_they_were_recorded(model: str, least: float) -> None:
    own = [each for each in replies() if each.line["model"] == model]
    written = sum(each.line["reply"].count("[S") for each in own)
    assert sum(len(each.marked) for each in own) >= least * written > 0


def test_hardly_any_right_citation_is_said_to_differ() -> None:
    checks = Counter(each.citation.check for each in by_hand() if not each.is_wrong)
    assert checks["differs"] + checks["unsupported"] <= MOST_DIFFERING * checks.total()


def test_citations_show_the_place_that_has_the_fact() -> None:
    located = [
        any(has_texts([fact], [each.citation.quote]) for fact in each.facts)
        for each in by_hand()
        if each.facts
    ]
    assert sum(located) >= LEAST_LOCATED * len(located)
    assert len(located) > 100


def test_no_wrong_sentence_is_said_to_be_in_the_words_of_its_page() -> None:
    wrong = [each.citation for each in by_hand() if each.is_wrong]
    assert len(wrong) > 20
    assert [each.quote for each in wrong if each.verified] == []
