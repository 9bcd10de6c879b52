"""Feature flags: each changes its own turn only, at both endpoints; the timeline of a result."""

import json
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from langchain_core.messages import AIMessage, BaseMessage

from devkit.fakes import FakeTools, models_of, scripted
from devkit.system import principal_headers
from orc.api.app import create_app
from orc.bootstrap import AppProvider
from orc.settings import AuthMode, Settings
from orc.tools.ports import ToolSchema
from orc.turns.requests import FeatureFlags, TurnRequest
from orc.turns.running_turn import TurnDependencies
from orc_core.models import BlobProperties, Document, Page
from orc_core.names import BlobPath, Owner

pytestmark = pytest.mark.slow

Json = dict[str, Any]
TEXT = "The fee is 10."
PLACE = {"document_id": "d", "blob_name": "a.pdf", "page_id": "d.p1"}
FOUND = {"passages": [{**PLACE, "page": 1, "text": TEXT, "start": 0}], "steps": []}
PAGE = {**PLACE, "page_number": 1, "summary": "On fees.", "topics": [], "matches": [TEXT], "score": 1.0}
SUMMARIES = {"pages": [{**PAGE, "text": TEXT, "start": 0}], "steps": []}
QUESTION = "What is the fee?"
HASH_BEFORE = "ec2f1d7982c41c4e2086294dc57bbe4087ee83264b0fe0617f7bdcc86987b9dc"
"""Of a request with the flag `lazy`, as the version without the flag `images` stored it."""


class Library:
    """A library whose conversations all have one document."""

    async def resolve(self, owner: Owner, names: list[str]) -> list[Document]:
        return [Document.first_seen(BlobProperties(path=BlobPath(owner, n), etag="e", size=1)) for n in names]

    async def list_documents(self, owner: Owner) -> list[Document]:
        return await self.resolve(owner, ["a.pdf"])

    async def page_of(self, document_id: str, number: int) -> Page | None:
        return Page(number=number, text=TEXT)

    async def page_boxes(self, document_id: str, number: int) -> bytes:
        return b""


def _answers(messages: list[BaseMessage], options: Json) -> AIMessage:
    """A model that is wrong at first and says what it was given."""
    prompt = "\n".join(str(message.text) for message in messages)
    if "Remember me?" in prompt:
        return AIMessage("You are Ada." if "My name is Ada" in prompt else "Who are you?")
    if "On fees." in prompt:
        return AIMessage(f"{TEXT} [S1]")
    if "<source" not in prompt:
        return AIMessage("I did not look.")
    return AIMessage(f"1. {TEXT} [S1]" if "<sentences>" in prompt else "The fee is 12. [S1]")


class Api:
    """The API over a scripted model and tools, at one of its endpoints. Every conversation has a document."""

    def __init__(self, client: httpx.AsyncClient, provider: AppProvider, tools: FakeTools) -> None:
        self.client, self.provider, self.tools = client, provider, tools

    async def ask(self, endpoint: str, question: str = QUESTION, **more: Any) -> Json:
        said = (
            {"messages": [{"role": "user", "content": question}]}
            if endpoint == "chat"
            else {"question": question, "conversation_id": str(uuid.uuid4())}
        )
        response = await self.client.post(f"/{endpoint}", json={**said, **more})
        assert response.status_code == 200, response.text
        result: Json = response.json()
        return result


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Api]:
    model, _ = scripted(_answers)
    schemas = [
        ToolSchema(name=n, description="", input_schema={}) for n in ("semantic_search", "search_pages")
    ]
    tools = FakeTools(schemas, semantic_search=FOUND, search_pages=SUMMARIES)

    def change(parts: TurnDependencies) -> TurnDependencies:
        return replace(parts, models=models_of(model), tools=tools, library=Library())  # type: ignore[arg-type]

    settings = Settings(
        data_dir=tmp_path,
        auth_mode=AuthMode.EASYAUTH,
        azure_auth_enabled=True,
        history_turns=0,
        memory="extractive",
    )
    app = create_app(settings, change)
    transport, headers = httpx.ASGITransport(app), principal_headers("acme", "ann")
    url = "http://127.0.0.1/api"
    async with httpx.AsyncClient(transport=transport, base_url=url, headers=headers) as client:
        yield Api(client, app.state.provider, tools)
    await app.state.provider.close()


ENDPOINTS = pytest.mark.parametrize("endpoint", ["orc", "chat"])


@ENDPOINTS
@pytest.mark.parametrize("earlier", ["on", True, "code", "auto", "always"])
async def test_the_critic_of_one_turn(api: Api, endpoint: str, earlier: str | bool) -> None:
    usual = await api.ask(endpoint)
    off = await api.ask(endpoint, feature_flags={"critic": False})
    on = await api.ask(endpoint, feature_flags={"critic": earlier})
    assert usual["answer"] == 'The fee is 10. [Page 1 of Document "a.pdf"]'
    assert off["answer"] == 'The fee is 12. [Page 1 of Document "a.pdf": 12 is not there]'
    assert on["answer"] == usual["answer"]


@ENDPOINTS
async def test_a_turn_without_memory(api: Api, endpoint: str) -> None:
    session = {"session_id": "s"} if endpoint == "chat" else {}
    first = await api.ask(endpoint, "My name is Ada.", **session)
    if endpoint == "orc":
        session = {"conversation_id": first["conversation_id"]}
    await (await api.provider.get()).turn_service.close()
    with_memory = await api.ask(endpoint, "Remember me? What is my name?", **session)
    without = await api.ask(
        endpoint, "Remember me? What is my name?", **session, feature_flags={"memory": False}
    )
    assert "You are Ada." in with_memory["answer"]
    assert "Who are you?" in without["answer"]
    assert without["metadata"]["summary_selection"]["reason"] == "The request switches the memory off."


@ENDPOINTS
async def test_the_first_decision_of_one_turn_is_the_models(api: Api, endpoint: str) -> None:
    chosen = await api.ask(endpoint, feature_flags={"model_searches": True})
    assert (api.tools.calls, chosen["answer"][:15]) == ([], "I did not look.")
    assert chosen["metadata"]["route"]["retriever"] == "tools"
    await api.ask(endpoint)
    assert api.tools.calls


@ENDPOINTS
@pytest.mark.parametrize("flags", [{"fast": True}, {"lazy": "yes"}, {"critic": "sometimes"}, {"memory": 1}])
async def test_unknown_flags_are_refused(api: Api, endpoint: str, flags: Json) -> None:
    said = {"messages": [{"role": "user", "content": "x"}]} if endpoint == "chat" else {"question": "x"}
    response = await api.client.post(f"/{endpoint}", json={**said, "feature_flags": flags})
    assert response.status_code == 422
    assert "feature_flags" in response.json()["errors"][0]["field"]


def test_flags_make_another_request_and_no_flags_the_same_as_before() -> None:
    plain = TurnRequest(question="x", trace_id="t")
    assert plain.content_hash != plain.model_copy(update={"flags": FeatureFlags(lazy=True)}).content_hash
    assert plain.content_hash == TurnRequest(question="x", trace_id="t", flags=FeatureFlags()).content_hash
    asked = [FeatureFlags(lazy=True, images=images) for images in (None, True, False)]
    assert len({plain.model_copy(update={"flags": flags}).content_hash for flags in asked}) == 3


def test_a_flag_of_this_version_does_not_change_the_hash_of_requests_without_it() -> None:
    lazy = TurnRequest(question="x", trace_id="t", flags=FeatureFlags(lazy=True))
    assert lazy.content_hash == HASH_BEFORE


async def test_the_response_has_the_timeline_of_its_turn(api: Api) -> None:
    result = await api.ask("orc")
    steps = result["metadata"]["timeline"]
    assert [step["kind"] for step in steps if step["kind"] != "answer"] == [
        "plan", "tool", "model", "critique", "model", "revised", "critique",
    ]  # fmt: skip
    assert [step["offset_ms"] for step in steps] == sorted(step["offset_ms"] for step in steps)
    assert "fee" not in json.dumps(steps)


async def test_the_telemetry_event_says_how_the_turn_was_answered(api: Api) -> None:
    body = {"question": QUESTION, "conversation_id": str(uuid.uuid4()), "feature_flags": {"lazy": True}}
    response = await api.client.post("/orc/stream", json=body)
    [event] = [part for part in response.text.split("\n\n") if "event: telemetry" in part]
    data = json.loads(event.split("data: ")[1])
    assert (data["intent"], data["retriever"], data["retrieval_mode"]) == (
        "factual_lookup",
        "summaries",
        "rag",
    )
    assert data["context_budget"]["total"] > data["lazy"]["summary_tokens"] > 0
    assert data["lazy"]["pages"] == 1
    assert data["summary_selection"]["method"] == "none"
    assert data["usage"]["model_calls"] == data["attempts"]
