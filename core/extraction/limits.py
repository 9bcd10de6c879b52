"""What the child process may use, set by itself before it looks at the file."""

import math
import os
import sys
from contextlib import suppress
from pathlib import Path

NICENESS = 5
"""Answers go first, but people wait for uploads too."""


def confine(memory_bytes: int, seconds: float) -> None:
    """Cap memory above what the interpreter has now, processor time, and core dumps.

    The parent's clock is the real limit on time; this one also ends a child whose parent is gone.
    """
    if sys.platform == "win32":
        return
    import resource

    _give_way()
    processor = math.ceil(seconds) + 1
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (processor, processor + 1))
    if sys.platform == "linux":
        address_space = _address_space() + memory_bytes
        resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))


def forbid_files() -> None:
    """From here on no file can grow. Comes after the imports, which may write their bytecode."""
    if sys.platform == "win32":
        return
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def _give_way() -> None:
    os.nice(NICENESS)
    with suppress(OSError):  # Linux may share out the processor by session first, and we lead our own
        Path("/proc/self/autogroup").write_text(str(NICENESS))


def _address_space() -> int:
    import resource

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()
