"""Temporary folders end with their process, at the latest when the next one starts."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from devkit.shared_data import ROOT
from orc_core.infra.temporary_folders import remove_left_over, temporary_folder

HOLDING = """
from orc_core.infra.temporary_folders import temporary_folder
with temporary_folder() as folder:
    (folder / "copy").write_text("text")
    print(folder, flush=True)
    input()
"""


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def test_a_folder_is_kept_while_it_is_used(place: Path) -> None:
    with temporary_folder() as folder:
        (folder / "copy").write_text("text")
        remove_left_over()
        assert (folder / "copy").read_text() == "text"
    assert list(place.iterdir()) == []


def test_the_folder_of_a_killed_process_is_removed(place: Path) -> None:
    (place / "orc-of-others").mkdir()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", HOLDING],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        remove_left_over()
        assert (folder / "copy").exists()
        process.send_signal(signal.SIGKILL)
    assert (folder / "copy").exists()
    remove_left_over()
    assert [each.name for each in place.iterdir()] == ["orc-of-others"]
