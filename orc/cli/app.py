"""The command line: serve, worker, ask, trial, doctor, backup, restore, check, sign-out, token, ..."""

import asyncio
import subprocess
import sys
import uuid
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar

import typer
from rich.console import Console

from orc import __version__
from orc.cli.doctor import examine
from orc.settings import Settings, child_environment, load
from orc_core.errors import InvalidInput, OrcError
from orc_core.infra.logs import keep_content_out
from orc_core.infra.operating_system import private_files
from orc_core.storage.backup import Manifest, back_up
from orc_core.storage.backup import restore as restore_backup

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
    list[str] | None,
    typer.Option("--document", "-d", help="only this document; can be given several times; default: all"),
]
ConversationOption = Annotated[
    uuid.UUID | None,
    typer.Option(
        "--conversation", "-c", help="id of the conversation: in the web page's address, after #/c/"
    ),
]
ContextOption = Annotated[
    str | None,
    typer.Option("--context", help="id of the context: in the web page's address, after #/contexts/"),
]
ToolOption = Annotated[
    list[str] | None,
    typer.Option("--tool", help="switch on a tool that changes something; can be given several times"),
]


def _show_version(wanted: bool) -> None:
    if wanted:
        out.print(f"orc {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="print the version")
    ] = False,
) -> None:
    """Ask documents, get answers whose citations were checked against the page."""


@app.command()
def serve() -> None:
    """Serve the API, the tools server and a worker on this machine, until Ctrl-C.

    ORC_PORT and ORC_MCP_PORT are the ports, ORC_DATA_DIR is the folder of the data.

    They are environment variables, or lines of a file .env. docs/configuration.md lists all.
    """
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
    if folders := [path for path in files if _is(Path.is_dir, path)]:
        _fail(f'{folders[0]} is a folder. Name the files: orc ask {folders[0] / "*"} "What is ...?"')
    if missing := [str(path) for path in files if not _is(Path.is_file, path)]:
        _fail(f"There is no file {', '.join(missing)}. Give documents first, then the question in quotes.")
    if not files or _is(Path.is_file, Path(question)):
        _fail('Give the documents first, then the question in quotes: orc ask report.pdf "What is ...?"')
    from orc.cli.ask import ask_once

    _run(lambda settings: ask_once(settings, files, question, out, err))


@app.command()
def trial(
    questions: Annotated[Path | None, typer.Argument(help="JSON lines; default: on the sample")] = None,
    documents: Annotated[Path | None, typer.Option(help="their folder; default: that of the file")] = None,
    output: Annotated[Path, typer.Option(help="folder of the results")] = Path("orc-trial"),
    label: Annotated[str | None, typer.Option(help="name of this run; default: that of the model")] = None,
    named: Annotated[bool, typer.Option("--named", help="name the files with each question")] = False,
    judge: Annotated[Path | None, typer.Option(help="labelled claims: measure the judge on them")] = None,
) -> None:
    """Ask questions with known answers, to choose a model or a prompt; docs/trial.md explains the report.

    Run it again to go on where it was stopped, or with another model to compare both.
    """
    from orc.cli.trial import Options, run_trial

    given = Options(questions, documents, output, label, named, judge)
    _run(lambda settings: run_trial(settings, given, out, err))


@app.command()
def doctor() -> None:
    """List the services in use, whether each answers, damage of the data, and what to do about it.

    A model that is configured is sent three short requests.
    """
    if not _run(lambda settings: examine(settings, out)):
        raise typer.Exit(1)


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(help="the zip file to write; it must not exist")],
) -> None:
    """Write the database, the documents and the keys to one zip file. Orc may be running."""
    made = _run(partial(_embedded, lambda folder: back_up(folder, file)))
    out.print(f"{file}: the database and {_documents_of(made)}. Keep it secret: it holds the signing keys.")


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(help="a zip file of `orc backup`")],
    force: Annotated[
        bool, typer.Option("--force", help="replace a data directory that is not empty; it is moved aside")
    ] = False,
) -> None:
    """Make the data directory from a backup, after checking every file of it. Orc must not be running."""
    made, aside = _run(partial(_embedded, lambda folder: restore_backup(file, folder, force=force)))
    out.print(f"Restored the database and {_documents_of(made)}, as of {made.created_at:%Y-%m-%d %H:%M} UTC.")
    if aside is not None:
        out.print(f"The former data is in {aside}.")


def _documents_of(manifest: Manifest) -> str:
    return f"{manifest.documents} document{'s' if manifest.documents != 1 else ''}"


async def _embedded(work: Callable[[Path], Result], settings: Settings) -> Result:
    """Run work on the data directory. Raises InvalidInput if a service keeps a part of the data."""
    if settings.azure_services:
        raise InvalidInput(
            f"{', '.join(settings.azure_services)} keeps a part of the data: use the backups of Azure."
        )
    return await asyncio.to_thread(work, settings.data_dir.absolute())


@app.command()
def provision() -> None:
    """Create missing containers, queues and the search index on Azure. Safe to repeat."""
    from orc_core.storage.factory import provision as make

    _run(lambda settings: make(settings, out.print))


@app.command()
def reindex(
    conversation: Annotated[
        uuid.UUID | None, typer.Option(help="only the documents of this conversation")
    ] = None,
) -> None:
    """Make the vectors of all documents again, after a change of the embedding model or if they have none.

    A worker does it, such as that of `orc serve`. Ctrl-C ends only this report.
    """
    from orc.cli.check import make_vectors

    done = _run(lambda settings: make_vectors(settings, out, conversation))
    out.print(f"The vectors of {done} document{'s' if done != 1 else ''} are up to date.")


@app.command()
def check(
    repair: Annotated[
        bool, typer.Option("--repair", help="have a worker make again what can be made from the files")
    ] = False,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="have a worker make everything again from the files")
    ] = False,
) -> None:
    """Compare the records of documents with their files, texts and index entries, as after a restore.

    Exits with 1 if something is missing, also after --repair or --rebuild. Ctrl-C ends only the report.
    """
    from orc.cli.check import check as compare

    if not _run(lambda settings: compare(settings, out, repairs=repair, rebuilds=rebuild)):
        raise typer.Exit(1)


@app.command()
def sign_out(
    user: Annotated[str | None, typer.Argument(help="id of the user at the identity provider")] = None,
    everyone: Annotated[bool, typer.Option("--everyone", help="all users")] = False,
) -> None:
    """End all sessions and keys of a user whose account was closed and who is forgotten, or of everyone."""
    if (user is None) != everyone:
        _fail("Give the id of a user, or --everyone.")
    from orc.contexts.people import People
    from orc.credentials import CredentialStore
    from orc_core.bootstrap import open_documents

    async def end(settings: Settings) -> int:
        async with open_documents(settings) as documents:
            if user is not None:
                await People(await documents.clients.items("contexts")).forget(user)
            items = await documents.clients.items("credentials")
            return await CredentialStore(items, documents.keys, settings).end_all(user)

    out.print(f"Sessions and keys that have ended: {_run(end)}.")


@app.command()
def token(
    conversation: ConversationOption = None,
    context: ContextOption = None,
    document: DocumentOption = None,
    tool: ToolOption = None,
    minutes: Annotated[int, typer.Option(min=1, max=24 * 60, help="how long the token is valid")] = 60,
) -> None:
    """Print a scope token for MCP clients, over a conversation of yours, a context, or both."""
    from orc.cli.tokens import Wanted, mint

    wanted = Wanted(conversation, context, document or [], tool or [])
    sys.stdout.write(_run(lambda settings: mint(settings, wanted, minutes * 60)) + "\n")


@app.command()
def mcp(
    conversation: ConversationOption = None,
    context: ContextOption = None,
    document: DocumentOption = None,
    tool: ToolOption = None,
    print_config: Annotated[
        bool, typer.Option("--print-config", help="print an entry for a desktop client and end")
    ] = False,
) -> None:
    """Serve the tools over stdio to one local MCP client, over a conversation, a context, or both."""
    from orc.cli.tokens import Wanted, client_entry, mint

    wanted = Wanted(conversation, context, document or [], tool or [])
    scope_token = _run(lambda settings: mint(settings, wanted, STDIO_TOKEN_SECONDS))
    if print_config:
        sys.stdout.write(client_entry(load(), wanted) + "\n")
        return
    command = [sys.executable, "-m", "mcp_server", "stdio"]
    ended = subprocess.run(command, check=False, env=child_environment(ORC_SCOPE_TOKEN=scope_token))
    raise typer.Exit(ended.returncode)


def _is(kind: Callable[[Path], bool], path: Path) -> bool:
    try:
        return kind(path)
    except OSError:  # a question may be longer than any file name
        return False


def _run(command: Callable[[Settings], Coroutine[Any, Any, Result]]) -> Result:
    import uvicorn

    keep_content_out()
    try:
        with (
            private_files(),
            asyncio.Runner(loop_factory=uvicorn.Config("").get_loop_factory()) as runner,
        ):
            return runner.run(command(load()))
    except OrcError as exc:
        _fail(exc.message)
    except PermissionError as exc:
        _fail(f"This user has no permission for {exc.filename}. Run the command as the user of the server.")
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


def _fail(message: str) -> NoReturn:
    err.print(f"orc: {message}", style="red", highlight=False, markup=False)
    raise typer.Exit(2)
