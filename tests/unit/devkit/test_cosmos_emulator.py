"""The emulator's process, which must never be left behind."""

import signal
import subprocess
import sys
import time
from urllib.parse import urlsplit

import httpx
import pytest

from devkit.doubles import cosmos_emulator
from devkit.node import from_npm
from devkit.shared_data import ROOT
from orc.cli.ports import port_is_free

pytestmark = pytest.mark.slow

PARENT = """
import time
from devkit.doubles.cosmos_emulator import running
with running() as target:
    print(target.url, flush=True)
    time.sleep(60)
"""


def is_gone(url: str) -> bool:
    port = urlsplit(url).port
    assert port is not None
    deadline = time.monotonic() + 5
    while not port_is_free("127.0.0.1", port) and time.monotonic() < deadline:
        time.sleep(0.02)
    return port_is_free("127.0.0.1", port)


def test_the_emulator_runs_as_long_as_its_context() -> None:
    with cosmos_emulator.running() as target:
        assert httpx.get(target.url).status_code == 200
    assert is_gone(target.url)


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_the_emulator_ends_with_its_parent(end: signal.Signals) -> None:
    from_npm("@vercel/cosmosdb-server")
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        url = parent.stdout.readline().strip()
        assert httpx.get(url).status_code == 200
        parent.send_signal(end)
    assert is_gone(url)
