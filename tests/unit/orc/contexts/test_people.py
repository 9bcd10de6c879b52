"""Who can be given a role: found in the own organization only, and refused with an id that cannot work."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from devkit.store_pairs import opened_items
from orc.contexts.people import KEPT_DAYS, People, Person
from orc.identity import Principal
from orc_core.errors import DependencyDown, InvalidInput
from orc_core.infra.items import Items

pytestmark = pytest.mark.slow

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
ADA = Principal("acme", "aaaaaaaa-0000-4000-8000-000000000001", name="Ada Owner", email="ada@example.org")
BEN = Principal("acme", "bbbbbbbb-0000-4000-8000-000000000002", name="Ben Viewer", email="Ben@Example.org")
STRANGER = Principal("umbra", "cccccccc-0000-4000-8000-000000000003", name="Ben Other")


class Clock:
    now = NOW

    def __call__(self) -> datetime:
        return self.now


class FakeDirectory:
    """The one person that a directory has, unless it is away."""

    is_away = False
    found: tuple[Person, ...] = (
        Person(id=BEN.user_id, name="Ben of the directory"),
        Person(id="d-1", name="Dora"),
    )

    async def find(self, organization_id: str, words: str) -> list[Person]:
        if self.is_away:
            raise DependencyDown("away", dependency="directory")
        return list(self.found) if organization_id == "acme" else []


@pytest.fixture
async def items(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Items]:
    async with opened_items("sqlite", request, tmp_path, "contexts") as open_items:
        yield await open_items()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def people(items: Items, clock: Clock) -> People:
    people = People(items, clock=clock)
    for each in (ADA, BEN, STRANGER):
        await people.note(each)
    return people


async def ids(people: People, organization: str, words: str) -> list[str]:
    found, _ = await people.find(organization, words)
    return [each.id for each in found]


@pytest.mark.parametrize("words", ["ben", "VIEWER ben", "ben@example", "example.org viewer"])
async def test_people_are_found_by_all_words_of_name_and_address(people: People, words: str) -> None:
    assert await ids(people, "acme", words) == [BEN.user_id]


async def test_no_one_is_found_from_another_organization(people: People) -> None:
    assert await ids(people, "umbra", "ben") == [STRANGER.user_id]
    assert await ids(people, "umbra", "ada") == await ids(people, "third", "ben") == []


async def test_who_has_no_name_and_no_address_is_not_remembered(people: People, items: Items) -> None:
    await people.note(Principal("acme", "robot"))
    assert len(await items.query(["acme"])) == 2


async def test_a_new_name_replaces_the_old_one_and_the_same_is_written_once_a_day(
    people: People, items: Items, clock: Clock
) -> None:
    async def versions() -> list[str]:
        return sorted(each["_etag"] for each in await items.query(["acme"]))

    before = await versions()
    await people.note(BEN)
    assert await versions() == before
    clock.now += timedelta(days=1)
    await people.note(BEN)
    assert await versions() != before
    await people.note(Principal("acme", BEN.user_id, name="Ben Married"))
    assert await ids(people, "acme", "married") == [BEN.user_id]
    assert await ids(people, "acme", "viewer") == []


async def test_who_is_forgotten_is_not_found_before_they_come_again(people: People) -> None:
    await people.note(Principal("umbra", BEN.user_id, name="Ben Viewer"))
    await people.forget(BEN.user_id)
    await people.forget("unknown")
    assert await ids(people, "acme", "") == [ADA.user_id]
    assert await ids(people, "umbra", "ben") == [STRANGER.user_id]
    await people.note(BEN)
    assert await ids(people, "acme", "ben") == [BEN.user_id]


async def test_who_has_not_come_for_long_is_not_found(people: People, clock: Clock) -> None:
    clock.now += timedelta(days=KEPT_DAYS)
    assert await ids(people, "acme", "ben") == [BEN.user_id]
    clock.now += timedelta(days=1)
    assert await ids(people, "acme", "ben") == []


async def test_a_directory_adds_those_who_never_came_and_its_outage_is_said(
    people: People, items: Items, clock: Clock
) -> None:
    directory = FakeDirectory()
    both = People(items, directory, clock)
    found, is_complete = await both.find("acme", "ben")
    assert [(each.id, each.name) for each in found] == [(BEN.user_id, "Ben Viewer"), ("d-1", "Dora")]
    assert is_complete
    directory.is_away = True
    found, is_complete = await both.find("acme", "ben")
    assert ([each.id for each in found], is_complete) == ([BEN.user_id], False)


@pytest.mark.parametrize(
    ("own", "groups", "member", "works"),
    [
        (ADA.user_id, (), "user:ben@example.org", False),
        (ADA.user_id, (), "user:ben", False),
        (ADA.user_id, (), "user:dddddddd-0000-4000-8000-000000000004", True),
        ("ada", (), "user:ben@example.org", False),
        ("ada", (), "user:ben", True),
        ("ada", (), "user:dddddddd-0000-4000-8000-000000000004", True),
        # Some sign-ins use addresses as ids.
        ("ada@example.org", (), "user:ben@example.org", True),
        ("auth0|1", (), "user:auth0|2", True),
        # Groups are compared with those of the caller; without any nothing is known of their form.
        (ADA.user_id, (), "group:/staff/quay", True),
        (ADA.user_id, (ADA.user_id,), "group:staff@example.org", False),
        ("ada", ("/staff/quay",), "group:/staff/ferry", True),
        (ADA.user_id, (), "everyone", True),
    ],
)
async def test_an_id_that_no_sign_in_has_is_refused(
    people: People, own: str, groups: tuple[str, ...], member: str, works: bool
) -> None:
    caller = Principal("acme", own, groups=frozenset(groups))
    if works:
        assert await people.label(caller, member) == ""
        return
    with pytest.raises(InvalidInput) as refused:
        await people.label(caller, member)
    assert refused.value.code == "unknown_person"


async def test_a_known_person_gets_the_name_of_the_sign_in(people: People) -> None:
    caller = Principal("acme", "ada")
    assert await people.label(caller, f"user:{BEN.user_id}") == "Ben Viewer"
    await people.note(Principal("acme", "eve@example.org", email="eve@example.org"))
    assert await people.label(caller, "user:eve@example.org") == "eve@example.org"
    # Of another organization nothing is known here.
    assert await people.label(caller, f"user:{STRANGER.user_id}") == ""
