"""Looks for damage of an embedded database."""

import sqlite3
from contextlib import closing
from pathlib import Path

from orc_core.documents.consistency import RESTORE, Finding
from orc_core.errors import DataNotUsable, DiskReadOnly
from orc_core.infra.data_directory import is_there
from orc_core.infra.exhaustion import exhausted
from orc_core.infra.sqlite import check_version, damage_of


def inspect_database(path: Path) -> list[Finding]:
    """What is wrong with the database file itself. Blocks."""
    if not is_there(path):
        return []
    try:
        # `rw`: a missing database is not made.
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True)) as database:
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
