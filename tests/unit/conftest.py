"""Rules for the unit tests."""

import pytest

from core.extraction.subprocesses import Children


@pytest.fixture(autouse=True)
def spare_children(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start no child process ahead of the next file: most tests read one file only."""
    monkeypatch.setattr(Children, "prepare", lambda *_: None)
