"""The port of the databases that keep records: JSON items in partitions, conditional writes, and queries.

Every store of records is written once, over this port. Adapters: SQLite and Cosmos DB.
"""

import hashlib
import re
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, Literal, NamedTuple, ParamSpec, Protocol, TypeVar

from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_delay, wait_random_exponential

from orc_core.errors import DependencyDown

Item = dict[str, Any]
"""A JSON object with an `id`, and perhaps `ttl`: it expires so many seconds after its last write. As it was
read, it also has the fields of its partition, and its version under VERSION.
"""
Partition = Sequence[str]
"""The values of the partition's fields; a query may name the first of them only, or none."""

VERSION = "_etag"
MOST_CHANGES = 100
"""The most changes of one write; together they may have 2 MB."""
RACING_SECONDS = 10.0
LONGEST_WAIT_SECONDS = 0.2
STORE = "store"
"""The name of the dependency in errors."""

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


class Raced(Exception):
    """A write met another version, an item that should not be there, or none at all.

    Never leaves a store: it reads and decides again.
    """


class Change(NamedTuple):
    """One change of a write, by `id`; only over this version, if one is given."""

    kind: Literal["create", "replace", "upsert", "delete"]
    id: str
    item: Item | None = None
    version: str | None = None


def id_part(text: str, allowed: str) -> str:
    """A text as a part of an id: itself if this pattern of plain characters allows it, else its hash.

    Cosmos DB takes neither slashes nor question marks in an id, nor more than 1,023 bytes.
    """
    is_plain = re.fullmatch(allowed, text, re.ASCII)
    return text if is_plain else f"~{hashlib.sha256(text.encode()).hexdigest()}"


def create(item: Item) -> Change:
    """Write an item that must not be there yet."""
    return Change("create", item["id"], item)


def replace(item: Item, version: str) -> Change:
    """Write an item over this version of it."""
    return Change("replace", item["id"], item, version)


def upsert(item: Item) -> Change:
    """Write an item over any version of it."""
    return Change("upsert", item["id"], item)


def delete(item_id: str, version: str | None = None) -> Change:
    """Remove an item that must be there."""
    return Change("delete", item_id, None, version)


def over(stored: Item | None, item: Item) -> Change:
    """Write an item over what was read: this version of it, or none."""
    return create(item) if stored is None else replace(item, stored[VERSION])


@dataclass(frozen=True)
class Where:
    """A condition on a field, which may be one inside of another: `item.title`.

    `has` and `starts` compare texts as they are, `has lower` compares with the text in lower case. `no text`
    is true of a field that is absent or null, whatever the value.
    """

    field: str
    how: Literal["=", "!=", "<", "<=", ">", ">=", "in", "starts", "has", "has lower", "no text"]
    value: Any = None


@dataclass(frozen=True)
class Not:
    """The opposite of a condition."""

    condition: "Condition"


@dataclass(frozen=True)
class All:
    """All of the conditions."""

    conditions: "Sequence[Condition]"


@dataclass(frozen=True)
class Some:
    """At least one of the conditions."""

    conditions: "Sequence[Condition]"


Condition = Where | Not | All | Some


def equal(**fields: object) -> All:
    """Each of these fields has this value."""
    return All([Where(name, "=", value) for name, value in fields.items()])


class Items(Protocol):
    """One collection. Any method raises DependencyDown if the database cannot be used."""

    async def read(self, partition: Partition, item_id: str) -> Item | None:
        """The item; None only if there is none."""

    async def read_some(self, partition: Partition, ids: Sequence[str]) -> list[Item]:
        """The items of one partition among these ids, in any order; ids may be any strings."""

    async def query(
        self,
        partition: Partition,
        *conditions: Condition,
        order: str = "",
        descending: bool = False,
        limit: int | None = None,
        fields: Sequence[str] = (),
    ) -> list[Item]:
        """The items that meet all conditions, at one moment; with `fields` only these of each item.

        If the partition is not named in full, the order may be one of parts: sort again.
        """

    async def write(self, partition: Partition, *changes: Change) -> None:
        """Make all of these changes or none, durably; Raced if one does not fit what is stored.

        A change may have been made before by the same call, if its confirmation was lost: it then raises
        Raced too, and the caller that repeats the work recognizes its own write.
        """

    async def ping(self) -> None:
        """Raise DependencyDown unless the collection can be used now."""


async def unraced(work: Callable[[], Awaitable[Result]], *, racing_seconds: float = RACING_SECONDS) -> Result:
    """The result of `work`, which reads, decides and writes, repeated until no other write came in between.

    Raises DependencyDown (code `too_many_writers`) if another write always did.
    """

    # Tenacity awaits only what is declared async, which a lambda is not.
    async def attempt() -> Result:
        return await work()

    retrying = AsyncRetrying(
        retry=retry_if_exception_type(Raced),
        stop=stop_after_delay(racing_seconds),
        wait=wait_random_exponential(multiplier=0.01, max=LONGEST_WAIT_SECONDS),
        reraise=True,
    )
    try:
        return await retrying(attempt)
    except Raced as exc:
        message = "Too many changes of the same thing at once. Try again shortly."
        raise DependencyDown(message, dependency=STORE, code="too_many_writers") from exc


def repeated_if_raced(
    method: Callable[Arguments, Awaitable[Result]],
) -> Callable[Arguments, Coroutine[Any, Any, Result]]:
    """The method, which `unraced` repeats as a whole: nothing of it outlives an attempt but what it wrote."""

    @wraps(method)
    async def repeated(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        return await unraced(lambda: method(*args, **kwargs))

    return repeated


async def remove(items: Items, partition: Partition, find: Callable[[], Awaitable[list[Item]]]) -> None:
    """Remove what `find` finds in a partition, again and again until that is nothing."""

    async def work() -> None:
        while found := await find():
            some = found[:MOST_CHANGES]
            await items.write(partition, *(delete(item["id"], item.get(VERSION)) for item in some))

    await unraced(work)
