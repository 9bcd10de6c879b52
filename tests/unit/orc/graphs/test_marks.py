"""Marks: each marker of an answer is the place of one citation, of the source that the model named."""

import random
from collections.abc import Sequence
from itertools import pairwise

import pytest

from orc.events import CitationMarked, Critique, Event, Reset, Token, whole_text
from orc.graphs.answer_stream import AnswerStream
from orc.turns.results import shown_citations
from orc_core.grounding.models import Citation
from orc_core.grounding.sources import Source

ANSWERS = 200
FACTS = ["days of leave", "berths for ships", "cranes at the quay", "metres of depth", "pilots on duty"]
NAMES = ['tide "north".pdf', "tide 'north'.pdf", "plan.pdf"]
"""The first two look the same in a marker."""
BETWEEN = [
    " ",
    "\n\n",
    " \U0001f6a2\U0001f9ed ",
    "\n- ",
    " e\u0301 ",
    " [12] ",
    ' [Page 9 of Document "x"] ',
    "  ",
]


def sentence(source: int, fact: int) -> str:
    return f"There are {source * 10 + fact} {FACTS[fact]}."


def numbered_sources() -> list[Source]:
    """Three pages of each file; every page states each fact with a separate number."""
    pages = [(name, page) for name in NAMES for page in (1, 2, 3)]
    texts = [" ".join(sentence(n, fact) for fact in range(len(FACTS))) for n in range(1, len(pages) + 1)]
    return [
        Source(number=n, document_id=name, blob_name=name, page=page, start=0, text=text, page_text=text)
        for n, ((name, page), text) in enumerate(zip(pages, texts, strict=True), 1)
    ]


SOURCES = numbered_sources()


class Said:
    """An answer as a model writes it, with the source and the fact of each of its markers, in order."""

    def __init__(self, choose: random.Random) -> None:
        self.markers: list[tuple[Source, int]] = []
        self.text = choose.choice(["", "", " \n", "\U0001f600 "])
        for _ in range(choose.randint(1, 8)):
            fact, source = choose.randrange(len(FACTS)), choose.choice(SOURCES[:5])
            cited = [source, *choose.sample(SOURCES, choose.choice([0, 0, 0, 1, 2]))]
            cited = list({each.number: each for each in cited}.values())
            self.text += sentence(source.number, fact)
            self.text += f" [{', '.join(f'S{each.number}' for each in cited)}]"
            self.markers += [(each, fact) for each in cited]
            if choose.random() < 0.1:
                self.text += " [S77]"
            self.text += choose.choice(BETWEEN)

    def pieces(self, choose: random.Random) -> list[str]:
        """The text in the pieces of a stream."""
        ends = sorted({0, len(self.text), *(choose.randrange(len(self.text)) for _ in range(12))})
        return [self.text[start:end] for start, end in pairwise(ends)]


async def answered(
    said: Said, choose: random.Random, sources: Sequence[Source] = SOURCES
) -> tuple[AnswerStream, list[Event]]:
    events: list[Event] = []
    stream = AnswerStream(events.append, sources, "")
    for piece in said.pieces(choose):
        stream.write(piece)
    stream.finish()
    return stream, events


def check_marks(answer: str, citations: Sequence[Citation], said: Said) -> None:
    """Every marker is a mark of the citation that the model meant, and nothing else is a mark."""
    marks = sorted((mark.start, mark.end, index) for index, c in enumerate(citations) for mark in c.marks)
    assert len(marks) == len(said.markers)
    for (start, end, index), (source, fact) in zip(marks, said.markers, strict=True):
        citation = citations[index]
        assert answer[start:end] == citation.marker
        assert answer[start:end].startswith(f"[{source.place}")
        assert (citation.document_id, citation.page) == (source.document_id, source.page)
        assert FACTS[fact] in citation.quote or citation.check != "quoted"


@pytest.mark.slow
async def test_every_marker_of_generated_answers_is_a_mark_of_its_citation() -> None:
    choose = random.Random(14)
    for _ in range(ANSWERS):
        said = Said(choose)
        stream, _ = await answered(said, choose)
        check_marks(stream.text, stream.writer.citations, said)


@pytest.mark.slow
async def test_markers_name_the_context_of_what_is_not_of_the_focus_and_of_nothing_else() -> None:
    """The first pages are of the session, the second ones of the focus, the third ones of another folder."""
    choose, folder = random.Random(14), {"context_type": "folder", "context_name": "Rail 2024"}
    origins = {1: {}, 2: {**folder, "focus": True}, 3: {**folder, "focus": False}}
    sources = [each.model_copy(update=origins[each.page]) for each in SOURCES]
    named = dict.fromkeys((1, 2, 3), 0)
    for _ in range(ANSWERS):
        said = Said(choose)
        stream, _ = await answered(said, choose, sources)
        marks = sorted((mark.start, mark.end) for each in stream.writer.citations for mark in each.marks)
        for (start, end), (source, _) in zip(marks, said.markers, strict=True):
            assert (' in folder "Rail 2024"' in stream.text[start:end]) == (source.page == 3)
            named[source.page] += 1
    assert min(named.values()) > ANSWERS / 5


@pytest.mark.slow
async def test_events_of_markers_come_when_their_text_was_shown_and_equal_the_marks() -> None:
    choose = random.Random(15)
    for _ in range(50):
        stream, events = await answered(Said(choose), choose)
        citations, shown = stream.writer.citations, ""
        for event in events:
            if isinstance(event, Token):
                shown += event.text
            elif isinstance(event, CitationMarked):
                assert shown[event.mark.start : event.mark.end].startswith("[Page ")
                assert len(shown) >= event.mark.end
                assert event.citation.marks == [event.mark]
                marks = citations[event.index].marks
                assert event.citation.model_copy(update={"marks": marks}) == citations[event.index]
        live = [event for event in events if isinstance(event, CitationMarked)]
        assert live == whole_text(stream.text, citations)[1:]


async def test_a_stopped_answer_keeps_the_citations_of_its_markers() -> None:
    choose = random.Random(16)
    stream, events = await answered(Said(choose), choose)
    withdrawn = [Token(text="No."), *whole_text("", stream.writer.citations)[1:], Reset(reason="Revised.")]
    assert shown_citations([*withdrawn, *events]) == stream.writer.citations


async def test_a_stopped_answer_keeps_what_a_judge_said_of_it() -> None:
    choose = random.Random(16)
    stream, events = await answered(Said(choose), choose)
    judged = [each.model_copy(update={"check": "supported"}) for each in stream.writer.citations]
    verdict = Critique(grounded=True, coverage=1, action="accept", citations=judged)
    assert shown_citations([*events, verdict]) == judged != stream.writer.citations
