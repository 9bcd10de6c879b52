"""The testing scenarios of the document chat, over HTTP: which turns reuse files and which replace them."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from devkit.doubles.openai_double import OpenAIDouble, Script
from devkit.system import System, upload
from orc_core.names import Owner
from tests.system.conftest import MakeClient
from tests.system.steps import Json, answered, ask, conversation, conversation_with, new_id


@pytest.fixture
def conversation_id(ann: httpx.Client, double: OpenAIDouble) -> str:
    return conversation_with(ann, "doc1.pdf.txt", "doc2.txt", "Doc2.txt")


def refs(turn: Json) -> dict[str, str]:
    return {ref["blob_name"]: ref["file_id"] for ref in turn["uploaded_file_refs"]}


def statuses(turn: Json) -> dict[str, str]:
    return {file["blob_name"]: file["status"] for file in turn["metadata"]["files"]}


def last_stored_refs(client: httpx.Client, conversation_id: str) -> dict[str, str]:
    """The references as the newest message of the history carries them."""
    message = conversation(client, conversation_id)["history"][-1]
    assert message["role"] == "assistant"
    return refs(message)


@pytest.mark.parametrize(
    "again",
    [
        ["doc1.pdf.txt", "doc2.txt"],
        ["doc2.txt", "doc1.pdf.txt"],
        ["doc2.txt", "doc1.pdf.txt", "doc2.txt", "doc2.txt"],
    ],
    ids=["same order", "another order", "duplicates"],
)
def test_the_same_documents_reuse_their_files(
    again: list[str], ann: httpx.Client, conversation_id: str
) -> None:
    first = answered(ask(ann, conversation_id, "doc1.pdf.txt", "doc2.txt"))
    second = answered(ask(ann, conversation_id, *again))
    assert statuses(second) == {"doc1.pdf.txt": "reused", "doc2.txt": "reused"}
    assert refs(second) == refs(first)
    assert last_stored_refs(ann, conversation_id) == refs(first)


def test_documents_that_changed_get_new_files(ann: httpx.Client, conversation_id: str) -> None:
    first = answered(ask(ann, conversation_id, "doc1.pdf.txt", "doc2.txt"))
    upload(ann, conversation_id, ("doc2.txt", b"The quay is closed forever."))
    second = answered(ask(ann, conversation_id, "doc2.txt", "doc1.pdf.txt"))
    assert statuses(second) == {"doc2.txt": "created", "doc1.pdf.txt": "reused"}
    assert refs(second)["doc1.pdf.txt"] == refs(first)["doc1.pdf.txt"]
    assert refs(second)["doc2.txt"] != refs(first)["doc2.txt"]
    assert second["answer"].startswith("The quay is closed forever.")


def let_expire(system: System, file_id: str) -> None:
    """Have our own clock say that a reference is over."""
    past = datetime.now(UTC) - timedelta(seconds=1)
    with closing(sqlite3.connect(system.data_dir / "orc.db")) as database, database:
        changed = database.execute(
            "UPDATE items_documents SET body = json_set(body, '$.expires_at', ?)"
            " WHERE body ->> 'file_id' = ?",
            (past.isoformat(), file_id),
        )
    assert changed.rowcount == 1


def test_references_outlast_turns_without_documents(ann: httpx.Client, conversation_id: str) -> None:
    first = answered(ask(ann, conversation_id, "doc2.txt"))
    between = answered(ask(ann, conversation_id, question="Thank you."))
    assert (refs(between), between["last_mcp_tool_used"]) == (refs(first), "document_chat")
    assert last_stored_refs(ann, conversation_id) == refs(first)
    third = answered(ask(ann, conversation_id, "doc2.txt"))
    assert statuses(third) == {"doc2.txt": "reused"}


def test_a_failed_turn_leaves_the_references_as_they_were(
    ann: httpx.Client, conversation_id: str, double: OpenAIDouble
) -> None:
    first = answered(ask(ann, conversation_id, "doc2.txt"))
    double.script = Script.model_validate({"failures": [{"status": 400}] * 6})
    assert ask(ann, conversation_id, "doc1.pdf.txt").status_code >= 500
    assert last_stored_refs(ann, conversation_id) == refs(first)


def test_documents_of_which_none_can_be_read_fail_the_turn_with_the_reason(
    orc: System, client_of: MakeClient, double: OpenAIDouble
) -> None:
    caller, conversation_id = with_files_put_by_hand(orc, client_of, {"blank.txt": " \n"})
    failed = ask(caller, conversation_id, "blank.txt")
    assert (failed.status_code, failed.json()["code"]) == (422, "no_readable_document")
    assert "blank.txt" in failed.json()["detail"]
    assert double.requests == []


def with_files_put_by_hand(
    orc: System, client_of: MakeClient, files: dict[str, str]
) -> tuple[httpx.Client, str]:
    """A conversation whose files came into the folder past the API."""
    owner = Owner(f"org-{new_id()}", "ann", new_id())
    folder = orc.data_dir / "blobs" / owner.prefix
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    return client_of(owner.organization_id, "ann"), owner.conversation_id
