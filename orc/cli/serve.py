"""`orc serve`: the API in this process, and the tools server and the workers as child processes."""

import asyncio
import shutil
import sys
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from orc.cli.ports import check_ports, with_free_ports
from orc.cli.processes import tools_server, workers
from orc.settings import AuthMode, Settings
from orc_core.errors import InvalidInput
from orc_core.infra.collector import collector_paused
from orc_core.infra.data_directory import announced, is_there
from orc_core.infra.http_server import Server, configured
from orc_core.infra.logs import start_logging
from orc_core.infra.sqlite import Database

if TYPE_CHECKING:
    from fastapi import FastAPI

DRAIN_SECONDS = 10
LOOPBACK = {"127.0.0.1", "::1", "localhost"}


# Why one process, and what several share: docs/decisions/processes-of-a-port.md.
async def serve(settings: Settings, console: Console) -> None:
    """Serve until a signal arrives, at free ports instead of ports 0.

    Raises InvalidInput for settings that cannot work.
    """
    start_logging(settings)
    await _check(settings)
    settings = with_free_ports(settings)
    looking = asyncio.create_task(model_servers_here(settings))
    async with AsyncExitStack() as stack:
        stack.enter_context(announced(settings.data_dir, settings.mcp_server_url))
        with console.status("Starting ..."), collector_paused():
            tools_are_up = await stack.enter_async_context(tools_server(settings))
            # Both processes import for more than a second: at the same time.
            api = await asyncio.to_thread(_load_api, settings)
            app, _ = await asyncio.gather(api.state.provider.get(), tools_are_up())
            # Last: workers must not compete with the start of the API and the tools server.
            await stack.enter_async_context(workers(settings))
        says = partial(greet, settings, console, looking)
        # The API ends first: its turns need the tools server.
        config = configured(api, settings.host, settings.port, drain_seconds=DRAIN_SECONDS)
        await Server(config, warm=app.warm, serves=says, ends=stack.aclose).serve()


def _load_api(settings: Settings) -> "FastAPI":
    from orc.api.app import create_app

    return create_app(settings)


async def _check(settings: Settings) -> None:
    if settings.auth_mode is AuthMode.LOCAL and settings.host not in LOOPBACK:
        raise InvalidInput(
            f"Without authentication Orc listens on a loopback address only, not on {settings.host}. "
            "Set ORC_AUTH_MODE to easyauth, jwt or oidc."
        )
    if settings.auth_mode is not AuthMode.LOCAL:
        from orc.api.auth import build_authenticator

        build_authenticator(settings)
    if is_there(settings.database_path):
        # Now: once they are started, child processes that cannot use the data would be restarted for ever.
        database = Database(settings.database_path)
        try:
            await database.ping()
        finally:
            await database.close()
    await check_ports(settings)


ALL_SERVICES = 3
SAMPLE = Path("examples/harbour-handbook.pdf")


async def model_servers_here(settings: Settings) -> list[str]:
    """A line about each model server on this machine, if the settings name no model."""
    from orc_core.llm.served_models import found_here

    return [] if settings.has_model else await found_here()


def greet(settings: Settings, console: Console, looking: asyncio.Task[list[str]] | None = None) -> None:
    """Print where the page and the API are. `looking` finds model servers here; it may not be done yet."""
    from orc.api import PREFIX
    from orc_core.llm.factory import describe

    # No browser opens the address of all interfaces.
    here = f"http://{settings.host.replace('0.0.0.0', '127.0.0.1')}:{settings.port}"
    page, base = f"{(settings.public_url or here).rstrip('/')}/", f"{here}{PREFIX}"
    say = partial(console.print, soft_wrap=True, highlight=False)
    say(f"\nOpen [bold]{page}[/] in a browser to ask your documents.")
    say(f"[bold]Orc[/] serves {base}  (docs: {base}/docs, tools: {settings.mcp_server_url})")
    used = settings.azure_services
    places = used if len(used) == ALL_SERVICES else [f"{settings.data_dir}/", *used]
    say(f"Answers come from {describe(settings)}. Documents and turns are kept in {', '.join(places)}.")
    for line in looking.result() if looking and looking.done() else ():
        say(line)
    say("\nOr try, in another terminal:")
    # The sample is part of a checkout and not of an installed package.
    sample = f'{SAMPLE} "How many days of annual leave does a new employee get?"'
    asked = sample if SAMPLE.is_file() else 'report.pdf "What is the report about?"'
    say(f"  {_program()} ask {asked}")
    say(f"  curl -s {base}/ready\n")


def _program() -> str:
    """The command as a shell here finds it: by its name only if this environment is active."""
    installed = Path(sys.executable).with_name("orc")
    found = shutil.which("orc")
    if found is not None and Path(found).resolve() == installed.resolve():
        return "orc"
    if not installed.is_file():
        return f"{sys.executable} -m orc"
    return str(installed.relative_to(Path.cwd())) if installed.is_relative_to(Path.cwd()) else str(installed)
