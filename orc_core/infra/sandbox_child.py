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
import struct
import sys
from contextlib import suppress
from importlib import import_module
from mimetypes import knownfiles
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from orc_core.errors import OrcError
from orc_core.infra.priority import give_way

# Of Landlock, with which Linux keeps a hostile file that takes over a reader from other documents and from
# the secrets of the parent, whose environment is a file as well.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION, _PATH_BENEATH, _NO_NEW_PRIVILEGES = 1, 1, 38
_READ_FILE, _READ_FOLDER = 1 << 2, 1 << 3
_FILE_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
_TCP_SINCE, _TCP = 4, 0b11
_SCOPES_SINCE, _SCOPES = 6, 0b11
_PACKAGE = Path(__file__).parents[1]
_SYSTEM = ("/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/localtime", "/dev/null", "/dev/urandom")
NOT_STARTED = 127
"""The exit code if the program cannot be started, as in shells."""
MOST_BYTES = 64 * 1024 * 1024
"""Of one message."""
_PR_SET_PDEATHSIG = 1
_OUT_OF_MEMORY = b'{"error": "MemoryError"}\n'


def isolate(*sources: Path) -> bool:
    """From now on this process can read `sources`, Python and system libraries, write no file, open no TCP
    connection and signal no other process. Returns False if the system cannot do that.

    `sources` are files, or folders with all that is in them.
    """
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None)
    version = libc.syscall(_CREATE_RULESET, None, 0, _VERSION)
    if version < 1:
        return False
    # A set of rules that forbids all that this version of Landlock can.
    handled = [max(rights for since, rights in _FILE_RIGHTS.items() if since <= version)]
    handled += [_TCP] * (version >= _TCP_SINCE) + [_SCOPES] * (version >= _SCOPES_SINCE)
    attributes = struct.pack(f"={len(handled)}Q", *handled)
    rules = int(libc.syscall(_CREATE_RULESET, attributes, len(attributes), 0))
    python = (sys.prefix, sys.base_prefix, str(_PACKAGE))
    for path in (*python, *_SYSTEM, *map(str, (*knownfiles, *sources))):
        with suppress(OSError):  # not every system has all of them
            opened = os.open(path, os.O_PATH)
            rights = _READ_FILE | _READ_FOLDER if Path(path).is_dir() else _READ_FILE
            libc.syscall(_ADD_RULE, rules, _PATH_BENEATH, struct.pack("=Qi", rights, opened), 0)
            os.close(opened)
    libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    is_restricted = libc.syscall(_RESTRICT_SELF, rules, 0) == 0
    os.close(rules)
    return bool(is_restricted)


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
    messages = run(**request["arguments"])
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
    output.flush()
    os._exit(0)


def end_with_parent() -> None:
    """Have the kernel kill this process when its parent ends, on Linux; elsewhere its limits end it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _send(output: BinaryIO, message: ChildMessage) -> None:
    if len(message.content) > MOST_BYTES:
        raise MemoryError
    output.write(json.dumps({**message.fields, "bytes": len(message.content)}).encode() + b"\n")
    output.write(message.content)
    output.flush()


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
