"""Signing in: a first visitor, a session that ends in use, what stays in the browser, and pages of others."""

import json
import uuid
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from devkit.serving import serve_from_thread
from devkit.system import principal_headers
from devkit.visits import ANSWERED, Visit

SIGN_IN = "document.querySelector('a[href^=\"/.auth/login/\"]')"
TRYING = """
(async (at, conversation, document) => {
  const file = new FormData();
  file.append("file", new Blob(["The quay is closed."]), "foreign.txt");
  const question = JSON.stringify({ conversation_id: conversation, question: "Foreign?" });
  const asked = { headers: { "content-type": "application/json" }, body: question };
  const tries = [
    [`${at}/conversations/${conversation}/documents`, { method: "POST", mode: "no-cors", body: file }],
    [`${at}/orc`, { method: "POST", mode: "no-cors", body: question }],
    [`${at}/orc`, { method: "POST", ...asked }],
    [`${at}/conversations/${conversation}/documents/${document}`, { method: "DELETE" }],
    [`${at}/conversations/${conversation}`, { method: "DELETE" }],
  ];
  const read = [];
  for (const [address, how] of tries) {
    const got = await fetch(address, { credentials: "include", ...how }).catch(() => null);
    if (got && got.type !== "opaque") read.push([how.method, address, got.status]);
  }
  return read;
})
"""
KEPT = "JSON.stringify([{...sessionStorage}, Object.keys(localStorage)])"


async def signed(visit: Visit, is_signed: bool) -> None:
    """Be signed in, or not, from the next request on."""
    headers = principal_headers(visit.organization, "ann") if is_signed else {}
    await visit.page.call("Network.setExtraHTTPHeaders", headers=headers)


async def return_address(visit: Visit) -> str:
    """Where the link to sign in leads back to."""
    address = urlsplit(str(await visit.page.value(f"{SIGN_IN}.getAttribute('href')")))
    assert address.path == "/.auth/login/aad"
    return parse_qs(str(address.query))["post_login_redirect_uri"][0]


async def test_a_first_visitor_finds_the_sign_in_and_comes_back(visit: Visit) -> None:
    page = visit.page
    await signed(visit, False)
    await page.open("about:blank")
    await page.open(visit.address + "#/contexts")
    await page.until(SIGN_IN)
    assert await return_address(visit) == "/#/contexts"
    assert await page.value("document.getElementById('question')") is None
    # A sign-in that loses the part after "#": the page knows it.
    await page.value(
        f"({SIGN_IN}.addEventListener('click', (event) => event.preventDefault()), {SIGN_IN}.click())"
    )
    await signed(visit, True)
    await page.open("about:blank")
    await page.open(visit.address)
    await page.until("document.querySelector('.admin')")
    assert await page.value("location.hash") == "#/contexts"
    page.problems.clear()


async def test_what_was_written_outlives_the_sign_in_and_not_the_sign_out(visit: Visit) -> None:
    page = visit.page
    await page.value("document.getElementById('plus').click()")
    toggles = "[...document.querySelectorAll('.menu .toggle')]"
    search = f"{toggles}.find((each) => each.textContent.includes('Search passages'))"
    await page.value(f"{search}.click()")
    await visit.write("A draft about submarines")
    await signed(visit, False)
    await page.press("Enter")
    await page.until(SIGN_IN)
    assert await page.value("document.getElementById('question').value") == "A draft about submarines"
    assert await visit.texts(".turn") == []
    await signed(visit, True)
    await page.open("about:blank")
    await page.open(visit.address)
    await page.until("document.getElementById('question')?.value === 'A draft about submarines'")
    assert len(await visit.texts(".chips .is-off")) == 1
    leave = "document.querySelector('a[href^=\"/.auth/logout\"]')"
    await page.value(
        f"({leave}.addEventListener('click', (event) => event.preventDefault()), {leave}.click())"
    )
    kept = json.loads(await page.value(KEPT))
    assert not [text for text in kept[0].values() if "submarine" in text]
    assert not [name for name in kept[1] if "choices" in name]
    await page.open("about:blank")
    await page.open(visit.address)
    await page.until("document.getElementById('question')")
    assert await page.value("document.getElementById('question').value") == ""
    page.problems.clear()


async def test_one_comes_back_to_the_session_in_which_the_sign_in_ended(visit: Visit) -> None:
    page = visit.page
    await visit.ask("Hello there")
    here = await page.value("location.hash")
    toggles = "[...document.querySelectorAll('.menu .toggle')]"
    search = f"{toggles}.find((each) => each.textContent.includes('Search passages'))"
    await page.value(f"document.getElementById('plus').click(), {search}.click()")
    await signed(visit, False)
    await visit.write("A draft about submarines")
    await page.press("Enter")
    await page.until(SIGN_IN)
    assert await return_address(visit) == f"/{here}"
    await page.until("document.querySelectorAll('.turn').length === 1")
    await signed(visit, True)
    await page.open("about:blank")
    await page.open(visit.address + here)
    await page.until(
        f"{ANSWERED.format(1)} && document.getElementById('question').value === 'A draft about submarines'"
    )
    assert len(await visit.texts(".chips .is-off")) == 1
    page.problems.clear()


@pytest.fixture
def other_page() -> Iterator[str]:
    """The address of a page of another origin on this machine."""

    async def page(_: Request) -> HTMLResponse:
        return HTMLResponse("<!doctype html><title>Another page</title>")

    with serve_from_thread(Starlette(routes=[Route("/", page)])) as address:
        yield f"{address}/"


@pytest.mark.parametrize("variant", ["page", "local"])
@pytest.mark.parametrize("is_opaque", [False, True])
async def test_a_page_of_another_origin_cannot_upload_ask_or_delete(
    visit: Visit, other_page: str, variant: str, is_opaque: bool
) -> None:
    """The browser of the user is known to the API on every request, as it is by a cookie."""
    page, conversation, at = visit.page, str(uuid.uuid4()), visit.here.addresses[variant]
    headers = {} if variant == "local" else principal_headers(visit.organization, "ann")
    session = f"{at}/conversations/{conversation}"
    async with httpx.AsyncClient(headers=headers) as client:
        stored = await client.post(
            f"{session}/documents", files={"file": ("quay.txt", b"The quay opens at seven.")}
        )
        document = stored.json()["documents"][0]["document_id"]
        await page.open("about:blank" if is_opaque else other_page)
        assert await page.value(f"{TRYING}({at!r}, {conversation!r}, {document!r})") == []
        assert len({url for _, url in page.requests if url.startswith(at) and conversation in url}) == 3
        listed = (await client.get(f"{session}/documents")).json()["documents"]
        assert [each["blob_name"] for each in listed] == ["quay.txt"]
        assert (await client.get(session)).json()["turns"] == []
    page.problems.clear()
    page.requests[:] = [each for each in page.requests if each[1] != other_page]
