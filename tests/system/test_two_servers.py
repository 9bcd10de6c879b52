"""Two servers on one data directory: both serve all of it, and what either acknowledged is kept."""

import os
import signal
import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from devkit.system import System, running, upload
from devkit.system_here import system_here

pytestmark = pytest.mark.slow

CALLS = 12
NAMES = ("fees.txt", "Fees.txt", "tides.txt")


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[System, System]]:
    data = tmp_path_factory.mktemp("two") / "data"
    with running(data) as first, system_here(data) as second:
        yield first, second


@pytest.fixture
def servers(both: tuple[System, System]) -> tuple[System, System]:
    """Two servers that run, whatever an earlier test did to the first of them."""
    first, _ = both
    if first.process is None or first.process.poll() is not None:
        first.start()
    return both


def ask(client: httpx.Client, conversation: str, question: str, key: str) -> httpx.Response:
    body = {"question": question, "conversation_id": conversation}
    return client.post("/orc", json=body, headers={"idempotency-key": key})


def turns_of(client: httpx.Client, conversation: str) -> list[dict[str, Any]]:
    turns: list[dict[str, Any]] = client.get(f"/conversations/{conversation}").json()["turns"]
    return turns


def documents_of(client: httpx.Client, conversation: str) -> list[str]:
    listed = client.get(f"/conversations/{conversation}/documents").json()["documents"]
    return sorted(document["blob_name"] for document in listed)


def test_two_servers_on_one_directory_lose_and_double_nothing(servers: tuple[System, System]) -> None:
    conversation, answers = str(uuid.uuid4()), {}
    lock = threading.Lock()

    def use(number: int) -> None:
        with servers[number % 2].client() as client:
            name = NAMES[number % len(NAMES)]
            stored = upload(client, conversation, (name, f"The fee of {name} is 400 euros.".encode()))
            assert stored.status_code == 201, stored.text
            answer = ask(client, conversation, f"What is the fee, and what is {number}?", f"key-{number}")
            assert answer.status_code == 200, answer.text
            with lock:
                answers[answer.json()["turn_id"]] = answer.json()["answer"]

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(use, range(CALLS)))
    for server in servers:
        with server.client() as client:
            turns = turns_of(client, conversation)
            assert [turn["seq"] for turn in turns] == list(range(1, CALLS + 1))
            assert {turn["turn_id"]: turn["answer"] for turn in turns} == answers
            assert documents_of(client, conversation) == sorted(NAMES)


def test_the_other_server_goes_on_with_what_a_killed_one_has_stored(servers: tuple[System, System]) -> None:
    killed, other = servers
    conversation = str(uuid.uuid4())
    with killed.client() as client:
        assert upload(client, conversation, ("fees.txt", b"The fee is 410 euros.")).status_code == 201
        stored = ask(client, conversation, "What is the fee?", "key-1").json()
    assert killed.process
    os.killpg(killed.process.pid, signal.SIGKILL)
    with other.client() as client:
        assert ask(client, conversation, "What is the fee?", "key-1").json()["turn_id"] == stored["turn_id"]
        assert ask(client, conversation, "And what is the fee again?", "key-2").status_code == 200
        assert [turn["seq"] for turn in turns_of(client, conversation)] == [1, 2]
        assert client.delete(f"/conversations/{conversation}").status_code == 204
    text = b"410 euros"
    files = [path for path in other.data_dir.rglob("*") if path.is_file()]
    assert [path for path in files if text in path.read_bytes()] == []
