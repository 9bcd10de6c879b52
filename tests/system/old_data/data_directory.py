"""The data directory of an old version as a zip file: packed once, unpacked by every test."""

import json
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

FOLDER = Path(__file__).parent
ARCHIVE = FOLDER / "data-0.1.0.zip"
EXPECTED = FOLDER / "expected-0.1.0.json"
DATABASE = "orc.db"
BLOBS = "blobs"
ETAGS = "etags.json"
KEY_FILE = "scope.key"
PACKED = (DATABASE, KEY_FILE, BLOBS)


def pack(data: Path) -> None:
    """Write the archive from a data directory that no process uses."""
    with closing(sqlite3.connect(data / DATABASE)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    files = [path for path in sorted(data.rglob("*")) if path.is_file()]
    etags = {
        str(path.relative_to(data)): etag_of(path) for path in (data / BLOBS).rglob("*") if path.is_file()
    }
    with zipfile.ZipFile(ARCHIVE, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in files:
            name = path.relative_to(data)
            if name.parts[0] in PACKED:
                archive.write(path, name)
        archive.writestr(ETAGS, json.dumps(etags))


def unpack(folder: Path, *, moved: bool = False) -> None:
    """Write the data directory into `folder`; unless it counts as moved, as if it had always been there.

    An etag of 0.1.0 holds the inode and the time of a file, which a copy cannot keep. So the database
    gets the etags of the copies.
    """
    with zipfile.ZipFile(ARCHIVE) as archive:
        archive.extractall(folder)
    (folder / KEY_FILE).chmod(0o600)
    etags = json.loads((folder / ETAGS).read_text())
    (folder / ETAGS).unlink()
    with closing(sqlite3.connect(folder / DATABASE)) as database, database:
        for name, etag in ({} if moved else etags).items():
            _replace(database, etag, etag_of(folder / name))


def etag_of(path: Path) -> str:
    """The etag that 0.1.0 gives a stored file."""
    status = path.stat()
    return f"{status.st_mtime_ns:x}-{status.st_size:x}-{status.st_ino:x}"


def _replace(database: sqlite3.Connection, old: str, new: str) -> None:
    """Replace a text wherever it is stored."""
    tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    for table in tables:
        for _, column, kind, *_ in database.execute(f"PRAGMA table_info({table})").fetchall():
            if kind == "TEXT":
                change = f"UPDATE {table} SET {column} = replace({column}, ?, ?) WHERE instr({column}, ?)"
                database.execute(change, (old, new, old))
