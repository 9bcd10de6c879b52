"""Whatever the environment says to libraries, nothing that is asked or read is sent to anybody."""

import importlib.metadata
import os
import re
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from devkit.shared_data import HANDBOOK
from devkit.system import running
from tests.test_repository import direct_dependencies

SECRET = "quokkas at the quay"
NAME = re.compile(r"""["']([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*)["']""")
SENDS = re.compile(
    r"TRACING|TELEMETRY|OTEL|LANGSMITH|LANGCHAIN|LANGGRAPH|_LOG(?:_|$)|STATSBEAT|_ENDPOINT|_GATEWAY"
)
NO_SWITCH = re.compile(
    r"LIMIT|TIMEOUT|INTERVAL|SIZE|_MAX|COUNT|TTL|_TCP_|DISABLED|PORT$|^AZURE_\w+_ENDPOINT$"
)
"""Numbers, what switches something off, and addresses that are settings of Orc."""
VALUES = {
    "OTEL_PYTHON_TRACER_PROVIDER": "sdk_tracer_provider",
    "OTEL_PYTHON_METER_PROVIDER": "sdk_meter_provider",
    "OTEL_PYTHON_CONTEXT": "contextvars_context",
    "OTEL_PYTHON_ID_GENERATOR": "random",
    "OTEL_PROPAGATORS": "tracecontext,baggage",
    "OTEL_METRICS_EXEMPLAR_FILTER": "always_on",
    "OTEL_TRACES_SAMPLER": "always_on",
    "OTEL_TRACES_EXPORTER": "otlp",
    "OTEL_METRICS_EXPORTER": "otlp",
    "OTEL_LOGS_EXPORTER": "otlp",
    "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
    "OPENAI_LOG": "debug",
    "AZURE_LOG_LEVEL": "DEBUG",
    "AZURE_SDK_TRACING_IMPLEMENTATION": "opentelemetry",
}
"""What the variables are set to that are neither switches nor addresses."""
TRACED = """
from langchain_core.language_models import FakeListChatModel
from langchain_core.tracers.langchain import wait_for_all_tracers
FakeListChatModel(responses=["fine"]).invoke("a question")
wait_for_all_tracers()
"""


@contextmanager
def listening() -> Iterator[tuple[str, list[bytes]]]:
    """A server that notes all that it is sent: as a collector of traces, as a gateway and as a proxy."""
    received: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def handle_one_request(self) -> None:
            received.append(self.request.recv(1_000_000))
            self.request.sendall(b"HTTP/1.1 202 Accepted\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}")
            self.close_connection = True

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", received
    finally:
        server.shutdown()
        server.server_close()


def dependencies() -> set[str]:
    """The names of all packages that the product installs."""
    found: set[str] = set()
    waiting = [each.name for each in direct_dependencies()]
    while waiting:
        name = re.split(r"[^\w.-]", waiting.pop())[0].lower().replace("_", "-")
        if name in found:
            continue
        try:
            waiting += importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:  # of another platform, or an extra
            continue
        found.add(name)
    return found


def names_in_sources() -> set[str]:
    """The variables of dependencies that may make them send or log something, as their sources name them."""
    found = {each for name in dependencies() for each in names_of(name) if SENDS.search(each)}
    # langsmith looks for each of its names behind two prefixes.
    found |= {f"{prefix}_{each}" for prefix in ("LANGSMITH", "LANGCHAIN") for each in names_of("langsmith")}
    return {name for name in found if not NO_SWITCH.search(name)}


def names_of(package: str) -> set[str]:
    """What looks like a variable in those modules of a package that read the environment."""
    files = [file for file in importlib.metadata.files(package) or [] if file.suffix == ".py"]
    paths = [path for file in files if (path := Path(str(file.locate()))).is_file()]
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in paths]
    readers = [text for text in texts if re.search("environ|getenv|env_var", text)]
    return {name for text in readers for name in NAME.findall(text)}


def environment(address: str) -> dict[str, str]:
    """Every such variable, set to what would make it send most, and a proxy that sees all other requests."""
    names = names_in_sources()
    assert {"LANGCHAIN_TRACING", "LANGSMITH_TRACING_V2", "LANGSMITH_GATEWAY", "OPENAI_LOG"} <= names
    values = {name: address if re.search("ENDPOINT|URL", name) else "true" for name in names} | VALUES
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"), address)
    return {**values, **proxies, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}


@pytest.mark.slow
def test_a_library_alone_would_send_the_question() -> None:
    """Otherwise the next test could not fail."""
    with listening() as (address, received):
        tracing = {"LANGSMITH_TRACING": "true", "LANGSMITH_ENDPOINT": address, "LANGSMITH_API_KEY": "key"}
        subprocess.run([sys.executable, "-c", TRACED], env={**os.environ, **tracing}, check=True)
    assert received


@pytest.mark.slow
def test_nothing_is_sent_and_no_content_is_logged_whatever_the_environment_says(tmp_path: Path) -> None:
    with listening() as (address, received):
        variables = environment(address)
        conversation = str(uuid.uuid4())
        with (
            running(tmp_path / "data", **variables, ORC_LOG_LEVEL="debug") as system,
            system.client() as http,
        ):
            file = {"file": (f"{SECRET}.txt", f"There are {SECRET} at nine.".encode())}
            http.post(f"/conversations/{conversation}/documents", files=file).raise_for_status()
            question = {"question": f"When are the {SECRET}?", "conversation_id": conversation}
            answer = http.post("/orc", json=question).raise_for_status().json()
        asked = subprocess.run(
            [sys.executable, "-m", "orc", "ask", str(HANDBOOK), f"What about {SECRET}?"],
            env={**os.environ, **variables, "ORC_DATA_DIR": str(tmp_path / "asked")},
            capture_output=True,
            text=True,
            check=False,
        )
    log = system.log
    assert SECRET in answer["answer"]
    assert (asked.returncode, " INFO " in asked.stderr) == (0, False), asked.stderr
    assert received == []
    assert "POST /api/orc 200" in log
    assert SECRET not in log
