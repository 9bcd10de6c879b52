"""A user at the web page: the browser, the product on one thread, and the model double behind it."""

import json
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from devkit.browser import Page, Program, browsing
from devkit.doubles.openai_double import OpenAIDouble, Script, serving
from devkit.in_process import InProcess, Variant, running_here
from devkit.system import principal_headers

ANSWERED = "document.querySelectorAll('.turn.is-answered').length >= {}"
ADMINISTRATOR = "orc.admin"
_LOCAL = ("blob:", "data:image/svg+xml")
"""Pictures of pages, and the icons that the browser itself draws in fields for dates."""

_KEPT = """
(() => {
  if (!location.protocol.startsWith("http")) return [];
  const kept = [localStorage, sessionStorage].flatMap((each) => Object.values(each)).join(" ");
  const shown = document.querySelectorAll(".turn .text, .turn del, .page-text, .quote-box p, .quote-row");
  const words = [...shown].map((each) => each.textContent.split(/\\s+/));
  const runs = words.flatMap((each) => each.map((_, at) => each.slice(at, at + 5)));
  return runs.filter((run) => run.length === 5 && kept.includes(run.join(" "))).map((run) => run.join(" "));
})()
"""
"""Five words in a row: a question may have a word in common with its answer."""


@dataclass
class Visit:
    """A user at the page, and what else a test needs: the API as this user, the model, the files' worker."""

    page: Page
    here: InProcess
    model: OpenAIDouble
    organization: str
    variant: str = "page"
    user: str = "ann"

    @property
    def address(self) -> str:
        return self.here.addresses[self.variant].removesuffix("/api") + "/"

    def client(self) -> httpx.Client:
        """The API as this user."""
        return self.here.client(self.variant, self.organization, self.user)

    def get(self, path: str) -> Any:
        """What the API returns to the same user."""
        with self.client() as client:
            response = client.get(path)
            assert response.status_code == 200, response.text
            return response.json()

    async def be(self, user: str) -> None:
        """Be signed in as this user from the next request on; "" for no user."""
        self.user = user
        headers = principal_headers(self.organization, user, ADMINISTRATOR) if user else {}
        await self.page.call("Network.setExtraHTTPHeaders", headers=headers)

    async def open(self, fragment: str = "") -> None:
        await self.page.open(self.address + fragment)
        await self.page.until("document.getElementById('question') || document.querySelector('main')")

    async def attach(self, *files: Path) -> None:
        await self.page.attach("#picker", *files)
        await self.page.until(f"document.querySelector('.shelf')?.dataset.askable >= {len(files)}")

    async def write(self, question: str) -> None:
        await self.page.value("document.getElementById('question').focus()")
        await self.page.call("Input.insertText", text=question)

    async def close_while_writing(self, opened: str) -> None:
        """Write, and close with Esc what is open: the focus stays in the question."""
        await self.write("And where")
        await self.page.press("Escape")
        await self.page.until(f"!document.querySelector({json.dumps(opened)})")
        await self.page.value("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        assert await self.page.value("document.activeElement.id") == "question"

    async def ask(self, question: str, *, answers: int = 1) -> None:
        """Ask, and wait for so many answers on the page."""
        await self.write(question)
        await self.page.press("Enter")
        await self.page.until(ANSWERED.format(answers))

    async def click(self, selector: str) -> None:
        """Click the first such element, once it is there."""
        found = f"document.querySelector({json.dumps(selector)})"
        await self.page.until(found)
        await self.page.value(f"{found}.click()")

    async def point(self, selector: str) -> None:
        """Click the first such element where it is seen, as a mouse does: it gets the focus."""
        found = f"document.querySelector({json.dumps(selector)})"
        await self.page.until(found)
        middle = "(({ x, y, width, height }) => [x + width / 2, y + height / 2])"
        x, y = await self.page.value(f"{middle}({found}.getBoundingClientRect())")
        for kind in ("mousePressed", "mouseReleased"):
            await self.page.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    async def sees(self, selector: str) -> None:
        """Wait until there is such an element."""
        await self.page.until(f"document.querySelector({json.dumps(selector)})")

    async def texts(self, selector: str) -> list[str]:
        found: list[str] = await self.page.value(
            f"[...document.querySelectorAll({json.dumps(selector)})].map((each) => each.textContent)"
        )
        return found

    async def why(self, turn: str = ".turn") -> list[str]:
        """Open how an answer came about, and return its sentences."""
        shown = f"document.querySelector('{turn} .why')"
        await self.page.until(shown)
        await self.page.value(f"{shown}.open || {shown}.querySelector('summary').click()")
        await self.sees(f"{turn} .why > ol > li")
        return await self.texts(f"{turn} .why > ol > li")

    async def conversation(self) -> str:
        identifier: str = await self.page.value("location.hash.slice(4, 40)")
        return identifier

    async def kept_texts(self) -> list[str]:
        """Words of the answers and documents in view that are in the storage of the browser."""
        found: list[str] = await self.page.value(_KEPT)
        return found

    def strangers(self) -> set[str]:
        """The addresses of other hosts that the page asked."""
        own = tuple(each.removesuffix("/api") + "/" for each in self.here.addresses.values())
        asked = {url for _, url in self.page.requests if not url.startswith((*own, *_LOCAL))}
        return asked - {"about:blank"}


@contextmanager
def page_running(
    folder: Path, variants: Mapping[str, Variant] | None = None
) -> Iterator[tuple[InProcess, OpenAIDouble]]:
    """The product with a model double. `variants` are added to `page`, which has the usual settings."""
    double = OpenAIDouble()
    with serving(double) as address:
        model = {
            "model": "openai:gpt-5.1",
            "openai_base_url": address,
            "openai_api_key": "none",
            "advanced": {"model_retries": 0},
        }
        all_variants = {"page": Variant(), **(variants or {})}
        with running_here(folder, all_variants, common=model, tools={}) as here:
            yield here, double


@asynccontextmanager
async def visiting(program: Program, here: InProcess, model: OpenAIDouble) -> AsyncIterator[Visit]:
    """A new user in a large window, before the page is opened."""
    model.script, model.responder = Script(), None
    async with browsing(program) as page:
        visit = Visit(page, here, model, f"org-{uuid.uuid4()}")
        await visit.be("ann")
        await page.look(width=1440, height=900)
        yield visit
