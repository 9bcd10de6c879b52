"""What `orc doctor` prints: the services in use, what the model can do, and damage of the data."""

import asyncio
import logging
import platform
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from rich.console import Console
from rich.text import Text

from orc import __version__
from orc.settings import AuthMode, Settings
from orc_core.documents.consistency import Finding
from orc_core.errors import OrcError
from orc_core.infra.data_directory import announced_tools
from orc_core.infra.keys import load_keys
from orc_core.infra.settings import MIB, doubtful_settings
from orc_core.storage.inspection import inspect_database

if TYPE_CHECKING:
    from orc.contexts.people import Directory
    from orc.readiness import Check, DependencyState

_ADVICE = {
    "SQLite": "Check that the data directory (ORC_DATA_DIR) can be written.",
    "folder": "Check that the data directory (ORC_DATA_DIR) can be written.",
    "MCP over HTTP": "Start it with `orc serve`. If it runs, set MCP_SERVER_URL, ORC_DATA_DIR and"
    " ORC_SCOPE_SIGNING_KEY here as for that server.",
    "Cosmos DB": "Check AZURE_COSMOS_ENDPOINT, the role `Cosmos DB Built-in Data Contributor`, and that the"
    " containers are there (`orc provision`).",
    "Blob Storage": "Check AZURE_STORAGE_ACCOUNT_URL, the role `Storage Blob Data Contributor`, and that the"
    " container is there (`orc provision`).",
    "Queue Storage": "Check AZURE_STORAGE_QUEUE_URL, the role `Storage Queue Data Contributor`, and that the"
    " queues are there (`orc provision`).",
    "AI Search": "Check AZURE_SEARCH_ENDPOINT, the role `Search Index Data Contributor`, and that the index"
    " is there (`orc provision`). Until it answers, pages are read through.",
    "model": "Check ORC_MODEL or ORC_CHAT_MODEL, OPENAI_BASE_URL or AZURE_OPENAI_ENDPOINT, and the key:"
    " docs/models.md has a line for each server.",
    "Microsoft Graph": "Check that the identity of this process is of the tenant `directory_tenant`, and has"
    " the permissions User.ReadBasic.All and GroupMember.Read.All.",
    "Upstash Vector": "Check UPSTASH_VECTOR_REST_URL and UPSTASH_VECTOR_REST_TOKEN. Until it answers, search"
    " uses words only, and documents wait for their vectors.",
}

TWO_KEYS = (
    "A second signing key is accepted. Remove it once what it signed has ended, after a day at most:"
    " ORC_SECOND_SIGNING_KEY, or second.key in the data directory."
)


async def examine(settings: Settings, console: Console) -> bool:
    """Print the state of every dependency, what the model can do and damage of the data; whether turns can be
    answered, and no data is damaged.

    Unless the settings name a tools server and its port is not 0, it is that of the `orc serve` that runs
    on this data directory.
    """
    # It warns of each kind of identity that is not there, for each service; the lines of the services say so.
    logging.getLogger("azure.identity").setLevel(logging.ERROR)
    tools, version = announced_tools(settings.data_dir)
    names_none = settings.model_fields_set.isdisjoint({"mcp_server_url", "mcp_host", "mcp_port"})
    if tools and (names_none or urlsplit(settings.mcp_server_url).port == 0):
        settings = settings.model_copy(update={"mcp_server_url": tools})
    findings = await asyncio.to_thread(inspect_database, settings.database_path)
    if any(finding.blocks for finding in findings):
        report(findings, console)
        return False
    # Not at the top: `orc serve` starts its other processes before it imports as much itself.
    from orc.bootstrap import open_app
    from orc.cli.model_trial import report_model, try_model

    # Lines that the terminal wraps: a table cuts addresses and paths.
    say = partial(console.print, soft_wrap=True, highlight=False, markup=False)
    async with open_app(settings) as app:
        checks = [*app.checks, *checks_of_callers(settings, app.contexts.people.directory)]
        states = await asyncio.gather(*(each() for each in checks))
        failure = ""
        try:
            trials = [each async for each in try_model(app.models.writer)] if settings.has_model else []
        except OrcError as exc:
            failure, trials = exc.message, []
        _report_states([_after_trial(state, failure) for state in states], say)
        if trials:
            window = settings.context_window or app.model_facts.window(app.models.names)
            report_model(trials, window, settings.server, say)
        if not settings.azure_services:
            findings = list((await app.library.compared()).findings)
    report(findings, console)
    if load_keys(settings).second:
        say(Text("--", "yellow"), f" keys: {TWO_KEYS}")
    if version not in ("", __version__):
        say(Text("--", "yellow"), f" server: Orc {version} runs here. Start it again to use {__version__}.")
    for problem in _full_disks(settings):
        say(Text("--", "yellow"), f" disk: {problem}")
    for warning in doubtful_settings(Settings):
        console.print(f"[yellow]{warning}[/]")
    works = not failure and all(state.allows_turns for state in states)
    return works and not any(each.is_damage for each in findings)


def _after_trial(state: "DependencyState", failure: str) -> "DependencyState":
    """A server that answers its check may have no such model, or an account without money."""
    if state.name != "model" or not state.ok or not failure:
        return state
    return state.model_copy(update={"ok": False, "detail": failure})


def _report_states(states: Sequence["DependencyState"], say: Callable[..., None]) -> None:
    say(f"Orc {__version__} on Python {platform.python_version()}")
    for state in states:
        mark = Text("ok", "green") if state.ok else Text("no", "red")
        say(mark, f" {state.name}: {state.backend}, {state.latency_ms} ms")
        advice = _ADVICE.get(state.backend.partition(",")[0]) or _ADVICE.get(state.name, "")
        to_do = state.advice if state.ok else f"{state.detail} {advice}"
        for label, text in (("where", state.where), ("to do", to_do)):
            if text:
                say(f"    {label}: {text}")


def _full_disks(settings: Settings) -> list[str]:
    """What is to be said of a disk that cannot take two uploads of the largest size."""
    folders = {"temporary folder (TMPDIR)": Path(tempfile.gettempdir())}
    if not settings.azure_services:
        folders = {"documents": settings.data_dir, **folders}
    free = {name: shutil.disk_usage(folder).free for name, folder in folders.items()}
    return [
        f"{size // MIB} MB are left for the {name}. An upload that does not fit is refused."
        for name, size in free.items()
        if size < 2 * settings.max_upload_bytes
    ]


def report(findings: Sequence[Finding], console: Console) -> None:
    """Print what is wrong with the data, or that nothing is."""
    say = partial(console.print, soft_wrap=True, highlight=False, markup=False)
    for finding in findings:
        say(Text("no", "red") if finding.is_damage else Text("--", "yellow"), f" data: {finding.problem}")
        if finding.advice:
            say(f"    to do: {finding.advice}")
    if not findings:
        say(Text("ok", "green"), " data: no damage found")


def checks_of_callers(settings: Settings, directory: "Directory | None") -> Iterator["Check"]:
    """Checks that ask the identity provider and the directory, which are not asked for each `/api/ready`."""
    from orc.readiness import check

    issuer = settings.jwt_issuer or settings.jwt_jwks_url or ""
    yield check("callers", f"{settings.auth_mode} authentication", issuer, partial(_identify, settings))
    if directory and (tenant := settings.directory_tenant):
        yield check("people", "Microsoft Graph", tenant, partial(directory.find, tenant, "orc"), needed=False)


async def _identify(settings: Settings) -> None:
    from orc.api.auth import build_authenticator
    from orc.api.issuer_keys import Issuer

    build_authenticator(settings)
    if settings.auth_mode is AuthMode.OIDC:
        # The sign-in asks the issuer itself, wherever the keys of bearer tokens are from.
        await Issuer(settings.model_copy(update={"jwt_jwks_url": None})).keys.ping()
    if settings.auth_mode is AuthMode.JWT or settings.jwt_jwks_url:
        await Issuer(settings).keys.ping()
