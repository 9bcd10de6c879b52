"""Uploads over HTTP: what is stored, what is refused with a reason, and the memory the API needs."""

import io
import json
import resource
import sqlite3
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import psutil
import pytest
from fastapi import UploadFile

from devkit.shared_data import SHARED, needs_shared
from devkit.system import System, upload
from orc.api.routes.documents import documents_being_read, store_files
from orc.identity import Principal
from orc.limits.models import RateLimit
from orc_core.errors import InvalidInput
from orc_core.models import JobProgress
from orc_core.names import Owner

pytestmark = pytest.mark.slow

NASTY = SHARED / "data" / "nasty"
MANIFEST: list[dict[str, Any]] = (
    json.loads((NASTY / "manifest.json").read_text()) if (NASTY / "manifest.json").exists() else []
)
SECONDS = 20
RSS_GROWTH_BYTES = 60 * 1024 * 1024


@pytest.fixture(scope="module")
def system(offline_system: System) -> System:
    return offline_system


@pytest.fixture
def client(system: System) -> Iterator[httpx.Client]:
    with system.client() as opened:
        yield opened


@pytest.fixture
def conversation() -> str:
    return str(uuid.uuid4())


def blobs_of(system: System, conversation: str) -> list[str]:
    folder = system.data_dir / "blobs" / "local" / "me" / conversation
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def test_good_files_are_stored_and_bad_ones_named_in_one_response(
    system: System, client: httpx.Client, conversation: str, handbook: Path
) -> None:
    response = upload(
        client, conversation, handbook, ("broken.pdf", b"%PDF-1.7 nothing"), ("a.txt", b"A fee of 7.")
    )
    assert response.status_code == 201
    body = response.json()
    assert [document["blob_name"] for document in body["documents"]] == ["harbour-handbook.pdf", "a.txt"]
    [error] = body["errors"]
    assert error["field"] == "broken.pdf"
    assert error["code"] == "corrupt"
    assert blobs_of(system, conversation) == ["a.txt", "harbour-handbook.pdf"]


async def test_how_much_of_a_file_is_read_is_known_until_it_is_stored_or_refused() -> None:
    owner, seen = Owner("acme", "ada", "c1"), list[dict[str, JobProgress]]()

    class Library:
        async def upload(
            self, _owner: Owner, _name: str, _file: Path, report: Callable[[int, int, str], None], **_: Any
        ) -> None:
            report(3, 9, "Reading the text")
            for each in (owner, replace(owner, user_id="bob")):
                seen.append((await documents_being_read(each, app)).files)
            raise InvalidInput("No.")

    settings = SimpleNamespace(max_upload_bytes=100)
    app: Any = SimpleNamespace(reading={}, library=Library(), settings=settings, uploads=RateLimit())
    file = UploadFile(io.BytesIO(b"text"), size=4, filename="a.txt")
    await store_files([file], owner, Principal("acme", "ada"), app, "t", datetime.now(UTC))
    assert seen == [{"a.txt": JobProgress(done=3, total=9, what="Reading the text")}, {}]
    assert app.reading == {}


def test_a_refused_file_leaves_no_data(system: System, client: httpx.Client, conversation: str) -> None:
    response = upload(client, conversation, ("broken.pdf", b"%PDF-1.7 nothing"))
    assert response.status_code == 422
    assert response.headers["content-type"] == "application/problem+json"
    assert [error["field"] for error in response.json()["errors"]] == ["broken.pdf"]
    assert blobs_of(system, conversation) == []
    assert client.get(f"/conversations/{conversation}/documents").status_code == 404


def test_a_file_copied_into_the_folder_is_found_by_name(
    system: System, client: httpx.Client, conversation: str
) -> None:
    folder = system.data_dir / "blobs" / "local" / "me" / conversation
    folder.mkdir(parents=True)
    (folder / "note.txt").write_text("The mooring fee is 410 euros a day.")
    body = {
        "question": "What is the mooring fee?",
        "conversation_id": conversation,
        "blob_names": ["note.txt"],
    }
    answer = client.post("/orc", json=body).json()
    assert "410 euros" in answer["answer"]
    assert answer["citations"][0]["verified"]


def test_a_pdf_copied_into_the_folder_under_an_id_is_read(
    system: System, client: httpx.Client, conversation: str, handbook: Path
) -> None:
    """Interfaces that store files past the API name them by id: nothing is known of them but the bytes."""
    folder = system.data_dir / "blobs" / "local" / "me" / conversation
    folder.mkdir(parents=True)
    (folder / "file_1_id").write_bytes(handbook.read_bytes())
    question = "How long is the notice period during probation?"
    body = {"question": question, "conversation_id": conversation, "blob_names": ["file_1_id"]}
    assert client.post("/orc", json=body).status_code == 200
    [document] = client.get(f"/conversations/{conversation}/documents").json()["documents"]
    assert (document["blob_name"], document["pages"], document["reason"]) == ("file_1_id", 16, None)


def test_files_are_listed_in_the_order_in_which_they_were_attached(
    client: httpx.Client, conversation: str
) -> None:
    """The page sends several at a time, and the first one takes longest."""
    begun, may_end = threading.Event(), threading.Event()

    def slow_body() -> Iterator[bytes]:
        yield b'--b\r\nContent-Disposition: form-data; name="file"; filename="z.txt"\r\n\r\n'
        begun.set()
        may_end.wait(SECONDS)
        yield b"The fee is 7 euros.\r\n--b--\r\n"

    place = f"/conversations/{conversation}/documents"
    form = {"content-type": "multipart/form-data; boundary=b"}
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(client.post, place, content=slow_body(), headers=form)
        assert begun.wait(SECONDS)
        second = upload(client, conversation, ("y.txt", b"It is 8."), ("x.txt", b"It is 9."))
        may_end.set()
        assert (first.result().status_code, second.status_code) == (201, 201)
    listed = client.get(place).json()["documents"]
    assert [each["blob_name"] for each in listed] == ["z.txt", "y.txt", "x.txt"]


def test_a_deleted_document_is_gone_everywhere(
    system: System, client: httpx.Client, conversation: str
) -> None:
    upload(client, conversation, ("a.txt", b"The fee is 7 euros."))
    place = f"/conversations/{conversation}/documents"
    document_id = client.get(place).json()["documents"][0]["document_id"]
    assert client.delete(f"{place}/{document_id}").status_code == 204
    assert client.delete(f"{place}/{document_id}").status_code == 404
    assert client.get(place).json()["documents"] == []
    assert blobs_of(system, conversation) == []
    body = {"question": "What is the fee?", "conversation_id": conversation, "blob_names": ["a.txt"]}
    assert client.post("/orc", json=body).status_code == 404


def test_references_to_a_deleted_document_are_not_returned_again(
    client: httpx.Client, conversation: str
) -> None:
    upload(client, conversation, ("a.txt", b"The fee is 7 euros."))
    body = {"question": "What is the fee?", "conversation_id": conversation}
    named = client.post("/orc", json={**body, "blob_names": ["a.txt"]}).json()
    assert len(named["uploaded_file_refs"]) == 1
    assert len(client.post("/orc", json=body).json()["uploaded_file_refs"]) == 1
    [document] = client.get(f"/conversations/{conversation}/documents").json()["documents"]
    client.delete(f"/conversations/{conversation}/documents/{document['document_id']}")
    assert client.post("/orc", json=body).json()["uploaded_file_refs"] == []


@needs_shared
def test_odd_and_hostile_files_end_as_their_manifest_says(
    system: System, client: httpx.Client, full_size: bool
) -> None:
    """One of each expected outcome; test_nasty_files.py reads all of them."""
    assert system.process is not None
    api = psutil.Process(system.process.pid)
    before = 0
    wrong: list[str] = []
    some = list({entry["expect"]: entry for entry in MANIFEST}.values())
    for index, entry in enumerate(MANIFEST if full_size else some):
        name = entry.get("upload_as") or entry["file"]
        response = client.post(
            f"/conversations/{uuid.uuid4()}/documents",
            files=[("file", (name, (NASTY / entry["file"]).read_bytes()))],
        )
        if response.elapsed.total_seconds() > SECONDS:
            wrong.append(f"{entry['file']}: {response.elapsed.total_seconds():.0f} s")
        if problem := unexpected(entry, response, system):
            wrong.append(f"{entry['file']} ({entry['expect']}): {problem}")
        if index == len(some) // 2:
            before = api.memory_info().rss
    assert not wrong, "\n".join(wrong)
    assert api.memory_info().rss - before < RSS_GROWTH_BYTES
    assert client.get("/ready").status_code == client.head("/ready").status_code == 200


def unexpected(entry: dict[str, Any], response: httpx.Response, system: System) -> str | None:
    """The difference between the outcome of an upload and the manifest; None if they agree."""
    if response.status_code >= 500:
        return f"status {response.status_code}: {response.text[:200]}"
    body = response.json()
    refused = response.status_code != 201 and bool(body.get("detail"))
    document = {} if refused else settled(system, body["conversation_id"], body["documents"][0])
    failed = refused or (document["status"] == "failed" and bool(document["reason"]))
    if (
        not refused
        and document["status"] == "completed"
        and document["pages_without_text"] >= document["pages"]
    ):
        return "completed with no text"
    match entry["expect"]:
        case "reject" | "no_text":
            return None if failed else f"was accepted: {document['status']}"
        case "text":
            return (
                str(body.get("detail") or document["reason"])
                if failed
                else missing(entry, document["document_id"], system)
            )
        case _:
            return None


def settled(system: System, conversation_id: str, document: dict[str, Any]) -> dict[str, Any]:
    """The document once its file has been read, if a worker does that."""
    with system.client() as client:
        while document["status"] == "processing" and not document["readable"]:
            time.sleep(0.2)
            listed = client.get(f"/conversations/{conversation_id}/documents").json()
            [document] = listed["documents"]
    return document


def missing(entry: dict[str, Any], document_id: str, system: System) -> str | None:
    """The words that the file is known to contain and that its stored text lacks."""
    with closing(sqlite3.connect(system.data_dir / "orc.db")) as database:
        rows = database.execute("SELECT text FROM pages WHERE document_id = ?", (document_id,)).fetchall()
    kept = squeezed("".join(text for (text,) in rows))
    lost = [words for words in entry.get("contains") or [] if squeezed(words) not in kept]
    return f"lost {lost}" if lost else None


def squeezed(text: str) -> str:
    return "".join(text.split()).casefold()


def test_a_turn_is_replayed_even_if_its_document_was_deleted(client: httpx.Client, conversation: str) -> None:
    upload(client, conversation, ("a.txt", b"The fee is 7 euros."))
    body = {"question": "What is the fee?", "conversation_id": conversation, "blob_names": ["a.txt"]}
    key = {"idempotency-key": "once"}
    first = client.post("/orc", json=body, headers=key).json()
    [document] = client.get(f"/conversations/{conversation}/documents").json()["documents"]
    client.delete(f"/conversations/{conversation}/documents/{document['document_id']}")
    assert client.post("/orc", json=body, headers=key).json() == first
    assert client.post("/orc", json=body).status_code == 404


def test_more_files_than_one_upload_may_have_are_refused_before_any_is_stored(
    system: System, client: httpx.Client, conversation: str
) -> None:
    response = upload(client, conversation, *[(f"{n}.txt", b"Text.") for n in range(21)])
    assert response.status_code == 422
    assert response.json()["errors"][0]["field"] == "file"
    assert blobs_of(system, conversation) == []


def test_a_refused_file_does_not_reserve_its_name(client: httpx.Client, conversation: str) -> None:
    files = [
        ("a.txt", b"\x7fELF\x00\x00"),
        ("a.txt", b"The fee is 7 euros."),
        ("a.txt", b"The fee is 9 euros."),
    ]
    body = upload(client, conversation, *files).json()
    assert [document["blob_name"] for document in body["documents"]] == ["a.txt"]
    assert [error["field"] for error in body["errors"]] == ["a.txt", "a.txt"]
    assert [error["code"] == "duplicate_name" for error in body["errors"]] == [False, True]


def test_a_form_sent_by_a_page_of_another_site_stores_nothing(
    system: System, client: httpx.Client, conversation: str
) -> None:
    client.headers["origin"] = "https://evil.example"
    response = upload(client, conversation, ("a.txt", b"The fee is 7 euros."))
    assert response.status_code == 403
    assert response.json()["code"] == "forbidden"
    assert "pages of other sites" in response.json()["detail"]
    assert blobs_of(system, conversation) == []
    client.headers["origin"] = system.api.removesuffix("/api")
    assert upload(client, conversation, ("a.txt", b"The fee is 7 euros.")).status_code == 201


def test_readiness_reveals_no_addresses(system: System, client: httpx.Client) -> None:
    response = client.get("/ready")
    clients = {each["name"]: each["backend"] for each in response.json()["dependencies"]}
    assert clients == {
        "turn_log": "SQLite",
        "blobs": "folder",
        "mcp_server": "MCP over HTTP",
        "model": "extractive",
        "search": "words only",
        "ocr": clients["ocr"],
    }
    assert clients["ocr"] in {"none", "Tesseract"}
    for place in (str(system.data_dir), "127.0.0.1", str(system.mcp_port), "/"):
        assert place not in response.text


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="only Linux changes limits of another process")
def test_a_server_without_file_descriptors_says_so_and_recovers(
    system: System, client: httpx.Client, conversation: str
) -> None:
    assert system.process
    server = psutil.Process(system.process.pid)
    assert client.get("/health").status_code == 200
    _, most = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)
    warnings = system.log.count(" WARNING ")
    resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (server.num_fds(), most))
    try:
        refused = upload(client, conversation, ("fee.txt", b"A fee of 7."))
    finally:
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (most, most))
    assert refused.status_code == 503
    assert (refused.json()["code"], refused.json()["retryable"]) == ("too_many_open_files", True)
    assert blobs_of(system, conversation) == []
    assert upload(client, conversation, ("fee.txt", b"A fee of 7.")).status_code == 201
    assert system.log.count(" WARNING ") == warnings + 1
