"""A backup of a running server: all that was acknowledged before it is there after it was restored."""

import os
import subprocess
import sys
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from devkit.in_process import Variant, running_here
from devkit.system import System, running, upload
from orc.settings import AuthMode

WRITERS = 3


@dataclass
class Ledger:
    """What the server has acknowledged: answers by turn, and the content of documents."""

    answers: dict[tuple[str, str], str] = field(default_factory=dict)
    documents: dict[tuple[str, str], bytes] = field(default_factory=dict)

    def copy(self) -> "Ledger":
        return Ledger(dict(self.answers), dict(self.documents))

    def missing(self, client: httpx.Client, data_dir: Path) -> list[object]:
        """What the API, and the folder, no longer have."""
        return [
            *(key for key, answer in self.answers.items() if answer_of(client, *key) != answer),
            *(
                key
                for key, content in self.documents.items()
                if not has_document(client, data_dir, key, content)
            ),
        ]


def answer_of(client: httpx.Client, conversation: str, turn_id: str) -> str | None:
    turns: list[dict[str, Any]] = client.get(f"/conversations/{conversation}").json().get("turns", [])
    return next((turn["answer"] for turn in turns if turn["turn_id"] == turn_id), None)


def has_document(client: httpx.Client, data_dir: Path, key: tuple[str, str], content: bytes) -> bool:
    conversation, name = key
    listed = client.get(f"/conversations/{conversation}/documents").json().get("documents", [])
    file = data_dir / "blobs" / "local" / "me" / conversation / name
    return name in [document["blob_name"] for document in listed] and file.read_bytes() == content


def write(system: System, ledger: Ledger, enough: threading.Event, stop: threading.Event) -> None:
    """Upload and ask until `stop` is set, noting every acknowledgement."""
    conversation = str(uuid.uuid4())
    with system.client() as client:
        for number in range(1000):
            if stop.is_set():
                return
            name, content = f"{number}.txt", f"The fee of berth {number} is {number + 400} euros.".encode()
            stored = upload(client, conversation, (name, content))
            assert stored.status_code == 201, f"{stored.text}\n{system.log}"
            ledger.documents[conversation, name] = content
            body = {"question": f"What is the fee of berth {number}?", "conversation_id": conversation}
            answer = client.post("/orc", json={**body, "blob_names": [name]})
            assert answer.status_code == 200, f"{answer.text}\n{system.log}"
            ledger.answers[conversation, answer.json()["turn_id"]] = answer.json()["answer"]
            if number >= 1:
                enough.set()


def orc(data_dir: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "ORC_DATA_DIR": str(data_dir), "COLUMNS": "300"}
    command = [sys.executable, "-m", "orc", *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.slow
def test_what_was_acknowledged_before_a_backup_is_there_after_the_restore(tmp_path: Path) -> None:
    ledger, enough, stop = Ledger(), threading.Event(), threading.Event()
    file, restored = tmp_path / "orc.zip", tmp_path / "restored"
    with running(tmp_path / "data") as system, ThreadPoolExecutor(WRITERS) as pool:
        writing = [pool.submit(write, system, ledger, enough, stop) for _ in range(WRITERS)]
        try:
            assert enough.wait(300)
            before = ledger.copy()
            backup = orc(system.data_dir, "backup", str(file))
        finally:
            stop.set()
        for each in writing:
            each.result()
        assert backup.returncode == 0, backup.stderr
        in_use = orc(system.data_dir, "restore", str(file), "--force")
        assert (in_use.returncode, "is in use. Stop Orc first" in in_use.stderr) == (2, True)
        with system.client() as client:
            assert ledger.missing(client, system.data_dir) == []
    assert len(before.answers) >= 2
    restoring = orc(restored, "restore", str(file))
    assert restoring.returncode == 0, restoring.stderr
    local = {"local": Variant({"auth_mode": AuthMode.LOCAL})}
    with (
        running_here(restored, local, common={}, tools={}) as again,
        httpx.Client(base_url=again.addresses["local"], timeout=60) as client,
    ):
        assert before.missing(client, restored) == []
        conversation, name = next(iter(before.documents))
        body = {"question": "What is the fee?", "conversation_id": conversation, "blob_names": [name]}
        assert "400 euros" in client.post("/orc", json=body).json()["answer"]
