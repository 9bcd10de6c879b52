"""Looks for damage in embedded data: the database, and whether records and files fit each other."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from orc_core.errors import DataNotUsable, DiskReadOnly, UnsafeName
from orc_core.infra.exhaustion import exhausted
from orc_core.infra.sqlite import check_version, damage_of
from orc_core.models import Document
from orc_core.names import BlobPath
from orc_core.storage.folder import FolderBlobStore, etag_of

NAMED = 3
"""How many documents a finding names."""
RESTORE = "Stop Orc and restore a backup: orc restore FILE --force."
_RECORDS = "SELECT id, body FROM items_documents WHERE id LIKE 'document:%'"
_WITHOUT_TEXT = """
SELECT body ->> 'document_id' FROM items_documents
WHERE id LIKE 'document:%' AND readable AND body ->> 'pages' != (
    SELECT count(*) FROM pages
    WHERE pages.document_id = body ->> 'document_id' AND number <= body ->> 'pages'
)
"""


class Finding(NamedTuple):
    """What is wrong and what to do about it. `blocks`: the database cannot be used."""

    problem: str
    advice: str
    is_damage: bool = True
    blocks: bool = False


def inspect_database(path: Path) -> list[Finding]:
    """What is wrong with the database file itself. Blocks."""
    if not path.exists():
        return []
    try:
        with closing(_opened(path)) as database:
            check_version(database, path)
            if damage := damage_of(database):
                return [Finding(f"The database is damaged: {damage}.", RESTORE, blocks=True)]
    except DataNotUsable as exc:
        return [Finding(exc.message, "", blocks=True)]
    except sqlite3.DatabaseError as exc:
        if (ours := exhausted(exc, folder=path.parent)) is not None:
            advice = "Mount its file system for writing." if isinstance(ours, DiskReadOnly) else ""
            return [Finding(ours.message, advice, is_damage=False, blocks=True)]
        return [Finding(f"The database cannot be read: {exc}.", RESTORE, blocks=True)]
    return []


def inspect_documents(path: Path, blobs: FolderBlobStore) -> list[Finding]:
    """Where records and files do not fit each other. The database must have its tables. Blocks."""
    with closing(_opened(path)) as database:
        records, unreadable = _records(database)
        textless = [row[0] for row in database.execute(_WITHOUT_TEXT)]
        # Files after records, as an upload stores them before; what is deleted meanwhile is in neither.
        files = {blob: etag_of(file.stat()) for blob, file in blobs.files()}
        still_there = {item_id.removeprefix("document:") for item_id, _ in database.execute(_RECORDS)}
    records = {blob: document for blob, document in records.items() if document.document_id in still_there}
    found = list(_findings(files, records, [blob for blob in records if blob.document_id in textless]))
    if unreadable:
        found.append(Finding(f"{unreadable} records of documents cannot be read.", RESTORE))
    return found


def _records(database: sqlite3.Connection) -> tuple[dict[BlobPath, Document], int]:
    """The records by path, and how many cannot be read."""
    records, unreadable = {}, 0
    for _, body in database.execute(_RECORDS):
        try:
            document = Document.model_validate_json(body)
            records[document.path] = document
        except (ValidationError, UnsafeName):
            unreadable += 1
    return records, unreadable


def _findings(
    files: Mapping[BlobPath, str], records: Mapping[BlobPath, Document], textless: Sequence[BlobPath]
) -> Iterator[Finding]:
    if lost := [path for path in records if path not in files]:
        advice = (
            "Restore a backup, or upload them again. Orc removes such records when it lists the conversation."
        )
        yield Finding(f"{_named(lost)} in the records but not in the folder.", advice)
    if textless:
        yield Finding(f"{_named(textless)} without some of the extracted pages.", "Upload them again.")
    if new := [path for path in files if path not in records]:
        advice = "Nothing: they are read when their conversation is listed or asked about."
        yield Finding(f"{_named(new)} in the folder but not in the records.", advice, is_damage=False)
    if changed := [path for path, etag in files.items() if path in records and records[path].etag != etag]:
        advice = "Nothing: they are read again when their conversation is listed or asked about."
        yield Finding(f"{_named(changed)} changed since they were read.", advice, is_damage=False)


def _named(paths: Sequence[BlobPath]) -> str:
    """The number of documents, with the paths of the first."""
    more = ", ..." if len(paths) > NAMED else ""
    noun = "document" if len(paths) == 1 else "documents"
    return f"{len(paths)} {noun} ({', '.join(map(str, paths[:NAMED]))}{more})"


def _opened(path: Path) -> sqlite3.Connection:
    # `rw`: a missing database is not made.
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True)
