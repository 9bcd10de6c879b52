"""Items in SQLite: a table for each collection, and a row for each item, which holds it as JSON."""

import json
import sqlite3
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from orc_core.infra.items import (
    VERSION,
    All,
    Change,
    Condition,
    Item,
    Not,
    Partition,
    Raced,
    Some,
    Where,
    id_part,
)
from orc_core.infra.sqlite import IN_LIST, Database

OF_EACH = ("version", "written", "expires")
_EXISTS = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"


@dataclass(frozen=True)
class Table:
    """How a collection is kept here.

    `indexes` have fields that are asked for together, the ordered one last; each field has a column, besides
    the body. `earlier` are tables of Orc 0.2, each with a statement that selects its rows as items.
    """

    name: str
    partition: tuple[str, ...]
    indexes: tuple[tuple[str, ...], ...] = ()
    earlier: tuple[tuple[str, str], ...] = ()

    @cached_property
    def table(self) -> str:
        return f"items_{self.name}"

    @cached_property
    def key(self) -> tuple[str, ...]:
        return (*self.partition, "id")

    @cached_property
    def fields(self) -> list[str]:
        """The fields with a column that are not of the key."""
        return sorted({name for index in self.indexes for name in index} - {*self.key, "expires"})

    @cached_property
    def columns(self) -> list[str]:
        return [*self.key, *OF_EACH, *self.fields, "body"]

    @cached_property
    def schema(self) -> str:
        """The statements that make the table and its indexes; each is safe to repeat."""
        needed = {*self.key, "version", "written", "body"}
        columns = ", ".join(f"{name} NOT NULL" if name in needed else name for name in self.columns)
        key = ", ".join(self.key)
        statements = [
            f"CREATE TABLE IF NOT EXISTS {self.table} ({columns}, PRIMARY KEY ({key}))",
            f"CREATE INDEX IF NOT EXISTS {self.table}_expiring ON {self.table} (expires)"
            " WHERE expires IS NOT NULL",
        ]
        for number, fields in enumerate(self.indexes, 1):
            on = f"{self.table} ({', '.join(fields)})"
            statements.append(f"CREATE INDEX IF NOT EXISTS {self.table}_{number} ON {on}")
        return ";\n".join(statements)

    def field(self, name: str) -> str:
        """The expression for a field of the items."""
        if name == VERSION:
            return "version"
        return name if name in self.columns else f"(body ->> '$.{name}')"


async def open_table(database: Database, table: Table, *, ttl: int | None = None) -> "SqliteItems":
    """The items of a table, which is there afterwards, and has what Orc 0.2 has stored.

    With a `ttl`, what is there already expires so many seconds after it was written.
    """
    await database.migrate(table.schema)

    def work(connection: sqlite3.Connection) -> None:
        adopt(connection, table)
        if ttl is not None:
            expiring = f"UPDATE {table.table} SET expires = written + ? WHERE expires IS NOT written + ?"
            connection.execute(expiring, (ttl, ttl))

    await database.write(work)
    return SqliteItems(database, table)


def adopt(connection: sqlite3.Connection, table: Table) -> None:
    """Make items of the rows of Orc 0.2, and remove its tables."""
    connection.create_function("id_part", 2, id_part, deterministic=True)
    for name, select in table.earlier:
        if connection.execute(_EXISTS, (name,)).fetchone():
            columns = ", ".join((*table.key, *OF_EACH, "body"))
            connection.execute(f"INSERT OR REPLACE INTO {table.table} ({columns}) {select}")
            if table.fields:
                filled = ", ".join(f"{field} = body ->> '$.{field}'" for field in table.fields)
                connection.execute(f"UPDATE {table.table} SET {filled}")
            connection.execute(f"DROP TABLE {name}")


class SqliteItems:
    """Items over a table of a database. `clock` returns seconds since the epoch."""

    def __init__(self, database: Database, table: Table, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._table = table
        self._clock = clock
        self._select = f"FROM {table.table} WHERE (expires IS NULL OR expires > ?)"
        self._owned = " AND ".join(f"{name} = ?" for name in table.key)

    async def read(self, partition: Partition, item_id: str) -> Item | None:
        query = f"SELECT version, body {self._select} AND {self._owned}"
        found = await self._read(query, [self._clock(), *partition, item_id])
        return found[0] if found else None

    async def read_some(self, partition: Partition, ids: Sequence[str]) -> list[Item]:
        return await self.query(partition, Where("id", "in", list(ids)))

    async def query(
        self,
        partition: Partition,
        *conditions: Condition,
        order: str = "",
        descending: bool = False,
        limit: int | None = None,
        fields: Sequence[str] = (),
    ) -> list[Item]:
        values: list[object] = []
        chosen = ", ".join(map(self._table.field, fields)) or "version, body"
        # Each alternative has its own index, and SQLite uses one in each part of a union.
        whole = conditions[0] if len(conditions) == 1 and not (fields or order or limit) else None
        alternatives = whole.conditions if isinstance(whole, Some) and whole.conditions else [All(conditions)]
        parts = []
        for each in alternatives:
            names = zip(self._table.partition, partition, strict=False)
            condition, more = self._condition(
                All([*(Where(name, "=", value) for name, value in names), each])
            )
            parts.append(f"SELECT {chosen} {self._select} AND {condition}")
            values += [self._clock(), *more]
        query = " UNION ".join(parts)
        if order:
            # What a list names is sought, and then sorted: with "+" no index is read in the order instead.
            names_some = any(isinstance(each, Where) and each.how == "in" for each in conditions)
            by = f"{'+' if names_some else ''}{self._table.field(order)}"
            query += f" ORDER BY {by}{' DESC' if descending else ''}"
        if limit is not None:
            query += " LIMIT ?"
            values.append(limit)
        return await self._read(query, values, fields)

    async def write(self, partition: Partition, *changes: Change) -> None:
        rows = list(self._statements(partition, changes))

        def work(connection: sqlite3.Connection) -> None:
            connection.execute(f"DELETE FROM {self._table.table} WHERE expires <= ?", (self._clock(),))
            for statement, values in rows:
                if connection.execute(statement, values).rowcount == 0:
                    raise Raced

        await self._database.write(work)
        if any(change.kind == "delete" for change in changes):
            # What was deleted is then not in the log either.
            await self._database.empty_log()

    async def ping(self) -> None:
        await self._database.ping()

    def _statements(
        self, partition: Partition, changes: Sequence[Change]
    ) -> Iterator[tuple[str, Sequence[object]]]:
        table, fields = self._table.table, dict(zip(self._table.partition, partition, strict=True))
        for kind, item_id, item, version in changes:
            row: list[object] = []
            if item is not None:
                body = fields | {name: value for name, value in item.items() if name != VERSION}
                written = self._clock()
                expires = written + item["ttl"] if "ttl" in item else None
                values = [body.get(name) for name in self._table.fields]
                row = [uuid.uuid4().hex, written, expires, *values, json.dumps(body, ensure_ascii=False)]
            key = (*partition, item_id)
            over, known = (" AND version = ?", (version,)) if version else ("", ())
            if kind == "delete":
                yield f"DELETE FROM {table} WHERE {self._owned}{over}", (*key, *known)
            elif kind == "replace":
                columns = self._table.columns[len(self._table.key) :]
                changed = f"UPDATE {table} SET {', '.join(f'{name} = ?' for name in columns)}"
                yield f"{changed} WHERE {self._owned}{over}", (*row, *key, *known)
            else:
                places = ", ".join("?" * (len(key) + len(row)))
                how = "OR IGNORE" if kind == "create" else "OR REPLACE"
                columns = self._table.columns
                yield f"INSERT {how} INTO {table} ({', '.join(columns)}) VALUES ({places})", (*key, *row)

    async def _read(self, query: str, values: Sequence[object], fields: Sequence[str] = ()) -> list[Item]:
        def work(connection: sqlite3.Connection) -> list[Item]:
            rows = connection.execute(query, values)
            if fields:
                return [dict(zip(fields, row, strict=True)) for row in rows]
            return [{**json.loads(body), VERSION: version} for version, body in rows]

        return await self._database.read(work)

    def _condition(self, condition: Condition) -> tuple[str, list[object]]:
        """A condition as SQL, and its values."""
        if isinstance(condition, Where):
            field, value = self._table.field(condition.field), condition.value
            match condition.how:
                case "in":
                    return f"{field} {IN_LIST}", [json.dumps(list(value))]
                case "starts":
                    # The texts that begin so are in one range, which an index can find.
                    return f"({field} >= ? AND {field} < ?)", [value, value + "\U0010ffff"]
                case "has":
                    return f"instr({field}, ?) > 0", [value]
                case "has lower":
                    return f"instr(lower_case({field}), ?) > 0", [value]
                case "no text":
                    return f"{field} IS NULL", []
            return f"{field} {condition.how} ?", [value]
        if isinstance(condition, Not):
            text, values = self._condition(condition.condition)
            return f"NOT {text}", values
        parts = [self._condition(each) for each in condition.conditions]
        joined = (" OR " if isinstance(condition, Some) else " AND ").join(text for text, _ in parts)
        neutral = "FALSE" if isinstance(condition, Some) else "TRUE"
        return f"({joined or neutral})", [value for _, values in parts for value in values]
