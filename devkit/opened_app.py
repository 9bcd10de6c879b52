"""Opens the app of a package in a new process and prints, as JSON, what that has imported and started."""

import asyncio
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import psutil

from devkit.shared_data import ROOT


class OpenedApp(NamedTuple):
    """The modules imported when the app was open, and once it was warm; then the commands of its children."""

    opened: list[str]
    warmed: list[str]
    children: list[list[str]]


def in_new_process(package: str, data_dir: Path) -> OpenedApp:
    """Open the app of `orc` or `mcp_server`, with the key of a model, and warm it."""
    command = [sys.executable, "-m", __name__, package, str(data_dir)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return OpenedApp(*json.loads(ran.stdout))


async def main(package: str, data_dir: str) -> None:
    bootstrap, settings = (import_module(f"{package}.{name}") for name in ("bootstrap", "settings"))
    chosen = settings.Settings(data_dir=data_dir, openai_api_key="key", _env_file=None)
    async with bootstrap.open_app(chosen) as app:
        opened = list(sys.modules)
        await app.warm()
        children = [each.cmdline() for each in psutil.Process().children()]
        sys.stdout.write(json.dumps([opened, list(sys.modules), children]))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
