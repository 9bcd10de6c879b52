"""The contract of the store of sessions and keys, run over every adapter."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from devkit.clock import Clock
from devkit.store_pairs import opened_items
from orc.credentials import CredentialStore
from orc.identity import Principal
from orc.settings import CallerSettings
from orc_core.errors import NotAuthenticated
from orc_core.infra.keys import Keys

pytestmark = pytest.mark.contract("credential store")

DAY = 24 * 60 * 60
ADA = Principal(
    "acme", "ada", frozenset({"reader"}), frozenset(f"group-{n}" for n in range(250)), name="Ada Lovelace"
)


@pytest.fixture
async def stores(
    adapter: str, clock: Clock, request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[list[CredentialStore]]:
    """The stores of two processes over the same data, with one key."""
    async with opened_items(adapter, request, tmp_path, "credentials") as open_items:
        settings = CallerSettings(jwt_issuer="https://issuer.example")
        yield [CredentialStore(await open_items(), Keys("k" * 32), settings, clock) for _ in range(2)]


async def test_a_session_has_all_that_is_known_of_its_user(
    stores: list[CredentialStore], clock: Clock
) -> None:
    one, other = stores
    secret = await one.begin_session(ADA, seconds=600, id_token="an id token")
    found = await other.session(secret)
    assert found is not None
    assert (found.principal, found.principal.name) == (ADA, "Ada Lovelace")
    assert (found.principal.until, found.id_token) == (clock.now + 600, "an id token")
    assert await other.session(secret + "x") is None
    assert await other.session("") is None


async def test_a_session_ends_at_its_time_and_with_the_sign_out_everywhere(
    stores: list[CredentialStore], clock: Clock
) -> None:
    one, other = stores
    first, second = [await one.begin_session(ADA, seconds=600) for _ in range(2)]
    await other.end_session(first)
    await one.end_session(first)
    assert (await one.session(first), (await one.session(second)) is None) == (None, False)
    clock.now += 600
    assert await other.session(second) is None


async def test_a_mark_is_used_once_by_all_processes(stores: list[CredentialStore]) -> None:
    uses = await asyncio.gather(*(stores[n % 2].use_once("state", seconds=600) for n in range(8)))
    assert sum(uses) == 1
    assert await stores[0].use_once("another state", seconds=600)
    assert await stores[0].session("state") is None


async def test_what_one_process_sealed_another_one_opens_until_its_time(
    stores: list[CredentialStore],
) -> None:
    one, other = stores
    assert other.unseal(one.seal({"place": "/"}, seconds=1e9), ["place"])["place"] == "/"
    with pytest.raises(NotAuthenticated):
        other.unseal(one.seal({"place": "/"}, seconds=-1e9), ["place"])


async def test_keys_are_known_used_renewed_and_revoked_by_all_processes(
    stores: list[CredentialStore], clock: Clock
) -> None:
    one, other = stores
    bob = Principal("acme", "bob")
    for user in (ADA, bob):
        await one.begin_session(user, seconds=600)
    first, secret = await one.create_key(ADA, "laptop")
    clock.now += 1
    second, _ = await other.create_key(ADA, "server")
    await one.create_key(bob, "another user's")
    assert [key.name for key in await one.keys_of(ADA)] == ["server", "laptop"]
    assert await other.key_owner(secret) == ADA
    assert (await one.keys_of(ADA))[1].last_used == "2027-01-15"
    await one.begin_session(Principal("acme", "ada"), seconds=600)
    renewed = await other.key_owner(secret)
    assert renewed is not None and renewed.groups == frozenset()
    assert not await one.revoke_key(bob, second.key_id)
    assert await other.revoke_key(ADA, first.key_id)
    assert (await one.key_owner(secret), [key.name for key in await one.keys_of(ADA)]) == (None, ["server"])


async def test_a_key_for_one_path_is_none_elsewhere_in_any_process_or_version(
    stores: list[CredentialStore],
) -> None:
    one, other = stores
    await one.begin_session(ADA, seconds=600)
    made, secret = await one.create_key(ADA, "chat page", "v1")
    # A version that knows no limits looks for the hash of the secret.
    assert made.key_id != hashlib.sha256(secret.encode()).hexdigest()
    assert [await other.key_owner(secret, path) for path in ("", "api", "mcp", "V1")] == [None] * 4
    assert await other.key_owner(secret, "v1") == ADA
    assert [(key.only, key.last_used) for key in await one.keys_of(ADA)] == [("v1", "2027-01-15")]
    assert await other.revoke_key(ADA, made.key_id)
    assert await one.key_owner(secret, "v1") is None


async def test_a_sign_in_and_the_use_of_a_key_at_the_same_time_lose_neither_keys_nor_roles(
    stores: list[CredentialStore], clock: Clock
) -> None:
    one, other = stores
    await one.begin_session(ADA, seconds=600)
    secrets = [(await one.create_key(ADA, f"key {number}"))[1] for number in range(4)]
    fewer = Principal("acme", "ada")
    for _ in range(5):
        clock.now += DAY
        await one.begin_session(ADA, seconds=600)
        uses = (other.key_owner(secret) for secret in secrets)
        await asyncio.gather(*uses, one.begin_session(fewer, seconds=600), *map(other.key_owner, secrets))
        assert [await other.key_owner(secret) for secret in secrets] == [fewer] * 4


async def test_an_operator_ends_all_of_a_user_or_of_everyone_in_all_processes(
    stores: list[CredentialStore],
) -> None:
    one, other = stores
    of: dict[str, list[str]] = {}
    for user in (ADA, Principal("globex", "ada"), Principal("acme", "bob")):
        sessions = [await one.begin_session(user, seconds=600) for _ in range(2)]
        of[f"{user.organization_id} {user.user_id}"] = [*sessions, (await one.create_key(user, "laptop"))[1]]
    assert await one.use_once("state", seconds=600)

    async def valid() -> dict[str, int]:
        return {
            user: sum([bool(await other.session(each) or await other.key_owner(each)) for each in secrets])
            for user, secrets in of.items()
        }

    assert await one.end_all("adam") == 0
    assert await one.end_all("ada") == 6
    assert await valid() == {"acme ada": 0, "globex ada": 0, "acme bob": 3}
    with pytest.raises(NotAuthenticated):
        await other.create_key(ADA, "from a page that is still open")
    assert (await one.end_all(None), sum((await valid()).values())) == (3, 0)
    # An answer of the identity provider still counts once.
    assert not await other.use_once("state", seconds=600)
    # Nothing of the former keys comes back with the next sign-in.
    await one.begin_session(ADA, seconds=600)
    assert await other.keys_of(ADA) == []
