"""A pytest plugin: breaks one rule of a port in one adapter, by the name in PLANTED_BUG.

tests/test_contracts_catch_bugs.py sees the contract suites fail by it.
"""

import os
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from orc.conversations.models import Begun, NewTurn
from orc.conversations.turn_log import TurnLog
from orc_core.infra.items import Change, Item, delete, upsert
from orc_core.names import Owner
from orc_core.storage.cosmos import items
from orc_core.storage.queue import JsonBlobs

begin, wire, write = TurnLog.begin, items._operation, JsonBlobs.write


def ignore_etags(patch: pytest.MonkeyPatch) -> None:
    """Cosmos DB: every write takes the place of whatever is there."""

    def unconditional(change: Change, key: Item) -> Any:
        return wire(delete(change.id) if change.item is None else upsert(change.item), key)

    patch.setattr(items, "_operation", unconditional)


def share_partitions(patch: pytest.MonkeyPatch) -> None:
    """Cosmos DB: the conversations of all users of an organization lie in one partition."""

    def shared(owner: Owner) -> tuple[str, str, str]:
        return owner.organization_id, "everybody", owner.conversation_id

    patch.setattr(Owner, "key", property(shared))


def forget_keys(patch: pytest.MonkeyPatch) -> None:
    """Cosmos DB: a question that is asked again becomes another turn."""

    async def forgetful(self: TurnLog, owner: Owner, new: NewTurn, **options: Any) -> Begun:
        return await begin(self, owner, new.model_copy(update={"key": str(uuid.uuid4())}), **options)

    patch.setattr(TurnLog, "begin", forgetful)


def write_over_others(patch: pytest.MonkeyPatch) -> None:
    """Blob Storage: the record of a job is written regardless of concurrent changes."""

    async def careless(self: JsonBlobs[Any], name: str, value: Any, over: Any) -> bool:
        present = await self.read(name)
        return await write(self, name, value, present)

    patch.setattr(JsonBlobs, "write", careless)


BUGS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    bug.__name__: bug for bug in (ignore_etags, share_partitions, forget_keys, write_over_others)
}


def pytest_configure() -> None:
    BUGS[os.environ["PLANTED_BUG"]](pytest.MonkeyPatch())
