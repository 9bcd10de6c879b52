"""Telemetry over the API: for admins, limited to their organization, in pages and with filters."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from devkit.sample_traces import NOON, ORGANIZATION, detailed, trace
from devkit.system import principal_headers
from orc.api.app import create_app
from orc.api.routes.admin import MOST_TURNS
from orc.settings import AuthMode, Settings
from orc.traces.models import TraceStore

pytestmark = pytest.mark.slow

ADDRESS = "http://127.0.0.1/api/admin"
ADMIN = principal_headers(ORGANIZATION, "ann", "orc.admin")
TURNS, DAYS = "/telemetry", "/telemetry/days"
EVERY_PATH = (TURNS, DAYS, f"/telemetry/{1:032x}")


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[FastAPI]:
    made = create_app(Settings(data_dir=tmp_path, auth_mode=AuthMode.EASYAUTH, azure_auth_enabled=True))
    yield made
    await made.state.provider.close()


@pytest.fixture
async def store(app: FastAPI) -> TraceStore:
    traces: TraceStore = (await app.state.provider.get()).traces
    return traces


@pytest.fixture
async def client(app: FastAPI, store: TraceStore) -> AsyncIterator[httpx.AsyncClient]:
    """The API over three turns of acme, and one of umbra under the first one's trace id."""
    kept = [
        detailed(1),
        trace(2, NOON + timedelta(hours=1), user_id="bob", status="failed", error_code="internal"),
        trace(3, NOON + timedelta(days=1)),
        trace(1, organization_id="umbra"),
    ]
    for each in kept:
        await store.save(each)
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url=ADDRESS, headers=ADMIN) as opened:
        yield opened


async def turns(client: httpx.AsyncClient, **wanted: str) -> list[str]:
    response = await client.get(TURNS, params=wanted)
    assert response.status_code == 200, response.text
    return [turn["turn_id"] for turn in response.json()["turns"]]


@pytest.mark.parametrize("path", EVERY_PATH)
async def test_only_admins_have_access_and_no_store_is_opened_for_others(tmp_path: Path, path: str) -> None:
    app = create_app(
        Settings(data_dir=tmp_path / "data", auth_mode=AuthMode.EASYAUTH, azure_auth_enabled=True)
    )
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url=ADDRESS) as client:
        unknown = await client.get(path)
        member = await client.get(f"{path}?limit=nonsense", headers=principal_headers(ORGANIZATION, "bob"))
    assert (unknown.status_code, member.status_code) == (401, 403)
    assert member.json()["code"] == "forbidden"
    assert not (tmp_path / "data").exists()


async def test_turns_are_listed_latest_first_in_pages(client: httpx.AsyncClient) -> None:
    first = (await client.get(TURNS, params={"limit": 2})).json()
    assert [turn["turn_id"] for turn in first["turns"]] == ["turn-3", "turn-2"]
    rest = (await client.get(TURNS, params={"limit": 2, "cursor": first["next_cursor"]})).json()
    assert [turn["turn_id"] for turn in rest["turns"]] == ["turn-1"]
    assert rest["next_cursor"] is None


async def test_filters_select_turns(client: httpx.AsyncClient) -> None:
    assert await turns(client, status="failed") == ["turn-2"]
    assert await turns(client, user_id="ada", intent="research", model="gpt-4o") == ["turn-1"]
    assert await turns(client, conversation_id="c-9") == []
    assert await turns(client, trace_id=f"{3:032x}") == ["turn-3"]
    assert await turns(client, since="2025-03-10T12:30:00Z", until="2025-03-11T00:00:00Z") == ["turn-2"]
    assert await turns(client, until="2025-03-10T14:30:00+02:00") == ["turn-1"]


@pytest.mark.parametrize(
    "wanted",
    [
        {"status": "lost"},
        {"since": "2025-03-10"},
        {"since": "1741600000"},
        {"until": "2025-03-10T12:00:00"},
        {"until": "0001-01-01T00:00:00+14:00"},
        {"limit": "201"},
        {"cursor": "nonsense"},
        {"user_id": ""},
        {"trace_id": "nonsense"},
    ],
)
async def test_invalid_filters_are_refused(client: httpx.AsyncClient, wanted: dict[str, str]) -> None:
    response = await client.get(TURNS, params=wanted)
    assert response.status_code == 422
    assert next(iter(wanted)) in {each["field"] for each in response.json()["errors"]}


async def test_a_trace_has_the_complete_turns_of_the_caller(client: httpx.AsyncClient) -> None:
    returned = (await client.get(f"/telemetry/{1:032x}")).json()
    assert returned == {
        "trace_id": f"{1:032x}",
        "turns": [detailed(1).model_dump(mode="json")],
        "next_cursor": None,
    }


async def test_one_attempt_of_a_trace_can_be_requested(client: httpx.AsyncClient) -> None:
    [turn] = (await client.get(f"/telemetry/{1:032x}?attempt=attempt-00001")).json()["turns"]
    assert turn["turn_id"] == "turn-1"


async def test_a_trace_of_many_turns_returns_the_latest_and_leads_to_the_others(
    client: httpx.AsyncClient, store: TraceStore
) -> None:
    for number in range(MOST_TURNS + 3):
        await store.save(trace(100 + number, NOON + timedelta(seconds=number), trace_id="e" * 32))
    await store.save(trace(99, NOON, trace_id="e" * 32, user_id="victim"))
    path = f"/telemetry/{'e' * 32}"
    latest = (await client.get(path)).json()
    earlier = (await client.get(path, params={"cursor": latest["next_cursor"]})).json()
    assert "turn-99" in [turn["turn_id"] for turn in earlier["turns"]]
    assert earlier["next_cursor"] is None
    of_one = (await client.get(path, params={"user_id": "victim"})).json()
    assert [turn["turn_id"] for turn in of_one["turns"]] == ["turn-99"]
    returned = latest["turns"]
    assert [turn["turn_id"] for turn in returned] == [f"turn-{103 + number}" for number in range(MOST_TURNS)]


@pytest.mark.parametrize(
    ("trace_id", "status"), [("f" * 32, 404), ("nonsense", 422), (f"{1:032x}?attempt=another", 404)]
)
async def test_an_unknown_trace_is_refused(client: httpx.AsyncClient, trace_id: str, status: int) -> None:
    assert (await client.get(f"/telemetry/{trace_id}")).status_code == status


async def test_days_are_added_up(client: httpx.AsyncClient) -> None:
    days = (await client.get(DAYS, params={"until": "2025-03-11"})).json()["days"]
    assert [(day["day"], day["turns"], day["failed"]) for day in days] == [
        ("2025-03-10", 2, 1),
        ("2025-03-11", 1, 0),
    ]
    assert (await client.get(DAYS)).json() == {"days": []}
    assert (await client.get(DAYS, params={"until": "0001-01-03"})).json() == {"days": []}


@pytest.mark.parametrize(
    "wanted",
    [
        {"since": "2025-03-11", "until": "2025-03-10"},
        {"since": "2025-01-01", "until": "2025-04-03"},
        {"since": "1741600000"},
        {"until": "2025-02-30"},
    ],
)
async def test_invalid_days_are_refused(client: httpx.AsyncClient, wanted: dict[str, str]) -> None:
    assert (await client.get(DAYS, params=wanted)).status_code == 422
