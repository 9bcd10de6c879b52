"""Links by which others of the organization read a conversation: made, listed, withdrawn, and followed."""

import hashlib
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from pydantic import Field

from orc.contexts.models import Action, AuditEntry
from orc.contexts.service import Caller
from orc.contexts.store import entry_item
from orc.contexts.withholding import RevokedAnswers
from orc.conversations.models import Head, Turn, utc_now
from orc.conversations.turn_log import TurnLog
from orc.identity import Principal
from orc_core.errors import Conflict, Forbidden, InvalidInput, NotFound
from orc_core.infra.items import Item, Items, Raced, create, delete, equal, remove
from orc_core.models import Record
from orc_core.names import Owner

SECRET_BYTES = 32
MOST_LINKS = 20
"""Of one conversation."""
_KIND = "share_link"


class ShareLink(Record):
    """A link without its secret. It shows the turns up to `last_seq`, without those in `replaced`."""

    organization_id: str
    user_id: str
    conversation_id: str
    link_id: str = Field(description="the hash of its secret")
    owner_name: str | None = None
    title: str | None = Field(default=None, description="of then: that of now may follow an edit")
    begun_at: datetime = Field(description="when the conversation was: a later one may get the same id")
    last_seq: int
    replaced: list[int] = []
    created_at: datetime
    ends_at: datetime

    @property
    def owner(self) -> Owner:
        """The conversation."""
        return Owner(self.organization_id, self.user_id, self.conversation_id)

    @property
    def turn_count(self) -> int:
        """Its questions, each once however many versions it has."""
        return self.last_seq - len(self.replaced)

    def shows(self, turn: Turn) -> bool:
        """Whether the turn had its present answer when the link was made; if stopped early, it has none."""
        had_ended = turn.finished_at is not None and turn.finished_at <= self.created_at
        is_answered = turn.status.has_result and turn.assistant is not None and turn.assistant.content != ""
        return is_answered and had_ended and turn.seq not in self.replaced


# What a reader sees, and what stays behind rights: docs/decisions/sharing.md.
@dataclass(frozen=True)
class Sharing:
    """Links are items of the collection of contexts, so that one write makes a link and its audit entry.

    They are in the partition of their organization: a reader of another one reads from another partition.
    """

    items: Items
    turns: TurnLog
    revoked: RevokedAnswers
    longest_days: int
    """How long a link may be valid; 0: no conversation is shared, and no earlier link leads anywhere."""
    clock: Callable[[], datetime] = utc_now

    async def share(self, caller: Caller, owner: Owner, days: int) -> tuple[ShareLink, str]:
        """A new link to the turns of now, and its secret, which is not stored.

        Raises Forbidden (code `no_sharing`), NotFound, InvalidInput for too many days, and Conflict without
        any turn or with too many links.
        """
        if not self.longest_days:
            message = "Conversations are not shared here: there is one user, or an operator has decided so."
            raise Forbidden(message, code="no_sharing")
        if days > self.longest_days:
            raise InvalidInput(f"A link is valid for at most {self.longest_days} days.", field="days")
        head = await self.turns.known_head(owner)
        if not head.turn_count:
            raise Conflict("There is nothing to share yet.", code="nothing_to_share")
        if len(await self.links(owner)) >= MOST_LINKS:
            raise Conflict(
                f"This conversation has {MOST_LINKS} links. Withdraw one first.", code="too_many_links"
            )
        secret, now = secrets.token_urlsafe(SECRET_BYTES), self.clock()
        link = ShareLink(
            **asdict(owner),
            link_id=_hash(secret),
            owner_name=caller.principal.name,
            title=head.title,
            begun_at=head.created_at,
            last_seq=head.turn_count,
            replaced=head.replaced,
            created_at=now,
            ends_at=now + timedelta(days=days),
        )
        # A random id was never stored: if it is there, this write was made, and its confirmation lost.
        with suppress(Raced):
            noted = create(_entry(caller, link, Action.SHARED, now))
            await self.items.write([link.organization_id], create(_item(link)), noted)
        return link, secret

    async def links(self, owner: Owner) -> list[ShareLink]:
        """The valid links of a conversation, latest first."""
        found = map(self._link, await self._stored(**asdict(owner)))
        valid = [link for link in found if self.clock() < link.ends_at]
        return sorted(valid, key=lambda link: link.created_at, reverse=True)

    async def withdraw_all(self, caller: Caller, user_id: str) -> int:
        """End all links of a user at once, also those that lead nowhere by the settings of now."""
        found = await self._stored(caller.principal.organization_id, user_id=user_id)
        await self.withdraw(caller, [*map(self._link, found)])
        return len(found)

    async def withdraw(self, caller: Caller, links: Sequence[ShareLink]) -> None:
        """End these links at once."""
        for link in links:
            noted = create(_entry(caller, link, Action.UNSHARED, self.clock()))
            # Another request has withdrawn it.
            with suppress(Raced):
                await self.items.write([link.organization_id], delete(_item_id(link.link_id)), noted)

    async def follow(self, reader: Principal, secret: str) -> tuple[ShareLink, Head]:
        """The link with this secret, and its conversation. Raises NotFound, whatever is missing."""
        item_id = _item_id(_hash(secret))
        stored = await self.items.read([reader.organization_id], item_id) if self.longest_days else None
        if stored is not None and self.clock() < (link := self._link(stored)).ends_at:
            head = await self.turns.head(link.owner)
            if head is not None and head.created_at == link.begun_at:
                return link, head
        raise NotFound("This link does not lead anywhere, or no longer does.", code="no_such_link")

    async def shown(
        self, reader: Principal, link: ShareLink, head: Head, *, after_seq: int, limit: int
    ) -> tuple[list[Turn], int | None]:
        """Turns with an answer that the link shows, by seq, and the `after_seq` of the next ones, if any."""
        found = await self.turns.turns(link.owner, after_seq=after_seq, limit=limit + 1)
        shared = [turn for turn in found if turn.seq <= link.last_seq]
        page = await self.revoked.shown(reader, head, shared[:limit])
        shown = [turn for turn in page if link.shows(turn)]
        return shown, page[-1].seq if len(shared) > limit else None

    async def _stored(self, organization_id: str, **of: str) -> list[Item]:
        return await self.items.query([organization_id], equal(kind=_KIND, **of))

    def _link(self, item: Item) -> ShareLink:
        """The link of an item; it ends sooner if an operator has shortened the time of links since."""
        link = ShareLink.model_validate(item["item"])
        latest = link.created_at + timedelta(days=self.longest_days)
        return link.model_copy(update={"ends_at": min(link.ends_at, latest)})


async def forget_links(items: Items, owner: Owner) -> None:
    """Remove the links of a conversation that is deleted."""
    of = equal(kind=_KIND, **asdict(owner))
    await remove(items, [owner.organization_id], lambda: items.query([owner.organization_id], of))


def _hash(secret: str) -> str:
    # A plain hash: 32 random bytes cannot be guessed.
    return hashlib.sha256(secret.encode()).hexdigest()


def _item_id(link_id: str) -> str:
    return f"{_KIND}:{link_id}"


def _item(link: ShareLink) -> Item:
    return {
        "id": _item_id(link.link_id),
        "kind": _KIND,
        "user_id": link.user_id,
        "conversation_id": link.conversation_id,
        "ttl": int((link.ends_at - link.created_at).total_seconds()),
        "item": link.model_dump(mode="json"),
    }


def _entry(caller: Caller, link: ShareLink, action: Action, now: datetime) -> Item:
    return entry_item(
        AuditEntry(
            organization_id=link.organization_id,
            at=now,
            actor=caller.principal.user_id,
            action=action,
            conversation_id=link.conversation_id,
            principal=f"user:{link.user_id}",
            trace_id=caller.trace_id,
        )
    )
