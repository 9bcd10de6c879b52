"""Cosmos DB for tests: an emulator on npm with corrections of our own. Its process ends with this one."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from devkit.azure.targets import Target
from devkit.node import from_npm, node

SERVER = Path(__file__).with_name("cosmos_server.cjs")
KEY = "bm90IGEgc2VjcmV0"
"""The emulator takes any key; its client takes only base64."""


@contextmanager
def running() -> Iterator[Target]:
    """An empty emulator on a free port. Raises NotInstalled."""
    from_npm("@vercel/cosmosdb-server")
    command = [node(), str(SERVER)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            port = server.stdout.readline().strip()
            assert port, "the Cosmos DB emulator did not start"
            yield Target(f"http://127.0.0.1:{port}", KEY)
        finally:
            server.kill()
