"""What of the documents goes to a model with a small window, and what is shown of the rest."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from devkit.fakes import WordCounter
from mcp_server.bootstrap import open_app
from mcp_server.settings import Settings
from mcp_server.tools.document_context import (
    AROUND_A_SOURCE,
    INSTRUCTIONS,
    OPENING_PAGES,
    PromptSources,
    Reader,
    ReadingLimits,
    fit_to_window,
    plan_reading,
    tokens_for_text,
)
from orc_core.bootstrap import open_documents
from orc_core.documents.scope import Scope
from orc_core.grounding.sources import Source
from orc_core.llm.model_catalog import REPLY
from orc_core.models import DocumentStatus, Retrieval, RetrievalStep
from orc_core.search.whole_scope import NAMED
from tests.unit.mcp_server.stand_ins import ANN, FakeLibrary, WordRetriever
from tests.unit.mcp_server.tools.test_document_chat_files import Listener

pytestmark = pytest.mark.slow

QUESTION = "When does the quay open?"
AROUND = INSTRUCTIONS + REPLY + 5


def reading_of(*words: int) -> PromptSources:
    """A document with a page of so many words for each number, read whole."""
    texts = ["word " * number for number in words]
    sources = [
        Source(number=n, document_id="d", blob_name="a.txt", page=n, start=0, text=text, page_text=text)
        for n, text in enumerate(texts, 1)
    ]
    return PromptSources(mode="inline", reason="It fits.", sources=sources, pages=len(sources))


def test_what_does_not_fit_is_left_out_and_counted() -> None:
    window = AROUND + 2 * (100 + AROUND_A_SOURCE)
    reading = fit_to_window(reading_of(100, 100, 100, 100), QUESTION, window, WordCounter(), None)
    assert [source.page for source in reading.sources] == [1, 2]
    assert (reading.pages, reading.left_out) == (2, 2)
    assert "2 of 4 sources were left out or cut" in reading.reason


def test_beginning_of_a_first_page_that_does_not_fit_is_read() -> None:
    window = AROUND + AROUND_A_SOURCE + 100
    reading = fit_to_window(reading_of(1000, 10), QUESTION, window, WordCounter(), None)
    [source] = reading.sources
    assert 80 <= len(source.text.split()) <= 100
    assert len(source.page_text.split()) == 1000
    assert (reading.pages, reading.left_out) == (1, 2)


def test_what_fits_is_left_alone_whatever_the_window() -> None:
    found = reading_of(100, 100)
    for window in (AROUND + 2 * (100 + AROUND_A_SOURCE), 10**6):
        assert fit_to_window(found, QUESTION, window, WordCounter(), None) is found


def test_a_large_window_takes_no_more_than_it_takes() -> None:
    reading = fit_to_window(reading_of(40_000, 40_000), QUESTION, 66_000, WordCounter(), None, 2_000)
    assert reading.reason.endswith("the model takes 66000 tokens.")
    assert reading == fit_to_window(
        reading_of(40_000, 40_000), QUESTION, 64_000, WordCounter(), None
    ).model_copy(update={"reason": reading.reason})
    assert reading.left_out == 1


class NamesParts(WordRetriever):
    """Finds passages of parts that the question names."""

    async def search(self, query: str, document_ids: Sequence[str], top_k: int) -> Retrieval:
        found = await super().search(query, document_ids, top_k)
        named = RetrievalStep(method="lexical", threshold=1.0, hits=1, note=NAMED)
        return found.model_copy(update={"steps": [named]})


async def read_long(
    question: str, retriever: Callable[[FakeLibrary], WordRetriever] = WordRetriever
) -> PromptSources:
    """What is read of a document of 40 pages that is too long to be read whole."""
    library = FakeLibrary()
    pages = [f"Chapter {n}. What is this document about pump {n}?" for n in range(2, 41)]
    document = library.add("guide.pdf", "The quays of Wexley", *pages).model_copy(update={"tokens": 9000})
    limits = ReadingLimits(whole=1000, unindexed=1000, passages=4)
    plan = plan_reading([document], limits)
    return await Reader(library, retriever(library), limits).read(question, plan)


async def test_for_a_part_that_the_question_names_no_opening_pages_are_read() -> None:
    reading = await read_long("What is this document about?", NamesParts)
    assert len(reading.sources) == 4
    assert "opening pages" not in reading.reason


async def test_for_a_question_about_the_whole_the_opening_pages_come_before_what_a_search_finds() -> None:
    reading = await read_long("What is this document about?")
    opening = list(range(1, OPENING_PAGES + 1))
    assert [source.page for source in reading.sources][:OPENING_PAGES] == opening
    assert [source.number for source in reading.sources] == list(range(1, len(reading.sources) + 1))
    assert reading.reason.endswith(
        "The question names nothing to search for, so the opening pages were read."
    )


@pytest.mark.parametrize(("documents", "pages"), [(2, 10), (4, 12), (7, 7), (40, 12)])
async def test_the_opening_pages_of_many_documents_do_not_displace_what_a_search_finds(
    documents: int, pages: int
) -> None:
    library = FakeLibrary()
    texts = [*["An opening."] * 9, "A summary of the pump."]
    contracts = [library.add(f"{number}.pdf", *texts) for number in range(documents)]
    limits = ReadingLimits(whole=1000, unindexed=1000, passages=2)
    plan = plan_reading([each.model_copy(update={"tokens": 9000}) for each in contracts], limits)
    question = "Give me a summary"
    sources = (await Reader(library, WordRetriever(library), limits).read(question, plan)).sources
    assert [source.page for source in sources[pages:]] == [10, 10]
    assert {source.page for source in sources[:pages]} == set(range(1, max(2, pages // documents + 1)))


@pytest.mark.parametrize(
    ("status", "tokens", "mode"),
    [
        (DocumentStatus.UPLOADED, 100, "inline"),
        (DocumentStatus.UPLOADED, 9000, "rag"),
        (DocumentStatus.COMPLETED, 9000, "rag"),
    ],
)
def test_only_what_is_read_whole_is_called_inline(status: DocumentStatus, tokens: int, mode: str) -> None:
    """A file that is not indexed and too long to read whole is read through for passages."""
    document = FakeLibrary().add("a.txt", "Text.").model_copy(update={"status": status, "tokens": tokens})
    assert plan_reading([document], ReadingLimits(whole=1000, unindexed=2000)).mode == mode


async def test_no_page_is_read_twice() -> None:
    pages = [source.page for source in (await read_long("Who wrote this document?")).sources]
    assert len(pages) == len(set(pages)) > 0


async def test_for_a_question_about_one_thing_only_passages_are_read() -> None:
    reading = await read_long("Where does pump 30 stand?")
    assert reading.sources[0].page == 30
    assert len(reading.sources) == 4
    assert "opening pages" not in reading.reason


async def test_a_document_that_a_small_window_does_not_take_is_searched(tmp_path: Path) -> None:
    filler = " ".join(
        f"Paragraph {n} tells of the maintenance of pump {n} in some detail." for n in range(300)
    )
    window = 6000
    settings = Settings(data_dir=tmp_path, context_window=window)
    async with open_documents(settings) as opened:
        source = tmp_path / "source.txt"
        source.write_text(f"{filler}\n\nThe quay opens at seven.")
        await opened.library.upload(ANN, "guide.txt", source)
        documents = await opened.library.resolve(ANN, ["guide.txt"])
    async with open_app(settings) as services:
        chat = services.document_chat
        scope = Scope.of_session(ANN, documents)
        found = await chat.answer(scope, QUESTION, ["guide.txt"], Listener())
    assert tokens_for_text(window) < documents[0].tokens <= settings.full_text_tokens
    assert "The quay opens at seven." in found.answer
    assert found.metadata.left_out == 0
