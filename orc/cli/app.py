"""The command line: serve, worker, ask, doctor, provision, token, mcp."""

import asyncio
import platform
import subprocess
import sys
import uuid
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar

import typer
from rich.console import Console
from rich.text import Text

from core.documents.scope import Scope
from core.errors import NotFound, OrcError
from core.infra.log_redaction import keep_content_out
from core.infra.settings import deprecated_settings
from core.names import Owner
from orc.bootstrap import open_app
from orc.identity import LOCAL_ORGANIZATION, LOCAL_USER
from orc.settings import Settings, child_environment, load

_ADVICE = {
    "SQLite": "Check that the data directory (ORC_DATA_DIR) can be written.",
    "folder": "Check that the data directory (ORC_DATA_DIR) can be written.",
    "MCP over HTTP": "Start it with `orc serve`, or set MCP_SERVER_URL.",
    "Cosmos DB": "Check AZURE_COSMOS_ENDPOINT, the role `Cosmos DB Built-in Data Contributor`, and that the"
    " containers are there (`orc provision`).",
    "Blob Storage": "Check AZURE_STORAGE_ACCOUNT_URL, the role `Storage Blob Data Contributor`, and that the"
    " container is there (`orc provision`).",
    "Queue Storage": "Check AZURE_STORAGE_QUEUE_URL, the role `Storage Queue Data Contributor`, and that the"
    " queues are there (`orc provision`).",
    "AI Search": "Check AZURE_SEARCH_ENDPOINT, the role `Search Index Data Contributor`, and that the index"
    " is there (`orc provision`). Until it answers, pages are read through.",
}


async def examine(settings: Settings, console: Console) -> bool:
    """Print the state of every dependency; whether all is well enough to answer turns."""
    async with open_app(settings) as app:
        states = await asyncio.gather(*(check() for check in app.checks))
    # Lines that the terminal wraps: a table cuts addresses and paths.
    say = partial(console.print, soft_wrap=True, highlight=False, markup=False)
    say(f"Orc on Python {platform.python_version()}")
    for state in states:
        mark = Text("ok", "green") if state.ok else Text("no", "red")
        say(mark, f" {state.name}: {state.backend}, {state.latency_ms} ms")
        advice = _ADVICE.get(state.backend.partition(",")[0], "")
        to_do = state.advice if state.ok else f"{state.detail} {advice}"
        for label, text in (("where", state.where), ("to do", to_do)):
            if text:
                say(f"    {label}: {text}")
    for warning in deprecated_settings():
        console.print(f"[yellow]{warning}[/]")
    return all(state.allows_turns for state in states)


app = typer.Typer(
    name="orc",
    help="Ask documents, get answers whose citations were checked against the page.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
out = Console()
err = Console(stderr=True)

Result = TypeVar("Result")
STDIO_TOKEN_SECONDS = 24 * 3600
DocumentOption = Annotated[
    list[str] | None, typer.Option("--document", "-d", help="only these; default: all")
]
ConversationOption = Annotated[uuid.UUID, typer.Option("--conversation", "-c", help="the conversation's id")]


@app.command()
def serve() -> None:
    """Serve the API, the tools server and a worker on this machine, until Ctrl-C."""
    from orc.cli.serve import serve as serve_both

    _run(lambda settings: serve_both(settings, out))


@app.command()
def worker(
    until_stdin_ends: Annotated[
        bool, typer.Option("--until-stdin-ends", hidden=True, help="end with the process that started it")
    ] = False,
) -> None:
    """Index and analyse documents until Ctrl-C. `orc serve` starts workers too; more can run."""
    from orc.cli.worker import work

    _run(lambda settings: work(settings, until_stdin_ends=until_stdin_ends))


@app.command()
def ask(
    words: Annotated[
        list[str], typer.Argument(metavar="FILE... QUESTION", help="documents, then the question")
    ],
) -> None:
    """Ask one question about documents and print the answer with its citations. Nothing is stored."""
    files, question = [Path(word) for word in words[:-1]], words[-1]
    if missing := [str(path) for path in files if not _is_file(path)]:
        _fail(
            f"There is no file {', '.join(missing)}. Give the documents first, then the question in quotes."
        )
    if not files or _is_file(Path(question)):
        _fail('Give the documents first, then the question in quotes: orc ask report.pdf "What is ...?"')
    from orc.cli.ask import ask_once

    _run(lambda settings: ask_once(settings, files, question, out, err))


@app.command()
def doctor() -> None:
    """List the services in use, whether each answers, and what to do if it does not."""
    if not _run(lambda settings: examine(settings, out)):
        raise typer.Exit(1)


@app.command()
def provision() -> None:
    """Create missing containers, queues and the search index on Azure. Safe to repeat."""
    from core.storage.factory import provision as make

    _run(lambda settings: make(settings, out.print))


@app.command()
def token(
    conversation: ConversationOption,
    document: DocumentOption = None,
    minutes: Annotated[int, typer.Option(min=1, max=24 * 60)] = 60,
) -> None:
    """Print a scope token for MCP clients, over the documents of one of your conversations."""
    sys.stdout.write(_run(lambda settings: _mint(settings, conversation, document, minutes * 60)) + "\n")


@app.command()
def mcp(conversation: ConversationOption, document: DocumentOption = None) -> None:
    """Serve the tools over stdio to one local MCP client, over the documents of a conversation."""
    scope_token = _run(lambda settings: _mint(settings, conversation, document, STDIO_TOKEN_SECONDS))
    command = [sys.executable, "-m", "mcp_server", "stdio"]
    ended = subprocess.run(command, check=False, env=child_environment(ORC_SCOPE_TOKEN=scope_token))
    raise typer.Exit(ended.returncode)


async def _mint(settings: Settings, conversation: uuid.UUID, names: list[str] | None, seconds: int) -> str:
    from core.bootstrap import open_documents

    owner = Owner(LOCAL_ORGANIZATION, LOCAL_USER, str(conversation))
    async with open_documents(settings) as documents:
        library = documents.library
        chosen = await library.resolve(owner, names) if names else await library.list_documents(owner)
        if not chosen:
            raise NotFound(f"The conversation {conversation} has no documents. Upload one first.")
        return documents.tokens.mint(Scope.over(owner, chosen), seconds=seconds)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a question may be longer than any file name
        return False


def _run(command: Callable[[Settings], Coroutine[Any, Any, Result]]) -> Result:
    import uvicorn

    keep_content_out()
    try:
        with asyncio.Runner(loop_factory=uvicorn.Config("").get_loop_factory()) as runner:
            return runner.run(command(load()))
    except OrcError as exc:
        _fail(exc.message)
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


def _fail(message: str) -> NoReturn:
    err.print(f"orc: {message}", style="red", highlight=False)
    raise typer.Exit(2)
