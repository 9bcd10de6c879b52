"""A data directory written by 0.1.0 opens: all that was stored is read as before, and conversations go on.

README.md in this folder says how the directory and the expectations were made.
"""

import asyncio
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from devkit.in_process import InProcess, Variant, running_here
from orc_core.bootstrap import open_documents
from orc_core.infra.settings import CoreSettings
from orc_core.infra.sqlite import SCHEMA_VERSION
from orc_core.models import PROPERTIES
from orc_core.storage.inspection import inspect_database
from scripts.api_snapshot import differences
from tests.system.documented import misfits
from tests.system.old_data.data_directory import EXPECTED, unpack
from tests.system.old_data.reads import (
    ANN,
    ANSWERED_KEY,
    BEN,
    CAT,
    FAILED_KEY,
    FERRY,
    LAMP_REPLACED,
    LAMPS,
    RETURN_TICKET,
    SESSION,
    Caller,
    Json,
    answered,
    pinned,
    read_all,
    read_tools,
)

PARTS = ("session", "conversations", "events", "telemetry", "tools")


class OldData:
    """The running product over a copy of the old data directory."""

    def __init__(self, running: InProcess) -> None:
        self.api = running.addresses[""]
        self.mcp_url = running.mcp_url
        self.index = running.index
        self.scope_token = running.scope_token

    @cached_property
    def found(self) -> Json:
        return read_all(self.api, self.mcp_url, self.token)

    def token(self, caller: Caller, conversation: str) -> str:
        return self.scope_token(caller.organization, caller.user, conversation)

    def turns(self, caller: Caller, conversation: str) -> list[Json]:
        with caller.client(self.api) as client:
            turns: list[Json] = answered(client.get(f"/conversations/{conversation}"))["turns"]
        return turns

    def ask(self, caller: Caller, conversation: str, question: str, *names: str) -> Json:
        body = {"question": question, "conversation_id": conversation, "blob_names": list(names)}
        return self.post(caller, body)

    def post(self, caller: Caller, body: Json, key: str | None = None) -> Json:
        headers = {"idempotency-key": key} if key else {}
        with caller.client(self.api) as client:
            return answered(client.post("/orc", json=body, headers=headers))

    def statuses(self, caller: Caller, conversation: str) -> dict[str, str]:
        with caller.client(self.api) as client:
            listed = answered(client.get(f"/conversations/{conversation}/documents"))["documents"]
        return {document["blob_name"]: document["status"] for document in listed}


@contextmanager
def opened(folder: Path, *, moved: bool = False) -> Iterator[OldData]:
    data = folder / "data"
    unpack(data, moved=moved)
    with running_here(data, {"": Variant()}, common={}, tools={}) as running:
        yield OldData(running)


@pytest.fixture(scope="module")
def expected() -> Json:
    content: Json = json.loads(EXPECTED.read_text(encoding="utf-8"))
    return content


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OldData]:
    """The product over the old data. Each test that writes uses a separate conversation or purpose."""
    with opened(tmp_path_factory.mktemp("old")) as data:
        assert data.found, "everything is read before the first test writes"
        yield data


@pytest.mark.parametrize("part", PARTS)
def test_old_data_is_read_as_before(part: str, expected: Json, old: OldData) -> None:
    before = pinned(expected[part]) if part == "tools" else expected[part]
    assert changes(before, old.found[part]) == []


def test_turns_of_the_old_release_are_what_the_document_describes(old: OldData) -> None:
    turns = old.turns(ANN, FERRY)
    assert any(turn["metadata"]["plan"] for turn in turns)
    assert [problem for turn in turns for problem in misfits("TurnView", turn)] == []


def test_expectations_hold_what_users_would_miss(expected: Json) -> None:
    turns = expected["conversations"]["ann"]["turns"][FERRY]["turns"]
    assert len(turns) == 22
    assert sum(len(turn["result"]["citations"]) for turn in turns) >= 10
    assert len(expected["telemetry"]["harbour"]["turns"]) == 27
    assert all(expected["tools"]["ferry"]["passages"][query]["passages"] for query in ("refund fee",))
    assert {kind["event"] for kind in expected["events"]} == {"token", "citations", "done"}


def test_old_turn_is_answered_from_the_store_if_its_key_comes_again(old: OldData, expected: Json) -> None:
    stored = expected["conversations"]["ann"]["turns"][FERRY]["turns"][3]
    again = old.post(ANN, RETURN_TICKET, ANSWERED_KEY)
    assert changes(stored["result"], again) == []


def test_failed_turn_of_old_data_is_answered_under_its_number(old: OldData) -> None:
    result = old.post(BEN, LAMP_REPLACED, FAILED_KEY)
    assert "3 May 2026" in result["answer"]
    assert [(turn["seq"], turn["status"]) for turn in old.turns(BEN, LAMPS)] == [
        (1, "committed"),
        (2, "committed"),
        (3, "committed"),
    ]


def test_old_conversation_remembers_what_was_said_long_ago(old: OldData) -> None:
    before = len(old.turns(ANN, FERRY))
    assert before >= 22
    assert "7431-K" in old.ask(ANN, FERRY, "What is my badge number?")["answer"]
    assert "Bosun" in old.ask(ANN, FERRY, "With whom do I travel?")["answer"]  # prose: data
    turns = old.turns(ANN, FERRY)
    assert [turn["seq"] for turn in turns] == list(range(1, before + 3))


def test_follow_up_in_an_old_conversation_is_answered_from_its_documents(old: OldData) -> None:
    result = old.ask(ANN, FERRY, "When does the first crossing of the day leave?", "ferry-manual.pdf")
    assert "05:50" in result["answer"]
    first = result["citations"][0]
    assert (first["blob_name"], first["page"], first["verified"]) == ("ferry-manual.pdf", 1, True)


def test_session_name_leads_to_the_old_chat_and_its_history(old: OldData, expected: Json) -> None:
    body = {"session_id": SESSION, "messages": [{"role": "user", "content": "Who collects the master key?"}]}
    with ANN.client(old.api) as client:
        response = client.post("/chat", json=body)
    assert "control tower" in answered(response)["answer"]
    assert response.headers["x-session-id"] == expected["session"]
    assert len(old.turns(ANN, expected["session"])) == 5


def test_document_that_waited_in_the_old_queue_is_indexed(old: OldData) -> None:
    old.index()
    assert old.statuses(BEN, LAMPS) == {"lamp-log.md": "completed", "late-notice.txt": "completed"}
    result = old.ask(BEN, LAMPS, "Until when is the footbridge closed?", "late-notice.txt")
    assert "12 December" in result["answer"]


def test_old_conversation_can_be_deleted(old: OldData) -> None:
    with CAT.client(old.api) as client:
        [conversation] = answered(client.get("/conversations"))["conversations"]
        assert client.delete(f"/conversations/{conversation['conversation_id']}").status_code == 204
        assert answered(client.get("/conversations"))["conversations"] == []


def test_old_conversation_is_hidden_from_other_users(old: OldData) -> None:
    for caller in (BEN, CAT):
        with caller.client(old.api) as client:
            assert client.get(f"/conversations/{FERRY}").status_code == 404


def test_copy_of_old_data_is_indexed_again_and_read_as_before(tmp_path: Path, expected: Json) -> None:
    """Copied files have new etags, so documents count as changed until they have been read again."""
    with opened(tmp_path, moved=True) as data:
        assert set(data.statuses(ANN, FERRY)) == {"ferry-manual.pdf", "harbour-hours.txt"}
        data.index()
        assert set(data.statuses(ANN, FERRY).values()) == {"completed"}
        tools: dict[str, Any] = read_tools(data.mcp_url, data.token(ANN, FERRY))
    assert changes(without_analysis(pinned(expected["tools"]["ferry"])), without_analysis(tools)) == []


def without_analysis(value: Any) -> Any:
    """A tool's result without what is made of the pages again, and without what a file says of itself, which
    earlier versions did not read."""
    if isinstance(value, list):
        kept = [each for each in value if not (isinstance(each, dict) and is_of_file(each))]
        return list(map(without_analysis, kept))
    if isinstance(value, dict):
        made = ("summary", "detailed_summary", "topics", "anchors", "characters", "reason")
        return {key: without_analysis(each) for key, each in value.items() if key not in made}
    return value


def is_of_file(page: Json) -> bool:
    return str(page.get("text", "")).startswith(PROPERTIES)


def test_old_database_gets_the_present_version_and_has_no_damage(tmp_path: Path) -> None:
    unpack(tmp_path / "data")
    database = tmp_path / "data" / "orc.db"
    assert version_of(database) == 0
    with running_here(tmp_path / "data", {"": Variant()}, common={}, tools={}):
        assert version_of(database) == SCHEMA_VERSION
    assert inspect_database(database) == []
    # Uploaded in its last moment, and no worker runs here.
    [waiting] = asyncio.run(differences_in(tmp_path / "data"))
    assert waiting.endswith("/late-notice.txt) waiting for half an hour or longer.")


async def differences_in(folder: Path) -> list[str]:
    async with open_documents(CoreSettings(data_dir=folder)) as documents:
        return [each.problem for each in (await documents.library.compared()).findings]


def changes(before: Json, now: Json) -> list[str]:
    """What was lost or changed. A newer version may add fields."""
    return [change for change in differences(before, now) if not change.endswith(": is new")]


def version_of(database: Path) -> int:
    with closing(sqlite3.connect(database)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])
