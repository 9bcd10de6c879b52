"""The whole product as a user runs it, `orc serve` with both processes, for tests over HTTP."""

import base64
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import httpx

from orc.cli.ports import free_port

START_SECONDS = 150.0
WAKE_SECONDS = 0.5
Result = TypeVar("Result")
Event = tuple[int, str, dict[str, Any]]


@dataclass
class System:
    """A running Orc. `environment` holds the settings that differ from the defaults."""

    data_dir: Path
    environment: dict[str, str] = field(default_factory=dict)
    api_port: int = field(default_factory=free_port)
    mcp_port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None
    python: str = sys.executable

    def __post_init__(self) -> None:
        while self.mcp_port == self.api_port:  # nothing has listened yet
            self.mcp_port = free_port()

    @property
    def api(self) -> str:
        return f"http://127.0.0.1:{self.api_port}/api"

    @property
    def mcp_url(self) -> str:
        return f"http://127.0.0.1:{self.mcp_port}/mcp"

    @property
    def settings(self) -> dict[str, str]:
        return {
            "ORC_DATA_DIR": str(self.data_dir),
            "ORC_PORT": str(self.api_port),
            "MCP_SERVER_URL": self.mcp_url,
            # A model double would be asked about pages in between: that has its own tests.
            "ORC_PAGE_ANALYSIS": "extractive",
            "ORC_MESSAGES_PER_HOUR": "0",
            **self.environment,
        }

    def start(self) -> None:
        """Start and wait until turns can be answered."""
        self.data_dir.mkdir(parents=True, exist_ok=True)
        with (self.data_dir / "serve.log").open("ab") as log:
            self.process = subprocess.Popen(
                [self.python, "-m", "orc", "serve"],
                env={**os.environ, **self.settings},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.wait_until_ready()

    def wait_until_ready(self) -> None:
        process, deadline = self.process, time.monotonic() + START_SECONDS
        while (process is None or process.poll() is None) and time.monotonic() < deadline:
            try:
                if httpx.get(f"{self.api}/ready", timeout=5).status_code == 200:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.05)
        raise AssertionError(f"Orc did not start:\n{self.log}")

    def stop(self) -> None:
        """Stop as Ctrl-C would."""
        if self.process is not None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()

    @property
    def log(self) -> str:
        return (self.data_dir / "serve.log").read_text()

    def client(self, organization: str = "", user: str = "", **options: Any) -> httpx.Client:
        """An HTTP client of this caller (EasyAuth), or of the local user."""
        headers = principal_headers(organization, user) if organization else {}
        return httpx.Client(base_url=self.api, headers=headers, timeout=60, **options)


@contextmanager
def interrupted_by_sigterm() -> Iterator[None]:
    """SIGTERM, which `timeout` and CI send, ends the block as Ctrl-C does: servers that it started stop."""

    def interrupt(*_: object) -> None:
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a background job of a shell script
            raise KeyboardInterrupt
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def results(futures: Sequence[Future[Result]]) -> list[Result]:
    """The results of all futures, or the first exception, in the main thread, whose waiting a signal ends.

    The kernel may deliver a signal to any thread, for example to one that starts another. Its handler runs in
    the main thread, which does not wake up for it unless it has a timeout.
    """
    waited = wait(futures, WAKE_SECONDS, FIRST_EXCEPTION)
    while waited.not_done and not any(future.exception() for future in waited.done):
        waited = wait(futures, WAKE_SECONDS, FIRST_EXCEPTION)
    for future in waited.done:
        future.result()
    return [future.result() for future in futures]


def wait_for(url: str) -> None:
    """Return once a server answers there. Raises TimeoutError after START_SECONDS."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        try:
            if httpx.get(url).is_success:
                return
        except httpx.TransportError:
            time.sleep(0.05)
    raise TimeoutError(f"nothing answers at {url}")


@contextmanager
def running(data_dir: Path, **environment: str) -> Iterator[System]:
    """A System that is stopped at the end."""
    system = System(data_dir, environment)
    try:
        system.start()
        yield system
    finally:
        system.stop()


def principal_headers(
    organization: str,
    user: str,
    *roles: str,
    groups: Sequence[str] = (),
    name: str = "",
    email: str = "",
) -> dict[str, str]:
    """What Azure's EasyAuth would inject for this user."""
    claims = [{"typ": "tid", "val": organization}, {"typ": "oid", "val": user}]
    claims += [{"typ": "roles", "val": role} for role in roles]
    claims += [{"typ": "groups", "val": group} for group in groups]
    claims += [{"typ": "name", "val": name}] if name else []
    claims += [{"typ": "preferred_username", "val": email}] if email else []
    content = json.dumps({"auth_typ": "aad", "claims": claims}).encode()
    return {"x-ms-client-principal": base64.b64encode(content).decode()}


def upload(client: httpx.Client, conversation_id: str, *files: Path | tuple[str, bytes]) -> httpx.Response:
    """Upload files into a conversation."""
    named = [(file.name, file.read_bytes()) if isinstance(file, Path) else file for file in files]
    return client.post(
        f"/conversations/{conversation_id}/documents",
        files=[("file", (name, content)) for name, content in named],
    )


def read_events(response: httpx.Response) -> Iterator[Event]:
    """The server-sent events of a response, as they arrive: number, kind, data."""
    current: dict[str, str] = {}
    for line in response.iter_lines():
        if not line:
            if "data" in current:
                yield int(current["id"]), current["event"], json.loads(current["data"])
            current = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(": ")
            current[name] = value


def ask_streaming(client: httpx.Client, **body: Any) -> list[Event]:
    """All events of one streamed turn."""
    with client.stream("POST", "/orc", json=body, headers={"accept": "text/event-stream"}) as response:
        assert response.status_code == 200, response.read()
        assert response.headers["content-type"].startswith("text/event-stream")
        return list(read_events(response))
