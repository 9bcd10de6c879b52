"""Cosmos DB for tests: an emulator on npm with corrections of our own. Its process ends with this one."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from devkit.azure.targets import Target
from devkit.errors import NotInstalled

SERVER = Path(__file__).with_name("cosmos_server.cjs")
PACKAGE = SERVER.parents[2] / "node_modules" / "@vercel" / "cosmosdb-server"
KEY = "bm90IGEgc2VjcmV0"
"""The emulator takes any key; its client takes only base64."""


@contextmanager
def running() -> Iterator[Target]:
    """An empty emulator on a free port. Raises NotInstalled."""
    node = shutil.which("node")
    if node is None or not PACKAGE.is_dir():
        raise NotInstalled("The Cosmos DB emulator is not installed: it needs Node and `npm ci`.")
    command = [node, str(SERVER)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            port = server.stdout.readline().strip()
            assert port, "the Cosmos DB emulator did not start"
            yield Target(f"http://127.0.0.1:{port}", KEY)
        finally:
            server.kill()
