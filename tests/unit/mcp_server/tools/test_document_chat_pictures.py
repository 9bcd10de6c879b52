"""document_chat with pictures of pages: which are sent, what is cited, and what happens if there are none."""

import io
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage
from PIL import Image

from devkit.fakes import ScriptedModel, WordCounter, scripted
from devkit.fakes_documents import DocumentSide, open_document_side
from mcp_server.bootstrap import read_prompt
from mcp_server.tools.call_options import CallOptions
from mcp_server.tools.document_chat import DocumentChat
from mcp_server.tools.document_context import Reader, ReadingLimits
from mcp_server.tools.page_images import DocumentImages
from orc_core.documents.image_limits import ImageCounts, ImageLimits
from orc_core.documents.scope import Scope
from orc_core.errors import InvalidInput, NoReadableDocument, UnsupportedDocument
from orc_core.infra.model_settings import ModelFacts
from orc_core.infra.settings import CoreSettings
from orc_core.llm.model_catalog import ModelCatalogue
from orc_core.mcp_contract import DocumentChatResult
from orc_core.models import Document
from orc_core.storage.attachments import build_provider_files
from tests.unit.mcp_server.stand_ins import ANN, FakeLibrary, WordRetriever
from tests.unit.mcp_server.tools.test_document_chat_files import Listener

pytestmark = pytest.mark.slow

QUAY = "The quay opens at seven."
LIMITS = ImageLimits(most=3, tokens=3000)


class Pictures:
    """Draws pages in a moment, unless it is `broken`."""

    def __init__(self) -> None:
        self.broken = False
        self.drawn: list[tuple[str, int]] = []

    async def get(self, document: Document, page: int, width: int) -> bytes:
        self.drawn.append((document.blob_name, page))
        if self.broken:
            raise UnsupportedDocument("There is no picture of this page.", code="no_picture")
        buffer = io.BytesIO()
        Image.new("RGB", (40, 50)).save(buffer, "WEBP")
        return buffer.getvalue()


class Desk:
    """The tool over some uploaded PDFs, and the model that it asks."""

    def __init__(self, side: DocumentSide, folder: Path) -> None:
        self.side, self.pictures = side, Pictures()
        self.says = f"{QUAY} [S1]"
        model, self.model = scripted(lambda _messages, _options: AIMessage(self.says))
        files = build_provider_files(
            CoreSettings(data_dir=folder),
            None,
            catalog=side.catalog,
            blobs=side.blobs,
            clock=lambda: datetime.now(UTC),
        )
        facts = ModelFacts(images=True, image_tokens=1000)
        self.catalogue = ModelCatalogue({"scripted": facts})
        self.chat = DocumentChat(
            counter=WordCounter(),
            window=128_000,
            library=side.library,
            reader=Reader(side.library, WordRetriever(FakeLibrary()), ReadingLimits(1000, 1000, 5)),
            read_boxes=side.pages.boxes,
            files=files,
            named=lambda _: model,
            prompt=read_prompt("document_chat"),
            wishes=read_prompt("wishes"),
            images=DocumentImages(side.library, self.pictures, self.catalogue),  # type: ignore[arg-type]
        )

    async def put(self, name: str, *pages: str) -> None:
        source = self.side.folder / "source"
        source.write_bytes("\f".join(pages).encode())
        await self.side.library.upload(ANN, name, source)

    async def ask(
        self, *names: str, question: str = "When does the quay open?", limits: ImageLimits | None = LIMITS
    ) -> DocumentChatResult:
        scope = Scope.of_session(ANN, await self.side.library.resolve(ANN, names))
        options = CallOptions(images=limits)
        return await self.chat.answer(scope, question, names, Listener(), options=options)

    @property
    def lines(self) -> list[str]:
        """The lines before the pictures that the model was sent last."""
        return _lines(self.model)


def _lines(model: ScriptedModel) -> list[str]:
    content = model.calls[-1][0][-1].content
    parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    return [part["text"] for part in parts if part.get("text", "").startswith("<picture")]


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_document_side(tmp_path) as side:
        side.extractor.media_type = "application/pdf"
        yield Desk(side, tmp_path)


async def test_pages_without_text_come_before_pages_of_sources(desk: Desk) -> None:
    await desk.put("a.pdf", QUAY, "", "The crane lifts 40 tons.", "")
    result = await desk.ask("a.pdf")
    assert desk.lines == [
        '<picture document="a.pdf" page="2" sources="S3"/>',
        '<picture document="a.pdf" page="4" sources="S4"/>',
        '<picture document="a.pdf" page="1" sources="S1"/>',
    ]
    assert [(each.page, each.check) for each in result.citations] == [(1, "quoted")]
    assert result.metadata.images == ImageCounts(sent=3, tokens=3000)
    assert result.metadata.prompt["images"] == 3000
    assert "Pages sent as pictures: 3, of at most 3000 tokens." in result.metadata.reason


async def test_a_document_without_text_is_answered_from_its_pictures(desk: Desk) -> None:
    await desk.put("scan.pdf", "", "")
    desk.says = "It opens at nine. [S2]"
    result = await desk.ask("scan.pdf", question="What is on page 2?")
    assert [line.split('"')[3] for line in desk.lines] == ["2", "1"]
    assert result.answer == 'It opens at nine. [Page 1 of Document "scan.pdf"]'
    assert result.citations[0].check == "picture"
    [file] = result.metadata.files
    assert (file.status, file.pages_without_text) == ("failed", 2)
    assert file.reason is not None
    assert file.reason.endswith("Sent as pictures: page 1, 2.")


async def test_nothing_changes_without_limits(desk: Desk) -> None:
    await desk.put("a.pdf", QUAY, "")
    result = await desk.ask("a.pdf", limits=None)
    assert isinstance(desk.model.calls[-1][0][-1].content, str)
    assert (desk.pictures.drawn, result.metadata.images) == ([], ImageCounts())
    await desk.put("scan.pdf", "")
    with pytest.raises(NoReadableDocument):
        await desk.ask("scan.pdf", limits=None)


@pytest.mark.parametrize(("tokens", "sent"), [(999, 0), (1000, 1), (2999, 2), (9000, 3)])
async def test_the_budget_binds(desk: Desk, tokens: int, sent: int) -> None:
    await desk.put("a.pdf", QUAY, "", "", "", "")
    result = await desk.ask("a.pdf", limits=ImageLimits(most=3, tokens=tokens))
    assert (len(desk.lines), result.metadata.images.sent) == (sent, sent)
    assert ("No pictures of pages were sent" in result.metadata.reason) == (sent == 0)


async def test_pictures_take_no_more_than_half_of_the_window(desk: Desk) -> None:
    await desk.put("a.pdf", QUAY, "", "", "")
    desk.chat.window = 5000
    assert (await desk.ask("a.pdf")).metadata.images.sent == 2


async def test_no_window_is_reserved_for_pages_that_do_not_exist(desk: Desk) -> None:
    desk.side.extractor.media_type = "text/plain"
    await desk.put("a.txt", QUAY)
    [document] = await desk.side.library.resolve(ANN, ["a.txt"])
    assert desk.chat.images is not None
    allowed = await desk.chat.images.allowed(LIMITS, "scripted", 128_000, "When?", [document])
    assert (allowed.most, allowed.reserved) == (0, 0)
    pdf = document.model_copy(update={"media_type": "application/pdf", "pages": 2})
    allowed = await desk.chat.images.allowed(LIMITS, "scripted", 128_000, "When?", [pdf])
    assert (allowed.most, allowed.reserved) == (2, 2000)


async def test_pictures_that_cannot_be_drawn_leave_the_answer(desk: Desk) -> None:
    await desk.put("a.pdf", QUAY, "")
    desk.pictures.broken = True
    result = await desk.ask("a.pdf")
    assert result.answer == f'{QUAY} [Page 1 of Document "a.pdf"]'
    assert result.metadata.images == ImageCounts(failed=2)
    assert "Pages that could not be sent as pictures: 2." in result.metadata.reason
    assert "were not sent" not in result.metadata.reason, "they are reported once"


async def test_without_text_and_without_pictures_there_is_no_answer(desk: Desk) -> None:
    await desk.put("scan.pdf", "", "")
    desk.pictures.broken = True
    with pytest.raises(NoReadableDocument, match="There is no picture of this page"):
        await desk.ask("scan.pdf")
    assert desk.model.calls == []


async def test_only_pages_of_named_documents_are_drawn(desk: Desk) -> None:
    await desk.put("a.pdf", QUAY)
    await desk.put("other.pdf", "", "")
    await desk.ask("a.pdf")
    assert {name for name, _ in desk.pictures.drawn} == {"a.pdf"}


async def test_a_question_that_leaves_no_space_for_documents_is_refused_as_too_long(desk: Desk) -> None:
    await desk.put("a.pdf", QUAY)
    desk.chat.window = 3000
    assert (await desk.ask("a.pdf", limits=None)).citations
    with pytest.raises(InvalidInput, match="too long for a model that takes 3,000 tokens") as refused:
        await desk.ask("a.pdf", question="When? " * 3000, limits=None)
    assert (refused.value.field, len(desk.model.calls)) == ("question", 1)


async def test_a_question_is_not_called_too_long_if_no_document_fits_without_it(desk: Desk) -> None:
    await desk.put("a.pdf", QUAY)
    desk.chat.window = 100
    with pytest.raises(NoReadableDocument):
        await desk.ask("a.pdf", question="When? " * 3000, limits=None)
