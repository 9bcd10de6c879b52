"""What a search in conversations finds: stems of bounded number, the latest kept."""

import json
from pathlib import Path

import pytest

from devkit.remembered_turns import answered, begin, citation
from devkit.store_pairs import items_here
from orc.conversations.models import Turn
from orc.conversations.search import MOST_SAID, MOST_STEMS, passage, searchable, wanted
from orc.conversations.turn_log import TurnLog
from orc_core.grounding.models import Mark
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


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("The office in Zürich", "Zurich"),
        ("The office in Zürich", "Zur"),
        ("The office in Zurich", "Zürich"),
        ("Zu\u0308rich is far", "zürich lake"),
        ("La habitación del puerto", "habitaciones puerto"),
        ("La habitación del puerto", "habitacion puerto"),
        ("Les congés payés", "conges payes"),
    ],
)
def test_a_word_is_found_with_and_without_its_accents(text: str, query: str) -> None:
    stored = searchable(f"{text} lake")
    assert all(any(fragment in stored for fragment in word.fragments) for word in wanted(query))


def test_a_word_that_an_earlier_version_stored_is_found_by_its_own_spelling() -> None:
    [word] = wanted("Malmö")
    assert any(fragment in " malmö " for fragment in word.fragments)


def test_a_query_has_few_fragments() -> None:
    assert wanted("") == wanted("?!") == []
    assert max(len(word.fragments) for word in wanted("national universities of organisations")) <= 20
    assert len(wanted("word " * 500)) == 10


MARKER = '[Page 5 of Document "handbook.pdf"]'


def cited(text: str) -> Turn:
    """A turn whose answer has a marker behind each sentence."""
    turn = answered(1, "What is there?", text)
    assert turn.assistant
    starts = [at for at in range(len(text)) if text.startswith(MARKER, at)]
    marks = [Mark(start=at, end=at + len(MARKER)) for at in starts]
    citations = [citation().model_copy(update={"marks": marks})]
    return turn.model_copy(update={"assistant": turn.assistant.model_copy(update={"citations": citations})})


def test_a_passage_has_the_words_around_the_first_one_found_and_no_markers() -> None:
    turn = cited(f"{'Long before. ' * 30}There are sabbaticals. {MARKER} And more. {MARKER} {'After. ' * 40}")
    found = passage(turn, wanted("sabbatical"))
    assert found.startswith("… ") and found.endswith(" …")
    assert "There are sabbaticals. And more." in found
    assert len(found) < 250
    assert passage(turn, wanted("handbook")) == "handbook.pdf"
    assert passage(turn, wanted("what")) == "What is there?"
    # Words that only markers have, and a word that is missing.
    for query in ("document", "sabbatical ferry"):
        assert passage(turn, wanted(query)) == ""


@pytest.mark.slow
async def test_the_latest_turns_are_looked_at_if_very_many_have_the_words(tmp_path: Path) -> None:
    database = Database(tmp_path / "orc.db")
    await database.migrate(TABLES["conversations"].schema)
    log = TurnLog(items_here(database, "conversations"))
    for number in range(MOST_SAID + 1):
        await begin(log, "A ferry?", OWNER if number < MOST_SAID else Owner("acme", "ada", "c-2"))
    assert (await log.said("acme", "ada", wanted("ferry"))).keys() == {"c-1", "c-2"}
    await database.close()


def test_a_long_text_is_lowered_once() -> None:
    class Text(str):
        lowered = 0

        def lower(self) -> str:
            Text.lowered += 1
            return super().lower()

    turn = answered(1, "").model_copy(update={"question": Text("A ferry and a quay?")})
    assert passage(turn, wanted("ferry quays")) == "A ferry and a quay?"
    assert Text.lowered == 1


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
