"""Signing in through Azure's own worker runtime: its redirects and cookies arrive as the API sent them."""

import asyncio
from collections.abc import Iterator

import httpx
import pytest

from devkit.doubles import openid_provider
from devkit.signing_in import Person
from orc.api.auth import build_authenticator
from orc.settings import Settings
from tests.functions.conftest import client_of, loaded_api
from tests.functions.worker import Worker

ORIGIN = "http://localhost:7071"


@pytest.fixture
def browser(worker: Worker) -> Iterator[httpx.Client]:
    """A browser at a function app that signs people in at a real OpenID provider."""
    with openid_provider.running(ORIGIN) as provider, client_of(worker, "203.0.113.7") as client:
        state = loaded_api().state
        before = state.authenticator
        state.authenticator = build_authenticator(Settings(**provider.settings(ORIGIN)))
        client.headers["origin"] = ORIGIN
        yield client
        state.authenticator = before


def test_a_person_signs_in_and_out_through_the_functions_host(browser: httpx.Client) -> None:
    begun = browser.get("/sign-in", params={"post_login_redirect_uri": "/#/contexts"})
    assert (begun.status_code, begun.extensions["function"]) == (302, "api")
    ada = Person(loaded_api(), ORIGIN, "ada@acme")
    finished = browser.get(asyncio.run(ada.agree(begun.headers["location"])))
    assert (finished.status_code, finished.headers["location"]) == (303, f"{ORIGIN}/#/contexts")
    assert len(finished.headers.get_list("set-cookie")) == 2
    me = browser.get("/me").json()
    assert (me["organization_id"], me["user_id"]) == ("acme", "ada@acme")
    assert browser.post("/contexts", json={}, headers={"origin": "https://evil.example"}).status_code == 403
    assert browser.get("/sign-out").status_code == 303
    assert browser.get("/me").status_code == 401
