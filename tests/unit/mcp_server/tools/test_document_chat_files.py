"""document_chat with PDFs that the model reads itself: what is sent, what is checked, what is shown."""

import asyncio
import io
import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader

from devkit.doubles.openai_double import Failure, OpenAIDouble, Reply, serving
from devkit.fakes import WordCounter
from devkit.fakes_documents import DocumentSide, FakeExtractor, open_document_side
from mcp_server.bootstrap import read_prompt
from mcp_server.tools.call_options import DEFAULT_OPTIONS, CallOptions
from mcp_server.tools.document_chat import DocumentChat
from mcp_server.tools.document_context import PromptSources, Reader, ReadingLimits
from mcp_server.tools.registration import CallProgress
from orc_core.documents.ports import Attachment
from orc_core.documents.scope import Scope
from orc_core.errors import DependencyDown, NoReadableDocument
from orc_core.extraction.extractor import Extraction
from orc_core.grounding.models import WrittenMark
from orc_core.infra.settings import CoreSettings
from orc_core.llm.errors import ModelMisconfigured
from orc_core.llm.factory import build_chat_model
from orc_core.llm.provider import Provider, open_provider
from orc_core.llm.tokens import TokenCounter
from orc_core.mcp_contract import DocumentChatResult
from orc_core.models import Document, Page, Progress, Retrieval
from orc_core.storage.attachments import LocalProviderFiles, build_provider_files
from tests.unit.mcp_server.stand_ins import ANN, FakeLibrary, WordRetriever
from tests.unit.orc_core.extraction.samples import pdf

pytestmark = pytest.mark.slow

QUAY = "The quay opens at seven. The harbour master keeps the key."
CRANE = "The crane of berth 9 lifts 40 tons."
Chat = Callable[..., DocumentChat]


class PdfExtractor(FakeExtractor):
    """Reads PDFs for what they are, and everything else as text."""

    async def extract(
        self,
        source: Path,
        file_name: str,
        progress: Progress | None = None,
    ) -> Extraction:
        if not file_name.endswith(".pdf"):
            return await super().extract(source, file_name, progress)
        content = await asyncio.to_thread(source.read_bytes)
        texts = [page.extract_text() for page in PdfReader(io.BytesIO(content)).pages]
        pages = [Page(number=number, text=text) for number, text in enumerate(texts, 1)]
        return Extraction(pages=pages, media_type="application/pdf")


class Listener(CallProgress):
    """Keeps what a caller is shown while it waits."""

    def __init__(self) -> None:
        self.shown: list[str] = []
        self.begun = asyncio.Event()

    def working(self, done: int, total: int, message: str) -> None:
        """Not kept."""

    async def text(self, delta: str) -> None:
        self.shown.append(delta)
        self.begun.set()

    async def marks(self, marks: Sequence[WrittenMark]) -> None:
        """Not shown."""


@pytest.fixture
def double() -> OpenAIDouble:
    return OpenAIDouble()


@pytest.fixture
def base_url(double: OpenAIDouble) -> Iterator[str]:
    with serving(double) as url:
        yield url


@pytest.fixture
async def side(tmp_path: Path) -> AsyncIterator[DocumentSide]:
    async with open_document_side(tmp_path, PdfExtractor()) as opened:
        yield opened


by_both_apis = pytest.mark.parametrize("settings", ["chat completions", "responses"], indirect=True)


@pytest.fixture
def settings(base_url: str, tmp_path: Path, request: pytest.FixtureRequest) -> CoreSettings:
    """A provider that takes files, by the API that a test names."""
    return CoreSettings(
        data_dir=tmp_path,
        openai_base_url=base_url,
        responses_api=getattr(request, "param", "") == "responses",
        provider_files="files",
        model_retries=0,
    )


@pytest.fixture
async def provider(settings: CoreSettings) -> AsyncIterator[Provider]:
    opened = open_provider(settings)
    assert opened is not None
    yield opened
    await opened.aclose()


@pytest.fixture
def chat_by(side: DocumentSide, settings: CoreSettings, provider: Provider) -> Chat:
    """Makes the tool, with documents sent by `provider_files`."""

    def make(way: str = "files") -> DocumentChat:
        limits = ReadingLimits(whole=1000, unindexed=1000, passages=5)
        given = settings.model_copy(update={"provider_files": way})
        return DocumentChat(
            counter=WordCounter(),
            window=128_000,
            library=side.library,
            reader=Reader(side.library, WordRetriever(FakeLibrary()), limits),
            read_boxes=side.pages.boxes,
            files=build_provider_files(
                given, provider, catalog=side.catalog, blobs=side.blobs, clock=lambda: datetime.now(UTC)
            ),
            named=lambda _: build_chat_model(given, "writer", TokenCounter(), provider),
            prompt=read_prompt("document_chat"),
            wishes=read_prompt("wishes"),
        )

    return make


@pytest.fixture
def chat(chat_by: Chat) -> DocumentChat:
    return chat_by()


async def put(side: DocumentSide, name: str, content: bytes) -> None:
    source = side.folder / "source"
    source.write_bytes(content)
    await side.library.upload(ANN, name, source)


async def ask(
    side: DocumentSide,
    chat: DocumentChat,
    *names: str,
    listener: Listener | None = None,
    options: CallOptions = DEFAULT_OPTIONS,
) -> DocumentChatResult:
    """A question over these documents; streamed if there is a listener."""
    documents = await side.library.resolve(ANN, names)
    return await chat.answer(
        Scope.of_session(ANN, documents),
        "When does the quay open?",
        names,
        listener or Listener(),
        options=options,
    )


def sent(double: OpenAIDouble, number: int = -1) -> str:
    return json.dumps(double.requests[number].body)


def ways(result: DocumentChatResult) -> list[str | None]:
    return [file.sent_as for file in result.metadata.files]


@by_both_apis
@pytest.mark.parametrize("way", ["files", "base64", "text"])
@pytest.mark.parametrize("listens", [False, True], ids=["whole", "streamed"])
async def test_a_citation_is_checked_against_our_own_text_whatever_was_sent(
    way: str, listens: bool, side: DocumentSide, chat_by: Chat, double: OpenAIDouble
) -> None:
    await put(side, "a.pdf", pdf("Harbour rules.", QUAY))
    double.script.replies.append(Reply(text="The quay opens at seven [S2]. The quay opens at nine [S2]."))
    result = await ask(side, chat_by(way), "a.pdf", listener=Listener() if listens else None)
    assert [(c.page, c.verified) for c in result.citations] == [(2, True), (2, False)]
    assert 'nine [Page 2 of Document "a.pdf": nine is not there]' in result.answer
    assert result.metadata.mode == "inline"
    assert ways(result) == [{"files": "file"}.get(way, way)]
    assert (QUAY in sent(double)) == (way == "text")
    assert (f'"{result.files[0].file_id}"' in sent(double)) == (way == "files")


@pytest.mark.parametrize("listens", [False, True], ids=["whole", "streamed"])
async def test_an_answer_is_the_same_whether_it_is_streamed_or_not(
    listens: bool, side: DocumentSide, chat_by: Chat, double: OpenAIDouble
) -> None:
    await put(side, "a.txt", QUAY.encode())
    double.script.replies.append(Reply(text=" \n The quay opens at seven [S1]. \n "))
    listener = Listener()
    result = await ask(side, chat_by("text"), "a.txt", listener=listener if listens else None)
    assert result.answer == 'The quay opens at seven [Page 1 of Document "a.txt"].'
    assert "".join(listener.shown) == (result.answer if listens else "")


class Nothing(WordRetriever):
    """Finds nothing, as a search of documents that are gone."""

    async def search(self, query: str, document_ids: Sequence[str], top_k: int) -> Retrieval:
        return Retrieval()


class Removing(Reader):
    """Removes documents once it is decided that they are read."""

    def __init__(self, side: DocumentSide, *names: str, whole: int = 1000) -> None:
        limits = ReadingLimits(whole=whole, unindexed=whole, passages=5)
        super().__init__(side.library, Nothing(FakeLibrary()), limits)
        self._side, self._names = side, names

    async def read(self, *given: Any, **options: Any) -> PromptSources:
        for document in await self._side.library.resolve(ANN, self._names):
            await self._side.library.delete(ANN, document.document_id)
        return await super().read(*given, **options)


async def test_a_document_that_is_removed_meanwhile_is_reported(
    side: DocumentSide, chat_by: Chat, double: OpenAIDouble
) -> None:
    await put(side, "a.txt", QUAY.encode())
    await put(side, "b.txt", CRANE.encode())
    chat = replace(chat_by("text"), reader=Removing(side, "b.txt"))
    double.script.replies.append(Reply(text="The quay opens at seven [S1]."))
    result = await ask(side, chat, "a.txt", "b.txt")
    assert [(file.blob_name, file.status) for file in result.metadata.files] == [
        ("a.txt", "created"),
        ("b.txt", "failed"),
    ]
    assert result.metadata.files[1].reason == "it was removed while the question was being answered"
    assert [file.blob_name for file in result.files] == ["a.txt"]
    with pytest.raises(NoReadableDocument, match=r"a\.txt: it was removed while"):
        await ask(side, replace(chat, reader=Removing(side, "a.txt")), "a.txt")
    await put(side, "long.txt", QUAY.encode())
    with pytest.raises(NoReadableDocument, match=r"long\.txt: it was removed while"):
        await ask(side, replace(chat, reader=Removing(side, "long.txt", whole=0)), "long.txt")
    assert len(double.requests) == 1, "no model is asked without a source"


@by_both_apis
@pytest.mark.parametrize("said", [" \n ", "[S1]"])
@pytest.mark.parametrize("listens", [False, True], ids=["whole", "streamed"])
async def test_an_empty_answer_is_a_failure(
    said: str, listens: bool, side: DocumentSide, chat_by: Chat, double: OpenAIDouble
) -> None:
    await put(side, "a.txt", QUAY.encode())
    double.script.replies.append(Reply(text=said))
    with pytest.raises(DependencyDown, match="empty answer"):
        await ask(side, chat_by("text"), "a.txt", listener=Listener() if listens else None)


@by_both_apis
async def test_file_follows_the_label_that_numbers_its_pages(
    side: DocumentSide, chat: DocumentChat, double: OpenAIDouble
) -> None:
    await put(side, "a.pdf", pdf(CRANE, QUAY))
    await put(side, "b.txt", CRANE.encode())
    await put(side, 'c" sources="S1.pdf', pdf(CRANE, "", QUAY))
    result = await ask(side, chat, "a.pdf", "b.txt", 'c" sources="S1.pdf')
    parts = _parts(double)
    assert [part["type"] for part in parts] == ["text", "file", "text", "file", "text", "text"]
    assert parts[0]["text"] == '<file document="a.pdf" pages="1 to 2" sources="S1 to S2"/>'
    assert 'c&quot; sources=&quot;S1.pdf" pages="1 to 3" sources="S4 to S6"/>' in parts[2]["text"]
    assert f'<source id="S3" document="b.txt" page="1">\n{CRANE}' in parts[4]["text"]
    assert [part["file_id"] for part in parts if part["type"] == "file"] == [
        result.files[0].file_id,
        result.files[2].file_id,
    ]
    assert ways(result) == ["file", "text", "file"]
    assert result.metadata.reason.endswith('Sent by file id: a.pdf, c" sources="S1.pdf.')
    assert result.metadata.pages_read == 6


def _parts(double: OpenAIDouble) -> list[dict[str, str]]:
    """The parts of the documents, in the words of either API."""
    body = double.requests[-1].body
    content = (body.get("messages") or body["input"])[1]["content"]
    named = {"input_text": "text", "input_file": "file"}
    return [
        {**part, **part.get("file", {}), "type": named.get(part["type"], part["type"])} for part in content
    ]


async def test_a_page_whose_text_is_not_known_verifies_nothing(
    side: DocumentSide, chat: DocumentChat, double: OpenAIDouble
) -> None:
    await put(side, "a.pdf", pdf(QUAY, ""))
    double.script.replies.append(Reply(text="The quay opens at seven [S2]."))
    result = await ask(side, chat, "a.pdf")
    assert [(c.page, c.verified) for c in result.citations] == [(2, False)]
    assert result.citations[0].quote == ""
    assert result.answer == 'The quay opens at seven [Page 2 of Document "a.pdf"].'


@by_both_apis
@pytest.mark.parametrize("listens", [False, True], ids=["whole", "streamed"])
async def test_a_lost_file_is_sent_again_unseen(
    listens: bool, side: DocumentSide, chat: DocumentChat, double: OpenAIDouble
) -> None:
    await put(side, "a.pdf", pdf(QUAY))
    await put(side, "b.pdf", pdf(CRANE))
    first = await ask(side, chat, "a.pdf", "b.pdf")
    del double.files.files[first.files[0].file_id]
    listener = Listener() if listens else None
    second = await ask(side, chat, "a.pdf", "b.pdf", listener=listener)
    assert double.files.uploads == 3
    assert [file.status for file in second.metadata.files] == ["created", "reused"]
    assert second.answer == first.answer
    assert second.metadata.usage.model_calls == 2
    if listener:
        assert "".join(listener.shown) == second.answer


async def test_only_one_repetition_is_made(
    side: DocumentSide, chat: DocumentChat, double: OpenAIDouble
) -> None:
    await put(side, "a.pdf", pdf(QUAY))
    double.script.failures.extend([Failure(status=404)] * 3)
    with pytest.raises(ModelMisconfigured):
        await ask(side, chat, "a.pdf")
    assert len(double.requests) == 2


@by_both_apis
async def test_no_retry_after_text_was_sent(
    side: DocumentSide, chat: DocumentChat, double: OpenAIDouble
) -> None:
    await put(side, "a.pdf", pdf(QUAY))
    double.script.failures.append(Failure(after_tokens=2, code="context_length_exceeded"))
    listener = Listener()
    with pytest.raises(Exception, match="more text than the model"):
        await ask(side, chat, "a.pdf", listener=listener)
    assert listener.shown
    assert len(double.requests) == 1


async def test_an_outage_has_nothing_to_do_with_files(
    side: DocumentSide, chat: DocumentChat, double: OpenAIDouble
) -> None:
    await put(side, "a.pdf", pdf(QUAY))
    double.script.failures.append(Failure(status=503))
    with pytest.raises(DependencyDown):
        await ask(side, chat, "a.pdf")
    assert len(double.requests) == 1
    assert "retrieve" not in double.files.log


@by_both_apis
async def test_files_that_are_too_much_go_as_text(
    side: DocumentSide, chat: DocumentChat, double: OpenAIDouble
) -> None:
    await put(side, "a.pdf", pdf(QUAY))
    double.script.failures.append(Failure(status=400, code="context_length_exceeded"))
    result = await ask(side, chat, "a.pdf")
    assert ways(result) == ["text"]
    assert "Sent as text: a.pdf. This is more text than" in result.metadata.reason
    assert QUAY in sent(double)
    assert result.citations[0].verified


@by_both_apis
async def test_a_model_that_reads_no_files_gets_text_from_then_on(
    side: DocumentSide, chat: DocumentChat, double: OpenAIDouble
) -> None:
    double.script.reads_files = False
    await put(side, "a.pdf", pdf(QUAY))
    for calls in (2, 3):
        result = await ask(side, chat, "a.pdf")
        assert ways(result) == ["text"]
        assert "The model reads no files" in result.metadata.reason
        assert result.citations[0].verified
        assert len(double.requests) == calls


async def test_without_a_files_api_the_file_goes_along(
    side: DocumentSide, chat: DocumentChat, double: OpenAIDouble
) -> None:
    double.files.refuse = 404
    await put(side, "a.pdf", pdf(QUAY))
    result = await ask(side, chat, "a.pdf")
    assert ways(result) == ["base64"]
    assert "stores no files" in result.metadata.reason
    assert result.citations[0].verified
    again = await ask(side, chat, "a.pdf")
    assert [file.status for file in again.metadata.files] == ["reused"]


async def test_only_a_reference_that_the_call_created_is_called_created(
    side: DocumentSide, chat: DocumentChat, double: OpenAIDouble
) -> None:
    """Also if another set of documents is named, and if the files then go as text after all."""
    await put(side, "a.pdf", pdf(QUAY))
    await put(side, "b.pdf", pdf(CRANE))
    first = await ask(side, chat, "a.pdf")
    double.script.failures.append(Failure(status=400, code="context_length_exceeded"))
    second = await ask(side, chat, "a.pdf", "b.pdf")
    third = await ask(side, chat, "b.pdf")
    statuses = [[file.status for file in each.metadata.files] for each in (first, second, third)]
    assert statuses == [["created"], ["reused", "created"], ["reused"]]


class LateReferences(LocalProviderFiles):
    """Makes no reference before the caller is shown text."""

    def __init__(self, side: DocumentSide, listener: Listener) -> None:
        super().__init__(side.catalog, ttl_seconds=60, clock=lambda: datetime.now(UTC))
        self._listener = listener

    async def ensure(self, document: Document) -> Attachment:
        await self._listener.begun.wait()
        return await super().ensure(document)


async def test_text_does_not_wait_for_references_to_searched_documents(
    side: DocumentSide, chat: DocumentChat
) -> None:
    await put(side, "a.txt", QUAY.encode())
    library, listener = FakeLibrary(), Listener()
    library.add("a.txt", QUAY)
    reader = Reader(side.library, WordRetriever(library), ReadingLimits(whole=1, unindexed=1))
    chat = replace(chat, files=LateReferences(side, listener), reader=reader)
    async with asyncio.timeout(10):
        result = await ask(side, chat, "a.txt", listener=listener)
    assert [(file.status, file.sent_as) for file in result.metadata.files] == [("created", "text")]
    assert [file.blob_name for file in result.files] == ["a.txt"]


@by_both_apis
@pytest.mark.parametrize("listens", [False, True], ids=["whole", "streamed"])
async def test_an_answer_that_reaches_its_cap_is_kept_and_said_to_be_cut(
    listens: bool, side: DocumentSide, chat_by: Chat, double: OpenAIDouble
) -> None:
    await put(side, "a.pdf", pdf(QUAY))
    double.script.replies.append(Reply(text="The quay opens at seven [S1].", finish_reason="length"))
    listener = Listener() if listens else None
    result = await ask(side, chat_by("text"), "a.pdf", listener=listener, options=CallOptions(max_tokens=9))
    assert result.answer.startswith("The quay opens at seven")
    assert not result.metadata.grounding.grounded
    assert "The answer was cut at its limit of 9 tokens." in result.metadata.grounding.issues
    asked = double.requests[-1].body
    assert 9 in (asked.get("max_completion_tokens"), asked.get("max_output_tokens"))
