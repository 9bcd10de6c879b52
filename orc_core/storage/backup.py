"""Backups of embedded data: one zip file with the database, the documents and the keys."""

import hashlib
import json
import os
import shutil
import sqlite3
import uuid
import zipfile
import zlib
from collections.abc import Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from orc_core.errors import DataNotUsable, InvalidInput
from orc_core.infra.data_directory import in_use, is_there
from orc_core.infra.exhaustion import naming_the_disk
from orc_core.infra.keys import KEY_FILES
from orc_core.infra.sqlite import SCHEMA_VERSION, check_version, damage_of
from orc_core.models import Record
from orc_core.storage.file_names import original_name
from orc_core.storage.folder import FolderBlobStore, blob_path, etag_of
from orc_core.storage.sqlite.items import adopt
from orc_core.storage.sqlite.tables import ANALYSES, CONTEXTS, CREDENTIALS, DOCUMENTS

FORMAT = 2
"""2: with the keys of a change of keys."""
DATABASE, BLOBS, MANIFEST = "orc.db", "blobs", "manifest.json"
BLOB_PARTS = 5
_BLOCK = 1024 * 1024
_NEW_ETAGS = (
    "UPDATE items_documents SET body = json_set(body, '$.etag', :new)"
    " WHERE id IN ('document:' || :id, 'file:' || :id) AND body ->> '$.etag' = :old"
    " AND organization_id = :organization AND user_id = :user AND conversation_id = :conversation",
    "UPDATE items_analyses SET body = json_set(body, '$.etag', :new)"
    " WHERE document_id = :id AND id = 'analysis' AND body ->> '$.etag' = :old",
    "UPDATE jobs SET etag = :new WHERE document_id = :id AND etag = :old",
)


class BackedUpFile(Record):
    """A file of a backup. `name` is its path inside the data directory; `etag` is set for documents."""

    name: str
    size: int
    sha256: str
    modified_ns: int
    etag: str = ""


class Manifest(Record):
    """What a backup contains."""

    format: int
    schema_version: int
    created_at: datetime
    files: list[BackedUpFile]

    @property
    def documents(self) -> int:
        """How many documents there are."""
        return sum(bool(file.etag) for file in self.files)


def back_up(data_dir: Path, target: Path) -> Manifest:
    """Write a backup of a data directory that may be in use.

    The database is copied first, in one consistent state; then the documents, each of them whole. What was
    acknowledged before is in the backup. Raises InvalidInput if there is no database, or `target` exists.
    """
    if not is_there(data_dir / DATABASE):
        raise InvalidInput(f"There is no database in {data_dir}. Set ORC_DATA_DIR.")
    if target.exists():
        raise InvalidInput(f"{target} exists. Choose another name: a backup replaces no file.")
    partial = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
    snapshot = partial.with_name(f"{partial.name}.db")
    try:
        with naming_the_disk("the backup", "backup"):
            version = _copy_database(data_dir / DATABASE, snapshot)
            manifest = _write(data_dir, snapshot, partial, version)
            partial.replace(target)
    finally:
        for left in (partial, snapshot):
            left.unlink(missing_ok=True)
    return manifest


def _copy_database(source: Path, snapshot: Path) -> int:
    with closing(sqlite3.connect(source)) as reading, closing(sqlite3.connect(snapshot)) as writing:
        check_version(reading, source)
        reading.backup(writing)
        writing.execute("PRAGMA journal_mode = DELETE")
        if damage := damage_of(writing):
            raise DataNotUsable(f"The database is damaged: {damage}. Restore a backup.", dependency="store")
        return int(writing.execute("PRAGMA user_version").fetchone()[0])


def _write(data_dir: Path, snapshot: Path, target: Path, version: int) -> Manifest:
    descriptor = os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            files = [_add(archive, snapshot, DATABASE)]
            for key in KEY_FILES:
                with suppress(FileNotFoundError):
                    files.append(_add(archive, data_dir / key, key))
            for _, path in FolderBlobStore(data_dir / BLOBS).files():
                # Deleted meanwhile: then it is not in the backup either.
                with suppress(FileNotFoundError):
                    files.append(_add(archive, path, str(path.relative_to(data_dir)), is_document=True))
            made = datetime.now(UTC)
            manifest = Manifest(format=FORMAT, schema_version=version, created_at=made, files=files)
            archive.writestr(MANIFEST, manifest.model_dump_json(indent=1))
        file.flush()
        os.fsync(file.fileno())
    return manifest


def _add(archive: zipfile.ZipFile, path: Path, name: str, *, is_document: bool = False) -> BackedUpFile:
    with path.open("rb") as source:
        status = os.fstat(source.fileno())
        with archive.open(name, "w", force_zip64=True) as target:
            sha256 = _copy(source, target)
    etag = etag_of(status) if is_document else ""
    modified = status.st_mtime_ns
    return BackedUpFile(name=name, size=status.st_size, sha256=sha256, modified_ns=modified, etag=etag)


def restore(archive: Path, data_dir: Path, *, force: bool = False) -> tuple[Manifest, Path | None]:
    """Make a data directory from a backup; returns where the former directory was moved, if there was one.

    Sessions, keys and links of users are left out: some may have been ended since.
    Every file is compared with its hash, and the database is checked, before anything is replaced. Raises
    InvalidInput for a file that is no backup or damaged, for a directory that is not empty unless `force`
    is set, and for one that is in use.
    """
    has_data = data_dir.exists() and any(data_dir.iterdir())
    if has_data and not force:
        raise InvalidInput(
            f"{data_dir} is not empty. Set ORC_DATA_DIR to another folder, or give --force: then the present"
            " folder is moved aside."
        )
    staging = data_dir.with_name(f".{data_dir.name}.restoring-{uuid.uuid4().hex}")
    try:
        with in_use(data_dir, alone=True), naming_the_disk("the data directory", "store"):
            staging.mkdir(parents=True)
            manifest = _unpack(archive, staging)
            _check(staging)
            _adapt(staging, manifest)
            aside = None
            if has_data:
                aside = data_dir.with_name(f"{data_dir.name}.before-{datetime.now(UTC):%Y%m%d-%H%M%S}")
                data_dir.rename(aside)
            else:
                data_dir.rmdir()
            staging.rename(data_dir)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return manifest, aside


def _unpack(archive: Path, target: Path) -> Manifest:
    try:
        with zipfile.ZipFile(archive) as source:
            manifest = Manifest.model_validate(json.loads(source.read(MANIFEST)))
            _check_manifest(manifest, source.namelist())
            for file in manifest.files:
                _extract(source, file, target)
    except FileNotFoundError as exc:
        raise InvalidInput(f"There is no file {archive}.") from exc
    except (zipfile.BadZipFile, KeyError, ValueError, EOFError, NotImplementedError, zlib.error) as exc:
        # pydantic's errors are ValueErrors.
        raise InvalidInput(f"{archive} is no backup of Orc, or it is damaged.") from exc
    return manifest


def _check_manifest(manifest: Manifest, names: Sequence[str]) -> None:
    if manifest.format > FORMAT or manifest.schema_version > SCHEMA_VERSION:
        raise DataNotUsable(
            "The backup was made by a newer version of Orc. Install that one.", dependency="store"
        )
    listed = [file.name for file in manifest.files]
    if DATABASE not in listed or sorted([*listed, MANIFEST]) != sorted(names):
        raise ValueError("the list of files does not fit the files")
    if any(name not in {DATABASE, *KEY_FILES} and not _is_blob(name) for name in listed):
        raise ValueError("a file has another place")


def _is_blob(name: str) -> bool:
    first, *parts = name.split("/")
    fits = all(part not in {".", ".."} and original_name(part) for part in parts)
    return first == BLOBS and len(parts) == BLOB_PARTS - 1 and fits


def _extract(source: zipfile.ZipFile, file: BackedUpFile, target: Path) -> None:
    path = target / file.name
    path.parent.mkdir(parents=True, exist_ok=True)
    with source.open(file.name) as packed, path.open("xb") as unpacked:
        if _copy(packed, unpacked) != file.sha256:
            raise ValueError(f"{file.name} has changed")
        unpacked.flush()
        os.fsync(unpacked.fileno())
    path.chmod(0o600)
    os.utime(path, ns=(file.modified_ns, file.modified_ns))


def _check(data_dir: Path) -> None:
    with closing(sqlite3.connect(data_dir / DATABASE)) as database:
        if damage := damage_of(database):
            raise InvalidInput(f"The database of the backup is damaged: {damage}.")


def _adapt(data_dir: Path, manifest: Manifest) -> None:
    """Remove sessions, keys and links of users; give records the ETags of restored files, with new inodes."""
    with closing(sqlite3.connect(data_dir / DATABASE)) as database, database:
        database.execute(f"DROP TABLE IF EXISTS {CREDENTIALS.table}")
        for table in (DOCUMENTS, ANALYSES, CONTEXTS):
            for statement in table.schema.split(";"):
                database.execute(statement)
            adopt(database, table)
        database.execute(f"DELETE FROM {CONTEXTS.table} WHERE kind = 'share_link'")
        for file in manifest.files:
            if file.etag:
                path = blob_path(file.name.split("/")[1:])
                new = {
                    "new": etag_of((data_dir / file.name).stat()),
                    "old": file.etag,
                    "id": path.document_id,
                }
                names = ("organization", "user", "conversation")
                owner = dict(zip(names, path.owner.key, strict=True))
                for statement in _NEW_ETAGS:
                    database.execute(statement, {**new, **owner})


def _copy(source: IO[bytes], target: IO[bytes]) -> str:
    """Copy a file; returns the SHA-256 of its content."""
    hashed = hashlib.sha256()
    while block := source.read(_BLOCK):
        hashed.update(block)
        target.write(block)
    return hashed.hexdigest()
