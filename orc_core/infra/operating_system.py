"""What a process sets and requires of the operating system when it starts."""

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager

from orc_core.errors import InvalidInput

SUPPORTED = ("Linux", "Darwin")


@contextmanager
def private_files() -> Iterator[None]:
    """Files and folders that this process, or a child of it, makes meanwhile are for its own user only.

    Raises InvalidInput on a system that Orc does not run on.
    """
    if (system := platform.system()) not in SUPPORTED:
        raise InvalidInput(f"Orc runs on Linux and macOS, not on {system}. On Windows, use WSL 2.")
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)
