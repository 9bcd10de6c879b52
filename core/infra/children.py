"""Ends child processes so that a cancellation leaves neither a process nor an open pipe."""

import asyncio
from asyncio.subprocess import Process
from contextlib import suppress
from typing import Protocol

_CHUNK_BYTES = 1024 * 1024


class Input(Protocol):
    """Where the request of a child is written."""

    def write(self, data: bytes) -> None: ...

    async def drain(self) -> None: ...

    def close(self) -> None: ...

    async def wait_closed(self) -> None: ...


class Child(Protocol):
    """A child process as asyncio has it."""

    @property
    def pid(self) -> int: ...

    @property
    def stdin(self) -> Input | None: ...

    @property
    def stdout(self) -> asyncio.StreamReader | None: ...

    @property
    def returncode(self) -> int | None: ...

    def kill(self) -> None: ...

    async def wait(self) -> int: ...


async def take_child(starting: "asyncio.Task[Process]") -> Process:
    """The child that a task starts; if this is cancelled, the child is ended before it returns."""
    cancelled: asyncio.CancelledError | None = None
    while not starting.done():
        try:
            await asyncio.wait([starting])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is None:
        return starting.result()
    if not starting.cancelled() and starting.exception() is None:
        await end_child(starting.result())
    raise cancelled


def kill_child(process: Child) -> None:
    """Kill a child that may have ended."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()


async def end_child(process: Child) -> None:
    """Kill a child and wait for its end. A cancellation is raised after that: a killed child ends at once."""
    kill_child(process)
    if process.stdin is not None:
        process.stdin.close()
    cancelled: asyncio.CancelledError | None = None
    while True:
        try:
            # Read to its end, otherwise asyncio would never close the pipe.
            while process.stdout is not None and await process.stdout.read(_CHUNK_BYTES):
                pass
            await process.wait()
            if process.stdin is not None:
                with suppress(ConnectionError):  # not all that was written has been read
                    await process.stdin.wait_closed()
        except asyncio.CancelledError as error:
            cancelled = error
        else:
            break
    if cancelled is not None:
        raise cancelled
