"""Messages of the job queue, and the timer, through Azure's own worker runtime."""

import asyncio
import json
import os
import subprocess
import sys
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import httpx
import pytest
from azure.storage.queue import QueueClient

from devkit.azure.targets import Target
from devkit.shared_data import ROOT
from devkit.system import upload
from orc.identity import LOCAL_ORGANIZATION, LOCAL_USER
from orc_core.bootstrap import Documents, open_documents
from orc_core.documents.jobs import Notice
from orc_core.infra.settings import CoreSettings
from orc_core.models import Job, JobKind
from orc_core.names import BlobPath, Owner
from orc_core.storage.blob.account import queue_address
from orc_core.storage.queue import queue_names
from tests.functions.worker import Worker, WorkerError

TIMER = json.dumps({"IsPastDue": False, "Schedule": {}, "ScheduleStatus": None})
LONG = 60.0
Result = TypeVar("Result")
Elsewhere = Callable[[Callable[[Documents], Awaitable[Result]]], Result]


@pytest.fixture
def elsewhere(app_settings: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Elsewhere[Result]:
    """Does something with the stores that the functions work on, as another process would."""
    for name, value in app_settings.items():
        monkeypatch.setenv(name, value)
    settings = CoreSettings()

    async def opened(work: Callable[[Documents], Awaitable[Result]]) -> Result:
        async with open_documents(settings) as documents:
            return await work(documents)

    return lambda work: asyncio.run(opened(work))


@pytest.fixture
def conversation(client: httpx.Client, tmp_path: Path) -> str:
    """A conversation with a text in it that no other one has."""
    conversation_id = str(uuid.uuid4())
    response = upload(client, conversation_id, ("log.txt", f"The harbour of {conversation_id}.".encode()))
    assert response.status_code == 201, response.text
    return conversation_id


def path_in(conversation: str, file: str = "log.txt") -> BlobPath:
    return BlobPath(Owner(LOCAL_ORGANIZATION, LOCAL_USER, conversation), file)


def notice(path: BlobPath, kind: JobKind = JobKind.INGEST) -> str:
    return Notice(path=path, kind=kind).model_dump_json()


def status_in(client: httpx.Client, conversation: str) -> str:
    (document,) = client.get(f"/conversations/{conversation}/documents").json()["documents"]
    return str(document["status"])


def deliver_messages(worker: Worker, storage: Target) -> list[str]:
    """Call the functions for what is in their queues, as the host does; which were called."""
    called = []
    for name, queue in queue_names().items():
        address = (storage.queue_url or queue_address(storage.url), queue, storage.key)
        with QueueClient(*address) as messages:
            for message in messages.receive_messages():
                called.append(str(name))
                worker.call(name, string=message.content)
                messages.delete_message(message)
    return called


def kinds_queued(elsewhere: Elsewhere[set[JobKind]], path: BlobPath) -> set[JobKind]:
    async def look(documents: Documents) -> set[JobKind]:
        return set(await documents.stores.queue.progress(path.document_id))

    return elsewhere(look)


def test_each_kind_of_job_has_its_queue(worker: Worker) -> None:
    queues = {each.name: each.trigger for each in worker.functions if "queueName" in each.trigger}
    assert {name: trigger["queueName"] for name, trigger in queues.items()} == queue_names()
    assert {trigger["connection"] for trigger in queues.values()} == {"ORC_QUEUE"}


def test_without_a_storage_account_the_host_is_asked_for_requests_only(tmp_path: Path) -> None:
    program = "import function_app; print(*(f.get_function_name() for f in function_app.app.get_functions()))"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    run = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout == "orc chat api\n", run.stderr


def test_an_upload_is_indexed_and_analysed_by_the_messages_that_it_leads_to(
    worker: Worker,
    client: httpx.Client,
    conversation: str,
    storage_target: Target,
    elsewhere: Elsewhere[set[JobKind]],
) -> None:
    assert status_in(client, conversation) == "uploaded"
    assert {"ingest", "analyse"} <= set(deliver_messages(worker, storage_target))
    assert status_in(client, conversation) == "completed"
    assert kinds_queued(elsewhere, path_in(conversation)) == set()


def test_a_message_has_its_document_indexed_and_then_analysed(
    worker: Worker, client: httpx.Client, conversation: str, elsewhere: Elsewhere[set[JobKind]]
) -> None:
    path = path_in(conversation)
    assert status_in(client, conversation) == "uploaded"
    worker.call("ingest", string=notice(path))
    assert status_in(client, conversation) == "completed"
    assert kinds_queued(elsewhere, path) == {JobKind.ANALYSE}
    worker.call("analyse", string=notice(path, JobKind.ANALYSE))
    assert kinds_queued(elsewhere, path) == set()


def test_a_message_that_comes_twice_does_nothing_the_second_time(
    worker: Worker, client: httpx.Client, conversation: str, elsewhere: Elsewhere[set[JobKind]]
) -> None:
    path = path_in(conversation)
    for _ in range(2):
        worker.call("ingest", string=notice(path))
        worker.call("analyse", string=notice(path, JobKind.ANALYSE))
    assert kinds_queued(elsewhere, path) == set()


def test_a_leased_job_is_left_to_its_holder(
    worker: Worker, client: httpx.Client, conversation: str, elsewhere: Elsewhere[Job | None]
) -> None:
    path = path_in(conversation)

    async def hold(documents: Documents) -> Job | None:
        document = await documents.stores.get(path)
        assert document is not None
        return await documents.stores.queue.claim(document, JobKind.INGEST, LONG)

    held = elsewhere(hold)
    assert held is not None
    worker.call("ingest", string=notice(path))
    assert status_in(client, conversation) == "uploaded"

    async def let_go(documents: Documents) -> None:
        await documents.stores.queue.release(held)

    elsewhere(let_go)
    worker.call("ingest", string=notice(path))
    assert status_in(client, conversation) == "completed"


def test_a_message_about_a_document_that_is_gone_does_nothing(
    worker: Worker, client: httpx.Client, conversation: str, elsewhere: Elsewhere[set[JobKind]]
) -> None:
    path = path_in(conversation)
    assert client.delete(f"/conversations/{conversation}/documents/{path.document_id}").status_code == 204
    for gone in (path, path_in(str(uuid.uuid4()))):
        worker.call("ingest", string=notice(gone))
        assert kinds_queued(elsewhere, gone) == set()


@pytest.mark.parametrize("text", ["", "no json", '{"kind": "ingest"}'])
def test_an_invalid_message_fails_visibly(worker: Worker, text: str) -> None:
    with pytest.raises(WorkerError):
        worker.call("ingest", string=text)


def test_the_timer_finds_a_job_that_was_never_queued(
    worker: Worker, client: httpx.Client, conversation: str, elsewhere: Elsewhere[set[JobKind]]
) -> None:
    path = path_in(conversation)

    async def lose(documents: Documents) -> set[JobKind]:
        await documents.stores.queue.delete(path.document_id)
        return set(await documents.stores.queue.progress(path.document_id))

    assert elsewhere(lose) == set()
    worker.call("sweep", json=TIMER)
    assert kinds_queued(elsewhere, path) == {JobKind.INGEST}
    worker.call("ingest", string=notice(path))
    assert status_in(client, conversation) == "completed"
