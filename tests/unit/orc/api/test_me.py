"""What a page learns about the caller and the installation comes from the settings and the catalogues."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from devkit.fakes import FakeTools
from devkit.system import principal_headers
from orc.api.app import create_app
from orc.settings import AuthMode, Settings
from orc.tools.ports import ToolSchema
from orc_core.errors import DependencyDown
from orc_core.mcp_contract import TOOLS

pytestmark = pytest.mark.slow

AZURE = {"auth_mode": AuthMode.EASYAUTH, "azure_auth_enabled": True}
Asks = Callable[..., Any]


@pytest.fixture
async def show(tmp_path: Path) -> AsyncIterator[Asks]:
    """Asks an installation of these settings who the caller is."""
    async with AsyncExitStack() as stack:

        async def ask(*roles: str, tools: FakeTools | None = None, **settings: Any) -> dict[str, Any]:
            gateway = tools or FakeTools()
            chosen = Settings(data_dir=tmp_path, **{**AZURE, **settings})
            app = create_app(chosen, lambda parts: replace(parts, tools=gateway))
            stack.push_async_callback(app.state.provider.close)
            async with httpx.AsyncClient(
                transport=httpx.ASGITransport(app), base_url="http://127.0.0.1/api"
            ) as client:
                answered = await client.get("/me", headers=principal_headers("acme", "ann", *roles))
            assert answered.status_code == 200, answered.text
            found: dict[str, Any] = answered.json()
            return found

        yield ask


async def test_a_user_sees_rights_and_limits(show: Asks) -> None:
    me = await show(messages_per_hour=7, max_upload_bytes=1234, max_documents_per_request=2)
    assert (me["organization_id"], me["user_id"], me["name"]) == ("acme", "ann", None)
    assert me["can"] == {"ask": True, "upload": True, "create_contexts": False, "administer": False}
    assert me["may_create"] == []
    assert me["limits"] == {
        "messages": {"limit": 7, "seconds": 3600},
        "uploads": {"limit": 1024**3, "seconds": 86400},
        "upload_bytes": 1234,
        "files_per_upload": 20,
        "documents_per_request": 2,
        "question_characters": 10_000,
    }
    assert me["sign_in"] == {
        "mode": "easyauth",
        "sign_in_url": "/.auth/login/aad",
        "sign_out_url": "/.auth/logout",
    }
    assert {".pdf", ".docx", ".eml", ".png"} <= set(me["extensions"])


async def test_an_administrator_sees_that(show: Asks) -> None:
    me = await show("orc.admin", messages_per_hour=0, upload_bytes_per_day=0)
    assert me["can"]["administer"] and me["can"]["create_contexts"]
    assert me["may_create"] == ["organization", "workspace"]
    assert (me["limits"]["messages"], me["limits"]["uploads"]) == (None, None)


async def test_a_local_user_signs_in_nowhere(show: Asks) -> None:
    me = await show(auth_mode=AuthMode.LOCAL)
    assert me["sign_in"] == {"mode": "local", "sign_in_url": None, "sign_out_url": None}
    assert (me["offline_model"], me["direct_upload_origin"]) == (True, None)
    assert me["models"] == [{"id": "extractive", "title": "extractive", "default": True, "images": False}]


async def test_models_are_those_that_a_request_may_name(show: Asks) -> None:
    facts = {"reader": {"images": True}}
    me = await show(openai_api_key="k", chat_model="writer", models=["reader"], model_catalog=facts)
    assert me["offline_model"] is False
    assert [(each["id"], each["default"], each["images"]) for each in me["models"]] == [
        ("writer", True, False),
        ("reader", False, True),
    ]


async def test_pictures_of_pages_can_be_asked_for_if_a_model_sees(show: Asks) -> None:
    async def offered(**settings: object) -> tuple[bool, bool]:
        me = await show(**settings)
        return me["page_images"], me["page_images_allowed"]

    sees = {"openai_api_key": "k", "chat_model": "gpt-4o"}
    assert await offered(**sees) == (False, True)
    assert await offered(**sees, page_images=True) == (True, True)
    assert await offered(**sees, page_images=True, most_page_images=0) == (False, False)
    assert await offered() == (False, False)


async def test_tools_are_available_if_the_tools_server_offers_them(show: Asks) -> None:
    gateway = FakeTools()
    gateway.schemas = [
        ToolSchema(name="web_search", description="", input_schema={}),
        ToolSchema(name="get_page", description="", input_schema={}),
    ]
    tools = {each["name"]: each for each in (await show(tools=gateway))["tools"]}
    assert tools.keys() == TOOLS
    assert {name for name, each in tools.items() if each["available"]} == {"web_search", "get_page"}


@pytest.mark.parametrize(("key", "are_there"), [("k", True), (None, False)])
async def test_tools_that_need_a_model_are_not_available_without_one(
    key: str | None, are_there: bool, show: Asks
) -> None:
    gateway = FakeTools()
    names = {"follow_relation", "get_ontology", "documents_add_to_context"}
    gateway.schemas = [ToolSchema(name=name, description="", input_schema={}) for name in names]
    settings = {"openai_api_key": key} if key else {}
    tools = (await show(tools=gateway, **settings))["tools"]
    assert {each["name"] for each in tools if each["available"]} == (names if are_there else set())


async def test_a_tools_server_that_is_away_hides_no_page(show: Asks) -> None:
    gateway = FakeTools()
    gateway.down = DependencyDown("away", dependency="mcp_server")
    me = await show(tools=gateway)
    assert me["tools"] and not any(each["available"] for each in me["tools"])
