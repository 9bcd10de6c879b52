"""Where campaigns play: `orc serve` and the scripted model, each a process, and more instances of the API."""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

import httpx
import psutil

from bench.deployment import clean_surroundings
from devkit.system import System, running, upload, wait_for
from devkit.system_here import system_here
from orc.cli.ports import free_port

INSTANCE = ("-m", "resilience.instance")
TOOLS_INSTANCE = ("-m", "resilience.tools")
READY_SECONDS = 90.0
STOP_SECONDS = 15.0


class Store(StrEnum):
    """What keeps turns and documents."""

    SQLITE = "sqlite"
    COSMOS = "cosmos"


Entered = TypeVar("Entered")


@dataclass(frozen=True)
class Instance:
    """Another API or tools server on the store of a running system. `log` is what it wrote."""

    process: psutil.Process
    port: int
    log: Path

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@asynccontextmanager
async def in_thread(context: AbstractContextManager[Entered]) -> AsyncIterator[Entered]:
    """A context whose opening and closing must not hold up the event loop."""
    entered = await asyncio.to_thread(context.__enter__)
    try:
        yield entered
    finally:
        await asyncio.to_thread(context.__exit__, None, None, None)


@contextmanager
def surroundings() -> Iterator[Path]:
    """An empty folder to work in, away from the developer's settings; it is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="orc-resilience-") as name, clean_surroundings(Path(name)):
        yield Path(name)


@contextmanager
def scripted_model(*options: str) -> Iterator[str]:
    """The model double, which says the token of the question in every answer; its address.

    `options` are those of devkit/doubles/openai_double.py, such as `--delay-ms`.
    """
    port = free_port()
    with _process(["-m", "resilience.model", str(port), *options]):
        url = f"http://127.0.0.1:{port}/v1"
        wait_for(f"{url}/models")
        yield url


@contextmanager
def store_settings(store: Store) -> Iterator[dict[str, str]]:
    """The settings that choose the store; an emulator runs for as long as the context is open."""
    if store is Store.SQLITE:
        yield {}
        return
    from devkit.azure.services import azure_services

    with azure_services(storage=False, search=False) as settings:
        yield settings


@contextmanager
def product(folder: Path, model_url: str, **settings: str) -> Iterator[System]:
    """A running `orc serve` that asks this model and analyses no pages."""
    with running(folder / "product", **{**_asking(model_url), **settings}) as system:
        yield system


@contextmanager
def product_here(folder: Path, model_url: str, **settings: str) -> Iterator[System]:
    """As `product`, but within this process: for small campaigns that do not look at its processes."""
    with system_here(folder / "product", **{**_asking(model_url), **settings}) as system:
        yield system


def _asking(model_url: str) -> dict[str, str]:
    return {
        "ORC_MODEL": "openai:gpt-5.1",
        "OPENAI_BASE_URL": model_url,
        "OPENAI_API_KEY": "none",
        "ORC_PAGE_ANALYSIS": "off",
    }


@contextmanager
def instance(system: System, command: Sequence[str] = INSTANCE, **settings: str) -> Iterator[Instance]:
    """A second API instance, as on another machine of the deployment, with some different settings.

    `command` are the arguments of Python that start it: a test plants bugs through another one.
    """
    with _one_more(system, command, "ORC_PORT", "/api/health", settings) as started:
        yield started


@contextmanager
def tools_instance(system: System, **settings: str) -> Iterator[Instance]:
    """A second tools server."""
    with _one_more(system, TOOLS_INSTANCE, "ORC_MCP_PORT", "/health", settings) as started:
        yield started


@contextmanager
def _one_more(
    system: System, command: Sequence[str], port_setting: str, health: str, settings: dict[str, str]
) -> Iterator[Instance]:
    port = free_port()
    log = system.data_dir / f"instance-{port}.log"
    environment = {**system.settings, **settings, port_setting: str(port)}
    with _process(command, environment, log) as process:
        try:
            wait_for(f"http://127.0.0.1:{port}{health}")
        except TimeoutError as exc:
            exc.add_note(log.read_text())
            raise
        yield Instance(psutil.Process(process.pid), port, log)


def conversation_with(system: System, *files: tuple[str, bytes]) -> str:
    """A new conversation of the local user, with these documents, once they are indexed."""
    conversation_id = str(uuid.uuid4())
    with system.client() as client:
        upload(client, conversation_id, *files).raise_for_status()
        deadline = time.monotonic() + READY_SECONDS
        while not _all_indexed(client, conversation_id):
            if time.monotonic() > deadline:
                raise TimeoutError("the documents of a campaign were not indexed")
            time.sleep(0.05)
    return conversation_id


def _all_indexed(client: httpx.Client, conversation_id: str) -> bool:
    listed = client.get(f"/conversations/{conversation_id}/documents").raise_for_status().json()
    return all(document["status"] == "completed" for document in listed["documents"])


@contextmanager
def _process(
    arguments: Sequence[str], environment: dict[str, str] | None = None, log: Path | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A Python process that is stopped at the end."""
    with (log or Path(os.devnull)).open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, *arguments],
            env={**os.environ, **(environment or {})},
            stdout=output,
            stderr=output,
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
