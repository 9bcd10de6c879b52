"""documents_analyze: an answer from all pages, within the calls allowed, honest about what was not read."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence

import pytest

from devkit.doubles.openai_double import ChatRequest, OpenAIDouble, Reply, Script, serving
from mcp_server.tools.documents_analyze import AT_ONCE, DocumentsAnalyze, Limits
from mcp_server.tools.parts import BestMatches, NoteTaker, PartReader
from orc_core.errors import DependencyDown, NoReadableDocument
from orc_core.grounding.citations import marker
from orc_core.grounding.closest import NOT_FOUND_ANSWER
from orc_core.grounding.sources import Source
from orc_core.infra.settings import CoreSettings
from orc_core.llm.chat_model import CallBudget, ChatModel
from orc_core.llm.factory import build_chat_model
from orc_core.llm.provider import open_provider
from orc_core.llm.tokens import TokenCounter
from orc_core.models import Document, DocumentStatus
from orc_core.offline.model import OfflineModel
from tests.unit.mcp_server.stand_ins import FakeLibrary, WordRetriever, scope_of, unheard

FILLER = "Nothing of note happened in the harbour on that day, and the gulls were quiet as always. " * 12
FACTS = {
    3: "The quay was repaired in 1903.",
    21: "The quay was lengthened in 1921.",
    38: "The quay burnt in 1938.",
}
QUESTION = "When was the quay repaired, lengthened or burnt?"


@pytest.fixture
def document(library: FakeLibrary) -> Document:
    """Forty pages, three of which say something."""
    return library.add("log.pdf", *(f"{FILLER}\n\n{FACTS.get(n, '')}" for n in range(1, 41)))


async def no_boxes(document_id: str, page: int) -> bytes:
    """Where words stand on a page is not known here."""
    return b""


class KeepsEverything:
    """Finds every source relevant, at no cost."""

    async def relevant(self, question: str, sources: Sequence[Source], budget: CallBudget) -> set[int]:
        return {source.number for source in sources}


def analyst(
    library: FakeLibrary, model: ChatModel, reader: PartReader | None = None, **limits: int
) -> DocumentsAnalyze:
    chosen = {"model_calls": 20, "part_tokens": 1000, "largest_part_tokens": 2000, **limits}
    return DocumentsAnalyze(
        library=library,
        retriever=WordRetriever(library),
        reader=reader or (BestMatches() if model.name == "extractive" else NoteTaker(model, "Note.")),
        model=model,
        prompt="Answer.",
        counter=TokenCounter(),
        read_boxes=no_boxes,
        limits=Limits.model_validate(chosen),
    )


@pytest.fixture
def offline() -> ChatModel:
    counter = TokenCounter()
    return ChatModel(OfflineModel(counter=counter), counter, name="extractive")


@pytest.fixture
def double() -> Iterator[tuple[OpenAIDouble, str]]:
    double = OpenAIDouble()
    with serving(double) as url:
        yield double, url


@pytest.fixture
async def writer(double: tuple[OpenAIDouble, str]) -> AsyncIterator[ChatModel]:
    """A provider's model, played by the double."""
    settings = CoreSettings(openai_base_url=double[1], model_retries=0)
    provider = open_provider(settings)
    yield build_chat_model(settings, "writer", TokenCounter(), provider)
    assert provider is not None
    await provider.aclose()


def cite_facts(asked: ChatRequest) -> Reply:
    """An obliging model: every source with the word quay, in its last sentence, with its marker."""
    telling = [source for source in asked.sources if "quay" in source.text]
    lines = [f"{source.text.splitlines()[-1]} {marker(source.number)}" for source in telling]
    return Reply(text="\n".join(lines) or NOT_FOUND_ANSWER)


@pytest.mark.slow
async def test_the_offline_model_answers_from_all_over_a_long_document(
    library: FakeLibrary, document: Document, offline: ChatModel
) -> None:
    steps: list[tuple[int, int, str]] = []
    found = await analyst(library, offline).answer(
        scope_of(document), document.document_id, QUESTION, lambda *step: steps.append(step)
    )
    assert {citation.page for citation in found.citations} == set(FACTS)
    assert all(citation.verified for citation in found.citations)
    assert found.metadata.grounding.grounded
    shown = found.metadata
    assert (shown.pages, shown.pages_read, shown.pages_failed, shown.truncated) == (40, 40, [], False)
    assert shown.chunks > 1
    assert shown.usage.model_calls == 1, "the offline model answers; parts are read without it"
    first = [(done, parts) for done, parts, what in steps if what.startswith("Reading")]
    assert first == [(number, shown.chunks) for number in range(1, shown.chunks + 1)]


async def test_the_cited_passages_come_with_the_answer(
    library: FakeLibrary, document: Document, offline: ChatModel
) -> None:
    found = await analyst(library, offline).answer(
        scope_of(document), document.document_id, QUESTION, unheard
    )
    assert [passage.page for passage in found.passages] == sorted(FACTS)
    for passage in found.passages:
        page = library.pages[document.document_id][passage.page - 1]
        assert page.text[passage.start : passage.end] == passage.text
        assert FACTS[passage.page] in passage.text


async def test_a_short_document_is_read_in_one_call(library: FakeLibrary, offline: ChatModel) -> None:
    document = library.add("short.pdf", *FACTS.values(), status=DocumentStatus.UPLOADED, readable=False)
    found = await analyst(library, offline).answer(
        scope_of(document), document.document_id, QUESTION, unheard
    )
    assert (found.metadata.usage.model_calls, found.metadata.chunks) == (1, 1)
    assert len(found.citations) == 3


async def test_condensing_ends_if_nothing_is_left_out(
    library: FakeLibrary, document: Document, offline: ChatModel
) -> None:
    analyze = analyst(library, offline, KeepsEverything(), model_calls=1000)
    async with asyncio.timeout(20):
        found = await analyze.answer(scope_of(document), document.document_id, QUESTION, unheard)
    assert found.metadata.truncated


async def test_answer_that_no_part_contains_is_not_found(
    library: FakeLibrary, document: Document, offline: ChatModel
) -> None:
    found = await analyst(library, offline).answer(
        scope_of(document), document.document_id, "Who invented the telescope?", unheard
    )
    assert found.answer == NOT_FOUND_ANSWER.removesuffix(" [none]")
    assert found.metadata.grounding.not_found
    assert (found.citations, found.passages) == ([], [])


async def test_document_beyond_the_call_limit_is_read_in_part(
    library: FakeLibrary, document: Document, offline: ChatModel
) -> None:
    tool = analyst(library, offline, model_calls=4)
    found = await tool.answer(scope_of(document), document.document_id, QUESTION, unheard)
    shown = found.metadata
    assert shown.usage.model_calls <= 4
    assert shown.truncated
    assert shown.pages_read < shown.pages
    assert f"{shown.pages_read} of 40" in shown.reason
    assert {citation.page for citation in found.citations} == set(FACTS), "the best matches go first"


async def test_only_what_was_cited_goes_on_to_the_answer(
    library: FakeLibrary, document: Document, double: tuple[OpenAIDouble, str], writer: ChatModel
) -> None:
    double[0].responder = cite_facts
    found = await analyst(library, writer).answer(scope_of(document), document.document_id, QUESTION, unheard)
    *parts, last = [ChatRequest(body=request.body) for request in double[0].requests]
    assert len(parts) == found.metadata.chunks
    assert [source.page for source in last.sources] == sorted(FACTS)
    numbers = [source.number for asked in parts for source in asked.sources]
    assert len(numbers) == len(set(numbers)), "a source keeps its number through all calls"
    assert found.metadata.grounding.grounded


@pytest.mark.slow
async def test_no_more_parts_are_read_at_once_than_allowed(
    library: FakeLibrary, document: Document, double: tuple[OpenAIDouble, str], writer: ChatModel
) -> None:
    double[0].script = Script(delay_ms=40)
    most = 0

    def count(asked: ChatRequest) -> Reply:
        nonlocal most
        most = max(most, sum(not request.finished for request in double[0].requests))
        return cite_facts(asked)

    double[0].responder = count
    await analyst(library, writer).answer(scope_of(document), document.document_id, QUESTION, unheard)
    assert 1 < most <= AT_ONCE


async def test_a_model_that_cites_everything_still_comes_to_an_end(
    library: FakeLibrary, document: Document, double: tuple[OpenAIDouble, str], writer: ChatModel
) -> None:
    def cite_all(asked: ChatRequest) -> Reply:
        return Reply(text=" ".join(f"Gulls were quiet. {marker(s.number)}" for s in asked.sources))

    double[0].responder = cite_all
    found = await analyst(library, writer).answer(scope_of(document), document.document_id, QUESTION, unheard)
    assert found.metadata.usage.model_calls <= 20
    assert found.metadata.truncated


async def test_failed_part_is_reported(
    library: FakeLibrary, document: Document, double: tuple[OpenAIDouble, str], writer: ChatModel
) -> None:
    def fail_on_some(asked: ChatRequest) -> Reply:
        refused = any(source.page == 21 for source in asked.sources)
        return Reply(text="", finish_reason="content_filter") if refused else cite_facts(asked)

    double[0].responder = fail_on_some
    found = await analyst(library, writer).answer(scope_of(document), document.document_id, QUESTION, unheard)
    shown = found.metadata
    assert 21 in shown.pages_failed
    assert shown.pages_read == 40 - len(shown.pages_failed)
    assert "content filter" in shown.failures[0]
    assert f"{len(shown.pages_failed)} pages could not be read" in shown.reason
    assert {citation.page for citation in found.citations} == {3, 38}


async def test_a_model_that_reads_no_part_at_all_is_an_error(
    library: FakeLibrary, document: Document, double: tuple[OpenAIDouble, str], writer: ChatModel
) -> None:
    double[0].responder = lambda asked: Reply(text="")
    with pytest.raises(DependencyDown):
        await analyst(library, writer).answer(scope_of(document), document.document_id, QUESTION, unheard)


async def test_a_number_that_is_not_there_is_named(
    library: FakeLibrary, double: tuple[OpenAIDouble, str], writer: ChatModel
) -> None:
    document = library.add("short.pdf", "The quay was repaired in 1903.")
    double[0].script = Script(text=f"The quay was repaired in 1904. {marker(1)}")
    found = await analyst(library, writer).answer(scope_of(document), document.document_id, QUESTION, unheard)
    assert "not there" in found.answer
    assert not found.citations[0].verified
    assert not found.metadata.grounding.grounded


@pytest.mark.parametrize("status", [DocumentStatus.FAILED, DocumentStatus.COMPLETED])
async def test_a_document_without_text_is_an_error(
    status: DocumentStatus, library: FakeLibrary, offline: ChatModel
) -> None:
    scan = library.add("scan.pdf", " ", status=status, readable=status is not DocumentStatus.FAILED)
    with pytest.raises(NoReadableDocument):
        await analyst(library, offline).answer(scope_of(scan), scan.document_id, QUESTION, unheard)
