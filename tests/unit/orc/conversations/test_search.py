"""What a search in conversations finds: stems of bounded number, the latest kept."""

import json
import sqlite3
from pathlib import Path

from orc.conversations.search import MOST_STEMS, searchable, wanted
from orc.conversations.sqlite import SCHEMA, SqliteTurnLog
from orc_core.infra.sqlite import Database
from orc_core.names import Owner

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
    await database.migrate(SCHEMA)
    log = SqliteTurnLog(database)
    head = (await log.ensure_conversation(OWNER)).model_copy(update={"title": "Days of leave"})
    content = json.loads(head.model_dump_json())
    del content["words"], content["title_words"]
    content_as_text = json.dumps(content)

    def put(connection: sqlite3.Connection) -> None:
        connection.execute("UPDATE conversation_heads SET item = ?", (content_as_text,))

    await database.write(put)
    [found], _ = await log.conversations("acme", "ada", limit=10, words=wanted("days lea"))
    assert found == head
    assert await log.conversations("acme", "ada", limit=10, words=wanted("budget")) == ([], None)
    await database.close()
