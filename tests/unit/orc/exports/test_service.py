"""An export has all turns of a conversation in order, within limits, one at a time for each user."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from devkit.remembered_turns import CITED, OWNER, ask, begin, commit
from devkit.store_pairs import items_here
from orc.contexts.withholding import RevokedAnswers
from orc.conversations.turn_log import TurnLog
from orc.exports.service import (
    MOST_SET_TURNS,
    MOST_TURNS,
    PAGE,
    Exporter,
    ExportFormat,
    Renderer,
    TooMuch,
    Wanted,
)
from orc.exports.tree import Entry, Heading
from orc.identity import Principal
from orc.words import words_of
from orc_core.errors import Conflict, NotFound, TooMany
from orc_core.infra.sandbox import Sandbox
from orc_core.infra.sqlite import Database
from orc_core.storage.sqlite.tables import TABLES
from tests.unit.orc.exports.read_markdown import read_turns

ADA = Principal(OWNER.organization_id, OWNER.user_id)
MARKDOWN, PDF, WORD = map(Wanted, ExportFormat)


class Waiting(Renderer):
    """Keeps what it is to write, once it is let go."""

    def __init__(self) -> None:
        super().__init__(Sandbox(), "")
        self.entries: list[Entry] = []
        self.error: Exception | None = None
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()
        self.go_on.set()

    async def _written(
        self,
        function: str,
        reads: list[Path],
        heading: Heading,
        entries: AsyncIterator[Entry],
        **options: str,
    ) -> bytes:
        self.entries = [entry async for entry in entries]
        self.begun.set()
        await self.go_on.wait()
        if self.error:
            raise self.error
        return b"%PDF"


@pytest.fixture
async def log(tmp_path: Path) -> AsyncIterator[TurnLog]:
    database = Database(tmp_path / "orc.db")
    await database.migrate(TABLES["conversations"].schema)
    yield TurnLog(items_here(database, "conversations"))
    await database.close()


@pytest.fixture
def renderer() -> Waiting:
    return Waiting()


@pytest.fixture
def exporter(log: TurnLog, renderer: Waiting) -> Exporter:
    return Exporter(log, renderer, RevokedAnswers(), lambda: datetime(2026, 11, 23, tzinfo=UTC))


@pytest.mark.slow
async def test_an_export_has_all_turns_in_order(log: TurnLog, exporter: Exporter, renderer: Waiting) -> None:
    for number in range(PAGE + 2):
        await ask(log, f"Question {number}?", CITED)
    await begin(log, "The last?")
    expected = [f"Question {number}?" for number in range(PAGE + 2)] + ["The last?"]
    file = await exporter.export(OWNER, ADA, MARKDOWN)
    turns = read_turns(file.content.decode())
    assert [turn.question for turn in turns] == expected
    # Each answer begins with 1, as on the web page.
    assert [source.number for turn in turns for source in turn.sources] == [1] * (PAGE + 2)
    assert (file.name, file.media_type) == ("Question 0?.md", "text/markdown")
    assert (await exporter.export(OWNER, ADA, PDF)).name == "Question 0?.pdf"
    assert [entry.question for entry in renderer.entries] == expected


async def test_the_versions_of_a_question_are_at_its_place_and_count_as_one(
    log: TurnLog, exporter: Exporter, renderer: Waiting
) -> None:
    first = await begin(log, "First?")
    await commit(log, first)
    await ask(log, "Second?")
    edited = await begin(log, "First, edited?", replaces=first.turn.turn_id)
    await commit(log, edited)
    await commit(log, await begin(log, "First, again?", replaces=edited.turn.turn_id))
    await ask(log, "Third?")
    text = (await exporter.export(OWNER, ADA, MARKDOWN)).content.decode()
    assert ": 3 questions." in text
    earlier = words_of("en").say("export.replaced")
    shown = [(turn.heading.split()[0], turn.question, turn.note) for turn in read_turns(text)]
    assert shown == [
        ("1.", "First?", earlier),
        ("1.", "First, edited?", earlier),
        ("1.", "First, again?", ""),
        ("2.", "Second?", ""),
        ("3.", "Third?", ""),
    ]
    await exporter.export(OWNER, ADA, WORD)
    assert [(f"{each.number}.", each.question, each.note) for each in renderer.entries] == shown


async def test_there_is_no_export_of_an_unknown_conversation(exporter: Exporter) -> None:
    with pytest.raises(NotFound):
        await exporter.export(OWNER, ADA, MARKDOWN)


async def test_a_user_makes_one_export_at_a_time(log: TurnLog, exporter: Exporter, renderer: Waiting) -> None:
    await ask(log, "How long?")
    renderer.go_on.clear()
    first = asyncio.create_task(exporter.export(OWNER, ADA, PDF))
    await renderer.begun.wait()
    with pytest.raises(TooMany):
        await exporter.export(OWNER, ADA, MARKDOWN)
    other = Principal(OWNER.organization_id, "bob")
    assert await exporter.export(OWNER, other, MARKDOWN)
    renderer.go_on.set()
    assert (await first).content == b"%PDF"
    assert await exporter.export(OWNER, ADA, MARKDOWN)


@pytest.mark.parametrize(
    ("turns", "wanted", "named"),
    [
        (MOST_SET_TURNS + 1, PDF, "markdown"),
        (MOST_SET_TURNS + 1, WORD, "markdown"),
        (MOST_TURNS + 1, MARKDOWN, "2,000"),
    ],
)
async def test_a_conversation_that_is_too_long_is_refused_before_it_is_read(
    log: TurnLog, exporter: Exporter, turns: int, wanted: Wanted, named: str
) -> None:
    head = await ask(log, "How long?")
    longer = head.model_copy(update={"turn_count": turns})
    log.known_head = lambda _owner: asyncio.sleep(0, longer)  # type: ignore[method-assign,assignment]
    with pytest.raises(Conflict, match=named) as refused:
        await exporter.export(OWNER, ADA, wanted)
    assert refused.value.code == "too_long"


async def test_a_pdf_file_beyond_its_limits_is_refused_with_the_other_format(
    log: TurnLog, exporter: Exporter, renderer: Waiting
) -> None:
    await ask(log, "How long?")
    renderer.error = TooMuch()
    with pytest.raises(Conflict, match="markdown") as refused:
        await exporter.export(OWNER, ADA, PDF)
    assert refused.value.code == "too_long"


async def test_an_export_is_in_the_language_and_the_time_of_its_reader(
    log: TurnLog, exporter: Exporter
) -> None:
    await ask(log, "Wie lange?", CITED)
    written = {
        language: (
            await exporter.export(OWNER, ADA, Wanted(MARKDOWN.format, language, zone))
        ).content.decode()
        for language, zone in (("de", "Europe/Berlin"), ("fr", "UTC"), ("xx", "No/Where"))
    }
    assert "Aus Orc gesichert am 23.11.2026, 01:00: 1 Frage." in written["de"]
    for words in ("### Frage", "### Antwort", "### Quellen", "**handbook.pdf**, Seite 5: dieselben"):
        assert words in written["de"]
    assert "Exporté d'Orc le 23/11/2026 00:00 UTC : 1 question." in written["fr"]
    assert "Exported from Orc on Nov 23, 2026, 00:00 UTC: 1 question." in written["xx"]
