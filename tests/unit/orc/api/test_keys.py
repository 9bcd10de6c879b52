"""Keys of users for programs: hashed, named, revocable, noted when used, ended without sign-ins."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from devkit.clock import Clock
from devkit.doubles import openid_provider
from devkit.doubles.openid_provider import Provider
from devkit.signing_in import Person
from orc.api.app import create_app
from orc.credentials import MOST_KEYS, CredentialStore
from orc.identity import Principal
from orc.settings import CallerSettings, Settings
from orc_core.errors import Conflict
from orc_core.infra.keys import Keys
from orc_core.infra.sqlite import Database
from orc_core.storage.sqlite.items import open_table
from orc_core.storage.sqlite.tables import TABLES

pytestmark = pytest.mark.slow

ORIGIN = "http://127.0.0.1:8232"
DAY = 24 * 60 * 60
ANN = Principal("acme", "ann", frozenset({"reader"}))


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with openid_provider.running(ORIGIN) as running:
        yield running


@pytest.fixture
async def app(provider: Provider, tmp_path: Path) -> AsyncIterator[FastAPI]:
    app = create_app(Settings(data_dir=tmp_path, **provider.settings(ORIGIN)))
    yield app
    await app.state.provider.close()


async def test_a_program_acts_as_the_user_who_has_made_its_key(app: FastAPI, tmp_path: Path) -> None:
    ada, eve = Person(app, ORIGIN, "ada@acme"), Person(app, ORIGIN, "eve@globex")
    for person in (ada, eve):
        await person.sign_in()
    made = await ada.orc.post("/api/keys", json={"name": "report script"})
    assert made.status_code == 201, made.text
    key, key_id = made.json()["key"], made.json()["key_id"]
    stored = await asyncio.to_thread(database_in, tmp_path)
    assert key_id.encode() in stored and key.encode() not in stored
    headers = {"authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url=ORIGIN, headers=headers
    ) as program:
        me = (await program.get("/api/me")).json()
        assert (me["organization_id"], me["user_id"], me["name"]) == ("acme", "ada@acme", "Ada")
        asked = await program.post("/api/orc", json={"question": "Hello"})
        assert asked.status_code == 200, asked.text
        # It makes no others, and ends none.
        for method, path in (("GET", ""), ("POST", ""), ("DELETE", f"/{key_id}")):
            answer = await program.request(method, f"/api/keys{path}", json={"name": "more"})
            assert answer.status_code == 403
        [listed] = (await ada.orc.get("/api/keys")).json()["keys"]
        assert (listed["name"], listed["last_used"] is not None) == ("report script", True)
        assert "key" not in listed
        assert (await eve.orc.get("/api/keys")).json()["keys"] == []
        assert (await eve.orc.delete(f"/api/keys/{key_id}")).status_code == 404
        assert (await ada.orc.delete(f"/api/keys/{key_id}")).status_code == 204
        assert (await program.get("/api/me")).status_code == 401
        assert (await ada.orc.delete(f"/api/keys/{key_id}")).status_code == 404


@pytest.mark.parametrize("only", ["v1", "mcp"])
async def test_a_key_for_one_interface_is_refused_at_all_others(only: str, app: FastAPI) -> None:
    ada = Person(app, ORIGIN, "ada@acme")
    await ada.sign_in()
    made = await ada.orc.post("/api/keys", json={"name": "chat page", "only": only})
    [listed] = (await ada.orc.get("/api/keys")).json()["keys"]
    assert (made.status_code, made.json()["only"], listed["only"]) == (201, only, only)
    headers = {"authorization": f"Bearer {made.json()['key']}"}
    transport = httpx.ASGITransport(app)
    statuses = {}
    async with httpx.AsyncClient(transport=transport, base_url=ORIGIN, headers=headers) as program:
        for path in ("/v1/models", "/api/v1/models", "/mcp", "/api/me", "/api", "//v1/models", "/v1x", "/"):
            statuses[path] = (await program.get(path)).status_code
        everything = await program.request("DELETE", f"/api/keys/{made.json()['key_id']}")
    assert statuses.pop("/") == 200  # the page, which everyone may load
    assert {path for path, status in statuses.items() if status != 401} == {
        path for path in ("/v1/models", "/api/v1/models", "/mcp") if f"/{only}" in path
    }
    assert everything.status_code == 401
    assert (await ada.orc.post("/api/keys", json={"name": "wrong", "only": "api"})).status_code == 422


def database_in(folder: Path) -> bytes:
    """All bytes of the database and its log."""
    return b"".join(file.read_bytes() for file in folder.glob("orc.db*"))


@pytest.fixture
async def store(clock: Clock, tmp_path: Path) -> AsyncIterator[CredentialStore]:
    database = Database(tmp_path / "orc.db")
    items, keys = await open_table(database, TABLES["credentials"]), Keys("k" * 32)
    store = CredentialStore(items, keys, CallerSettings(), clock)
    await store.begin_session(ANN, seconds=DAY)
    yield store
    await database.close()


async def test_a_key_ends_ninety_days_after_the_latest_sign_in(store: CredentialStore, clock: Clock) -> None:
    _, secret = await store.create_key(ANN, "laptop")
    clock.now += 60 * DAY
    assert await store.key_owner(secret) == ANN
    promoted = Principal("acme", "ann", frozenset({"orc.admin"}))
    await store.begin_session(promoted, seconds=DAY)
    clock.now += 60 * DAY
    assert await store.key_owner(secret) == promoted
    clock.now += 31 * DAY
    assert await store.key_owner(secret) is None
    assert await store.keys_of(ANN) == []


async def test_the_day_of_the_last_use_is_noted_and_lengthens_nothing(
    store: CredentialStore, clock: Clock
) -> None:
    made, secret = await store.create_key(ANN, "laptop")
    for _ in range(3):
        clock.now += 29 * DAY
        assert await store.key_owner(secret) == ANN
    [key] = await store.keys_of(ANN)
    assert (key.last_used, key.ends_at) == ("2027-04-12", made.ends_at)
    clock.now += 29 * DAY
    assert await store.key_owner(secret) is None


async def test_a_user_has_so_many_keys_at_most(store: CredentialStore, clock: Clock) -> None:
    for number in range(MOST_KEYS):
        await store.create_key(ANN, f"key {number}")
    with pytest.raises(Conflict):
        await store.create_key(ANN, "one more")
    bob = Principal("acme", "bob")
    await store.begin_session(bob, seconds=DAY)
    await store.create_key(bob, "another user's")
    clock.now += 90 * DAY
    await store.begin_session(ANN, seconds=DAY)
    await store.create_key(ANN, "after all have ended")
    assert [key.name for key in await store.keys_of(ANN)] == ["after all have ended"]


async def test_an_old_session_makes_no_key_with_roles_that_a_later_sign_in_lacks(
    store: CredentialStore, clock: Clock
) -> None:
    promoted = Principal("acme", "ann", frozenset({"orc.admin"}))
    old = await store.begin_session(promoted, seconds=30 * DAY)
    clock.now += DAY
    latest = clock.now
    await store.begin_session(ANN, seconds=DAY)
    clock.now += 28 * DAY
    session = await store.session(old)
    assert session is not None
    made, secret = await store.create_key(session.principal, "laptop")
    owner = await store.key_owner(secret)
    assert owner == ANN
    assert made.ends_at.timestamp() == owner.until == latest + 90 * DAY
