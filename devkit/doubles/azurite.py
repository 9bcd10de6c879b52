"""Azurite for tests: the emulator of Blob and Queue Storage from npm, in memory, one process."""

import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from queue import Empty, Queue
from threading import Thread

from devkit.azure.targets import Target
from devkit.node import from_npm, node

ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""The one key that every Azurite has; it is published and opens nothing else."""

PROGRAM = "azurite/dist/src/azurite.js"
START_SECONDS = 60.0
# The pipe to its standard input closes with the process that holds the other end, however that one dies.
_END_WITH_US = 'data:text/javascript,process.stdin.on("end",()=>process.exit()).resume()'
_OPTIONS = (
    *("--blobPort", "0", "--queuePort", "0", "--tablePort", "0"),
    *("--inMemoryPersistence", "--skipApiVersionCheck", "--silent", "--disableTelemetry"),
)
_LISTENING = re.compile(r"Azurite (\w+) service is successfully listening at (https?://\S+)")


@contextmanager
def running(*options: str) -> Iterator[Target]:
    """A server on free ports; it ends with the context, and with the process if that is killed.

    `options` are more of Azurite's own. Raises NotInstalled.
    """
    program = str(from_npm(PROGRAM))
    command = [node(), "--import", _END_WITH_US, program, *_OPTIONS, *options]
    with _process(command) as process:
        addresses = _addresses(process)
        yield Target(f"{addresses['Blob']}/{ACCOUNT}", KEY, f"{addresses['Queue']}/{ACCOUNT}")


@contextmanager
def _process(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        command,
        # It checks that it may write there, and writes nothing.
        cwd=tempfile.gettempdir(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _addresses(process: subprocess.Popen[str]) -> dict[str, str]:
    """Where each service listens, once all of them do."""
    lines: Queue[str] = Queue()
    # Reads to the end of the process: a full pipe would stop it.
    Thread(target=_pass_on, args=(process, lines), daemon=True).start()
    said, found, end = [], dict[str, str](), time.monotonic() + START_SECONDS
    while len(found) < 3 and time.monotonic() < end and (process.poll() is None or not lines.empty()):
        with suppress(Empty):
            said.append(line := lines.get(timeout=0.1))
            found.update(_LISTENING.findall(line))
    if len(found) < 3:
        raise RuntimeError("Azurite did not start:\n" + "".join(said))
    return found


def _pass_on(process: subprocess.Popen[str], lines: "Queue[str]") -> None:
    assert process.stdout is not None
    # Closed under it when the process ends.
    with suppress(ValueError):
        for line in process.stdout:
            lines.put(line)
