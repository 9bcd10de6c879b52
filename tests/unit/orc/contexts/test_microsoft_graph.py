"""Microsoft Graph as a directory, against a double of the service."""

from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import cast

import httpx2
import pytest
from starlette.responses import JSONResponse, Response

from devkit.doubles.microsoft_graph import TOKEN, MicrosoftGraphDouble
from orc.cli.doctor import checks_of_callers
from orc.contexts.microsoft_graph import TOKEN_SCOPE, MicrosoftGraph
from orc.contexts.people import Person
from orc.settings import Settings
from orc_core.errors import DependencyDown
from orc_core.infra.azure import Credentials

ADA = {"id": "u-1", "displayName": "Ada Lovelace", "mail": "ada@example.org"}
ROBOT = {"id": "u-2", "displayName": "Adam", "mail": None}
STAFF = {"id": "g-1", "displayName": "Ada users", "mail": None}
TENANT = "tenant"


class FakeCredential:
    async def get_token(self, scope: str, *, tenant_id: str) -> SimpleNamespace:
        assert (scope, tenant_id) == (TOKEN_SCOPE, TENANT)
        return SimpleNamespace(token=TOKEN)


@pytest.fixture
def double() -> MicrosoftGraphDouble:
    return MicrosoftGraphDouble(users=[ADA, ROBOT], groups=[STAFF])


@pytest.fixture
async def graph(double: MicrosoftGraphDouble) -> AsyncIterator[MicrosoftGraph]:
    identity = cast(Credentials, SimpleNamespace(default=FakeCredential()))
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(double.app)) as http:
        yield MicrosoftGraph(http, identity, TENANT)


async def test_users_and_groups_are_found_by_name_and_address(graph: MicrosoftGraph) -> None:
    ada = Person(kind="user", id="u-1", name="Ada Lovelace", email="ada@example.org")
    assert await graph.find(TENANT, "ada@exam") == [ada]
    assert [(each.kind, each.id, each.email) for each in await graph.find(TENANT, "Ada")] == [
        ("user", "u-1", "ada@example.org"),
        ("user", "u-2", ""),
        ("group", "g-1", ""),
    ]


async def test_the_doctor_searches_the_directory(graph: MicrosoftGraph, double: MicrosoftGraphDouble) -> None:
    settings = Settings(directory_tenant=TENANT)
    assert len(list(checks_of_callers(settings, None))) == 1
    _, people = checks_of_callers(settings, graph)
    state = await people()
    assert (state.name, state.where, state.ok) == ("people", TENANT, True)
    assert [asked.split()[0] for asked in double.asked] == ["users", "groups"]
    double.reply = JSONResponse({"error": {"code": "Authorization_RequestDenied"}}, 403)
    state = await people()
    assert "check its permissions" in (state.detail or "")
    # Members are still added by their ids.
    assert state.allows_turns


async def test_words_stay_words_and_another_organization_is_not_asked_about(
    graph: MicrosoftGraph, double: MicrosoftGraphDouble
) -> None:
    assert await graph.find(TENANT, 'x" OR "displayName:Ada\\') == []
    assert await graph.find(TENANT, "{0} ada") == []
    asked = len(double.asked)
    assert await graph.find("another", "Ada") == []
    for nothing in ("", " ", '"', '" \\'):
        assert await graph.find(TENANT, nothing) == []
    assert len(double.asked) == asked


@pytest.mark.parametrize(
    "reply",
    [
        JSONResponse({"error": {"code": "Authorization_RequestDenied"}}, 403),
        JSONResponse({}, 503),
        Response("<html>", media_type="text/html"),
        JSONResponse({"value": None}),
        JSONResponse({"value": [{"displayName": "without an id"}]}),
        JSONResponse([]),
    ],
)
async def test_what_is_no_answer_is_an_outage(
    graph: MicrosoftGraph, double: MicrosoftGraphDouble, reply: Response
) -> None:
    double.reply = reply
    with pytest.raises(DependencyDown) as failed:
        await graph.find(TENANT, "Ada")
    assert failed.value.dependency == "directory"
