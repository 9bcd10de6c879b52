"""Withdrawn roles over two servers on one store, and the sweep of a large context with kills."""

import asyncio
import contextlib
import os
import random
import signal
import sqlite3
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

from devkit.system import System, principal_headers, running
from orc.contexts.models import Action, AuditEntry, Context, ContextType, State
from orc.contexts.store import ContextStore
from orc.conversations.models import utc_now
from orc_core.bootstrap import Documents, open_documents
from orc_core.documents.places import Accessible
from orc_core.infra.settings import CoreSettings
from orc_core.names import Owner

pytestmark = pytest.mark.campaign

RUNS, FULL_RUNS = 25, 1000
DOCUMENTS, FULL_DOCUMENTS = 60, 1000
KILLS, DISTINCT = 5, 10
MOST_SECONDS = 300.0
SECRET = "sesame4711"
QUESTION = "What does the ferry open with?"
EASYAUTH = {
    "ORC_AUTH_MODE": "easyauth",
    "WEBSITE_AUTH_ENABLED": "True",
    "ORC_ADVANCED": '{"turns_per_user": 8}',
}
SWEEPING = """
import asyncio, os, sys
from orc_core.bootstrap import open_documents
from orc_core.infra.settings import CoreSettings
from orc.contexts.store import ContextStore
from orc.cli.worker import sweep

async def once():
    async with open_documents(CoreSettings()) as documents:
        await sweep(ContextStore(await documents.clients.items("contexts")), documents.library.delete_all)

for _ in sys.stdin:
    child = os.fork()
    if child == 0:
        asyncio.run(once())
        os._exit(0)
    print(child, flush=True)
    _, status = os.waitpid(child, 0)
    print(status, flush=True)
"""
"""Sweeps that need not import anything any more: what is killed is a sweep, not the start of Python."""


class Both:
    """Two servers, and requests of users to either."""

    def __init__(self, servers: tuple[System, System]) -> None:
        self._chance = random.Random(14)
        self._http = [httpx.Client(base_url=server.api, timeout=60) for server in servers]

    def close(self) -> None:
        for each in self._http:
            each.close()

    def call(self, at: int, user: str, method: str, path: str, *roles: str, **body: Any) -> httpx.Response:
        headers = principal_headers("acme", user, *roles)
        return self._http[at].request(method, path, headers=headers, **body)

    def ask(self, at: int, conversation: str, *context_ids: str) -> httpx.Response:
        contexts = [{"type": "workspace", "id": each} for each in context_ids]
        body = {"question": QUESTION, "conversation_id": conversation, "contexts": contexts}
        return self.call(at, "bob", "POST", "/orc", json=body)

    def sides(self) -> tuple[int, int]:
        """The server that changes a role, and the other one, which is asked next."""
        first = self._chance.randrange(2)
        return first, 1 - first


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    data = tmp_path_factory.mktemp("revocations") / "data"
    with (
        running(data, **EASYAUTH) as first,
        running(data, **EASYAUTH) as second,
        contextlib.closing(Both((first, second))) as opened,
    ):
        yield opened


def test_a_withdrawal_counts_at_the_other_server_from_its_confirmation_on(
    both: Both, full_size: bool
) -> None:
    made = both.call(0, "ada", "POST", "/contexts", "orc.admin", json={"type": "workspace", "name": "Ferry"})
    context_id = str(made.json()["context_id"])
    files = [("file", ("ferry.txt", f"The ferry opens with {SECRET}.".encode()))]
    assert both.call(0, "ada", "POST", f"/contexts/{context_id}/documents", files=files).is_success
    member = f"/contexts/{context_id}/members/user/bob"
    conversation, leaked, refused = str(uuid.uuid4()), [], []
    for run in range(FULL_RUNS if full_size else RUNS):
        if run % 10 == 0:
            conversation = str(uuid.uuid4())
        here, there = both.sides()
        assert both.call(here, "ada", "PUT", member, json={"role": "viewer"}).status_code == 204
        if SECRET not in both.ask(there, conversation, context_id).text:
            refused.append(run)
        here, there = both.sides()
        assert both.call(here, "ada", "DELETE", member).status_code == 204
        named = both.ask(there, conversation, context_id)
        history = both.ask(there, conversation)
        assert (named.status_code, history.status_code) == (404, 200)
        if SECRET in named.text + history.text:
            leaked.append(run)
    assert (leaked, refused) == ([], [])


@contextmanager
def sweeps_on(data_dir: Path) -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, "ORC_DATA_DIR": str(data_dir), "ORC_PAGE_ANALYSIS": "off"}
    command = [sys.executable, "-c", SWEEPING]
    with subprocess.Popen(command, env=environment, stdin=-1, stdout=-1, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def _line(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    return int(process.stdout.readline())


def _start(process: subprocess.Popen[str]) -> int:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()
    return _line(process)


async def _fill(documents: Documents, owner: Owner, folder: Path, number: int) -> None:
    file = folder / "text.txt"
    for each in range(number):
        file.write_text(f"The ferry {each % DISTINCT} opens at noon.")  # identical ones are read once
        await documents.library.upload(owner, f"{each}.txt", file)


async def _count(documents: Documents, owners: list[Owner]) -> int:
    counted = [await documents.library.count(Accessible.of_owner(each)) for each in owners]
    return sum(place.total for places in counted for place in places)


async def test_a_sweep_that_is_killed_five_times_leaves_nothing(tmp_path: Path, full_size: bool) -> None:
    number, data = FULL_DOCUMENTS if full_size else DOCUMENTS, tmp_path / "data"
    folder, usecase, kept = "a" * 16 + "-" + "b" * 16, "a" * 16 + "-" + "b" * 16 + "-" + "c" * 16, "a" * 16
    owners = [Owner.of_context("acme", each) for each in (folder, usecase)]
    settings = CoreSettings.model_validate({"data_dir": data, "page_analysis": "off"})
    async with open_documents(settings, analyser=True) as documents:
        for owner in owners:
            await _fill(documents, owner, tmp_path, number // 2)
        await _fill(documents, Owner.of_context("acme", kept), tmp_path, 1)
        await documents.worker.drain()
        ids = [each.document_id for owner in owners for each in await documents.library.list_documents(owner)]
        store = ContextStore(await documents.clients.items("contexts"))
        for context_id, kind in ((kept, "organization"), (folder, "folder"), (usecase, "usecase")):
            await store.create(_context(context_id, kind), None, None, _entry(context_id))
        hidden = _context(folder, "folder", State.DELETING)
        await store.change(hidden, _entry(folder))
        left, killed = len(ids), 0
        with sweeps_on(data) as process:
            while killed < KILLS:
                child, goal = _start(process), left - left // (KILLS + 1 - killed)
                deadline = time.monotonic() + MOST_SECONDS
                while await _count(documents, owners) > goal:
                    assert time.monotonic() < deadline
                    await asyncio.sleep(0.005)
                os.kill(child, signal.SIGKILL)
                assert _line(process) == signal.SIGKILL
                killed, left = killed + 1, await _count(documents, owners)
                assert left > 0
            _start(process)
            assert _line(process) == 0
        await _check_nothing_left(documents, owners, ids, data)
        assert await store.at_or_below("acme", folder) == []
        assert len(await documents.library.list_documents(Owner.of_context("acme", kept))) == 1


async def _check_nothing_left(documents: Documents, owners: list[Owner], ids: list[str], data: Path) -> None:
    """No record, row, job or blob names a removed document, and the index has one document."""
    assert await _count(documents, owners) == 0
    blobs = [each for each in (data / "blobs").rglob("*") if each.is_file()]
    assert [each for each in blobs if any(owner.conversation_id in str(each) for owner in owners)] == []
    removed = set(ids)
    with contextlib.closing(sqlite3.connect(data / "orc.db")) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            rows = database.execute(f"SELECT * FROM {table}").fetchall()
            named = [row for row in rows if removed & {str(value) for value in row}]
            assert named == [], table
        indexed = [key for (key,) in database.execute("SELECT document_key FROM search_documents")]
        assert len(indexed) == 1
        for table in ("search_terms", "search_batches", "search_passages"):
            keys = database.execute(f"SELECT DISTINCT document_key FROM {table}").fetchall()
            assert keys == [(indexed[0],)], table


def _context(context_id: str, kind: str, state: State = State.PRESENT) -> Context:
    now = utc_now()
    return Context(
        organization_id="acme",
        context_id=context_id,
        type=ContextType(kind),
        name=kind,
        state=state,
        created_by="ada",
        created_at=now,
        updated_at=now,
    )


def _entry(context_id: str) -> AuditEntry:
    return AuditEntry(
        organization_id="acme", at=utc_now(), actor="ada", action=Action.CHANGED, context_id=context_id
    )
