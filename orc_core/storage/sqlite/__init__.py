"""The document side's stores in one SQLite file. See docs/decisions/sqlite.md."""
