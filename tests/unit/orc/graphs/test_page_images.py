"""Pictures of pages in the graph: what a prompt has of them, also in the tool loop."""

import io
from itertools import pairwise
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage
from PIL import Image

from devkit.fakes import FakeTools, Script
from devkit.graph_turns import SEARCH_TOOL, Shelf, Turn, passage, reasons
from orc.events import Context
from orc.graphs.context_builder import UNFORESEEN
from orc.graphs.graph import build_context
from orc.graphs.models import ConversationState
from orc.tools.ports import FINDS_DOCUMENTS, ToolSchema
from orc_core.documents.image_limits import ImageCounts
from orc_core.documents.places import Accessible, DocumentsPage
from orc_core.errors import DependencyDown, UnsupportedDocument
from orc_core.infra.model_settings import ModelFacts
from orc_core.llm.model_catalog import ModelCatalogue
from orc_core.models import BlobProperties, Document, Page
from orc_core.names import BlobPath, Owner

OWNER = Owner("o", "u", "c")
Messages = list[BaseMessage]
WEB_TOOL = ToolSchema(name="web_search", description="searches", input_schema={"type": "object"})


def document(name: str, **facts: Any) -> Document:
    blob = BlobProperties(path=BlobPath(OWNER, name), etag="e", size=1)
    known = {"media_type": "application/pdf", "pages": 2, **facts}
    return Document.first_seen(blob).model_copy(update=known)


SCAN = document("scan.pdf", pages_without_text=2)
LONG_SCAN = document("book.pdf", pages=80, pages_without_text=80)
TEXT = document("a.pdf", tokens=50, document_id="secret-id")
WORD = document("a.docx", tokens=50, media_type="application/msword", document_id="secret-id")


class Library(Shelf):
    """Some documents; pages of scans have no text."""

    def __init__(self, *documents: Document) -> None:
        super().__init__()
        self.documents = documents
        self.down: str | None = None
        self.broken = False

    async def page(self, accessible: Accessible, *, limit: int) -> DocumentsPage:
        if self.down is not None:
            raise DependencyDown(self.down, dependency="store")
        if self.broken:
            raise ValueError("a bug")
        return DocumentsPage([each for each in self.documents if accessible.holds(each)], None)

    async def find_accessible(self, accessible: Accessible, document_ids: list[str]) -> list[Document]:
        return [
            each for each in self.documents if each.document_id in document_ids and accessible.holds(each)
        ]

    async def text(self, document: Document) -> list[Page]:
        return [Page(number=number, text="") for number in range(1, document.pages + 1)]


class Pictures:
    """Draws a page as so many pixels wide, and fails for `broken` names."""

    def __init__(self, *broken: str) -> None:
        self.broken = broken
        self.drawn: list[tuple[str, int]] = []

    async def get(self, document: Document, page: int, width: int) -> bytes:
        self.drawn.append((document.blob_name, page))
        if document.blob_name in self.broken:
            raise UnsupportedDocument("There is no picture of this page.", code="no_picture")
        buffer = io.BytesIO()
        Image.new("RGB", (40, 50)).save(buffer, "WEBP")
        return buffer.getvalue()


class SeeingTurn(Turn):
    """A turn whose model reads pictures of the pages of some documents."""

    def __init__(
        self,
        script: Script,
        *documents: Document,
        broken: tuple[str, ...] = (),
        sees: bool = True,
        most: int = 3,
        found: Any = None,
        **policy: Any,
    ) -> None:
        tools = FakeTools([SEARCH_TOOL], semantic_search=found or {"passages": [], "steps": []})
        images = {"page_images": True, "most_page_images": most, "page_image_tokens": 9000}
        super().__init__(tools, script, stream=False, **{**images, **policy})
        self.library, self.pictures = Library(*documents), Pictures(*broken)
        facts = ModelFacts(images=sees, image_tokens=1000)
        self.change(
            library=self.library,
            pictures=self.pictures,
            accessible=Accessible.of_owner(OWNER),
            catalogue=ModelCatalogue({"scripted": facts}),
        )

    def sent(self, call: int = -1) -> list[str]:
        """The lines before the pictures of a call."""
        contents = [each.content for each in self.model.calls[call][0] if isinstance(each.content, list)]
        parts = [part for content in contents for part in content if isinstance(part, dict)]
        return [before["text"] for before, part in pairwise(parts) if part["type"] == "image_url"]


async def asked(turn: SeeingTurn, question: str) -> ConversationState:
    given = ConversationState(question=question, conversation_id="c", has_documents=True)
    return await turn.run_from(given)


def cites(number: int) -> Script:
    return lambda _messages, _options: AIMessage(f"The total is 4711 crowns. [S{number}]")


def found_fee() -> dict[str, Any]:
    quoted = passage("secret-id", 5, "The fee is 10.")
    return {"passages": [{**quoted, "document_version": TEXT.version}], "steps": []}


async def test_pages_without_text_come_first_and_then_pages_of_sources() -> None:
    turn = SeeingTurn(cites(2), TEXT, SCAN, found=found_fee())
    state = await turn.run(has_documents=True)
    assert turn.sent() == [
        '<picture document="scan.pdf" page="1" sources="S2"/>',
        '<picture document="scan.pdf" page="2" sources="S3"/>',
        '<picture document="a.pdf" page="5" sources="S1"/>',
    ]
    assert state.answer == 'The total is 4711 crowns. [Page 1 of Document "scan.pdf"]'
    assert state.image_counts == ImageCounts(sent=3, tokens=3000)
    [context] = turn.of(Context)
    assert context.budget["images"] == 3000
    assert context.budget["total"] == sum(context.budget.values()) - context.budget["total"]
    assert ("", "images_sent") in reasons(state)
    assert len(turn.model.calls) == 1, "what is read from a picture is not revised as proven wrong"
    assert set(turn.uses.context.origins.places) == {SCAN.document_id, "secret-id"}


async def test_many_pages_without_text_are_left_out_unless_they_are_named() -> None:
    turn = SeeingTurn(cites(1), TEXT, LONG_SCAN, found=found_fee())
    state = await turn.run(has_documents=True)
    assert turn.sent(0) == ['<picture document="a.pdf" page="5" sources="S1"/>']
    named = SeeingTurn(cites(1), TEXT, LONG_SCAN, found=found_fee(), most=2)
    state = await asked(named, "And the fee on page 77 of book.pdf?")
    assert [line.split('"')[3] for line in named.sent(0)] == ["77", "1"]
    assert ("", "images_left_out") in reasons(state)


async def test_scans_alone_are_seen_however_long_they_are() -> None:
    turn = SeeingTurn(cites(1), LONG_SCAN)
    await turn.run(has_documents=True)
    assert [line.split('"')[3] for line in turn.sent()] == ["1", "2", "3"]


async def test_a_page_of_another_version_is_not_sent() -> None:
    replaced = TEXT.model_copy(update={"etag": "newer"})
    turn = SeeingTurn(cites(1), replaced, found=found_fee())
    await turn.run(has_documents=True)
    assert turn.pictures.drawn == []


async def test_a_document_outside_of_the_scope_is_not_drawn() -> None:
    foreign = TEXT.model_copy(update={"user_id": "another"})
    turn = SeeingTurn(cites(1), foreign, SCAN.model_copy(update={"user_id": "another"}), found=found_fee())
    await turn.run(has_documents=True)
    assert (turn.pictures.drawn, turn.sent()) == ([], [])


async def test_documents_without_pictures_are_left_alone() -> None:
    turn = SeeingTurn(cites(1), WORD, found=found_fee())
    await turn.run(has_documents=True)
    assert (turn.pictures.drawn, turn.sent()) == ([], [])


async def test_a_picture_that_cannot_be_drawn_is_a_step_and_the_turn_goes_on() -> None:
    turn = SeeingTurn(cites(1), TEXT, SCAN, found=found_fee(), broken=("scan.pdf",))
    state = await turn.run(has_documents=True)
    assert turn.sent(0) == ['<picture document="a.pdf" page="5" sources="S1"/>']
    assert state.image_counts == ImageCounts(sent=1, failed=2, tokens=1000)
    assert ("", "images_failed") in reasons(state)
    assert ("", "images_left_out") not in reasons(state), "they are reported once"
    assert state.answer is not None


@pytest.mark.parametrize("why", ["The catalog does not answer.", ""])
async def test_a_catalog_that_is_down_costs_the_pictures_only(why: str) -> None:
    turn = SeeingTurn(cites(1), TEXT, SCAN, found=found_fee())
    turn.library.down = why
    state = await turn.run(has_documents=True)
    assert turn.sent() == []
    [step] = [step for step in state.lookup_steps if step.reason_code == "no_images"]
    assert (step.status, step.detail) == ("failed", why)
    assert state.answer is not None


async def test_an_error_in_the_choice_of_pages_costs_the_pictures_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    turn = SeeingTurn(cites(1), TEXT, SCAN, found=found_fee())
    turn.library.broken = True
    state = await turn.run(has_documents=True)
    assert turn.sent() == []
    [step] = [step for step in state.lookup_steps if step.reason_code == "no_images"]
    assert (step.status, step.detail) == ("failed", UNFORESEEN)
    assert state.answer is not None
    assert "page_images.failed" in caplog.text


def searches_web(_messages: Messages, options: dict[str, Any]) -> AIMessage:
    if options.get("tool_choice") != "TurnPlan":
        return AIMessage("No idea.")
    form = {"intent": "faq", "question": "What is the fee?", "steps": ["web_search", "answer"]}
    return AIMessage("", tool_calls=[{"name": "TurnPlan", "args": {**form, "confidence": 0.9}, "id": "1"}])


@pytest.mark.parametrize("off", [FINDS_DOCUMENTS | {"get_page", "document_chat"}, frozenset()])
async def test_a_turn_that_looks_for_no_documents_sends_no_pictures(off: frozenset[str]) -> None:
    turn = SeeingTurn(searches_web, SCAN)
    turn.tools.schemas = [SEARCH_TOOL, WEB_TOOL]
    page = {"url": "https://a.example/", "title": "Fees", "text": "The fee is 10."}
    turn.tools.results["web_search"] = {"results": [page]}
    turn.change(tools_off=off)
    await asked(turn, "What do the newspapers say of it?")
    assert [name for name, *_ in turn.tools.calls] == ["web_search"]
    assert (turn.pictures.drawn, turn.sent()) == ([], [])


async def test_talk_sends_no_pictures() -> None:
    turn = SeeingTurn(cites(1), SCAN)
    await asked(turn, "Hello!")
    assert turn.pictures.drawn == []


async def test_pictures_can_still_be_cited_after_the_model_called_a_tool() -> None:
    def script(messages: Messages, _options: dict[str, Any]) -> AIMessage:
        if any(message.type == "tool" for message in messages):
            return AIMessage("The total is 4711 crowns. [S2]")
        call = {"name": "semantic_search", "args": {"query": "total"}, "id": "1"}
        return AIMessage("", tool_calls=[call])

    turn = SeeingTurn(script, TEXT, SCAN, found=found_fee())
    state = await turn.run(has_documents=True)
    assert turn.sent(0) == turn.sent(1) != []
    assert [each.check for each in state.attempt.citations] == ["picture"]


async def test_the_sizes_of_a_prompt_count_the_pictures_that_it_has() -> None:
    turn = SeeingTurn(cites(2), TEXT, SCAN, found=found_fee())
    state = await turn.run(has_documents=True)
    fewer = state.attempt.model_copy(update={"sources": state.attempt.sources[:1]})
    revised = state.model_copy(update={"attempt": fewer, "lookups": []})
    update = await build_context(revised, turn.uses)
    sizes = update["context_budget"]
    assert sizes["images"] == 1000
    assert sizes["total"] == sum(sizes.values()) - sizes["total"]


async def test_what_is_from_a_picture_is_not_read_a_second_time() -> None:
    turn = SeeingTurn(cites(1), SCAN, has_judge=True)
    state = await turn.run(has_documents=True)
    assert turn.uses.context.budget.usage.model_calls == 1
    assert state.attempt.verdict is not None
    assert state.attempt.verdict.action == "accept"
