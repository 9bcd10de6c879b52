"""The product on one thread with a model double, and a browser in which a new user opens the page."""

import json
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from devkit.browser import Page, Program, browsing, unpacked
from devkit.doubles.openai_double import OpenAIDouble, Script, serving
from devkit.in_process import InProcess, Variant, running_here
from devkit.system import principal_headers

_LOCAL = ("blob:", "data:image/svg+xml")
"""Pictures of pages, and the icons that the browser itself draws in fields for dates."""
ANSWERED = "document.querySelectorAll('.turn.is-answered').length >= {}"


@dataclass
class Visit:
    """A user at the page, and what else a test needs: the API as this user, the model, the files' worker."""

    page: Page
    here: InProcess
    model: OpenAIDouble
    organization: str

    @property
    def address(self) -> str:
        return self.here.addresses["page"].removesuffix("/api") + "/"

    def get(self, path: str) -> Any:
        """What the API returns to the same user."""
        with self.here.client("page", self.organization) as client:
            response = client.get(path)
            assert response.status_code == 200, response.text
            return response.json()

    async def open(self, fragment: str = "") -> None:
        await self.page.open(self.address + fragment)
        await self.page.until("document.getElementById('question') || document.querySelector('main')")

    async def attach(self, *files: Path) -> None:
        await self.page.attach("#picker", *files)
        await self.page.until(f"document.querySelectorAll('.file button.file-main').length >= {len(files)}")

    async def write(self, question: str) -> None:
        await self.page.value("document.getElementById('question').focus()")
        await self.page.call("Input.insertText", text=question)

    async def ask(self, question: str, *, answers: int = 1) -> None:
        """Ask, and wait for so many answers on the page."""
        await self.write(question)
        await self.page.press("Enter")
        await self.page.until(ANSWERED.format(answers))

    async def texts(self, selector: str) -> list[str]:
        found: list[str] = await self.page.value(
            f"[...document.querySelectorAll({json.dumps(selector)})].map((each) => each.textContent)"
        )
        return found

    async def conversation(self) -> str:
        identifier: str = await self.page.value("location.hash.slice(4)")
        return identifier


@pytest.fixture(scope="session")
def program() -> Iterator[Program]:
    with unpacked() as program:
        yield program


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[InProcess, OpenAIDouble]]:
    double = OpenAIDouble()
    with serving(double) as address:
        common = {"openai_base_url": address, "openai_api_key": "none", "advanced": {"model_retries": 0}}
        folder = tmp_path_factory.mktemp("page")
        with running_here(folder, {"page": Variant()}, common=common, tools={}) as here:
            yield here, double


@pytest.fixture
async def visit(program: Program, running: tuple[InProcess, OpenAIDouble]) -> AsyncIterator[Visit]:
    """A new user in a new browser. At the end nothing may have failed in the page, nor left this machine."""
    here, model = running
    model.script, model.responder = Script(), None
    organization = f"org-{uuid.uuid4()}"
    async with browsing(program) as page:
        visit = Visit(page, here, model, organization)
        await page.call(
            "Network.setExtraHTTPHeaders", headers=principal_headers(organization, "ann", "orc.admin")
        )
        await page.look(width=1440, height=900)
        await visit.open()
        yield visit
        assert page.problems == []
        elsewhere = {url for _, url in page.requests if not url.startswith((visit.address, *_LOCAL))}
        assert elsewhere <= {"about:blank"}
