"""What `orc serve` prints once it serves: addresses, where the data is, and what to try."""

import asyncio
import shutil
import sys
from functools import partial
from pathlib import Path

from rich.console import Console

from orc.settings import Settings

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

    page = f"http://{settings.host}:{settings.port}/"
    base = f"{page.rstrip('/')}{PREFIX}"
    say = partial(console.print, soft_wrap=True, highlight=False)
    say(f"\nOpen [bold]{page}[/] in a browser to ask your documents.")
    say(f"[bold]Orc[/] serves {base}  (docs: {base}/docs, tools: {settings.mcp_server_url})")
    used = settings.azure_services
    places = used if len(used) == ALL_SERVICES else [f"{settings.data_dir}/", *used]
    say(f"Answers come from {describe(settings)}. Documents and turns are kept in {', '.join(places)}.")
    for line in looking.result() if looking and looking.done() else ():
        say(line)
    say("\nOr try, in another terminal:")
    say(f"  {_example()}")
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


def _example() -> str:
    """A command that works here: the sample is part of a checkout and not of an installed package."""
    program = _program()
    if SAMPLE.is_file():
        return f'{program} ask {SAMPLE} "How many days of leave are there?"'
    return f'{program} ask report.pdf "What is the report about?"'
