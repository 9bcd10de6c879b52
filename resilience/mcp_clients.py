"""`python -m resilience.mcp_clients`: MCP clients that others wrote, each in a separate environment.

Each lists the tools, asks about an uploaded document, searches it, and meets a refusal. Needs uv, which
installs the clients from PyPI.
"""

import argparse
import asyncio
import json
import shutil
import subprocess
import sys
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.table import Table

from devkit.system import System, interrupted_by_sigterm, running, upload
from orc.identity import LOCAL_ORGANIZATION, LOCAL_USER
from orc_core.bootstrap import open_documents
from orc_core.documents.scope import Scope
from orc_core.infra.settings import CoreSettings
from orc_core.names import Owner
from resilience.deployment import surroundings
from resilience.report import FAILED, PASSED, wide_console

UV = shutil.which("uv") or str(Path(".venv-uv/bin/uv").resolve())
SECONDS = 300
FILE, TEXT = "quay.txt", b"The quay opens at seven. The harbour master keeps the key."
_CALLS = """
import asyncio, json, sys
URL, TOKEN = sys.argv[1:3]
CALLS = [
    ("document_chat", {"question": "When does the quay open?", "document_names": ["quay.txt"]}),
    ("semantic_search", {"query": "harbour master"}),
    ("documents_get_content", {"document_id": "absent.txt"}),
]
HEADERS = {"authorization": f"Bearer {TOKEN}"}
def say(tools, *texts):
    names = {getattr(tool, "name", tool) for tool in tools}
    print(json.dumps([names.issuperset(name for name, _ in CALLS), *map(str, texts)]))
"""
_SESSION = """
async def main():
    async with streamablehttp_client(URL, headers=HEADERS) as (read, write, _):
        async with ClientSession(read, write) as session:
            await session.initialize()
            tools = (await session.list_tools()).tools
            say(tools, *[(await session.call_tool(*call)).content for call in CALLS])
asyncio.run(main())
"""
PROGRAMS: Mapping[str, tuple[Sequence[str], str]] = {
    "mcp 1": (
        ["mcp<2"],
        "from mcp import ClientSession\nfrom mcp.client.streamable_http import streamablehttp_client\n"
        + _SESSION,
    ),
    "fastmcp": (
        ["fastmcp"],
        """
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
async def main():
    async with Client(StreamableHttpTransport(URL, headers=HEADERS)) as client:
        results = [await client.call_tool(*call, raise_on_error=False) for call in CALLS]
        say(await client.list_tools(), *[result.content for result in results])
asyncio.run(main())
""",
    ),
    "langchain-mcp-adapters": (
        ["langchain-mcp-adapters", "mcp<2"],
        """
from langchain_mcp_adapters.client import MultiServerMCPClient
async def call(tools, name, arguments):
    try:
        return await tools[name].ainvoke(arguments)
    except Exception as exc:
        return exc
async def main():
    server = {"transport": "streamable_http", "url": URL, "headers": HEADERS}
    tools = {tool.name: tool for tool in await MultiServerMCPClient({"orc": server}).get_tools()}
    say(tools, *[await call(tools, *each) for each in CALLS])
asyncio.run(main())
""",
    ),
    "openai-agents": (
        ["openai-agents"],
        """
from agents.mcp import MCPServerStreamableHttp
async def main():
    async with MCPServerStreamableHttp(params={"url": URL, "headers": HEADERS}) as server:
        say(await server.list_tools(), *[(await server.call_tool(*call)).content for call in CALLS])
asyncio.run(main())
""",
    ),
}


@dataclass(frozen=True)
class Met:
    """What a client received; `tools`: that it listed what it calls. `error` is its output if it failed."""

    client: str
    tools: bool = False
    answer: str = ""
    passage: str = ""
    refusal: str = ""
    error: str = ""

    @property
    def verdicts(self) -> list[bool]:
        """Whether it listed tools, got an answer and a passage, and was refused an unknown document."""
        is_refused = "not_found" in self.refusal
        return [self.tools, "seven" in self.answer, "harbour master" in self.passage, is_refused]


async def token_for(data_dir: Path, conversation_id: str) -> str:
    """A scope token over all documents of a conversation of the local user."""
    owner = Owner(LOCAL_ORGANIZATION, LOCAL_USER, conversation_id)
    async with open_documents(CoreSettings(data_dir=data_dir)) as documents:
        return documents.tokens.mint(Scope.of_session(owner), seconds=3600)


def meet(client: str, system: System, token: str) -> Met:
    """Run one client in a separate environment."""
    packages, program = PROGRAMS[client]
    needed = [option for package in packages for option in ("--with", package)]
    command = [UV, "run", "--no-project", "--quiet", *needed, "python", "-c", _CALLS + program]
    ran = subprocess.run(
        [*command, system.mcp_url, token], check=False, capture_output=True, text=True, timeout=SECONDS
    )
    if ran.returncode:
        return Met(client, error=ran.stderr[-1500:])
    return Met(client, *json.loads(ran.stdout.splitlines()[-1]))


def campaign(clients: Sequence[str] = tuple(PROGRAMS)) -> list[Met]:
    """What each client met with one server and one document."""
    conversation = str(uuid.uuid4())
    with surroundings() as folder, running(folder / "orc") as system, system.client() as http:
        upload(http, conversation, (FILE, TEXT)).raise_for_status()
        token = asyncio.run(token_for(folder / "orc", conversation))
        return [meet(client, system, token) for client in clients]


@interrupted_by_sigterm()
def main() -> int:
    """Print the table."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    table = Table(title="MCP clients", box=SIMPLE_HEAD, show_edge=False)
    for column in ("client", "tools", "answer", "passage", "refusal"):
        table.add_column(column)
    console, met = wide_console(), campaign()
    for each in met:
        table.add_row(each.client, *("yes" if verdict else "no" for verdict in each.verdicts))
    console.print(table, *(each.error for each in met if each.error), sep="\n")
    return PASSED if all(all(each.verdicts) for each in met) else FAILED


if __name__ == "__main__":
    sys.exit(main())
