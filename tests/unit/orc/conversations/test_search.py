"""What a search in conversations finds: stems of bounded number, the latest kept."""

import json
from pathlib import Path

from devkit.store_pairs import items_here
from orc.conversations.search import MOST_STEMS, searchable, wanted
from orc.conversations.turn_log import TurnLog
from orc_core.infra.sqlite import Database
from orc_core.names import Owner
from orc_core.storage.sqlite.tables import TABLES

OWNER = Owner("acme", "ada", "c-1")


def test_stems_are_distinct_and_the_latest_stay() -> None:
    first = searchable("leave leaves leaving")
    assert first == " leav "
    many = searchable(" ".join(f"word{number}x" for number in range(3 * MOST_STEMS)), first)
    assert len(many.split()) == MOST_STEMS
    assert f"word{3 * MOST_STEMS - 1}x" in many
    assert searchable("leaves", many).endswith(" leav ")


def test_a_query_has_few_fragments() -> None:
    assert wanted("") == wanted("?!") == []
    assert max(len(word.fragments) for word in wanted("national universities of organisations")) <= 20
    assert len(wanted("word " * 500)) == 10


async def test_a_conversation_of_an_earlier_version_is_found_by_its_title(tmp_path: Path) -> None:
    database = Database(tmp_path / "orc.db")
    await database.migrate(TABLES["conversations"].schema)
    log = TurnLog(items_here(database, "conversations"))
    head = (await log.ensure_conversation(OWNER)).model_copy(update={"title": "Days of leave"})
    content = json.loads(head.model_dump_json())
    del content["words"], content["title_words"]
    stored = "UPDATE items_conversations SET body = json_set(body, '$.item', json(?))"
    await database.execute((stored, (json.dumps(content),)))
    [found], _ = await log.conversations("acme", "ada", limit=10, words=wanted("days lea"))
    assert found == head
    assert await log.conversations("acme", "ada", limit=10, words=wanted("budget")) == ([], None)
    await database.close()
