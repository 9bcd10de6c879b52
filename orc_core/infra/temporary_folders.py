"""Folders for files that are needed for a moment, which the next process removes if theirs was killed."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_UNLOCKED, _LOCKED = "orc-", "orc-temporary-"


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """An empty folder, removed when the context ends. A lock that ends with the process marks it as used."""
    import fcntl  # not on Windows, where every command refuses

    folder = Path(tempfile.mkdtemp(prefix=_UNLOCKED))
    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        # Its final name says that a folder without a lock is left over.
        folder = folder.rename(folder.with_name(folder.name.replace(_UNLOCKED, _LOCKED, 1)))
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(held)


def remove_left_over() -> None:
    """Remove the folders of processes that were killed; those in use, and those of other users, stay."""
    import fcntl

    for folder in Path(tempfile.gettempdir()).glob(f"{_LOCKED}*"):
        with suppress(OSError):
            held = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY)
            try:
                if os.fstat(held).st_uid == os.geteuid():
                    fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(held)
