"""Asks a question in Open WebUI with Orc behind it, and opens the source of the answer, in a real browser.

Open WebUI is not a dependency of the project, and large: install it in a separate environment and put its
command on the PATH. `python -m resilience.open_webui PICTURE.png` keeps a picture of the page.
"""

import asyncio
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from devkit.browser import Page, Program, browsing, unpacked
from devkit.system import System, running, upload
from orc.cli.ports import free_port
from resilience.deployment import surroundings

COMMAND = "open-webui"
START_SECONDS = 600.0
QUESTION = "When does the quay open?"
QUAY = b"The quay opens at seven. The harbour master keeps the key."
_SETTINGS = {
    "WEBUI_SECRET_KEY": "for one campaign",
    "OPENAI_API_KEY": "none",
    "ENABLE_OLLAMA_API": "false",
    "ENABLE_FORWARD_USER_INFO_HEADERS": "true",
    # Otherwise it loads models to read files and to speak.
    "RAG_EMBEDDING_ENGINE": "openai",
    "BYPASS_EMBEDDING_AND_RETRIEVAL": "true",
    "AUDIO_STT_ENGINE": "openai",
    "OFFLINE_MODE": "true",
    "ANONYMIZED_TELEMETRY": "false",
}
_USER = {"name": "Ann", "email": "ann@example.com", "password": "harbour-quay-7"}
_INPUT = "#chat-input"
_SOURCE = "[...document.querySelectorAll('button')].find(b => /^View source/.test(b.ariaLabel))"
_QUOTED = "[...document.querySelectorAll('[role=dialog], .modal')].some(d => d.innerText.includes('Content'))"


@dataclass(frozen=True)
class Seen:
    """What a person saw: the page with the answer, the opened source, and a picture; and the turns in Orc."""

    answer: str
    source: str
    picture: bytes
    turns: list[dict[str, Any]]


@contextmanager
def open_webui(folder: Path, orc: System) -> Iterator[str]:
    """A new Open WebUI that asks this Orc; yields its address. Skips the test if it is not installed."""
    command = shutil.which(COMMAND)
    if command is None:
        pytest.skip(f"Open WebUI is not installed: there is no {COMMAND} on the PATH")
    folder.mkdir()
    port = free_port()
    base_url = orc.api.removesuffix("/api") + "/v1"
    settings = {**_SETTINGS, "DATA_DIR": str(folder), "OPENAI_API_BASE_URL": base_url}
    with (folder / "serve.log").open("wb") as log:
        process = subprocess.Popen(
            [command, "serve", "--host", "127.0.0.1", "--port", str(port)],
            env={**os.environ, **settings},
            cwd=folder,
            stdout=log,
            stderr=log,
        )
    try:
        address = f"http://127.0.0.1:{port}"
        _wait_for(f"{address}/health", folder / "serve.log")
        yield address
    finally:
        process.kill()
        process.wait()


def _wait_for(url: str, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        try:
            if httpx.get(url, timeout=5).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    raise AssertionError(f"Open WebUI did not start:\n{log.read_text(errors='replace')[-2000:]}")


def campaign() -> Seen:
    """One question about a document, from an empty Orc and an empty Open WebUI."""
    with surroundings() as folder, running(folder / "orc") as orc, open_webui(folder / "ui", orc) as address:
        with httpx.Client(base_url=address, timeout=60) as http:
            token = http.post("/api/v1/auths/signup", json=_USER).raise_for_status().json()["token"]
            http.headers["authorization"] = f"Bearer {token}"
            version = http.get("/api/version").json()["version"]
            # So that no window with news covers the page.
            http.post("/api/v1/users/user/settings/update", json={"ui": {"version": version}})
            history: dict[str, Any] = {"messages": {}, "currentId": None}
            chat = {"title": "Quay", "models": ["orc"], "messages": [], "history": history}
            chat_id = http.post("/api/v1/chats/new", json={"chat": chat}).raise_for_status().json()["id"]
        with orc.client() as http:
            upload(http, chat_id, ("quay.txt", QUAY)).raise_for_status()
            with unpacked() as program:
                answer, source, picture = asyncio.run(_ask(program, address, token, chat_id))
            turns = http.get(f"/conversations/{chat_id}").raise_for_status().json()["turns"]
    return Seen(answer, source, picture, turns)


async def _ask(program: Program, address: str, token: str, chat_id: str) -> tuple[str, str, bytes]:
    # It formats dates in the browser's language, which is none that JavaScript knows without these.
    program = replace(program, environment={**program.environment, "LANG": "en_US.UTF-8"})
    async with browsing(program) as page:
        await page.look(width=900, height=600)
        await page.open(f"{address}/auth")
        await page.value(f"localStorage.setItem('token', {token!r})")
        await page.open(f"{address}/c/{chat_id}")
        await page.until(f"document.querySelector({_INPUT!r})")
        await page.value(f"document.querySelector({_INPUT!r}).focus()")
        await page.type_line(QUESTION)
        await page.until(_SOURCE)
        answer = await _text(page)
        await page.value(f"{_SOURCE}.click()")
        await page.until(_QUOTED)
        return answer, await _text(page), await page.picture()


async def _text(page: Page) -> str:
    return str(await page.value("document.body.innerText"))


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(campaign().picture)
