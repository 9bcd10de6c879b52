"""The contract of the store of contexts, run over every adapter."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from devkit.azure.cosmos import FaultyTransport, database
from devkit.azure.targets import Target
from devkit.store_pairs import opened_items
from orc.api.routes.contexts import AuditView
from orc.contexts.ids import new_id
from orc.contexts.models import (
    EVERYONE,
    Action,
    AuditEntry,
    Context,
    ContextType,
    Member,
    Role,
    State,
    audit_key,
    member_key,
)
from orc.contexts.store import ContextStore
from orc_core.errors import ChangedMeanwhile
from orc_core.storage.cosmos.items import items_of

pytestmark = pytest.mark.contract("context store")

NOW = datetime(2026, 1, 31, 12, 0, 0, 123456, tzinfo=UTC)
ACME = new_id()
RAIL, WATER = new_id(ACME), new_id(ACME)
TRAMS = new_id(RAIL)


@pytest.fixture
async def store(adapter: str, request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ContextStore]:
    async with opened_items(adapter, request, tmp_path, "contexts") as open_items:
        yield ContextStore(await open_items())


def context(context_id: str, name: str = "Acme", organization_id: str = "tenant") -> Context:
    level = context_id.count("-")
    kinds = (ContextType.ORGANIZATION, ContextType.FOLDER, ContextType.USECASE)
    return Context(
        organization_id=organization_id,
        context_id=context_id,
        type=kinds[level],
        name=name,
        created_by="ada",
        created_at=NOW,
        updated_at=NOW,
    )


def member(context_id: str, principal: str, role: Role = Role.VIEWER) -> Member:
    return Member(
        organization_id="tenant",
        context_id=context_id,
        principal=principal,
        role=role,
        granted_by="ada",
        granted_at=NOW,
    )


def entry(context_id: str, action: Action = Action.CHANGED, *, minutes: int = 0) -> AuditEntry:
    at = NOW + timedelta(minutes=minutes)
    return AuditEntry(organization_id="tenant", at=at, actor="ada", action=action, context_id=context_id)


async def add(store: ContextStore, added: Context, admin: Member | None = None) -> Context:
    assert await store.create(added, None, admin, entry(added.context_id, Action.CREATED))
    return added


async def test_a_new_context_is_read_with_its_first_member(store: ContextStore) -> None:
    acme = await add(store, context(ACME), member(ACME, "user:ada", Role.ADMIN))
    await add(store, context(RAIL, "Rail"))
    rights = await store.rights("tenant", [ACME, RAIL, WATER], ["user:ada", EVERYONE])
    assert rights.contexts == {ACME: acme, RAIL: context(RAIL, "Rail")}
    assert rights.granted == {ACME: Role.ADMIN}


async def test_what_is_deleted_or_restricts_tools_further_down_is_read_with_the_rights(
    store: ContextStore,
) -> None:
    restricting = context(RAIL).model_copy(update={"tools_off": ("web_search",)})
    deleting = context(TRAMS).model_copy(update={"state": State.DELETING})
    for each in (context(ACME), restricting, context(WATER), deleting):
        await add(store, each)
    plain = await store.rights("tenant", [ACME], [EVERYONE])
    assert (list(plain.contexts), plain.below) == ([ACME], ())
    found = await store.rights("tenant", [ACME], [EVERYONE], [ACME])
    assert list(found.contexts) == [ACME]
    assert {each.context_id for each in found.below} == {RAIL, TRAMS}
    assert {each.context_id for each in (await store.rights("tenant", [], [], [RAIL, WATER])).below} == {
        TRAMS
    }
    assert (await store.rights("umbra", [], [], [ACME])).below == ()


async def test_nothing_of_another_organization_is_read(store: ContextStore) -> None:
    await add(store, context(ACME), member(ACME, "user:ada"))
    assert await store.rights("umbra", [ACME], ["user:ada"]) == ({}, {}, ())
    assert await store.members("umbra", [ACME], limit=9) == []
    assert await store.granted("umbra", ["user:ada"], words=[], limit=9, after="") == []
    assert await store.children("umbra", None, words=[], limit=9, after="") == []
    assert await store.at_or_below("umbra", ACME) == []
    assert await store.audit("umbra", context_id=None, limit=9) == []


async def test_the_highest_role_of_all_principals_counts(store: ContextStore) -> None:
    acme = await add(store, context(ACME), member(ACME, EVERYONE, Role.VIEWER))
    await store.grant(acme, member(ACME, "group:crew", Role.ADMIN), entry(ACME))
    acme = acme.model_copy(update={"version": 2})
    await store.grant(acme, member(ACME, "user:bob", Role.EDITOR), entry(ACME))
    for principals, role in [
        (["user:bob", "group:crew", EVERYONE], Role.ADMIN),
        ([EVERYONE, "user:bob"], Role.EDITOR),
        ([EVERYONE], Role.VIEWER),
    ]:
        assert (await store.rights("tenant", [ACME], principals)).granted == {ACME: role}
    assert (await store.rights("tenant", [ACME], ["group:cre"])).granted == {}


async def test_each_of_many_contexts_has_the_highest_role_of_many_principals(store: ContextStore) -> None:
    folders = [new_id(ACME) for _ in range(20)]
    await add(store, context(ACME), member(ACME, "group:g199", Role.EDITOR))
    for folder in folders:
        added = await add(store, context(folder), member(folder, "group:g0"))
        await store.grant(added, member(folder, "group:g198", Role.ADMIN), entry(folder))
    principals = [f"group:g{number}" for number in range(199)]
    rights = await store.rights("tenant", [ACME, *folders], principals)
    assert rights.granted == dict.fromkeys(folders, Role.ADMIN)
    rights = await store.rights("tenant", [ACME, *folders], [*principals[:-1], "group:g199"])
    assert rights.granted == {ACME: Role.EDITOR, **dict.fromkeys(folders, Role.VIEWER)}


async def test_an_id_is_given_once(store: ContextStore) -> None:
    await add(store, context(ACME), member(ACME, "user:ada", Role.ADMIN))
    other = context(ACME, "Umbra")
    assert not await store.create(other, None, member(ACME, "user:eve", Role.ADMIN), entry(ACME))
    rights = await store.rights("tenant", [ACME], ["user:eve"])
    assert (rights.contexts[ACME].name, rights.granted) == ("Acme", {})


async def test_what_is_deleted_gets_no_children(store: ContextStore) -> None:
    acme = await add(store, context(ACME))
    assert await store.create(context(RAIL), acme, None, entry(RAIL))
    hidden = acme.model_copy(update={"state": State.DELETING})
    await store.change(hidden, entry(ACME, Action.DELETED))
    with pytest.raises(ChangedMeanwhile):
        await store.create(context(WATER), acme, None, entry(WATER))
    assert [each.context_id for each in await store.at_or_below("tenant", ACME)] == [RAIL, ACME]
    assert await store.deleting() == [hidden.model_copy(update={"version": 2})]


async def test_only_the_version_that_was_read_is_changed(store: ContextStore) -> None:
    acme = await add(store, context(ACME))
    changed = await store.change(acme.model_copy(update={"name": "Umbra"}), entry(ACME))
    assert (changed.name, changed.version) == ("Umbra", 2)
    for write in (
        store.change(acme, entry(ACME)),
        store.grant(acme, member(ACME, "user:eve"), entry(ACME)),
        store.withdraw(acme, "user:ada", entry(ACME)),
        store.remove(acme, entry(ACME, Action.REMOVED)),
    ):
        with pytest.raises(ChangedMeanwhile):
            await write
    rights = await store.rights("tenant", [ACME], ["user:eve"])
    assert rights == ({ACME: changed}, {}, ())


async def test_of_two_changes_at_once_one_is_made(store: ContextStore) -> None:
    acme = await add(store, context(ACME))
    grants = [store.grant(acme, member(ACME, f"user:{name}"), entry(ACME)) for name in "abcdefgh"]
    made = await asyncio.gather(*grants, return_exceptions=True)
    assert Counter(map(type, made)) == {ChangedMeanwhile: 7, type(None): 1}
    assert len(await store.members("tenant", [ACME], limit=9)) == 1


async def test_a_role_is_changed_and_withdrawn(store: ContextStore) -> None:
    acme = await add(store, context(ACME), member(ACME, "user:bob", Role.ADMIN))
    await store.grant(acme, member(ACME, "user:bob", Role.VIEWER), entry(ACME))
    assert (await store.rights("tenant", [ACME], ["user:bob"])).granted == {ACME: Role.VIEWER}
    acme = acme.model_copy(update={"version": 2})
    await store.withdraw(acme, "user:bob", entry(ACME))
    assert (await store.rights("tenant", [ACME], ["user:bob"])).granted == {}


@pytest.mark.parametrize("name", ["a/b?c#d", "ü" * 120, "x" * 250])
async def test_a_principal_may_have_any_name(store: ContextStore, name: str) -> None:
    acme = await add(store, context(ACME), member(ACME, f"group:{name}"))
    assert (await store.rights("tenant", [ACME], [f"group:{name}"])).granted == {ACME: Role.VIEWER}
    await store.withdraw(acme, f"group:{name}", entry(ACME))
    assert await store.members("tenant", [ACME], limit=9) == []


async def test_members_are_listed_in_pages(store: ContextStore) -> None:
    await add(store, context(ACME), member(ACME, "user:0"))
    await add(store, context(RAIL), member(RAIL, "user:9"))
    for number in range(1, 5):
        acme = context(ACME).model_copy(update={"version": number})
        await store.grant(acme, member(ACME, f"user:{number}"), entry(ACME))
    found: list[Member] = []
    while page := await store.members(
        "tenant", [ACME, RAIL], limit=2, after=member_key(found[-1]) if found else ""
    ):
        found += page
    assert sorted(each.principal for each in found) == [
        "user:0",
        "user:1",
        "user:2",
        "user:3",
        "user:4",
        "user:9",
    ]
    assert [member_key(each) for each in found] == sorted(map(member_key, found))


async def test_granted_contexts_are_listed_by_name_in_pages(store: ContextStore) -> None:
    ids = [new_id() for _ in range(5)]
    for name, each in zip(["delta", "Alpha", "charlie", "Bravo two", "echo"], ids, strict=True):
        await add(store, context(each, name), member(each, "user:bob"))
    await add(store, context(ACME, "Zulu"), member(ACME, "user:ada"))
    found: list[Context] = []
    while page := await store.granted(
        "tenant", ["user:bob"], words=[], limit=2, after=found[-1].sort_key if found else ""
    ):
        found += page
    assert [each.name for each in found] == ["Alpha", "Bravo two", "charlie", "delta", "echo"]
    named = await store.granted("tenant", ["user:bob"], words=["two", "brav"], limit=9, after="")
    assert [each.name for each in named] == ["Bravo two"]


async def test_children_are_the_contexts_directly_below(store: ContextStore) -> None:
    for each, name in [(ACME, "Acme"), (RAIL, "Rail"), (WATER, "Water"), (TRAMS, "Trams")]:
        await add(store, context(each, name))

    async def below(parent_id: str | None) -> list[str]:
        found = await store.children("tenant", parent_id, words=[], limit=9, after="")
        return [each.name for each in found]

    assert await below(None) == ["Acme"]
    assert await below(ACME) == ["Rail", "Water"]
    assert await below(RAIL) == ["Trams"]
    assert await below(TRAMS) == []
    assert [each.name for each in await store.at_or_below("tenant", RAIL)] == ["Trams", "Rail"]


async def test_a_removed_context_leaves_no_member(store: ContextStore) -> None:
    acme = await add(store, context(ACME), member(ACME, "user:ada"))
    for number in range(1, 4):
        version = acme.model_copy(update={"version": number})
        await store.grant(version, member(ACME, f"user:{number}"), entry(ACME))
    await store.remove(acme.model_copy(update={"version": 4}), entry(ACME, Action.REMOVED))
    assert await store.rights("tenant", [ACME], ["user:ada"]) == ({}, {}, ())
    assert await store.members("tenant", [ACME], limit=9) == []
    assert await store.granted("tenant", ["user:ada", "user:1"], words=[], limit=9, after="") == []


async def test_the_audit_is_read_latest_first_in_pages(store: ContextStore) -> None:
    await add(store, context(RAIL))
    acme = await add(store, context(ACME))
    for number in range(1, 5):
        version = acme.model_copy(update={"version": number})
        await store.change(version, entry(ACME, minutes=number))
    found: list[AuditEntry] = []
    while page := await store.audit(
        "tenant", context_id=ACME, limit=2, before=audit_key(found[-1]) if found else ""
    ):
        found += page
    assert [(each.at - NOW).seconds // 60 for each in found] == [4, 3, 2, 1, 0]
    assert {each.context_id for each in found} == {ACME}
    assert len(await store.audit("tenant", context_id=None, limit=99)) == 6


async def test_what_a_newer_version_has_noted_is_listed_in_its_words(store: ContextStore) -> None:
    newer = {**vars(entry(ACME, minutes=1)), "action": "context_archived", "role_after": "reviewer"}
    for noted in (entry(ACME), AuditEntry.model_validate(newer)):
        await store.note(noted)
    found, known = await store.audit("tenant", context_id=ACME, limit=9)
    shown = AuditView.of(found)
    assert (shown.action, shown.role_before, shown.role_after) == ("context_archived", None, "reviewer")
    assert known.action is Action.CHANGED


async def test_a_write_whose_confirmation_is_lost_is_made_once(cosmos_target: Target) -> None:
    transport = FaultyTransport()
    async with database(cosmos_target) as open_database:
        store = ContextStore(items_of(open_database(transport), "contexts"))
        transport.fail_after_write(408)
        acme = await add(store, context(ACME), member(ACME, "user:ada", Role.ADMIN))
        transport.fail_after_write(408)
        changed = await store.change(acme, entry(ACME))
        transport.fail_after_write(408)
        await store.grant(changed, member(ACME, "user:bob"), entry(ACME))
        rights = await store.rights("tenant", [ACME], ["user:bob"])
        assert (rights.contexts[ACME].version, rights.granted) == (3, {ACME: Role.VIEWER})
        assert len(await store.audit("tenant", context_id=ACME, limit=9)) == 3
