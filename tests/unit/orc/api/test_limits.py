"""What one user may have under way at a time. No other user is affected, and a place becomes free again."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from devkit.system import principal_headers
from orc.api.app import create_app
from orc.settings import AuthMode, Settings
from orc.turns.running_turn import TurnDependencies
from orc_core.documents.pictures import PagePictures
from orc_core.llm.model_catalog import ModelCatalogue
from orc_core.models import Document

pytestmark = pytest.mark.slow

ANN, BOB = principal_headers("acme", "ann"), principal_headers("acme", "bob")
LIMITS: dict[str, Any] = {
    "turns_per_user": 2,
    "uploads_per_user": 2,
    "streams_per_user": 2,
    "bytes_per_organization": 25,
}
FORM = {"content-type": "multipart/form-data; boundary=b"}
BODY = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nText.\r\n--b--\r\n'


class Gate:
    """Holds back whatever passes, and counts it."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.waiting = asyncio.Semaphore(0)

    async def wait(self) -> None:
        self.waiting.release()
        async with asyncio.timeout(10):
            await self.open.wait()

    async def until(self, number: int) -> None:
        """Wait until so many are held back."""
        async with asyncio.timeout(10):
            for _ in range(number):
                await self.waiting.acquire()


class SlowCatalogue(ModelCatalogue):
    """Facts of models that cannot be learned once the gate opens, so that the turn fails."""

    def __init__(self, gate: Gate) -> None:
        super().__init__()
        self._gate = gate

    async def learn(self) -> None:
        await self._gate.wait()
        raise RuntimeError("no answer")


class SlowPictures(PagePictures):
    """Pictures of pages that are drawn once the gate opens."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    async def get(self, document: Document, page: int, width: int) -> bytes:
        await self._gate.wait()
        return b"a picture"


@pytest.fixture
def gate() -> Gate:
    return Gate()


@asynccontextmanager
async def serving(folder: Path, gate: Gate) -> AsyncIterator[httpx.AsyncClient]:
    def change(parts: TurnDependencies) -> TurnDependencies:
        return replace(parts, catalogue=SlowCatalogue(gate))

    settings = Settings(data_dir=folder, auth_mode=AuthMode.EASYAUTH, azure_auth_enabled=True, **LIMITS)
    app = create_app(settings, change)
    provider = app.state.provider
    provider._app = replace(await provider.get(), pictures=SlowPictures(gate))
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1/api") as client:
        yield client
    await app.state.provider.close()


@pytest.fixture
async def client(tmp_path: Path, gate: Gate) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(tmp_path, gate) as opened:
        yield opened


def is_refused(response: httpx.Response) -> bool:
    """Whether the response is a complete refusal for too many."""
    if response.status_code != 429:
        return False
    problem = response.json()
    assert problem["code"] == "too_many_requests"
    assert problem["retryable"] is True
    assert int(response.headers["retry-after"]) > 0
    assert response.headers["content-type"] == "application/problem+json"
    assert response.headers["x-trace-id"] == problem["trace_id"]
    return True


async def test_a_user_has_so_many_turns_at_a_time(client: httpx.AsyncClient, gate: Gate) -> None:
    async def ask(headers: dict[str, str]) -> httpx.Response:
        return await client.post("/orc", json={"question": "What is due?"}, headers=headers)

    under_way = [asyncio.create_task(ask(ANN)) for _ in range(2)]
    await gate.until(2)
    assert is_refused(await ask(ANN))
    of_another = asyncio.create_task(ask(BOB))
    await gate.until(1)
    gate.open.set()
    ended = [await each for each in (*under_way, of_another)]
    assert not any(map(is_refused, ended))
    for _ in range(500):  # a turn ends a little after its answer
        if not is_refused(await ask(ANN)):
            return
        await asyncio.sleep(0.01)
    raise AssertionError("the places of turns that have ended are still taken")


async def test_a_user_has_so_many_uploads_at_a_time(client: httpx.AsyncClient, gate: Gate) -> None:
    async def body() -> AsyncIterator[bytes]:
        await gate.wait()
        yield BODY

    async def upload(headers: dict[str, str]) -> httpx.Response:
        path = f"/conversations/{uuid.uuid4()}/documents"
        return await client.post(path, content=body(), headers={**headers, **FORM})

    under_way = [asyncio.create_task(upload(ANN)) for _ in range(2)]
    await gate.until(2)
    assert is_refused(await upload(ANN))
    of_another = asyncio.create_task(upload(BOB))
    await gate.until(1)
    gate.open.set()
    assert [(await each).status_code for each in (*under_way, of_another)] == [201, 201, 201]
    assert (await upload(ANN)).status_code == 201


async def test_a_user_has_so_many_streams_at_a_time(client: httpx.AsyncClient, gate: Gate) -> None:
    async def stream(headers: dict[str, str]) -> httpx.Response:
        return await client.post("/orc/stream", json={"question": "What is due?"}, headers=headers)

    under_way = [asyncio.create_task(stream(ANN)) for _ in range(2)]
    await gate.until(2)
    events = f"/conversations/{uuid.uuid4()}/turns/t/events"
    asking = {**ANN, "accept": "text/event-stream"}
    assert is_refused(await client.get(events, headers=ANN))
    assert is_refused(await client.post("/orc", json={"question": "What is due?"}, headers=asking))
    assert (await client.get(events, headers=BOB)).status_code == 404
    gate.open.set()
    assert [(await each).status_code for each in under_way] == [200, 200]
    assert (await client.get(events, headers=ANN)).status_code == 404


@pytest.mark.parametrize(("path", "field"), [("chat/completions", "messages"), ("responses", "input")])
async def test_answers_in_openais_form_count_as_streams(
    client: httpx.AsyncClient, gate: Gate, path: str, field: str
) -> None:
    body = {field: [{"role": "user", "content": "What is due?"}], "stream": True}

    async def complete() -> httpx.Response:
        return await client.post(f"http://127.0.0.1/v1/{path}", json=body, headers=ANN)

    under_way = [asyncio.create_task(complete()) for _ in range(2)]
    await gate.until(2)
    refused = await client.get(f"/conversations/{uuid.uuid4()}/turns/t/events", headers=ANN)
    assert is_refused(refused)
    gate.open.set()
    assert [(await each).status_code for each in under_way] == [200, 200]


async def test_pictures_of_one_user_are_drawn_two_at_a_time(client: httpx.AsyncClient, gate: Gate) -> None:
    """More of them wait, and those of another user do not."""

    async def draw(headers: dict[str, str], documents: str, document_id: str) -> httpx.Response:
        return await client.get(f"{documents}/{document_id}/pages/1/image", headers=headers)

    drawn = []
    for headers, most in ((ANN, 5), (BOB, 1)):
        documents = f"/conversations/{uuid.uuid4()}/documents"
        uploaded = await client.post(documents, content=BODY, headers={**headers, **FORM})
        place = documents, uploaded.json()["documents"][0]["document_id"]
        drawn += [asyncio.create_task(draw(headers, *place)) for _ in range(most)]
        await gate.until(min(most, 2))
        await asyncio.sleep(0.05)
        assert gate.waiting.locked(), "no more are drawn"
    gate.open.set()
    assert [(await each).status_code for each in drawn] == [200] * 6


async def test_an_organization_stores_so_many_bytes(client: httpx.AsyncClient) -> None:
    conversation = f"/conversations/{uuid.uuid4()}"

    async def upload(headers: dict[str, str], name: str) -> httpx.Response:
        body = BODY.replace(b"a.txt", name.encode()).replace(b"Text.", b"Ten bytes.")
        return await client.post(f"{conversation}/documents", content=body, headers={**headers, **FORM})

    stored = [await upload(ANN, "a.txt"), await upload(BOB, "b.txt")]
    assert [each.status_code for each in stored] == [201, 201]
    for caller in (ANN, BOB):
        refused = await upload(caller, "c.txt")
        assert (refused.status_code, refused.json()["code"]) == (507, "storage_full")
        assert "25 bytes" in refused.json()["detail"]
        assert int(refused.headers["retry-after"]) > 0
    assert (await upload(principal_headers("globex", "eve"), "c.txt")).status_code == 201
    document_id = stored[0].json()["documents"][0]["document_id"]
    assert (await client.delete(f"{conversation}/documents/{document_id}", headers=ANN)).status_code == 204
    assert (await upload(BOB, "c.txt")).status_code == 201
