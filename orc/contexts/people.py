"""Who can be given a role: those who have signed in, and the users and groups of a directory, if any."""

import logging
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Literal, Protocol

from pydantic import Field

from orc.contexts.models import GROUP, USER, fold
from orc.contexts.store import PLAIN_PRINCIPAL
from orc.conversations.models import utc_now
from orc.identity import Principal
from orc_core.errors import InvalidInput, Unavailable
from orc_core.infra.items import Item, Items, Raced, Where, delete, equal, id_part, upsert
from orc_core.models import Record

logger = logging.getLogger(__name__)
KEPT_DAYS = 90
"""People who have not opened the page for so long are not found any more."""
MOST_FOUND = 20
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


class Person(Record):
    """A user or a group that can be given a role, by the id that the sign-in uses."""

    kind: Literal["user", "group"] = "user"
    id: str
    name: str = Field(default="", examples=["Ada Lovelace"])
    email: str = Field(default="", examples=["ada@example.com"])


class Directory(Protocol):
    """The users and groups of an organization, whether they have ever signed in here or not."""

    async def find(self, organization_id: str, words: str) -> list[Person]:
        """Those whose name or address begins with the words, if there are any words.

        None of an organization that it does not know. Raises DependencyDown.
        """


# Why this is stored, and what of it: docs/decisions/contexts-and-rights.md.
class People:
    """Remembers who opens the page, in the partition of their organization, so that others find them."""

    def __init__(
        self, items: Items, directory: Directory | None = None, clock: Callable[[], datetime] = utc_now
    ) -> None:
        self._items = items
        self.directory = directory
        self._clock = clock

    async def note(self, who: Principal) -> None:
        """Remember a caller's name and address, once a day. Without a store there is no one to find."""
        if not (who.name or who.email):
            return
        person = Person(id=who.user_id, name=who.name or "", email=who.email or "")
        item: Item = {
            "id": _item_id(who.user_id),
            "kind": "person",
            "sort_key": fold(f"{person.name} {person.email}"),
            "day": self._clock().date().isoformat(),
            "ttl": KEPT_DAYS * 24 * 60 * 60,
            "item": person.model_dump(mode="json"),
        }
        with suppress(Unavailable):
            stored = await self._items.read([who.organization_id], item["id"]) or {}
            if any(stored.get(name) != item[name] for name in ("item", "day")):
                await self._items.write([who.organization_id], upsert(item))

    async def forget(self, user_id: str) -> None:
        """Remove what is remembered of the users with this id, in any organization."""
        for each in await self._items.query([], equal(kind="person", id=_item_id(user_id))):
            with suppress(Raced):
                await self._items.write([each["organization_id"]], delete(each["id"]))

    async def find(self, organization_id: str, words: str) -> tuple[list[Person], bool]:
        """People with all these words in name or address, and whether the directory, if any, was asked too.

        Of the caller's own organization alone: that is the partition which is read.
        """
        since = (self._clock() - timedelta(days=KEPT_DAYS)).date().isoformat()
        stored = await self._items.query(
            [organization_id],
            equal(kind="person"),
            Where("day", ">=", since),
            *(Where("sort_key", "has", word) for word in fold(words).split()),
            order="sort_key",
            limit=MOST_FOUND,
        )
        people = [Person.model_validate(item["item"]) for item in stored]
        try:
            others = await self.directory.find(organization_id, words) if self.directory else []
        except Unavailable as exc:
            logger.warning("the directory was not asked: %s", exc.message)
            return people, False
        known = {each.id for each in people}
        return [*people, *(each for each in others if each.id not in known)], True

    async def label(self, caller: Principal, principal: str) -> str:
        """The name of a new member, or "". Raises InvalidInput for an id that no identity here can have."""
        given = principal.partition(":")[2]
        if principal.startswith(USER):
            stored = await self._items.read([caller.organization_id], _item_id(given))
            if stored is not None:
                person = Person.model_validate(stored["item"])
                return person.name or person.email
        known: Sequence[str] = sorted(caller.groups) if principal.startswith(GROUP) else [caller.user_id]
        if given and known and not any(_is_alike(given, each) for each in known):
            raise InvalidInput(
                "Ids of your sign-in have another form. Look for the person by name or e-mail address. People"
                " who have never opened Orc do so once, or are added by the id, in Entra the object ID.",
                field="principal",
                code="unknown_person",
            )
        return ""


def _item_id(user_id: str) -> str:
    return f"person:{id_part(user_id, PLAIN_PRINCIPAL)}"


def _is_alike(given: str, known: str) -> bool:
    """Whether both can be ids of one sign-in: no address if ids are none, and a UUID if they are UUIDs."""
    is_uuid, was_uuid = (_UUID.fullmatch(each) is not None for each in (given, known))
    return ("@" not in given or "@" in known) and (is_uuid or not was_uuid)
