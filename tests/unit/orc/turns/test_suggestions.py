"""Suggested questions are made from headings that were not cited, and only if a search finds their page."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from langchain_core.messages import AIMessage

from devkit.fakes import FakeTools, models_of, scripted
from devkit.system import principal_headers
from orc.api.app import create_app
from orc.bootstrap import App, AppProvider
from orc.events import Done, Suggested
from orc.identity import Principal
from orc.settings import AuthMode, Settings
from orc.turns.requests import TurnRequest
from orc.turns.running_turn import TurnDependencies
from orc.turns.suggestions import Suggestions, subject_of
from orc_core.bootstrap import open_documents
from orc_core.documents.ports import Retriever
from orc_core.grounding.models import Citation
from orc_core.models import Retrieval
from orc_core.names import Owner

pytestmark = pytest.mark.slow

OWNER = Owner("acme", "ann", "3f0d8f5e-6f0e-4f5a-9d5f-0b1f8f6b2a11")
LEAVE, TRAVEL, DEVICES = (
    f"What does the document say about “{subject}”?"
    for subject in ("Annual leave", "Business travel", "Lost devices")
)
HANDBOOK = """# Handbook

## 1.1 Annual leave

Annual leave of every employee is 28 days.

## 1.2 Business travel

The hotel limit for business travel is EUR 135.

## 2. Lost devices

Lost devices are reported within an hour.
"""


def answering(parts: TurnDependencies) -> TurnDependencies:
    """Answers without what a tool found."""
    model, _ = scripted(lambda _messages, _options: AIMessage("28 days."))
    return replace(parts, models=models_of(model), tools=FakeTools())


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """An API with a conversation of ann's whose document is indexed and analysed."""
    settings = Settings(data_dir=tmp_path, auth_mode=AuthMode.EASYAUTH, azure_auth_enabled=True)
    app = create_app(settings, answering)
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app),
        base_url="http://127.0.0.1/api",
        headers=principal_headers("acme", "ann"),
    ) as client:
        path = f"/conversations/{OWNER.conversation_id}/documents"
        assert (await client.post(path, files=[("file", ("a.md", HANDBOOK.encode()))])).status_code == 201
        async with open_documents(settings, analyser=True) as documents:
            await documents.worker.drain()
        client.provider = app.state.provider  # type: ignore[attr-defined]
        yield client
    await app.state.provider.close()


@pytest.fixture
async def app(served: httpx.AsyncClient) -> App:
    provider: AppProvider = served.provider  # type: ignore[attr-defined]
    return await provider.get()


async def cited(app: App, page: int) -> Citation:
    [document] = await app.library.recorded(OWNER)
    return Citation(
        blob_name="a.md",
        document_id=document.document_id,
        page=page,
        page_id="p",
        quote="",
        start=0,
        end=0,
        check="quoted",
    )


async def page_of(app: App, heading: str) -> int:
    """The page with this heading."""
    [document] = await app.library.recorded(OWNER)
    pages = await app.analyses.pages(document.document_id)
    return next(page.page for page in pages if any(heading in anchor.text for anchor in page.anchors))


@pytest.mark.parametrize(
    ("heading", "subject"),
    [
        ("3.1 Annual leave", "Annual leave"),
        ("IV. Annual  leave:", "Annual leave"),
        ("A. Annual leave", "Annual leave"),
        ("Annual leave 2024", None),
        ("EUR 5,001 to EUR 25,000 Head", None),
        ('See [Page 1 of Document "a.md"]', None),
        ("<b>Leave</b>", None),
        ("No", None),
        ("one two three four five six seven eight nine", None),
        ("Leave\u202e now", None),
    ],
)
def test_a_subject_is_a_short_heading_of_plain_words(heading: str, subject: str | None) -> None:
    assert subject_of(heading) == subject


class Blind:
    """A search that finds nothing."""

    async def search(self, query: str, document_ids: Any, top_k: int) -> Retrieval:
        return Retrieval()


async def test_what_a_search_answers_and_was_not_cited_is_suggested(
    served: httpx.AsyncClient, app: App
) -> None:
    path = f"/conversations/{OWNER.conversation_id}/suggestions"
    found = (await served.get(path)).json()
    assert found["by"] == "code"
    assert set(found["suggestions"]) == {LEAVE, TRAVEL, DEVICES}
    asked = await app.suggestions.after(OWNER, "How much annual leave is there?", [])
    assert set(asked) == {TRAVEL, DEVICES}
    page = await page_of(app, "Business travel")
    assert TRAVEL not in await app.suggestions.after(OWNER, "What is the limit?", [await cited(app, page)])
    german = await app.suggestions.after(OWNER, "Wie viele Tage gibt es und wer hat sie?", [])
    assert "Was steht im Dokument zu „Annual leave“?" in german
    blind: Retriever = Blind()
    assert await Suggestions(app.library, app.analyses, blind, app.log).for_session(OWNER) == []
    for each in (path, path.replace("/suggestions", "/turns/t/suggestions")):
        assert (await served.get(each, headers=principal_headers("acme", "bob"))).status_code == 404


async def test_a_stream_has_suggestions_before_its_end_if_it_is_asked_for_them(
    served: httpx.AsyncClient, app: App
) -> None:
    for suggest in (True, False):
        request = TurnRequest(
            question="Hello",
            conversation_id=OWNER.conversation_id,
            stream=True,
            suggest=suggest,
            trace_id="t",
        )
        log = await app.turn_service.start(request, Principal("acme", "ann"))
        done = await log.last()
        assert isinstance(done, Done)
        turn_id = done.result.turn_id
        events = [each for each in log.so_far() if isinstance(each, Suggested)]
        assert [set(each.suggestions) for each in events] == ([{LEAVE, TRAVEL, DEVICES}] if suggest else [])
    path = f"/conversations/{OWNER.conversation_id}/turns/{turn_id}/suggestions"
    assert set((await served.get(path)).json()["suggestions"]) == {LEAVE, TRAVEL, DEVICES}


def test_asking_for_suggestions_is_the_same_request() -> None:
    request = TurnRequest(question="Hello", trace_id="t")
    assert request.model_copy(update={"suggest": True}).content_hash == request.content_hash
