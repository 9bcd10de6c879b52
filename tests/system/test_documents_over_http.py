"""Documents from upload to completed over HTTP: asked at once, read whole or searched, and followed."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from devkit.shared_data import HANDBOOK
from devkit.system import System, read_events, upload
from devkit.system_here import system_here
from orc_core.models import DocumentStatus
from tests.system.steps import answered, ask, new_id, wait_until

LONG = "".join(f"Rule {n}. The crane of berth {n} lifts {n} tons at most.\n\f" for n in range(1, 900))
SHORT = "The night watch has 7 members."


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    """An Orc without workers: nothing is indexed unless a test does it."""
    with system_here(tmp_path_factory.mktemp("idle"), ORC_WORKERS="0") as system:
        yield system


@pytest.fixture(scope="module")
def working(offline_system: System) -> System:
    """An Orc as users start it, with the offline model."""
    return offline_system


def stored(client: httpx.Client, conversation_id: str, name: str, text: str | bytes) -> dict[str, Any]:
    content = text.encode() if isinstance(text, str) else text
    response = upload(client, conversation_id, (name, content))
    assert response.status_code == 201, response.text
    document: dict[str, Any] = response.json()["documents"][0]
    return document


def listed(client: httpx.Client, conversation_id: str) -> dict[str, dict[str, Any]]:
    documents = client.get(f"/conversations/{conversation_id}/documents").json()["documents"]
    return {document["blob_name"]: document for document in documents}


def completed(client: httpx.Client, conversation_id: str) -> bool:
    return all(d["status"] == "completed" for d in listed(client, conversation_id).values())


def test_a_new_upload_of_any_size_can_be_asked_about_at_once(idle: System) -> None:
    with idle.client() as client:
        conversation_id = new_id()
        for name, text in (("short.txt", SHORT), ("long.txt", LONG)):
            document = stored(client, conversation_id, name, text)
            assert (document["status"], document["readable"]) == ("uploaded", True)
        answer = answered(ask(client, conversation_id, "short.txt", question="Who is in the night watch?"))
        assert "7 members" in answer["answer"]
        assert answer["metadata"]["retrieval_mode"] == "inline"
        question = "How much does the crane of berth 613 lift?"
        answer = answered(ask(client, conversation_id, "long.txt", question=question))
        assert "613 tons" in answer["answer"]
        assert answer["citations"][0]["verified"]
        assert answer["metadata"]["retrieval_mode"] == "inline"
        assert "not indexed yet" in answer["metadata"]["retrieval_reason"].lower()
        assert {d["status"] for d in listed(client, conversation_id).values()} == {"uploaded"}


def test_a_document_is_followed_until_it_is_completed(working: System) -> None:
    with working.client() as client:
        conversation_id = new_id()
        document = stored(client, conversation_id, "long.txt", LONG + "Another version.")
        url = f"/conversations/{conversation_id}/documents/{document['document_id']}/events"
        with client.stream("GET", url) as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            events = list(read_events(response))
        assert [number for number, _, _ in events] == list(range(1, len(events) + 1))
        assert events[-1][1] == "done"
        assert events[-1][2]["status"] == "completed"
        assert {kind for _, kind, _ in events[:-1]} <= {"status", "progress"}
        assert client.get(url.replace(document["document_id"], new_id())).status_code == 404


def test_a_blob_that_changed_is_ingested_again(working: System) -> None:
    with working.client() as client:
        conversation_id = new_id()
        stored(client, conversation_id, "rules.txt", "The quay opens at seven.")
        wait_until(lambda: completed(client, conversation_id), "completed")
        before = answered(ask(client, conversation_id, "rules.txt", question="When does the quay open?"))
        [cited] = before["citations"]
        assert cited["document_version"] == listed(client, conversation_id)["rules.txt"]["version"]
        assert cited["media_type"] == "text/plain"
        [blob] = working.data_dir.rglob(f"{conversation_id}/rules.txt")
        blob.write_text("The quay opens at eleven, since the storm.")
        answer = answered(ask(client, conversation_id, "rules.txt", question="When does the quay open?"))
        assert "eleven" in answer["answer"]
        wait_until(lambda: completed(client, conversation_id), "completed")
        replaced = listed(client, conversation_id)["rules.txt"]
        assert replaced["document_id"] == cited["document_id"]
        assert replaced["version"] != cited["document_version"]
        assert {each["document_version"] for each in answer["citations"]} == {replaced["version"]}


def test_a_turn_without_names_searches_every_document_of_its_conversation_and_no_other(
    working: System,
) -> None:
    with working.client() as client:
        here, elsewhere = new_id(), new_id()
        stored(client, here, "watch.txt", SHORT)
        answered(ask(client, here, "watch.txt", question="Who is in the night watch?"))
        stored(client, here, "handbook.pdf", HANDBOOK.read_bytes())
        stored(client, elsewhere, "secret.txt", "The password of the safe is swordfish.")
        for question, expected in (
            ("How many members does the night watch have?", "7 members"),
            ("How soon must a lost device be reported?", "two hours"),
        ):
            answer = answered(ask(client, here, question=question))
            assert expected in answer["answer"]
            assert answer["citations"]
            assert all(citation["verified"] for citation in answer["citations"])
            versions = {each["document_id"]: each["version"] for each in listed(client, here).values()}
            for cited in answer["citations"]:
                assert cited["document_version"] == versions[cited["document_id"]]
                marked = {answer["answer"][mark["start"] : mark["end"]] for mark in cited["marks"]}
                assert marked == {f'[Page {cited["page"]} of Document "{cited["blob_name"]}"]'}
            assert answer["metadata"]["retrieval_mode"] == "rag"
            assert answer["last_mcp_tool_used"] == "semantic_search"
        answer = answered(ask(client, here, question="What is the password of the safe?"))
        assert "swordfish" not in answer["answer"]
        assert answer["answer_kind"] == "closest_passages"
        assert {each["blob_name"] for each in answer["citations"]} <= {"watch.txt", "handbook.pdf"}


def test_a_failed_document_says_why_and_leaves_the_others_alone(working: System) -> None:
    with working.client() as client:
        conversation_id = new_id()
        stored(client, conversation_id, "watch.txt", SHORT)
        blob = next(working.data_dir.rglob(f"{conversation_id}/watch.txt"))
        (blob.parent / "broken.pdf").write_bytes(b"%PDF-1.4 nothing else")
        question = "Who is in the night watch?"
        answer = answered(ask(client, conversation_id, "watch.txt", "broken.pdf", question=question))
        assert "7 members" in answer["answer"]
        statuses = {file["blob_name"]: file for file in answer["metadata"]["files"]}
        assert statuses["broken.pdf"]["status"] == "failed"
        assert statuses["broken.pdf"]["reason"]
        wait_until(
            lambda: listed(client, conversation_id)["broken.pdf"]["status"] == DocumentStatus.FAILED, "failed"
        )


def test_the_analysis_of_a_document_becomes_its_summary(working: System) -> None:
    with working.client() as client:
        conversation_id = new_id()
        stored(client, conversation_id, "handbook.pdf", HANDBOOK.read_bytes() + b"%changed")
        wait_until(lambda: listed(client, conversation_id)["handbook.pdf"]["summary_available"], "summary")
        document_id = listed(client, conversation_id)["handbook.pdf"]["document_id"]
        cards = client.get(
            f"/conversations/{conversation_id}/documents/{document_id}/pages?numbers=9,5"
        ).json()
        assert [(card["page"], card["has_image"]) for card in cards["pages"]] == [(5, True), (9, True)]
        assert all(card["summary"] and card["topics"] for card in cards["pages"])
