"""Suggestions are whole questions, of a model or of the documents, and only if a search answers them."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from langchain_core.messages import AIMessage

from devkit.fakes import FakeTools, models_of, scripted
from devkit.graph_turns import document_chat_result
from devkit.system import principal_headers
from orc.api.app import create_app
from orc.settings import AuthMode, Settings
from orc.turns.running_turn import TurnDependencies
from orc.turns.suggestions import questions_in
from orc_core.bootstrap import open_documents
from orc_core.errors import Unavailable
from orc_core.models import Passage

CONVERSATION = "3f0d8f5e-6f0e-4f5a-9d5f-0b1f8f6b2a11"
PATH = f"/conversations/{CONVERSATION}"
HANDBOOK = """# Handbook

## How many days of annual leave are there?

Annual leave of every employee is 28 days.

## Business travel

The hotel limit for business travel is EUR 135.

## How do I report lost devices?

Lost devices are reported within an hour. Why?
"""
OTHER = "# Harbour\n\n## Who repairs the cranes?\n\nThe workshop repairs cranes.\n"
CRANES = "Who repairs the cranes?"
LEAVE, DEVICES = "How many days of annual leave are there?", "How do I report lost devices?"
WRITTEN = """What is the hotel limit for business travel?
1. When are lost devices reported?
Business travel
See https://example.com for leave?
What is the capital of France?
"""


class Served:
    """The API as ann sees it, with what the model for titles says and has been asked."""

    def __init__(self, client: httpx.AsyncClient, settings: Settings) -> None:
        self.client = client
        self.settings = settings
        self.says = ""
        self.asked: list[str] = []

    async def index(self) -> None:
        async with open_documents(self.settings) as documents:
            await documents.worker.drain()

    async def suggestions(self, path: str = PATH, user: str = "ann") -> Any:
        headers = principal_headers("acme", user)
        return (await self.client.get(f"{path}/suggestions", headers=headers)).json()

    async def ask(self, question: str, **chosen: Any) -> str:
        body = {"question": question, "conversation_id": CONVERSATION}
        response = await self.client.post("/orc", json=body | chosen)
        assert response.status_code == 200, response.text
        return str(response.json()["turn_id"])


@pytest.fixture
async def served(tmp_path: Path, has_titler: bool) -> AsyncIterator[Served]:
    """An API with a conversation of ann's that has an indexed document."""

    def answering(parts: TurnDependencies) -> TurnDependencies:
        """Answers without what a tool found."""
        model, _ = scripted(lambda _messages, _options: AIMessage("28 days."))
        models = models_of(model)
        if has_titler:
            titler, _ = scripted(written)
            models = replace(models, titler=titler)
        return replace(parts, models=models, tools=FakeTools(document_chat=document_chat_result()))

    def written(messages: Any, options: Any) -> AIMessage:
        here.asked.append("\n".join(str(each.content) for each in messages))
        if not here.says:
            raise Unavailable("The model is away.")
        return AIMessage(here.says)

    settings = Settings(data_dir=tmp_path, auth_mode=AuthMode.EASYAUTH, azure_auth_enabled=True)
    app = create_app(settings, answering)
    headers = principal_headers("acme", "ann")
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(
        transport=transport, base_url="http://127.0.0.1/api", headers=headers
    ) as client:
        here = Served(client, settings)
        texts = {"a.md": HANDBOOK, "b.md": OTHER}
        files = [("file", (name, text.encode())) for name, text in texts.items()]
        assert (await client.post(f"{PATH}/documents", files=files)).status_code == 201
        await here.index()
        yield here
    await app.state.provider.close()


@pytest.fixture
def has_titler() -> bool:
    return False


with_titler = pytest.mark.parametrize("has_titler", [True])


def passage(text: str) -> Passage:
    return Passage(document_id="d", page=1, start=0, end=len(text), text=text)


@pytest.mark.parametrize(
    ("text", "questions"),
    [
        ("How do I report a\nlost device? Within an hour.", ["How do I report a lost device?"]),
        ("HOW PROVIDERS AFFECT\nYOUR COSTS?\n\nThe plan pays less for some of them than for others.", []),
        ("# Costs\n\n## Who pays?\n\nThe plan.", ["Who pays?"]),
        ("Is a fee due? No.", ["Is a fee due?"]),
        ("費用はかかりますか？かかりません。", ["費用はかかりますか？"]),
        ("affect your costs?\n\nThe plan pays less.", []),
        ("What does [Page 1] say?", []),
        ("Annual leave\n\nEvery employee has 28 days of it in a year.", []),
    ],
)
def test_only_whole_questions_are_taken_from_documents(text: str, questions: list[str]) -> None:
    assert [*questions_in([passage(text)])] == questions


@pytest.mark.slow
async def test_documents_suggest_the_questions_that_they_answer(served: Served) -> None:
    assert await served.suggestions() == {"suggestions": [], "by": "code"}
    turn_id = await served.ask("What is to be done about lost devices and annual leave?")
    found = await served.suggestions()
    assert (set(found["suggestions"]), found["by"]) == ({LEAVE, DEVICES}, "code")
    assert await served.suggestions(f"{PATH}/turns/{turn_id}") == found
    await served.ask(LEAVE)
    assert LEAVE not in (await served.suggestions())["suggestions"]
    for path in (PATH, f"{PATH}/turns/{turn_id}"):
        assert (await served.suggestions(path, user="bob"))["status"] == 404


@pytest.mark.slow
@with_titler
async def test_a_model_suggests_what_a_search_answers(served: Served) -> None:
    served.says = WRITTEN
    await served.ask("What about <b>travel</b> & lost devices?")
    served.asked.clear()
    found = await served.suggestions()
    assert found == {
        "suggestions": ["What is the hotel limit for business travel?", "When are lost devices reported?"],
        "by": "model",
    }
    [asked] = served.asked
    assert "The hotel limit for business travel is EUR 135." in asked
    assert "&lt;b&gt;travel&lt;/b&gt; &amp; lost devices?" in asked


@pytest.mark.slow
@with_titler
async def test_without_a_reply_of_the_model_those_of_the_documents_are_suggested(served: Served) -> None:
    await served.ask("What is to be done about lost devices?")
    assert await served.suggestions() == {"suggestions": [DEVICES], "by": "code"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("chosen", "suggested"),
    [
        ({}, {LEAVE, DEVICES, CRANES}),
        ({"blob_names": ["b.md"]}, {CRANES}),
        ({"tools": {"semantic_search": False}}, set()),
    ],
    ids=["all", "one", "none"],
)
async def test_only_what_the_turn_may_search_is_searched(
    served: Served, chosen: Any, suggested: set[str]
) -> None:
    await served.ask("What is to be done about lost devices, annual leave and cranes?", **chosen)
    assert set((await served.suggestions())["suggestions"]) == suggested


@pytest.mark.slow
@pytest.mark.parametrize("active", [True, False])
async def test_a_context_that_the_question_switches_off_suggests_nothing(
    served: Served, active: bool
) -> None:
    head = principal_headers("acme", "ann", "orc.admin")
    body = {"type": "workspace", "name": "Harbour"}
    context = (await served.client.post("/contexts", headers=head, json=body)).json()["context_id"]
    file = [("file", ("masts.md", OTHER.replace("crane", "mast").encode()))]
    added = await served.client.post(f"/contexts/{context}/documents", headers=head, files=file)
    assert added.status_code == 201, added.text
    await served.index()
    for is_active in (True, active):
        chosen = [{"type": "workspace", "id": context, "active": is_active}]
        await served.ask("What is to be done about masts?", contexts=chosen)
    found = (await served.suggestions())["suggestions"]
    assert found == (["Who repairs the masts?"] if active else [])


@pytest.mark.slow
async def test_after_a_file_is_deleted_nothing_of_it_is_suggested(served: Served) -> None:
    await served.ask("What is to be done about cranes?", blob_names=["b.md"])
    found = (await served.client.get(f"{PATH}/documents")).json()["documents"]
    [other] = [each["document_id"] for each in found if each["blob_name"] == "b.md"]
    assert (await served.client.delete(f"{PATH}/documents/{other}")).status_code == 204
    assert await served.suggestions() == {"suggestions": [], "by": "code"}
