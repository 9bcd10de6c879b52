"""A user renames a conversation while a model names it: the user's title stays.

A campaign has 1,000 races; the suite has 20.
"""

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from devkit.fakes import WordCounter
from devkit.store_pairs import items_here
from orc.conversations.models import NewTurn, Started, TitleBy
from orc.conversations.turn_log import TurnLog
from orc.events import Event
from orc.turns.titles import Titles
from orc_core.infra.sqlite import Database
from orc_core.names import Owner
from orc_core.storage.sqlite.tables import TABLES
from tests.unit.orc.turns.test_titles import QUESTION, Titler, Writer, models_with

SMALL, FULL = 20, 1000


@pytest.fixture
async def log(tmp_path: Path) -> AsyncIterator[TurnLog]:
    database = Database(tmp_path / "orc.db")
    await database.migrate(TABLES["conversations"].schema)
    yield TurnLog(items_here(database, "conversations"))
    await database.close()


async def test_a_rename_wins_against_a_title_at_the_same_time(log: TurnLog, full_size: bool) -> None:
    chance = random.Random(7)
    for number in range(FULL if full_size else SMALL):
        owner = Owner("contoso", "ada", f"c-{number}")
        new = NewTurn(key="k", request_hash="h", question=QUESTION)
        begun = await log.begin(owner, new, lease_seconds=60)
        assert isinstance(begun, Started)
        titler, emitted = Titler(), list[Event]()
        titles = Titles(log, models_with(titler, Writer()), WordCounter(), lambda _owner: None)
        pending = titles.begin(owner, begun, emitted.append)

        async def answer_late(titler: Titler = titler, wait: float = chance.random() / 200) -> None:
            await asyncio.sleep(wait)
            titler.may_answer.set()

        async def rename(owner: Owner = owner, wait: float = chance.random() / 200) -> None:
            await asyncio.sleep(wait)
            await log.retitle(owner, "Mine")

        await asyncio.gather(answer_late(), rename())
        await pending.settle(60)
        head = await log.head(owner)
        assert head is not None
        assert (head.title, head.title_by) == ("Mine", TitleBy.USER), number
