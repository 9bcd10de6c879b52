"""Resource limits that a child process sets for itself before it opens a file.

As a program, sets them and becomes another program:
python -m core.extraction.limits MEMORY SECONDS PROGRAM ...
"""

import math
import os
import sys
import time
from pathlib import Path
from typing import BinaryIO

from core.infra.priority import give_way

NOT_STARTED = 127
"""The exit code if the program cannot be started, as in shells."""


def confine(memory_bytes: int, seconds: float) -> None:
    """Limit memory (beyond what the interpreter uses now), CPU time and core dumps.

    The kernel ends a child at `seconds` of processor time even if its parent has died.
    """
    if sys.platform == "win32":
        return
    import resource

    give_way()
    processor = math.ceil(seconds) + 1
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (processor, processor + 1))
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        address_space = pages * resource.getpagesize() + memory_bytes
        resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))


def allow_processor(seconds: float) -> None:
    """End this process after this many more seconds of processor time, within the limit of `confine`."""
    if sys.platform == "win32":
        return
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    allowed = math.ceil(time.process_time() + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (min(allowed, most), most))


def forbid_files() -> None:
    """From now on no file can grow. Call it after the imports, which may write bytecode."""
    if sys.platform == "win32":
        return
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def reserve_output() -> BinaryIO:
    """The standard output, for the protocol only: what libraries print goes to standard error."""
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return output


def main() -> None:
    memory_bytes, seconds, *command = sys.argv[1:]
    confine(int(memory_bytes), float(seconds))
    forbid_files()
    try:
        os.execv(command[0], command)
    except OSError:
        os._exit(NOT_STARTED)


if __name__ == "__main__":
    main()
