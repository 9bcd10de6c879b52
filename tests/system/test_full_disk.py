"""A full disk: requests are refused without loss, and the server answers again once there is space."""

import os
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from devkit.system import System, running, upload

QUAY = b"The quay opens at seven."
QUESTION = "When does the quay open?"
LONG = b"The crane lifts ten tons. " * 10_000
DISK_MEGABYTES = 24
RECOVERY_SECONDS = 30.0
"""The busy worker's next attempt may come some seconds after there is space."""


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A file system of a few megabytes; skips the test if this user may not mount one."""
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={DISK_MEGABYTES}m", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(["mount", *options], check=False).returncode:
        pytest.skip("a small file system cannot be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def fill(disk: Path) -> Path:
    """A file that takes all space that is left."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 65_536)
        except OSError:
            return filler


def ask(http: httpx.Client, conversation: str) -> httpx.Response:
    body: dict[str, Any] = {"conversation_id": conversation, "question": QUESTION}
    return http.post("/orc", json=body)


def questions(http: httpx.Client, conversation: str) -> list[str]:
    turns = http.get(f"/conversations/{conversation}").raise_for_status().json()["turns"]
    return [turn["status"] for turn in turns]


@contextmanager
def ready_system(disk: Path) -> Iterator[System]:
    with running(disk / "data", TMPDIR=str(disk.parent)) as system:
        yield system


@pytest.mark.slow
def test_after_a_full_disk_has_space_again_the_server_answers_and_nothing_is_lost(tmp_path: Path) -> None:
    conversation = str(uuid.uuid4())
    with small_disk(tmp_path / "disk") as disk, ready_system(disk) as system, system.client() as http:
        upload(http, conversation, ("quay.txt", QUAY)).raise_for_status()
        assert "seven" in ask(http, conversation).raise_for_status().json()["answer"]
        filler = fill(disk)
        refused = [ask(http, conversation), upload(http, conversation, ("more.txt", LONG))]
        assert [each.status_code for each in refused] == [507, 507]
        assert {each.json()["code"] for each in refused} == {"disk_full"}
        assert httpx.get(f"{system.api}/health").status_code == 200
        written = sum(file.stat().st_size for file in (disk / "data").rglob("*") if file.is_file())
        filler.unlink()
        deadline = time.monotonic() + RECOVERY_SECONDS
        while (again := ask(http, conversation)).status_code != 200 and time.monotonic() < deadline:
            time.sleep(0.2)
        assert "seven" in again.raise_for_status().json()["answer"]
        upload(http, conversation, ("note.txt", b"The crane lifts ten tons.")).raise_for_status()
        assert questions(http, conversation)[0] == "committed"
        assert questions(http, conversation)[-1] == "committed"
        # Neither the database's log nor the server's own takes the space that was freed.
        after = sum(file.stat().st_size for file in (disk / "data").rglob("*") if file.is_file())
        assert after < written + 4_000_000


@pytest.mark.slow
def test_a_document_is_deleted_whole_or_not_at_all(tmp_path: Path) -> None:
    conversation = str(uuid.uuid4())
    with small_disk(tmp_path / "disk") as disk, ready_system(disk) as system, system.client() as http:
        uploaded = upload(http, conversation, ("quay.txt", QUAY)).raise_for_status().json()
        listed = f"/conversations/{conversation}/documents"
        path = f"{listed}/{uploaded['documents'][0]['document_id']}"
        deadline = time.monotonic() + RECOVERY_SECONDS
        while statuses(http, listed) != ["completed"] and time.monotonic() < deadline:
            time.sleep(0.2)
        filler = fill(disk)
        refused = http.delete(path)
        assert (refused.status_code, refused.json()["code"]) == (507, "disk_full")
        assert http.get(f"{path}/content").content == QUAY
        filler.unlink()
        http.delete(path).raise_for_status()
        assert statuses(http, listed) == [] and http.get(f"{path}/content").status_code == 404


def statuses(http: httpx.Client, listed: str) -> list[str]:
    """How far the documents of a conversation are."""
    return [each["status"] for each in http.get(listed).json().get("documents", [])]


@pytest.mark.slow
def test_a_question_on_the_command_line_names_the_temporary_folder_that_is_full(tmp_path: Path) -> None:
    file = tmp_path / "crane.txt"
    file.write_bytes(LONG * 20)
    with small_disk(tmp_path / "disk") as disk:
        filler = fill(disk)
        # With nothing left, Python takes another folder.
        os.truncate(filler, filler.stat().st_size - 4 * 1024 * 1024)
        environment = {**os.environ, "TMPDIR": str(disk), "COLUMNS": "300"}
        asked = subprocess.run(
            [sys.executable, "-m", "orc", "ask", file, "What does the crane lift?"],
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert asked.returncode == 2
    assert f"The disk of the temporary folder, {disk}, is full. Set TMPDIR" in asked.stderr
    assert "Traceback" not in asked.stderr
