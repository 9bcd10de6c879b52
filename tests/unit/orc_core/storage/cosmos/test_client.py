"""Cosmos DB as adapters use it: what is absent, what has raced, what is down, and what a batch promises."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from devkit.azure.cosmos import FaultyTransport, database
from devkit.azure.targets import Target
from orc_core.errors import DependencyDown
from orc_core.infra.azure import DependencyMisconfigured
from orc_core.infra.resilience import ATTEMPTS
from orc_core.storage.cosmos.client import (
    ETAG,
    Container,
    Item,
    Raced,
    create,
    delete,
    replace,
    unraced,
    upsert,
)

ADA = ("acme", "ada", "c-1")
BOB = ("acme", "bob", "c-1")
BRIEF = (408, 429, 500, 503)
REQUESTS_OF_A_CALL = 4 * ATTEMPTS
"""At most: the SDK itself repeats once after 429, and does so at two levels in a query."""

Call = Callable[[Container], Awaitable[object]]
CALLS: dict[str, Call] = {
    "read": lambda container: container.read("a", ADA),
    "query": lambda container: container.query("SELECT * FROM c", {}, ADA),
    "create": lambda container: container.create(item("a")),
    "upsert": lambda container: container.upsert(item("a")),
    "replace": lambda container: container.replace(item("a"), "etag"),
    "delete": lambda container: container.delete("a", ADA),
    "batch": lambda container: container.batch([create(item("a"))], ADA),
}


def item(item_id: str, partition: tuple[str, str, str] = ADA, **fields: object) -> Item:
    organization, user, conversation = partition
    key = {"organization_id": organization, "user_id": user, "conversation_id": conversation}
    return {"id": item_id, **key, **fields}


@pytest.fixture
def wire() -> FaultyTransport:
    return FaultyTransport()


@pytest.fixture
async def containers(
    cosmos_target: Target, wire: FaultyTransport
) -> AsyncIterator[Callable[[str], Container]]:
    async with database(cosmos_target) as open_database:
        yield open_database(wire).container


@pytest.fixture
async def container(containers: Callable[[str], Container]) -> Container:
    return containers("conversations")


async def etag(container: Container, item_id: str) -> str:
    stored = await container.read(item_id, ADA)
    assert stored is not None
    return str(stored[ETAG])


async def numbers(container: Container) -> dict[str, object]:
    return {each["id"]: each.get("n") for each in await container.query("SELECT * FROM c", {}, ADA)}


async def test_an_item_is_read_in_its_partition_alone(container: Container) -> None:
    assert await container.read("a", ADA) is None
    await container.create(item("a", n=1, text="é🦷"))
    stored = await container.read("a", ADA)
    assert stored is not None
    assert stored.items() >= item("a", n=1, text="é🦷").items()
    assert await container.read("a", BOB) is None
    await container.create(item("a", BOB, n=2))
    assert await numbers(container) == {"a": 1}


@pytest.mark.parametrize("name", CALLS)
async def test_a_missing_container_is_an_error_and_never_an_absent_item(
    containers: Callable[[str], Container], name: str
) -> None:
    with pytest.raises(DependencyDown) as caught:
        await CALLS[name](containers("nowhere"))
    assert (caught.value.dependency, caught.value.retryable) == ("store", False)


@pytest.mark.parametrize("name", ["read", "query"])
@pytest.mark.parametrize("status", BRIEF)
async def test_a_read_that_fails_is_repeated_and_never_empty(
    container: Container, wire: FaultyTransport, name: str, status: int
) -> None:
    await container.create(item("a"))
    found = await CALLS[name](container)
    assert found
    wire.fail_reads(status, status)
    assert await CALLS[name](container) == found
    wire.fail_reads(*[status] * REQUESTS_OF_A_CALL)
    with pytest.raises(DependencyDown) as caught:
        await CALLS[name](container)
    assert (caught.value.dependency, caught.value.retryable) == ("store", True)


async def test_a_replica_that_is_behind_is_asked_again_and_has_nothing_to_say_of_an_item(
    container: Container, wire: FaultyTransport
) -> None:
    await container.create(item("a"))
    wire.fail_reads(404, sub_status=1002)
    assert await container.read("a", ADA) is not None
    wire.fail_reads(*[404] * REQUESTS_OF_A_CALL, sub_status=1002)
    with pytest.raises(DependencyDown) as caught:
        await container.read("a", ADA)
    assert caught.value.retryable


async def test_a_read_has_to_be_as_new_as_the_last_write(container: Container, wire: FaultyTransport) -> None:
    """The emulator counts writes, and its client shows with every read how many it knows of."""
    await container.create(item("a"))
    await container.batch([create(item("b"))], ADA)
    with pytest.raises(Raced):
        await container.batch([create(item("b"))], ADA)
    wire.requests.clear()
    await container.read("b", ADA)
    await container.query("SELECT * FROM c", {}, ADA)
    await container.upsert(item("c"))
    await container.read("a", ADA)
    await container.batch([create(item("d"))], ADA)
    await container.query("SELECT * FROM c", {}, ADA)
    await container.read("a", BOB)
    reads = [request for request in wire.requests if not request.is_write]
    known = [request.headers.get("x-ms-session-token", "").rpartition("#")[2] for request in reads]
    assert known == list("33455")


async def test_an_item_is_created_once(container: Container) -> None:
    await container.create(item("a", n=1))
    with pytest.raises(Raced):
        await container.create(item("a", n=2))
    assert await numbers(container) == {"a": 1}


async def test_a_creation_whose_confirmation_was_lost_reads_as_raced(
    container: Container, wire: FaultyTransport
) -> None:
    wire.fail_after_write(503)
    with pytest.raises(Raced):
        await container.create(item("a", n=1))
    assert await numbers(container) == {"a": 1}


async def test_an_item_is_replaced_over_the_version_that_was_read(container: Container) -> None:
    with pytest.raises(Raced):
        await container.replace(item("a", n=1), "none")
    await container.create(item("a", n=1))
    first = await etag(container, "a")
    await container.replace(item("a", n=2), first)
    with pytest.raises(Raced):
        await container.replace(item("a", n=3), first)
    assert await numbers(container) == {"a": 2}


async def test_of_replacements_at_the_same_time_one_is_made(container: Container) -> None:
    await container.create(item("a"))
    version = await etag(container, "a")
    made = await asyncio.gather(
        *(container.replace(item("a", n=n), version) for n in range(5)), return_exceptions=True
    )
    assert [type(each) for each in made].count(Raced) == 4


async def test_deleting_tells_whether_there_was_an_item(container: Container) -> None:
    await container.create(item("a"))
    assert await container.delete("a", BOB) is False
    assert await container.delete("a", ADA) is True
    assert await container.delete("a", ADA) is False


async def test_a_batch_is_written_whole(container: Container) -> None:
    for name in ("a", "b", "c"):
        await container.create(item(name, n=1))
    operations = [replace(item("a", n=2), await etag(container, "a")), create(item("d", n=2))]
    operations += [upsert(item("b", n=2)), delete("c", await etag(container, "c"))]
    await container.batch(operations, ADA)
    assert await numbers(container) == {"a": 2, "b": 2, "d": 2}


async def test_a_batch_is_not_written_at_all_where_one_condition_does_not_hold(container: Container) -> None:
    await container.create(item("a", n=1))
    refused = {
        "there already": create(item("a", n=2)),
        "another version": replace(item("a", n=2), "none"),
        "not there": replace(item("x", n=2), "none"),
        "another version to remove": delete("a", "none"),
        "nothing to remove": delete("x"),
    }
    for why, operation in refused.items():
        for batch in ([upsert(item("b")), operation], [operation, upsert(item("b"))]):
            with pytest.raises(Raced):
                await container.batch(batch, ADA)
            assert await numbers(container) == {"a": 1}, why


async def test_a_batch_is_of_one_partition(container: Container) -> None:
    with pytest.raises(DependencyMisconfigured):
        await container.batch([create(item("a")), create(item("b", BOB))], ADA)
    assert await numbers(container) == {}


async def test_a_query_gives_every_page(container: Container) -> None:
    for start in (0, 100, 200):
        await container.batch([create(item(f"i{n}", n=n)) for n in range(start, start + 100)], ADA)
    assert await numbers(container) == {f"i{n}": n for n in range(300)}


async def test_parameters_are_values_and_never_part_of_a_query(container: Container) -> None:
    await container.create(item("a", n="x"))
    text = "SELECT * FROM c WHERE c.n = @n"
    assert len(await container.query(text, {"n": "x"}, ADA)) == 1
    for hostile in ("x' OR 'a' = 'a", 'x" OR true', "@n", "c.n"):
        assert await container.query(text, {"n": hostile}, ADA) == []


async def test_a_query_with_the_beginning_of_a_key_sees_what_its_predicate_lets_through(
    container: Container,
) -> None:
    for partition in (ADA, ("acme", "ada", "c-2"), BOB):
        await container.create(item("a", partition))
    text = "SELECT * FROM c WHERE c.organization_id = @organization AND c.user_id = @user"
    found = await container.query(text, {"organization": "acme", "user": "ada"}, ["acme", "ada"])
    assert sorted(each["conversation_id"] for each in found) == ["c-1", "c-2"]


async def test_an_item_expires_by_its_own_time_to_live(container: Container) -> None:
    await container.create(item("a", n=1, ttl=1))
    await container.create(item("b", n=1))
    await asyncio.sleep(2.1)
    assert await container.read("a", ADA) is None
    assert await numbers(container) == {"b": 1}
    with pytest.raises(Raced):
        await container.replace(item("a"), "none")
    await container.create(item("a", n=2))
    assert await numbers(container) == {"a": 2, "b": 1}


@pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")
async def test_what_is_too_large_is_refused_and_is_no_outage(container: Container) -> None:
    for _ in range(10):
        with pytest.raises(DependencyMisconfigured) as caught:
            await container.create(item("a", text="x" * 2_100_000))
    assert "413" in caught.value.message
    assert await container.read("a", ADA) is None


async def test_work_that_raced_is_repeated_until_no_other_write_interferes(container: Container) -> None:
    await container.create(item("a", n=0))

    async def count_up() -> None:
        stored = await container.read("a", ADA)
        assert stored is not None
        await container.replace({**item("a"), "n": stored["n"] + 1}, stored[ETAG])

    await asyncio.gather(*(unraced(count_up) for _ in range(10)))
    assert await numbers(container) == {"a": 10}


async def test_work_that_always_races_is_given_up() -> None:
    async def race() -> None:
        raise Raced

    with pytest.raises(DependencyDown) as caught:
        await unraced(race, racing_seconds=0.05)
    assert (caught.value.code, caught.value.retryable) == ("too_many_writers", True)


async def test_a_write_after_a_batch_is_seen_as_well(container: Container, wire: FaultyTransport) -> None:
    writes: list[Call] = [
        lambda container: container.upsert(item("a")),
        lambda container: container.create(item("b")),
        lambda container: container.replace(item("a", n=2), known_etag),
        lambda container: container.delete("b", ADA),
    ]
    await container.create(item("a"))
    for count, write in enumerate(writes):
        known_etag = await etag(container, "a")
        await container.batch([upsert(item("z"))], ADA)
        await write(container)
        wire.requests.clear()
        await container.read("a", ADA)
        assert wire.requests[0].headers["x-ms-session-token"].rpartition("#")[2] == str(3 + 2 * count)
