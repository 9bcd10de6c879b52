"""The mark that a data directory is in use: a lock that processes share, and that a restore takes alone.

The server of a directory also leaves its version and the address of its tools there, for commands that
have other settings.
"""

import errno
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from orc_core import __version__
from orc_core.errors import InvalidInput

log = logging.getLogger(__name__)

SERVER = "server"
"""The file with both. Its lock is held while the server runs, and released however it ends."""


@contextmanager
def in_use(folder: Path, *, alone: bool = False) -> Iterator[None]:
    """Mark the directory as used by this process while the context is open; it is made if it is missing.

    `alone`: raises InvalidInput if another process uses it. The system removes the mark of a killed process.
    """
    # Not at the top: on Windows this module must load, so that the refusal of Windows can be shown.
    import fcntl

    descriptor = _open(folder)
    try:
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except BlockingIOError as exc:
            what = "is in use. Stop Orc first." if alone else "is being restored. Start Orc afterwards."
            raise InvalidInput(f"The data directory {folder} {what}") from exc
        except OSError as exc:
            # Some network file systems offer no lock of a folder.
            log.warning("the data directory cannot be locked: %s", exc.strerror)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def announced(folder: Path, tools_url: str) -> Iterator[None]:
    """Leave our version and the address of the tools server in the directory while the context is open.

    Of several servers of one directory, the first is the one that is found.
    """
    import fcntl

    os.close(_open(folder))
    with (folder / SERVER).open("a") as file:
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            file.truncate(0)
            file.write(f"{tools_url} {__version__}")
            file.flush()
        yield


def announced_tools(folder: Path) -> tuple[str, str]:
    """The address of the tools of the server that runs on this directory, and its version; "" if unknown."""
    import fcntl

    try:
        with (folder / SERVER).open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        address, _, version = (folder / SERVER).read_text().partition(" ")
        return address, version
    except OSError:
        pass
    return "", ""


def is_there(path: Path) -> bool:
    """Whether there is such a file. Raises PermissionError if this user may not know: `Path.exists` says so
    in some versions of Python only."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _open(folder: Path) -> int:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError as exc:
        raise _not_writable(folder, exc.errno) from exc
    if not os.access(folder, os.W_OK | os.X_OK):
        is_read_only = os.fstatvfs(descriptor).f_flag & os.ST_RDONLY
        os.close(descriptor)
        raise _not_writable(folder, errno.EROFS if is_read_only else errno.EACCES)
    return descriptor


_REASONS = {
    errno.EROFS: ("its file system is read-only", "Mount it for writing"),
    errno.EACCES: ("this user has no permission", "Change its owner or mode"),
    errno.ENOSPC: ("the disk is full", "Make space"),
    errno.EDQUOT: ("the disk quota of this user is used up", "Make space"),
    errno.EEXIST: ("it is a file", ""),
    errno.ENOTDIR: ("a part of this path is a file", ""),
    errno.EMFILE: ("this process has reached its limit of open files", "Raise the limit (`ulimit -n`)"),
}
"""By error number: why a folder cannot be written, and what to do other than to choose another one."""


def _not_writable(folder: Path, number: int | None) -> InvalidInput:
    why, remedy = _REASONS.get(number or 0, (os.strerror(number or 0), ""))
    advice = f"{remedy}, or set" if remedy else "Set"
    return InvalidInput(
        f"The data directory {folder.absolute()} cannot be written: {why}. {advice} ORC_DATA_DIR to another"
        " folder."
    )
