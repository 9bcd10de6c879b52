"""A worker over function_app.py with the tools server and a model double behind it, once for all tests."""

import asyncio
import logging
import os
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from devkit.azure.targets import Target
from devkit.doubles.openai_double import OpenAIDouble, Script, serving
from devkit.shared_data import ROOT
from devkit.system import upload
from orc.cli.ports import free_port
from orc.cli.worker import WorkerProvider
from orc_core.infra.settings import CoreSettings
from orc_core.storage.factory import provision
from tests.functions.host import LOCAL, HostTransport
from tests.functions.worker import Worker, running_worker

WAIT_SECONDS = 90.0
ClientFor = Callable[[str], httpx.Client]


@pytest.fixture(scope="session")
def served_model() -> Iterator[tuple[OpenAIDouble, str]]:
    double = OpenAIDouble()
    with serving(double) as url:
        yield double, url


@pytest.fixture(scope="session")
def app_settings(
    served_model: tuple[OpenAIDouble, str], storage_target: Target, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """What the environment of the function app says."""
    return {
        "ORC_DATA_DIR": str(tmp_path_factory.mktemp("functions") / ".orc"),
        "MCP_SERVER_URL": f"http://127.0.0.1:{free_port()}/mcp",
        "ORC_MODEL": "openai:gpt-5.1",
        "OPENAI_BASE_URL": served_model[1],
        "OPENAI_API_KEY": "none",
        "ORC_PAGE_ANALYSIS": "extractive",
        "AZURE_STORAGE_ACCOUNT_URL": storage_target.url,
        "AZURE_STORAGE_CONTAINER": f"functions-{uuid.uuid4().hex}",
        **({"AZURE_STORAGE_QUEUE_URL": storage_target.queue_url} if storage_target.queue_url else {}),
        **({"AZURE_STORAGE_KEY": storage_target.key} if storage_target.key else {}),
    }


@pytest.fixture(scope="session")
def worker(app_settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """A worker whose app has read its settings and opened its services."""
    log = tmp_path_factory.mktemp("tools") / "tools.log"
    with tools_server(app_settings, log), pytest.MonkeyPatch.context() as patch:
        for name, value in app_settings.items():
            patch.setenv(name, value)
        asyncio.run(provision(CoreSettings(), logging.getLogger(__name__).info))
        with running_worker(ROOT) as worker:
            with client_of(worker, LOCAL) as first:
                assert first.get("/ready").status_code == 200
            loaded_jobs()
            patch.undo()
            yield worker
            worker.start(loaded_jobs().close()).result()
            worker.start(loaded_api().state.provider.close()).result()


def loaded_api() -> FastAPI:
    """The app that the worker serves."""
    import function_app  # not at the top: the worker has to be the first to import it, inside its loop

    return function_app.build_api()


def loaded_jobs() -> WorkerProvider:
    """What does the worker's jobs."""
    import function_app

    return function_app.build_worker()


@contextmanager
def tools_server(settings: dict[str, str], log: Path) -> Iterator[None]:
    port = httpx.URL(settings["MCP_SERVER_URL"]).port
    assert port is not None
    environment = os.environ | settings | {"ORC_MCP_PORT": str(port)}
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "mcp_server"], env=environment, stdout=out, stderr=out
        )
    try:
        wait_for(lambda: process.poll() is not None or is_open(port))
        assert process.poll() is None, log.read_text()
        yield
    finally:
        process.terminate()
        process.wait()


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def wait_for(condition: Callable[[], bool]) -> None:
    """Return as soon as the condition holds."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def client_of(worker: Worker, caller: str) -> httpx.Client:
    transport = HostTransport(worker, ROOT, caller)
    return httpx.Client(transport=transport, base_url="http://localhost:7071/api", timeout=60)


@pytest.fixture
def client(worker: Worker) -> Iterator[httpx.Client]:
    """A caller on this machine."""
    with client_of(worker, LOCAL) as client:
        yield client


@pytest.fixture
def model(served_model: tuple[OpenAIDouble, str]) -> OpenAIDouble:
    """The model double, with nothing scripted and nothing logged."""
    double, _ = served_model
    double.script = Script()
    double.requests.clear()
    return double


@pytest.fixture
def conversation(client: httpx.Client, handbook: Path) -> str:
    """A conversation with the sample document in it."""
    conversation_id = str(uuid.uuid4())
    response = upload(client, conversation_id, handbook)
    assert response.status_code == 201, response.text
    return conversation_id
