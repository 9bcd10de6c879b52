"""Functions that tests run in children of a sandbox."""

import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from orc_core.errors import UnreadableDocument
from orc_core.infra.sandbox_child import ChildMessage

LOWEST = 19
"""The niceness of the lowest priority."""


def count(upto: int, each: int = 1) -> Iterator[ChildMessage]:
    yield from (ChildMessage({"number": number}, b"x" * number * each) for number in range(upto))


def work(seconds: float, messages: int = 1) -> Iterator[ChildMessage]:
    """Use the processor for so long before each message."""
    for _ in range(messages):
        end = time.process_time() + seconds
        while time.process_time() < end:
            pass
        yield ChildMessage({})


def wait(seconds: float) -> Iterator[ChildMessage]:
    """Wait without using the processor, between two messages."""
    yield ChildMessage({"pid": os.getpid()})
    time.sleep(seconds)
    yield ChildMessage({})


def allocate(size: int) -> Iterator[ChildMessage]:
    yield ChildMessage({"size": len(bytearray(size))})


def end(by: str) -> Iterator[ChildMessage]:
    """End this process: by the signal of this name, or with this exit code."""
    yield ChildMessage({"text": "one"})
    if by.isdigit():
        os._exit(int(by))
    os.kill(os.getpid(), getattr(signal, by))
    time.sleep(60)


def fail(kind: str) -> Iterator[ChildMessage]:
    yield ChildMessage({"text": "one"})
    raise {"ours": UnreadableDocument("It is damaged.", code="corrupt"), "memory": MemoryError()}.get(
        kind, ValueError("of a library")
    )


def write(text: str) -> Iterator[ChildMessage]:
    """Write this to the parent instead of messages."""
    os.write(0, text.encode())
    os._exit(0)
    yield ChildMessage({})


def look(source: str, other: str, port: int) -> Iterator[ChildMessage]:
    """Try what a child may not do, and say what of it works."""
    tries: dict[str, Callable[[], object]] = {
        "source": Path(source).read_text,
        "library": lambda: __import__("wave"),
        "environment of the parent": Path(f"/proc/{os.getppid()}/environ").read_bytes,
        "other document": Path(other).read_text,
        "folder": lambda: list(Path(other).parent.iterdir()),
        "new file": lambda: Path(other).with_name("new").write_text("x"),
        "temporary file": lambda: Path("/tmp/orc-sandboxed").write_text("x"),
        "connection": lambda: socket.create_connection(("127.0.0.1", port), 2),
        "signal": lambda: os.kill(os.getppid(), 0),
    }
    free = []
    for what, attempt in tries.items():
        try:
            attempt()
        except OSError:
            continue
        free.append(what)
    yield ChildMessage({"free": free, "environment": sorted(os.environ), "session": os.getsid(0)})


def priority() -> Iterator[ChildMessage]:
    """The niceness at first, and as soon as it is higher."""
    first = os.getpriority(os.PRIO_PROCESS, 0)
    yield ChildMessage({"niceness": first})
    while first < LOWEST and os.getpriority(os.PRIO_PROCESS, 0) <= first and time.process_time() < 30:
        pass
    yield ChildMessage({"niceness": os.getpriority(os.PRIO_PROCESS, 0)})


def descriptors() -> Iterator[ChildMessage]:
    """Open descriptors of the first 64, and whether another function ran in this process before."""
    is_open = []
    for each in range(64):
        try:
            os.fstat(each)
        except OSError:
            continue
        is_open.append(each)
    before = hasattr(sys, "_has_run")
    sys._has_run = True  # type: ignore[attr-defined]
    yield ChildMessage({"open": is_open, "before": before, "session": os.getsid(0), "pid": os.getpid()})


def aborted(**_: object) -> Iterator[ChildMessage]:
    os.abort()
    yield ChildMessage({})


def endless(**_: object) -> Iterator[ChildMessage]:
    while True:
        pass
    yield ChildMessage({})


def waiting(**_: object) -> Iterator[ChildMessage]:
    time.sleep(60)
    yield ChildMessage({})


def killed(**_: object) -> Iterator[ChildMessage]:
    os.kill(os.getpid(), signal.SIGKILL)
    yield ChildMessage({})


def unnumbered(**_: object) -> Iterator[ChildMessage]:
    yield ChildMessage({"page": "1"})
