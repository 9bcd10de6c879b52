"""The contract of the port of items, run over every adapter."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from devkit.store_pairs import OpenItems, opened_items
from orc_core.errors import DependencyDown
from orc_core.infra.items import (
    MOST_CHANGES,
    VERSION,
    All,
    Change,
    Condition,
    Item,
    Items,
    Not,
    Raced,
    Some,
    Where,
    create,
    delete,
    equal,
    id_part,
    over,
    remove,
    repeated_if_raced,
    replace,
    unraced,
    upsert,
)

pytestmark = pytest.mark.contract("items")

ADA = ("acme", "ada", "c-1")
BOB = ("acme", "bob", "c-1")


@pytest.fixture
async def open_items(
    adapter: str, request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[OpenItems]:
    async with opened_items(adapter, request, tmp_path, "conversations") as opened:
        yield opened


@pytest.fixture
async def items(open_items: OpenItems) -> Items:
    return await open_items()


async def version(items: Items, item_id: str) -> str:
    stored = await items.read(ADA, item_id)
    assert stored is not None
    return str(stored[VERSION])


async def numbers(items: Items) -> dict[str, object]:
    return {each["id"]: each.get("n") for each in await items.query(ADA)}


async def test_an_item_is_read_in_its_partition_alone_with_the_fields_of_it(items: Items) -> None:
    assert await items.read(ADA, "a") is None
    await items.write(ADA, create({"id": "a", "n": 1, "text": "é🦷", "item": {"deep": [None, True]}}))
    stored = await items.read(ADA, "a") or {}
    assert stored.items() >= {"n": 1, "text": "é🦷", "item": {"deep": [None, True]}, "user_id": "ada"}.items()
    assert await items.read(BOB, "a") is None
    await items.write(BOB, create({"id": "a", "n": 2}))
    assert await numbers(items) == {"a": 1}


async def test_a_write_is_made_over_what_was_read(items: Items) -> None:
    with pytest.raises(Raced):
        await items.write(ADA, replace({"id": "a"}, "none"))
    await items.write(ADA, over(None, {"id": "a", "n": 1}))
    with pytest.raises(Raced):
        await items.write(ADA, create({"id": "a", "n": 2}))
    first = await items.read(ADA, "a") or {}
    await items.write(ADA, over(first, {**first, "n": 2}))
    with pytest.raises(Raced):
        await items.write(ADA, over(first, {**first, "n": 3}))
    assert await numbers(items) == {"a": 2}


async def test_an_item_that_was_removed_and_made_again_has_another_version(items: Items) -> None:
    await items.write(ADA, create({"id": "a", "n": 1}))
    earlier = await version(items, "a")
    await items.write(ADA, delete("a", earlier))
    await items.write(ADA, create({"id": "a", "n": 1}))
    with pytest.raises(Raced):
        await items.write(ADA, replace({"id": "a", "n": 2}, earlier))


async def test_of_writes_at_the_same_time_one_is_made(open_items: OpenItems) -> None:
    processes = [await open_items() for _ in range(2)]
    await processes[0].write(ADA, create({"id": "a"}))
    known = await version(processes[0], "a")
    writes = (processes[n % 2].write(ADA, replace({"id": "a", "n": n}, known)) for n in range(6))
    made = await asyncio.gather(*writes, return_exceptions=True)
    assert [type(each) for each in made].count(Raced) == 5


async def test_all_changes_of_a_write_are_made(items: Items) -> None:
    await items.write(ADA, *(create({"id": name, "n": 1}) for name in "abc"))
    changed = [replace({"id": "a", "n": 2}, await version(items, "a")), create({"id": "d", "n": 2})]
    await items.write(ADA, *changed, upsert({"id": "b", "n": 2}), delete("c", await version(items, "c")))
    assert await numbers(items) == {"a": 2, "b": 2, "d": 2}


@pytest.mark.parametrize(
    "refused",
    [
        create({"id": "a", "n": 2}),
        replace({"id": "a", "n": 2}, "none"),
        replace({"id": "x", "n": 2}, "none"),
        delete("a", "none"),
        delete("x"),
    ],
    ids=["there already", "another version", "not there", "another version to remove", "nothing to remove"],
)
async def test_no_change_of_a_write_is_made_if_one_does_not_fit(items: Items, refused: Change) -> None:
    await items.write(ADA, create({"id": "a", "n": 1}))
    for changes in ([upsert({"id": "b"}), refused], [refused, upsert({"id": "b"})]):
        with pytest.raises(Raced):
            await items.write(ADA, *changes)
        assert await numbers(items) == {"a": 1}


async def test_a_query_finds_every_item_or_the_first_in_an_order(items: Items) -> None:
    for start in (0, 100, 200):
        changes = (create({"id": f"i{n}", "n": n, "seq": n}) for n in range(start, start + MOST_CHANGES))
        await items.write(ADA, *changes)
    assert await numbers(items) == {f"i{n}": n for n in range(300)}
    last = await items.query(ADA, order="seq", descending=True, limit=3, fields=["id", "seq"])
    assert last == [{"id": f"i{n}", "seq": n} for n in (299, 298, 297)]
    first = await items.query(ADA, Where("seq", ">", 7), order="seq", limit=2)
    assert [each["id"] for each in first] == ["i8", "i9"]
    some = await items.read_some(ADA, ["i5", "x/../y", "i7", "", *(f"i{n}" for n in range(100, 112))])
    assert len(some) == 14


CONDITIONS: dict[str, tuple[Condition, str]] = {
    "equal": (equal(n=1, place="Quay 1"), "a"),
    "true": (equal(is_open=True), "a"),
    "other": (Where("n", "!=", 1), "bc"),
    "below": (Where("n", "<", 3), "ab"),
    "at most": (Where("n", "<=", 2), "ab"),
    "at least": (Where("n", ">=", 2), "bc"),
    "among": (Where("place", "in", ["Quay 1", "nowhere"]), "a"),
    "among none": (Where("place", "in", list[str]()), ""),
    "begins": (Where("place", "starts", "Quay"), "ab"),
    "contains": (Where("item.title", "has", "fairy"), "b"),
    "contains in lower case": (Where("item.title", "has lower", "ü fair"), "ab"),
    "has no text": (Where("item.title", "no text"), "c"),
    "not": (Not(equal(n=1)), "bc"),
    "some": (Some([equal(n=1), All([equal(n=3), Where("place", "has", "ü")])]), "ac"),
    "some of none": (Some([]), ""),
    "all of none": (All([]), "abc"),
}


@pytest.mark.parametrize(("condition", "found"), CONDITIONS.values(), ids=CONDITIONS)
async def test_a_condition_finds_the_items_that_meet_it(
    items: Items, condition: Condition, found: str
) -> None:
    stored: list[Item] = [
        {"id": "a", "n": 1, "place": "Quay 1", "is_open": True, "item": {"title": "Ü FAIR"}},
        {"id": "b", "n": 2, "place": "Quay 2", "is_open": False, "item": {"title": "ü fairy"}},
        {"id": "c", "n": 3, "place": "Zürich", "item": {"title": None}},
    ]
    await items.write(ADA, *map(create, stored))
    await items.write(BOB, create({"id": "d", "n": 1, "place": "Quay 1", "is_open": True}))
    assert sorted(each["id"] for each in await items.query(ADA, condition)) == list(found)


async def test_values_are_never_part_of_a_query(items: Items) -> None:
    await items.write(ADA, create({"id": "a", "place": "x"}))
    assert len(await items.query(ADA, equal(place="x"))) == 1
    for hostile in ("x' OR 'a' = 'a", 'x" OR true', "@value0", "c.place", "?", "%"):
        assert await items.query(ADA, equal(place=hostile)) == []


async def test_the_beginning_of_a_partition_finds_what_is_below_it(items: Items) -> None:
    for partition in (ADA, ("acme", "ada", "c-2"), BOB):
        await items.write(partition, create({"id": "a"}))
    found = await items.query(("acme", "ada"))
    assert sorted(each["conversation_id"] for each in found) == ["c-1", "c-2"]
    assert len(await items.query([])) == 3


@pytest.mark.slow
async def test_an_item_expires_by_its_time_to_live(items: Items) -> None:
    await items.write(ADA, create({"id": "a", "n": 1, "ttl": 1}), create({"id": "b", "n": 1}))
    known = await version(items, "a")
    await asyncio.sleep(2.1)
    assert await items.read(ADA, "a") is None
    assert await numbers(items) == {"b": 1}
    with pytest.raises(Raced):
        await items.write(ADA, replace({"id": "a"}, known))
    await items.write(ADA, create({"id": "a", "n": 2}))
    assert await numbers(items) == {"a": 2, "b": 1}


async def test_work_that_raced_is_repeated_until_no_other_write_interferes(open_items: OpenItems) -> None:
    processes = [await open_items() for _ in range(2)]
    await processes[0].write(ADA, create({"id": "a", "n": 0}))

    @repeated_if_raced
    async def count_up(items: Items) -> None:
        stored = await items.read(ADA, "a") or {}
        await items.write(ADA, over(stored, {"id": "a", "n": stored["n"] + 1}))

    await asyncio.gather(*(count_up(processes[n % 2]) for n in range(10)))
    assert await numbers(processes[1]) == {"a": 10}


async def test_removing_goes_on_until_nothing_is_found(items: Items) -> None:
    for start in (0, 100):
        await items.write(ADA, *(create({"id": f"i{n}"}) for n in range(start, start + 100)))
    await items.write(BOB, create({"id": "i1"}))
    await remove(items, ADA, lambda: items.query(ADA))
    assert await items.query(ADA) == []
    assert len(await items.query(BOB)) == 1


async def test_a_collection_that_works_says_so(items: Items) -> None:
    await items.ping()


async def test_work_that_always_races_is_given_up() -> None:
    async def race() -> None:
        raise Raced

    with pytest.raises(DependencyDown) as caught:
        await unraced(race, racing_seconds=0.05)
    assert (caught.value.code, caught.value.retryable) == ("too_many_writers", True)


def test_a_part_of_an_id_is_plain_or_a_hash() -> None:
    assert id_part("a-b.c", r"[\w.-]+") == "a-b.c"
    odd = [id_part(text, r"[\w.-]+") for text in ("a/b", "a?b", "ä", "", "x" * 5000 + "/")]
    assert len(set(odd)) == 5
    assert all(part.startswith("~") and len(part) == 65 for part in odd)


def contents(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())


async def test_what_was_removed_is_in_no_file_of_sqlite(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    async with opened_items("sqlite", request, tmp_path, "conversations") as open_items:
        items = await open_items()
        await items.write(ADA, create({"id": "a", "text": "sesame4711"}))
        assert b"sesame4711" in contents(tmp_path)
        await items.write(ADA, delete("a"))
        assert b"sesame4711" not in contents(tmp_path)
