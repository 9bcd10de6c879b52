"""`orc ask`: one question over some files, answered in this process; nothing is kept."""

import asyncio
import tempfile
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn

from orc.cli.ports import free_port
from orc.cli.processes import UntilUp, tools_server
from orc.events import Done, Failed, Reset, Revised, Stopped, Token
from orc.identity import LOCAL_ORGANIZATION, LOCAL_USER, Principal
from orc.settings import Settings
from orc.words import check_words
from orc_core.errors import DocumentRejected, InvalidInput, NoReadableDocument, UnsafeName, error_named
from orc_core.infra.collector import collector_paused
from orc_core.infra.exhaustion import on_temporary_disk
from orc_core.infra.telemetry.setup import start_telemetry
from orc_core.infra.telemetry.spans import request_span, trace_id_of
from orc_core.models import Document, DocumentStatus
from orc_core.names import Owner, name_for_upload

if TYPE_CHECKING:
    from orc.bootstrap import App

CALLER = Principal(LOCAL_ORGANIZATION, LOCAL_USER)


async def ask_once(
    settings: Settings, files: Sequence[Path], question: str, out: Console, err: Console
) -> None:
    """Read the files, print the answer as it comes and then its citations.

    Raises NoReadableDocument if no file can be read; files that cannot are named on `err`. Two files
    of one name are InvalidInput: the second would take the place of the first.
    """
    named: dict[str, Path] = {}
    for path in files:
        try:
            name = name_for_upload(path.name)
        except UnsafeName as exc:
            err.print(f"{path.name}: {exc.message}", markup=False)
            continue
        if name in named:
            raise InvalidInput(f"{named[name]} and {path} would both be stored as {name}. Rename one.")
        named[name] = path
    async with opened(settings, "orc-ask", len(files)) as (app, tools_are_up):
        owner = CALLER.owner_of(str(uuid.uuid4()))
        documents, _ = await asyncio.gather(read_documents(app, owner, named, err), tools_are_up())
        await _ask(app, documents, question, out)


@asynccontextmanager
async def opened(
    settings: Settings, name: str, documents_at_once: int
) -> AsyncIterator[tuple["App", UntilUp]]:
    """Orc with a tools server, on data that is gone afterwards. `name` is that of the telemetry.

    The tools server starts in the background; the yielded function waits until it answers.
    """
    with (
        closing(start_telemetry(settings, name)),
        on_temporary_disk(),
        tempfile.TemporaryDirectory(prefix=f"{name}-") as folder,
    ):
        private = settings.model_copy(
            update={
                "data_dir": Path(folder),
                # What people read is the answer.
                "log_level": settings.log_level if "log_level" in settings.model_fields_set else "warning",
                "mcp_server_url": f"http://127.0.0.1:{free_port()}/mcp",
                "max_documents_per_request": max(documents_at_once, settings.max_documents_per_request),
            }
        )
        async with tools_server(private) as tools_are_up, await asyncio.to_thread(_app_of, private) as app:
            yield app, tools_are_up


def _app_of(settings: Settings) -> "AbstractAsyncContextManager[App]":
    with collector_paused():
        # Imported while the tools server starts: it takes more than a second.
        from orc.bootstrap import open_app

        return open_app(settings)


async def _ask(app: "App", documents: Sequence[Document], question: str, out: Console) -> None:
    from orc.turns.requests import TurnRequest

    with request_span("", "orc ask") as begun:
        request = TurnRequest(
            question=question,
            conversation_id=documents[0].conversation_id,
            blob_names=[document.blob_name for document in documents],
            stream=True,
            trace_id=trace_id_of(begun),
        )
        log = await app.turn_service.start(request, CALLER)
    async for _, event in log.follow():
        match event:
            case Token(text=text):
                out.print(text, end="", markup=False, highlight=False, soft_wrap=True)
            case Done(result=result) | Stopped(result=result):
                out.print("\n")
                for citation in result.citations:
                    words = f"closest, {check_words(citation)}" if citation.closest else check_words(citation)
                    shown = f"  {words}  {citation.blob_name}, page {citation.page}"
                    quote = " ".join(citation.quote.split())
                    out.print(f"{shown}: “{quote}”" if quote else shown, markup=False, highlight=False)
                if not result.citations:
                    out.print("  No citations.")
            case Revised(corrections=corrections):
                for each in corrections:
                    after = each.after or "left out"
                    out.print(f"\n(corrected: {each.before} → {after})", markup=False, highlight=False)
            case Reset(reason=reason):
                out.print(f"\n(withdrawn: {reason})", markup=False, highlight=False)
            case Failed(problem=problem):
                raise error_named(problem.code, problem.detail, dependency=problem.dependency)


async def read_documents(app: "App", owner: Owner, named: Mapping[str, Path], err: Console) -> list[Document]:
    """Read files into a conversation and make them searchable; those that cannot be read are named on `err`.

    Raises NoReadableDocument if that is true of all.
    """
    readable: list[Document] = []
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=err, transient=True) as bar:
        for name, path in named.items():
            task = bar.add_task(f"Reading {name}", total=None)

            def show(done: int, total: int, _what: str, task: TaskID = task) -> None:
                bar.update(task, completed=done, total=total or None)

            try:
                document = await app.library.upload(owner, name, path, show)
            except DocumentRejected as exc:
                err.print(f"{name}: {exc.message}", markup=False)
                continue
            if document.status is not DocumentStatus.FAILED:
                readable.append(document)
            else:
                err.print(f"{name}: {document.reason}", markup=False)
    if not readable:
        raise NoReadableDocument("None of the files can be read.")
    with err.status("Making the text searchable ..."):
        await app.worker.drain()
    return readable
