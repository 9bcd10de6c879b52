"""The document side's stores in one SQLite file."""
