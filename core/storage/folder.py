"""The blob store on one machine: a folder, with one file per document."""

import asyncio
import functools
import os
import shutil
import stat
import time
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, ParamSpec, TypeVar

from core.errors import DependencyDown, UnsafeName
from core.models import BlobProperties
from core.names import BlobPath, Owner, missing_document

INCOMING = ".incoming"
ABANDONED_SECONDS = 24 * 3600
_MOVE_ATTEMPTS = 20


Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def _in_thread(work: Callable[Parameters, Result]) -> Callable[Parameters, Coroutine[Any, Any, Result]]:
    """Returns the function as a coroutine that runs it in a thread. Raises DependencyDown for an OSError."""

    @functools.wraps(work)
    async def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            return await asyncio.to_thread(work, *args, **kwargs)
        except OSError as exc:
            raise DependencyDown("The document store cannot be used right now.", dependency="blobs") from exc

    return call


class FolderBlobStore:
    """Files at root/organization/user/conversation/file; a symbolic link below the root counts as absent.

    Files that others put there are blobs too. Everything blocking runs in threads.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._incoming = root / INCOMING

    @asynccontextmanager
    async def local_copy(self, path: BlobPath) -> AsyncIterator[Path]:
        if await self.head(path) is None:
            raise missing_document(path.file)
        yield self._root / str(path)

    async def presign_upload(self, path: BlobPath, seconds: int) -> None:  # noqa: ARG002
        return None

    @_in_thread
    def put(self, path: BlobPath, source: Path) -> BlobProperties:
        self._make(self._incoming)
        self._sweep()
        staged = self._incoming / uuid.uuid4().hex
        try:
            with staged.open("xb") as file:
                _fill(file, source)
                self._move_in(staged, path)
                # Asked of the open file: by name, it could already be a newer one.
                return _properties(path, os.fstat(file.fileno()))
        finally:
            staged.unlink(missing_ok=True)

    @_in_thread
    def head(self, path: BlobPath) -> BlobProperties | None:
        folder = self._folder(path.owner)
        return None if folder is None else _look_at(path, folder)

    @_in_thread
    def list_in(self, owner: Owner) -> list[BlobProperties]:
        if (folder := self._folder(owner)) is None:
            return []
        found = []
        with suppress(FileNotFoundError):
            for name in sorted(entry.name for entry in folder.iterdir()):
                with suppress(UnsafeName):
                    found.append(_look_at(BlobPath(owner, name), folder))
        return [blob for blob in found if blob is not None]

    @_in_thread
    def delete(self, path: BlobPath) -> None:
        folder = self._folder(path.owner)
        if folder is None or _look_at(path, folder) is None:
            return
        (folder / path.file).unlink(missing_ok=True)
        with suppress(FileNotFoundError):
            _sync(folder)
        with suppress(OSError):
            while folder != self._root:
                folder.rmdir()
                folder = folder.parent

    @_in_thread
    def ping(self) -> None:
        self._make(self._incoming)
        if not os.access(self._incoming, os.W_OK | os.X_OK):
            raise PermissionError(f"{self._incoming} is not writable")

    def _move_in(self, staged: Path, path: BlobPath) -> None:
        for attempt in range(1, _MOVE_ATTEMPTS + 1):
            try:
                folder = self._make_folder(path.owner)
                staged.replace(folder / path.file)
                break
            except FileNotFoundError:
                # A delete took the emptied folder away in between.
                if attempt == _MOVE_ATTEMPTS:
                    raise
        with suppress(FileNotFoundError):
            _sync(folder)

    def _make_folder(self, owner: Owner) -> Path:
        folder = self._root
        for segment in owner.key:
            folder /= segment
            self._make(folder)
            if not stat.S_ISDIR(folder.lstat().st_mode):
                raise NotADirectoryError(f"{folder} is not a plain directory")
        return folder

    def _make(self, folder: Path) -> None:
        if not folder.exists():
            # Not exist_ok: it raises all the same for a folder that a delete takes away meanwhile, which
            # the caller would find missing and make again.
            with suppress(FileExistsError):
                folder.mkdir(parents=True)
            _sync(folder.parent)

    def _sweep(self) -> None:
        """Remove what processes that were killed in the middle of a put have left behind."""
        oldest = time.time() - ABANDONED_SECONDS
        for left in self._incoming.iterdir():
            with suppress(FileNotFoundError):
                if left.is_file() and left.stat().st_mtime < oldest:
                    left.unlink()

    def _folder(self, owner: Owner) -> Path | None:
        folder = self._root
        for segment in owner.key:
            folder /= segment
            status = _status(folder)
            if status is None or not stat.S_ISDIR(status.st_mode):
                return None
        return folder


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _look_at(path: BlobPath, folder: Path) -> BlobProperties | None:
    status = _status(folder / path.file)
    return _properties(path, status) if status is not None and stat.S_ISREG(status.st_mode) else None


def _properties(path: BlobPath, status: os.stat_result) -> BlobProperties:
    etag = f"{status.st_mtime_ns:x}-{status.st_size:x}-{status.st_ino:x}"
    return BlobProperties(path=path, etag=etag, size=status.st_size)


def _fill(file: BinaryIO, source: Path) -> None:
    with source.open("rb") as content:
        shutil.copyfileobj(content, file)
    file.flush()
    # The system's own stamp is coarse: two puts within one tick would look alike.
    now = time.time_ns()
    os.utime(file.fileno(), ns=(now, now))
    os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    """Make the names in `folder` durable, not only the bytes behind them."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
