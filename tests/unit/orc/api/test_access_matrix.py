"""Every route of the API with every kind of caller and grant, held against a reference of a few lines."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from langchain_core.messages import AIMessage

from devkit.fakes import FakeTools, models_of, scripted
from orc.api.app import create_app
from orc.api.routes import documents
from orc.settings import AuthMode, Settings
from orc.tools.ports import ToolSchema
from orc.turns.running_turn import TurnDependencies
from tests.unit.orc.api.access_routes import TABLE
from tests.unit.orc.api.access_world import BOB, ROOT, STRANGERS, Grant, World, grants

pytestmark = pytest.mark.slow

SEARCH = ToolSchema(name="semantic_search", description="", input_schema={"type": "object", "properties": {}})


@pytest.fixture
async def http(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[httpx.AsyncClient]:
    """The API over doubles of the model and of the tools; streams about documents end at once."""
    monkeypatch.setattr(documents, "FIRST_LOOK_SECONDS", 0.001)
    monkeypatch.setattr(documents, "FOLLOWED_SECONDS", 0.001)
    tools = FakeTools([SEARCH], semantic_search={"passages": [], "steps": [], "documents": []})
    writer, _ = scripted(lambda _messages, _options: AIMessage("I do not know."))

    def with_doubles(parts: TurnDependencies) -> TurnDependencies:
        return replace(parts, tools=tools, models=models_of(writer))

    mode = {"auth_mode": AuthMode.EASYAUTH, "azure_auth_enabled": True, "messages_per_hour": 0}
    app = create_app(Settings.model_validate({"data_dir": tmp_path, "critic": "off", **mode}), with_doubles)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as opened:
        yield opened
    await app.state.provider.close()


def test_every_route_has_an_entry() -> None:
    app = create_app(Settings(auth_mode=AuthMode.EASYAUTH, azure_auth_enabled=True))
    paths = app.openapi()["paths"]
    routes = {f"{method.upper()} {path}" for path, operations in paths.items() for method in operations}
    listed = {" ".join(route.split(" ")[:2]) for route in TABLE}
    assert routes == listed, "say in access_routes.py what a new route needs"


@pytest.mark.slow
async def test_every_grant_opens_what_the_reference_says(http: httpx.AsyncClient, full_size: bool) -> None:
    found = []
    for grant in grants(all_of_them=full_size):
        world = World(http, grant)
        await world.build()
        for stranger in STRANGERS.values() if full_size and grant.principal != "everyone" else ():
            found += await world.failures(stranger)
        found += await world.failures(BOB)
    assert found == []


@pytest.mark.parametrize("stranger", [*STRANGERS.values(), ROOT], ids=[*STRANGERS, "administrator"])
async def test_strangers_get_what_the_reference_says(http: httpx.AsyncClient, stranger: object) -> None:
    world = World(http, Grant("self", "user:bob", "admin"))
    await world.build()
    assert await world.failures(stranger) == []  # type: ignore[arg-type]


async def test_groups_that_do_not_fit_open_nothing(http: httpx.AsyncClient) -> None:
    world = World(http, Grant("parent", "group:crew", "admin"))
    await world.build()
    many = BOB._replace(groups=("crew", *(f"group-{number}" for number in range(250))))
    assert await world.failures(many) == []
