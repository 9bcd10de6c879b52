"""Translates full and read-only disks and limits of the system into errors of orc_core/errors.py."""

import errno
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from orc_core.errors import DependencyDown, DiskFull, DiskReadOnly, TooManyOpenFiles

_FULL = {errno.ENOSPC, errno.EDQUOT}
_NO_DESCRIPTORS = {
    errno.EMFILE: "Orc has reached its limit of open files",
    errno.ENFILE: "The server has too many open files",
}
_FULL_DATABASE = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE}
_OF_MANY_CAUSES = {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}
"""What SQLite reports on a read-only file system too, before or after it has opened the database."""
_READ_ONLY = "cannot be written, because its file system is read-only. Nothing was stored."
DEPTH = 10
"""The number of causes of an exception that are examined."""
TEMPORARY = "the temporary folder", "temporary_files"


def exhausted(
    exc: BaseException, disk: str = "the server", dependency: str = "disk", folder: Path | None = None
) -> DependencyDown | None:
    """The error if a full or read-only disk or too many open files caused an exception; else None.

    `disk` says what the disk is used for, if the exception comes from there, and `folder` where the database
    is.
    """
    for cause in _causes(exc):
        if isinstance(cause, DiskFull | DiskReadOnly | TooManyOpenFiles):
            return cause
        if isinstance(cause, sqlite3.Error):
            code = getattr(cause, "sqlite_errorcode", 0)
            if code in _FULL_DATABASE:
                return DiskFull("The disk of the database is full. Nothing was stored.", dependency="store")
            if _may_only_be_read(code, folder):
                return DiskReadOnly("The database may only be read. Nothing was stored.", dependency="store")
        number = cause.errno if isinstance(cause, OSError) else None
        if number in _FULL:
            return DiskFull(f"The disk of {disk} is full. Nothing was stored.", dependency=dependency)
        if number == errno.EROFS:
            return DiskReadOnly(f"The disk of {disk} {_READ_ONLY}", dependency=dependency)
        if number in _NO_DESCRIPTORS:
            message = f"{_NO_DESCRIPTORS[number]}. Try again in a moment."
            return TooManyOpenFiles(message, dependency="open_files")
    return None


@contextmanager
def naming_the_disk(disk: str, dependency: str) -> Iterator[None]:
    """Raises what `exhausted` returns for an OSError of the body; other errors pass."""
    try:
        yield
    except OSError as exc:
        if (ours := exhausted(exc, disk, dependency)) is not None:
            raise ours from exc
        raise


@contextmanager
def on_temporary_disk() -> Iterator[None]:
    """Names the temporary folder if a disk is full: all data of the body is there."""
    try:
        yield
    except (OSError, DiskFull) as exc:
        if not isinstance(exhausted(exc), DiskFull):
            raise
        full = f"The disk of the temporary folder, {tempfile.gettempdir()}, is full."
        raise DiskFull(f"{full} Set TMPDIR to a folder with more space.", dependency=TEMPORARY[1]) from exc


def _may_only_be_read(code: int, folder: Path | None) -> bool:
    """Whether an error of SQLite with this code means that its database cannot be written."""
    primary = code & 0xFF
    if primary in _OF_MANY_CAUSES and folder is not None:
        with suppress(OSError):
            return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)
    # A database that was moved or removed is not a read-only one.
    return primary == sqlite3.SQLITE_READONLY and code != sqlite3.SQLITE_READONLY_DBMOVED


def _causes(exc: BaseException | None) -> Iterator[BaseException]:
    for _ in range(DEPTH):
        if exc is None:
            return
        yield exc
        exc = exc.__cause__ or exc.__context__
