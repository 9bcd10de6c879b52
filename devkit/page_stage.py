"""A stage for the states of the web page: the product with and without a model, and a browser."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from devkit.browser import Program
from devkit.doubles import openid_provider
from devkit.doubles.openai_double import OpenAIDouble, Script
from devkit.in_process import InProcess, Variant, running_here
from devkit.shared_data import HANDBOOK
from devkit.visits import Visit, page_running, visiting

LARGEST_BYTES = 200_000
OFFLINE = "offline"
SIGN_IN = "sign-in"
_SMALL = {"messages_per_hour": 1, "max_upload_bytes": LARGEST_BYTES}
_VARIANTS = {"second": Variant(), "limited": Variant(_SMALL)}

Prepare = Callable[[Visit], Awaitable[None]]


@dataclass(frozen=True)
class Scene:
    """A state by name, the API that it needs, and how the page gets there."""

    name: str
    variant: str
    prepare: Prepare


SCENES: list[Scene] = []


def scene(name: str, variant: str = "page") -> Callable[[Prepare], Prepare]:
    def add(prepare: Prepare) -> Prepare:
        SCENES.append(Scene(name, variant, prepare))
        return prepare

    return add


@dataclass(frozen=True)
class Stage:
    """The product as the scenes need it: with a model double, and without a model."""

    model: OpenAIDouble
    online: InProcess
    offline: InProcess
    providers: list[str] = field(default_factory=list)
    """The addresses at which people sign in."""

    @asynccontextmanager
    async def visit(self, program: Program) -> AsyncIterator[Visit]:
        async with visiting(program, self.online, self.model) as visit:
            yield visit

    async def play(self, visit: Visit, chosen: Scene) -> None:
        """Bring the page to a scene, from an empty window on."""
        page = visit.page
        visit.model.script, visit.model.responder, visit.variant = Script(), None, chosen.variant
        visit.here = self.offline if chosen.variant == OFFLINE else self.online
        await page.answer_no_more()
        await page.call("Network.setBlockedURLs", urls=[])
        await page.connected(True)
        await visit.be("ann")
        await page.open("about:blank")
        await visit.open()
        await chosen.prepare(visit)


@contextmanager
def stage() -> Iterator[Stage]:
    providers = []
    with ExitStack() as stack:

        def signing_in(origin: str) -> dict[str, Any]:
            provider = stack.enter_context(openid_provider.running(origin))
            providers.append(provider.issuer)
            return provider.settings(origin)

        folder = stack.enter_context(TemporaryDirectory())
        variants = {**_VARIANTS, SIGN_IN: Variant(at=signing_in)}
        online, model = stack.enter_context(page_running(Path(folder, "online"), variants))
        away = running_here(Path(folder, "offline"), {OFFLINE: Variant()}, common={}, tools={})
        yield Stage(model, online, stack.enter_context(away), providers)


def saved(visit: Visit, name: str, content: bytes) -> Path:
    """A file for an upload, in the folder of the data."""
    folder = Path(visit.here.folder, "to-upload")
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(content)
    return folder / name


def another_version() -> bytes:
    """The handbook with other bytes."""
    return HANDBOOK.read_bytes() + b"\n% another version"


async def enter_as(visit: Visit, user: str) -> None:
    """Open the page as another user."""
    await visit.be(user)
    await visit.page.open("about:blank")
    await visit.open()


async def indexed(visit: Visit) -> None:
    await asyncio.to_thread(visit.here.index)
    await visit.sees(".file.is-ready")
