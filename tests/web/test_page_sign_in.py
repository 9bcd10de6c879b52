"""The page at a real OpenID provider: two organizations, sign-out, and a session that ends in an answer."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from devkit.browser import Page, Program, browsing
from devkit.doubles import openid_provider
from devkit.doubles.openai_double import OpenAIDouble, Script
from devkit.in_process import InProcess, Variant
from devkit.page_layout import SIZES, ZOOMED, faults
from devkit.sign_in_scenes import ASKING, AT_HOME, LINK, make_key, reached, sign_in
from devkit.system import System
from devkit.tls_proxy import ending_tls
from devkit.visits import ANSWERED, Visit, page_running, visiting
from orc.cli.ports import free_port
from orc.credentials import CredentialStore
from orc.settings import CallerSettings
from orc_core.infra.keys import Keys

Running = tuple[InProcess, OpenAIDouble]
SIGN_OUT = "document.querySelector('a[href^=\"/api/sign-out?\"]')"
LEAVING = "document.querySelector('button[value=yes]')"
BRIEF_SECONDS = 12


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with ExitStack() as stack:

        def settings(origin: str) -> dict[str, Any]:
            provider = stack.enter_context(openid_provider.running(origin))
            return {"context_creators": "everyone", **provider.settings(origin)}

        folder = tmp_path_factory.mktemp("signed-in")
        brief = {"session_hours": BRIEF_SECONDS / 3600}
        variants = {"oidc": Variant({}, at=settings), "brief": Variant(brief, at=settings)}
        yield stack.enter_context(page_running(folder, variants))


@pytest.fixture
async def meet(program: Program, running: Running) -> AsyncIterator[Callable[[], Any]]:
    """Makes a person with a new browser at the page, who is not signed in."""
    async with AsyncExitStack() as stack:

        async def made(variant: str = "oidc") -> Visit:
            visit = await stack.enter_async_context(visiting(program, *running))
            visit.variant = variant
            await visit.be("")
            await visit.page.open(visit.address)
            await visit.page.until(LINK)
            return visit

        yield made


def end_sessions(here: InProcess, user: str) -> None:
    """What `orc sign-out` does."""
    items = here.portal.call(here.documents.clients.items, "credentials")
    here.portal.call(CredentialStore(items, Keys("k" * 32), CallerSettings()).end_all, user)


FETCH = """
(async (method, path, body) => {
  const headers = { "content-type": "application/json" };
  const answer = await fetch("/api" + path, { method, headers, body: body && JSON.stringify(body) });
  return [answer.status, await answer.json().catch(() => null)];
})
"""


async def fetched(page: Page, method: str, path: str, body: str = "null") -> Any:
    """Status and answer of a request that the page makes."""
    return await page.value(f"{FETCH}({method!r}, {path!r}, {body})")


async def test_people_share_a_context_in_their_organization_and_not_with_another(
    meet: Callable[[], Any],
) -> None:
    ada, bob, eve = [await meet() for _ in range(3)]
    for visit, name in ((ada, "ada@acme"), (bob, "bob@acme"), (eve, "eve@globex")):
        await sign_in(visit.page, name)
    assert await ada.texts("a[href^='/api/sign-out']") == ["Sign out Ada"]
    status, made = await fetched(ada.page, "POST", "/contexts", '{ type: "workspace", name: "Quay" }')
    assert status == 201, made
    path = f"/contexts/{made['context_id']}"
    shared = await fetched(ada.page, "PUT", f"{path}/members/everyone/-", '{ role: "viewer" }')
    assert shared == [204, None]
    assert [(await fetched(each.page, "GET", path))[0] for each in (ada, bob, eve)] == [200, 200, 404]
    await bob.page.open("about:blank")
    await bob.page.open(f"{bob.address}#/contexts")
    await bob.page.until("document.body.textContent.includes('Quay')")
    await ada.ask("Hello there")
    address = await ada.page.value("location.hash")
    for other in (bob, eve):
        status, _ = await fetched(other.page, "GET", f"/conversations/{address[4:40]}")
        assert status == 404


async def test_who_signs_out_is_signed_out_here_and_at_the_provider(meet: Callable[[], Any]) -> None:
    visit = await meet()
    await sign_in(visit.page, "ada@acme")
    await visit.page.value(f"{SIGN_OUT}.click()")
    await reached(visit.page, LEAVING)
    await visit.page.value(f"{LEAVING}.click()")
    await reached(visit.page, LINK)
    assert (await fetched(visit.page, "GET", "/me"))[0] == 401
    # The provider asks again who it is.
    await visit.page.value(f"{LINK}.click()")
    await reached(visit.page, ASKING)


async def test_a_key_for_a_program_is_made_shown_once_and_revoked(meet: Callable[[], Any]) -> None:
    visit = await meet()
    page = visit.page
    await sign_in(page, "ada@acme")
    await page.until("document.querySelector('.sessions-foot button')")
    await page.value("document.querySelector('.sessions-foot button').click()")
    await page.until("document.querySelector('dialog[open] .api-keys form input')")
    await make_key(visit, "v1", "report script")
    await page.until("document.querySelector('.api-key') && document.querySelector('.api-keys li')")
    key = await page.value("document.querySelector('.api-key').value")
    assert "last used: never" in (await visit.texts(".api-keys li"))[0]
    async with httpx.AsyncClient(headers={"authorization": f"Bearer {key}"}) as program:
        assert (await program.get(f"{visit.address}v1/models")).status_code == 200
        assert (await program.get(f"{visit.address}api/me")).status_code == 401
        await page.press("Escape")
        await page.until("!document.querySelector('dialog')")
        await page.value("document.querySelector('.sessions-foot button').click()")
        await page.until("document.querySelector('.api-keys li')")
        assert await page.value("document.querySelector('.api-key')") is None
        assert "/v1, valid until" in (used := (await visit.texts(".api-keys li"))[0])
        assert "never" not in used
        await page.value("document.querySelector('.api-keys li button').click()")
        await page.until("!document.querySelector('.api-keys li')")
        assert (await program.get(f"{visit.address}v1/models")).status_code == 401


async def test_the_sign_in_and_the_keys_fit_in_every_window(meet: Callable[[], Any]) -> None:
    """At 400 % the sign-in was below the window; the places of keys were wider than the dialog."""
    visit = await meet()

    async def found() -> dict[tuple[float, ...], list[str]]:
        wrong = {}
        for width, height, *zoom in (*SIZES, *ZOOMED):
            await visit.page.look(width=width, height=height)
            wrong[width, *zoom] = await faults(visit.page)
        return {at: each for at, each in wrong.items() if each}

    assert await found() == {}
    await sign_in(visit.page, "ada@acme")
    await visit.page.value("document.querySelector('.sessions-foot button').click()")
    await visit.page.until("document.querySelector('dialog[open] .api-keys form input')")
    await make_key(visit, "v1", "chat client in the office of the harbour master")
    await visit.page.until("document.querySelector('.api-keys li')")
    assert await found() == {}


async def test_an_answer_outlives_the_session_in_which_it_was_asked_for(
    meet: Callable[[], Any], running: Running
) -> None:
    here, model = running
    visit = await meet()
    page = visit.page
    await sign_in(visit.page, "ada@acme")
    model.script = Script(
        text="The quay opens at seven in the morning, every day of the year.", tokens=14, delay_ms=250
    )
    await visit.write("When does the quay open?")
    await page.press("Enter")
    await page.until("document.querySelector('.turn .text')?.textContent.includes('quay')")
    address = await page.value("location.hash")
    end_sessions(here, "ada@acme")
    await visit.write("A draft about submarines")
    # The connection of the answer breaks, and is not taken up again without a session.
    await page.connected(False)
    await page.connected(True)
    await page.until("document.querySelector('.banner.is-bad')")
    assert "signed out" in (await visit.texts(".banner.is-bad"))[0]
    await page.value(f"{LINK}.click()")
    await reached(visit.page, f"{AT_HOME} && {ANSWERED.format(1)}")
    assert await page.value("location.hash") == address
    assert "every day of the year" in (await visit.texts(".turn .text"))[0]
    assert await page.value("document.getElementById('question').value") == "A draft about submarines"


REQUESTS = "performance.getEntriesByType('resource').filter(({ name }) => name.includes('/api/')).length"


async def test_a_page_that_is_signed_out_asks_nothing_until_its_user_is_back(
    meet: Callable[..., Any],
) -> None:
    visit = await meet("brief")
    page = visit.page
    await sign_in(page, "ada@acme")
    await visit.ask("Hello there")
    # The stream of events ends with the session.
    await page.until("document.querySelector('.banner.is-bad')")
    await asyncio.sleep(2)
    asked = await page.value(REQUESTS)
    for _ in range(6):
        await page.value("window.dispatchEvent(new Event('pointermove'))")
        await asyncio.sleep(1)
    assert await page.value(REQUESTS) == asked
    # The user signs in again in another tab, which has the same cookies.
    other = await meet("brief")
    await sign_in(other.page, "ada@acme")
    cookies = (await other.page.call("Network.getCookies"))["cookies"]
    [session] = [each["value"] for each in cookies if each["name"] == "orc-session"]
    await page.call("Network.setCookie", name="orc-session", value=session, url=visit.address)
    await page.value("window.dispatchEvent(new Event('focus'))")
    await page.until("!document.querySelector('.banner.is-bad')")
    # What happens elsewhere is heard of again.
    conversation = (await page.value("location.hash"))[4:40]
    asked_elsewhere = json.dumps({"question": "Where is the quay?", "conversation_id": conversation})
    assert (await fetched(other.page, "POST", "/orc", asked_elsewhere))[0] == 200
    await page.until("document.body.textContent.includes('Where is the quay?')")


async def test_a_sign_in_that_is_refused_is_said_in_the_language_of_the_page(meet: Callable[[], Any]) -> None:
    visit = await meet()
    for language, words in (("de", "nicht gelungen"), ("fr", "n'a pas abouti"), ("en", "did not succeed")):
        await visit.page.call("Network.setExtraHTTPHeaders", headers={"accept-language": language})
        await visit.page.open(f"{visit.address}api/sign-in/callback?state=x&error=access_denied")
        await reached(visit.page, LINK)
        assert words in (await visit.texts("main [role=alert]"))[0]


async def test_orc_serve_signs_in_behind_a_proxy_that_ends_tls(program: Program, tmp_path: Path) -> None:
    """No header says that the page is reached by https: a setting does, and the browser keeps the cookies."""
    port = free_port()
    origin = f"https://127.0.0.1:{port}"
    with openid_provider.running(origin) as provider:
        system = System(tmp_path / "data", environment(provider.settings(origin)))
        await asyncio.to_thread(system.start)
        try:
            async with ending_tls(port, system.api_port) as address, browsing(program) as page:
                assert f"Open {address}/ in a browser" in system.log
                await page.call("Security.setIgnoreCertificateErrors", ignore=True)
                await page.open(f"{address}/#/contexts")
                await page.until(LINK)
                await sign_in(page, "ada@acme")
                assert await page.value("location.href") == f"{address}/#/contexts"
                # The provider has cookies of this host too.
                cookies = (await page.call("Network.getCookies"))["cookies"]
                [own] = [each for each in cookies if "orc" in each["name"]]
                assert (own["name"], own["secure"], own["httpOnly"]) == ("__Host-orc-session", True, True)
                asked = await fetched(page, "POST", "/orc", '{ question: "Hello" }')
                assert asked[0] == 200, asked
                await page.value(f"{SIGN_OUT}.click()")
                await reached(page, LEAVING)
        finally:
            await asyncio.to_thread(system.stop)


def environment(settings: dict[str, Any]) -> dict[str, str]:
    """Settings as variables of the environment."""
    texts = {name: each if isinstance(each, str) else json.dumps(each) for name, each in settings.items()}
    return {f"ORC_{name.upper()}": text for name, text in texts.items()}
