"""The blob store on one machine: a folder, with one file per document."""

import asyncio
import functools
import os
import shutil
import stat
import time
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from orc_core.errors import DependencyDown, UnsafeName
from orc_core.infra.exhaustion import exhausted
from orc_core.models import BlobProperties
from orc_core.names import BlobPath, Owner, missing_document
from orc_core.storage.file_names import new_name, original_name, stored_names

INCOMING = ".incoming"
ABANDONED_SECONDS = 24 * 3600
_MOVE_ATTEMPTS = 20


Look = Callable[[Path], os.stat_result | None]
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def _in_thread(work: Callable[Parameters, Result]) -> Callable[Parameters, Coroutine[Any, Any, Result]]:
    """Returns the function as a coroutine that runs it in a thread. Raises DependencyDown for an OSError."""

    @functools.wraps(work)
    async def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            return await asyncio.to_thread(work, *args, **kwargs)
        except OSError as exc:
            if (full := exhausted(exc, "the documents", "blobs")) is not None:
                raise full from exc
            raise DependencyDown("The document store cannot be used right now.", dependency="blobs") from exc

    return call


# Why files have names and not ids: docs/decisions/files-and-backups.md.
class FolderBlobStore:
    """Files at root/organization/user/conversation/file; a symbolic link below the root counts as absent.

    Files that others put there are blobs too. file_names.py says how parts that some system cannot store,
    or that differ by case alone, are named on disk. `look` is `lstat` that returns None for a missing file;
    tests replace it by that of a disk that ignores case.
    """

    def __init__(self, root: Path, *, look: Look | None = None) -> None:
        self._root = root
        self._incoming = root / INCOMING
        self._look = look or _status
        self._minds_case: bool | None = None

    @asynccontextmanager
    async def local_copy(self, path: BlobPath) -> AsyncIterator[Path]:
        found = await self._file(path)
        if found is None:
            raise missing_document(path.file)
        yield found

    async def presign_upload(self, path: BlobPath, seconds: int) -> None:  # noqa: ARG002
        return None

    @_in_thread
    def put(self, path: BlobPath, source: Path) -> BlobProperties:
        self._make(self._incoming)
        self._sweep()
        staged = self._incoming / uuid.uuid4().hex
        try:
            with staged.open("xb") as file:
                with source.open("rb") as content:
                    shutil.copyfileobj(content, file)
                file.flush()
                # The time stamp of the system is coarse: two puts within one tick would have the same.
                now = time.time_ns()
                os.utime(file.fileno(), ns=(now, now))
                os.fsync(file.fileno())
                self._move_in(staged, path)
                # Asked of the open file: by name, it could already be a newer one.
                return _properties(path, os.fstat(file.fileno()))
        finally:
            staged.unlink(missing_ok=True)

    @_in_thread
    def head(self, path: BlobPath) -> BlobProperties | None:
        folder = self._folder(path.owner)
        return None if folder is None else self._look_at(path, folder)

    @_in_thread
    def list_in(self, owner: Owner) -> list[BlobProperties]:
        if (folder := self._folder(owner)) is None:
            return []
        found = []
        with suppress(FileNotFoundError):
            names = {original_name(entry.name) for entry in folder.iterdir()}
            for name in sorted(filter(None, names)):
                with suppress(UnsafeName):
                    found.append(self._look_at(BlobPath(owner, name), folder))
        return [blob for blob in found if blob is not None]

    @_in_thread
    def list_all(self) -> list[BlobProperties]:
        found = []
        for path, file in self.files():
            with suppress(FileNotFoundError):
                found.append(_properties(path, file.stat()))
        return found

    @_in_thread
    def delete(self, path: BlobPath, etag: str | None = None) -> None:
        if (folder := self._folder(path.owner)) is None:
            return
        self._make(self._incoming)
        # Under the lock of a put: none moves in between the comparison and the deletion.
        with _locked(self._incoming):
            for file, status in list(self._entries(folder, path.file)):
                if stat.S_ISREG(status.st_mode) and etag in (None, etag_of(status)):
                    file.unlink(missing_ok=True)
        with suppress(FileNotFoundError):
            _sync(folder)
        with suppress(OSError):
            while folder != self._root:
                folder.rmdir()
                folder = folder.parent

    def files(self) -> Iterator[tuple[BlobPath, Path]]:
        """All blobs and their files, in order. Blocks; raises OSError."""
        for file in sorted(self._root.glob("*/*/*/*")):
            parts = file.relative_to(self._root).parts
            status = self._look(file)
            if parts[0] != INCOMING and status is not None and stat.S_ISREG(status.st_mode):
                with suppress(UnsafeName):
                    yield blob_path(parts), file

    @_in_thread
    def ping(self) -> None:
        self._make(self._incoming)
        if not os.access(self._incoming, os.W_OK | os.X_OK):
            raise PermissionError(f"{self._incoming} is not writable")

    @_in_thread
    def _file(self, path: BlobPath) -> Path | None:
        folder = self._folder(path.owner)
        entries = self._entries(folder, path.file) if folder else ()
        return next((entry for entry, status in entries if stat.S_ISREG(status.st_mode)), None)

    def _move_in(self, staged: Path, path: BlobPath) -> None:
        for attempt in range(1, _MOVE_ATTEMPTS + 1):
            try:
                with _locked(self._incoming):
                    folder = self._make_folder(path.owner)
                    staged.replace(self._place(folder, path.file))
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
            folder = self._place(folder, segment)
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
            present = (
                entry for entry, status in self._entries(folder, segment) if stat.S_ISDIR(status.st_mode)
            )
            if (found := next(present, None)) is None:
                return None
            folder = found
        return folder

    def _place(self, folder: Path, name: str) -> Path:
        """Where `name` is in a folder, or is to be stored."""
        for entry, _ in self._entries(folder, name):
            return entry
        if (free := new_name(name, _names_in(folder))) is None:
            raise UnsafeName(
                "The document name is too long to be stored next to one that differs by case alone.",
                field="blob_names",
            )
        return folder / free

    def _look_at(self, path: BlobPath, folder: Path) -> BlobProperties | None:
        found = (status for _, status in self._entries(folder, path.file) if stat.S_ISREG(status.st_mode))
        return next((_properties(path, status) for status in found), None)

    def _entries(self, folder: Path, name: str) -> Iterator[tuple[Path, os.stat_result]]:
        """What is stored under `name`: one entry, unless another process has put a second one there."""
        for form in stored_names(name):
            entry = folder / form
            status = self._look(entry)
            if status is not None and entry != self._incoming and self._is_exact(entry):
                yield entry, status

    def _is_exact(self, entry: Path) -> bool:
        """Whether an entry that was found has this name, and not one that differs by case."""
        if self._minds_case is None and self._look(self._incoming) is not None:
            self._minds_case = self._look(self._root / INCOMING.upper()) is None
        return self._minds_case or entry.name in _names_in(entry.parent)


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _names_in(folder: Path) -> list[str]:
    return [entry.name for entry in folder.iterdir()]


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One holder at a time, of all threads and processes, if the file system has locks."""
    # Not at the top: on Windows this module must load, so that the refusal of Windows can be shown.
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        # Some network file systems offer no lock of a folder.
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def blob_path(parts: Sequence[str]) -> BlobPath:
    """The path of the blob that is stored under these parts below the root.

    Raises ValueError if no blob is stored so, and UnsafeName if no document may be called so.
    """
    organization, user, conversation, file = (original_name(part) or "" for part in parts)
    return BlobPath(Owner(organization, user, conversation), file)


def etag_of(status: os.stat_result) -> str:
    """The ETag of a file: when it was written, its size and its inode."""
    return f"{status.st_mtime_ns:x}-{status.st_size:x}-{status.st_ino:x}"


def _properties(path: BlobPath, status: os.stat_result) -> BlobProperties:
    return BlobProperties(path=path, etag=etag_of(status), size=status.st_size)


def _sync(folder: Path) -> None:
    """Make the names in `folder` durable, not only the bytes behind them."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
