"""Signing in: a first visitor, a session that ends in use, and what stays in the browser afterwards."""

import json
from urllib.parse import parse_qs, urlsplit

from devkit.system import principal_headers
from devkit.visits import Visit

SIGN_IN = "document.querySelector('a[href^=\"/.auth/login/\"]')"
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
