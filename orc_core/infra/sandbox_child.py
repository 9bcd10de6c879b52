"""The child process of sandbox.py: runs one function, and writes the messages that it yields.

Standard input is one line of JSON: the function, its arguments, its limits and what it may read. Each message
is a line of JSON on standard output; so many bytes follow as its field "bytes" says. The last one is
{"end": true}, or {"error": class, "code": ..., "message": ...} for an exception.

As a program, it sets limits and becomes another program:
python -m orc_core.infra.sandbox_child MEMORY SECONDS PROGRAM ...
"""

import ctypes
import json
import math
import os
import resource
import signal
import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from orc_core.errors import OrcError
from orc_core.infra.landlock import isolate
from orc_core.infra.priority import give_way

NOT_STARTED = 127
"""The exit code if the program cannot be started, as in shells."""
MOST_BYTES = 64 * 1024 * 1024
"""Of one message."""

_PR_SET_PDEATHSIG = 1


class ChildMessage(NamedTuple):
    """What a function in a child yields: fields of JSON, and bytes. The names of fields above are taken."""

    fields: dict[str, Any]
    content: bytes = b""


def main() -> None:
    """Serve the request on standard input, then exit without unloading the libraries."""
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print must not mix with messages
    line = sys.stdin.buffer.readline()
    if not line.endswith(b"\n"):
        os._exit(0)  # the parent has ended
    request = json.loads(line)
    module, function = request["function"].split(":")
    run = getattr(import_module(module), function)
    _limit(request["memory_bytes"], request["seconds"])
    isolate(*map(Path, request["reads"]))
    _send_all(output, run(**request["arguments"]))
    output.flush()
    os._exit(0)


def end_with_parent() -> None:
    """Have the kernel kill this process when its parent ends, on Linux; elsewhere its limits end it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _send_all(output: BinaryIO, messages: Iterable[ChildMessage]) -> None:
    try:
        for message in messages:
            _send(output, message)
        _send(output, ChildMessage({"end": True}))
    except MemoryError:
        output.write(_OUT_OF_MEMORY)
    except OrcError as error:
        _send(
            output,
            ChildMessage({"error": type(error).__name__, "code": error.code, "message": error.message}),
        )
    except Exception as error:  # hostile files can make libraries raise anything
        _send(output, ChildMessage({"error": type(error).__name__}))


def _send(output: BinaryIO, message: ChildMessage) -> None:
    if len(message.content) > MOST_BYTES:
        raise MemoryError
    output.write(json.dumps({**message.fields, "bytes": len(message.content)}).encode() + b"\n")
    output.write(message.content)
    output.flush()


_OUT_OF_MEMORY = b'{"error": "MemoryError"}\n'


def _limit(memory_bytes: int, seconds: float) -> None:
    """Limit memory (beyond what this process has now), processor time, and the size of files to nothing."""
    give_way()
    sys.dont_write_bytecode = True
    processor = math.ceil(seconds) + 1
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (processor, processor + 1))
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        address_space = pages * resource.getpagesize() + memory_bytes
        resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))


def _become(memory_bytes: str, seconds: str, *command: str) -> None:
    _limit(int(memory_bytes), float(seconds))
    try:
        os.execv(command[0], command)
    except OSError:
        os._exit(NOT_STARTED)


if __name__ == "__main__":
    end_with_parent()
    if sys.argv[1:]:
        _become(*sys.argv[1:])
    main()
