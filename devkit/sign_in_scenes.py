"""States of the web page where people sign in at an OpenID provider, and have keys for programs."""

import asyncio
import json

from devkit.browser import SECONDS, Page
from devkit.page_stage import SIGN_IN, scene
from devkit.visits import Visit

LINK = "document.querySelector('a[href^=\"/api/sign-in?\"]')"
ASKING = "document.querySelector('input[name=login]')"
AT_HOME = "document.querySelector('main:not(.welcome)')"
KEYS = (("", "report script"), ("v1", "chat client in the office of the harbour master"), ("mcp", "editor"))
"""What a key is for, and its name."""


async def reached(page: Page, condition: str) -> None:
    """Wait for a condition on whatever page the browser comes to; a page that is left loses its promises."""
    async with asyncio.timeout(SECONDS):
        while True:
            try:
                if await page.value(f"Boolean({condition})"):
                    return
            except AssertionError:
                pass
            await asyncio.sleep(0.05)


async def sign_in(page: Page, name: str) -> None:
    """Follow the link, and give name and password at the provider."""
    await page.value(f"{LINK}.click()")
    await reached(page, ASKING)
    await page.value(f"{ASKING}.value = '{name}'")
    await page.value("document.querySelector('input[name=password]').value = 'any'")
    await page.value("document.querySelector('form').requestSubmit()")
    await reached(page, AT_HOME)


@scene("sign-in", SIGN_IN)
async def play_sign_in(visit: Visit) -> None:
    await visit.be("")
    await visit.page.call("Network.clearBrowserCookies")
    await visit.page.open("about:blank")
    await visit.open()
    await visit.page.until(LINK)


async def make_key(visit: Visit, only: str, name: str) -> None:
    """In the open preferences."""
    chosen = "document.querySelector('.api-keys form select')"
    change = f"{chosen}.dispatchEvent(new Event('change', {{ bubbles: true }}))"
    await visit.page.value("document.querySelector('.api-keys form input').focus()")
    await visit.page.value(f"{chosen}.value = {json.dumps(only)}, {change}")
    await visit.page.type_line(name)


@scene("api-keys", SIGN_IN)
async def play_api_keys(visit: Visit) -> None:
    await play_sign_in(visit)
    await sign_in(visit.page, "ada@acme")
    await visit.click(".sessions-foot button")
    for number, key in enumerate(KEYS, 1):
        await make_key(visit, *key)
        await visit.page.until(f"document.querySelectorAll('.api-keys li').length === {number}")
    await visit.sees(".api-key")
