"""Imports the modules named on its command line and prints, as JSON, what each did beyond reading files.

What a library does while it is itself imported (urllib3 tries out whether there is IPv6) is not held
against the module that imports it.
"""

import importlib
import json
import os
import sys

from devkit.shared_data import ROOT

WATCHED = {
    "os.fork",
    "os.mkdir",
    "os.remove",
    "os.rename",
    "socket.bind",
    "socket.connect",
    "socket.getaddrinfo",
    "socket.sendto",
    "sqlite3.connect",
    "subprocess.Popen",
}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT

seen: list[str] = []


def main(modules: list[str]) -> None:
    sys.addaudithook(watch)
    done: dict[str, list[str]] = {}
    for module in modules:
        importlib.import_module(module)
        done[module], seen[:] = list(seen), []
    sys.stdout.write(json.dumps({module: acts for module, acts in done.items() if acts}))


def watch(event: str, arguments: tuple[object, ...]) -> None:
    writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITING
    if (writes or event in WATCHED) and is_ours():
        seen.append(f"{event} {arguments!r}")


def is_ours() -> bool:
    """Whether the module that is being executed right now, the innermost one, is the product's."""
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    file = frame.f_code.co_filename
    return file.startswith(str(ROOT)) and "site-packages" not in file


if __name__ == "__main__":
    main(sys.argv[1:])
