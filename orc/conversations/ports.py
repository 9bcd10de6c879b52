"""The port of the turn log. Adapters: SQLite and Cosmos DB."""

from typing import Protocol

from core.names import Owner
from orc.conversations.models import Begun, Head, NewTurn, Turn, TurnOutcome

HISTORY_TURNS = 12


class TurnLog(Protocol):
    """Conversations, one head each, and their turns, one item each.

    Every item is in the partition of its owner (organization, user, conversation), and no write
    spans two of them. Where two items must change together the method says so; the write is then a
    transaction or a batch conditioned on the head's version, and a lost race is retried on a fresh
    read inside the adapter. Another caller's conversation is indistinguishable from an absent one.

    Every read shows a pending turn whose lease ran out as failed (code `interrupted`), whether or not
    anything was written. Any method raises DependencyDown when the store cannot be read or written;
    an empty answer always means that there is nothing.
    """

    async def begin(
        self,
        owner: Owner,
        new: NewTurn,
        *,
        lease_seconds: float,
        create: bool,
        history_limit: int = HISTORY_TURNS,
    ) -> Begun:
        """Store the question as a pending turn, durably, before this returns.

        Atomic: the turn with its seq, and the head with its `turn_count` and version. With `create`
        an absent conversation is made in the same write. A known key gives Replayed if its turn is
        committed; if it failed or its lease ran out, the turn is taken over: same id and seq, pending
        under another attempt. `history_limit` bounds the committed turns that come back: the newest
        ones before this turn.

        Raises KeyReused (known key, other `request_hash`), TurnInFlight (known key, lease still held),
        NotFound (no such conversation, and not `create`).
        """

    async def renew(self, owner: Owner, turn_id: str, attempt: str, *, lease_seconds: float) -> Turn:
        """Hold the turn for `lease_seconds` from now.

        A lease that ran out is renewed if no other process took the turn over. Raises TurnInFlight (code
        `attempt_over`) if another did or the attempt has ended, NotFound if the turn is gone.
        """

    async def commit(self, owner: Owner, turn_id: str, attempt: str, outcome: TurnOutcome) -> Turn:
        """Store the answer; it is durable when this returns.

        Atomic: the turn, and the head with what the outcome carries on (a None leaves the head's
        value), its version, and a title from the question if it has none. The same attempt may commit
        again: the first outcome stays. A lease that ran out does not matter unless the turn was taken
        over. Raises TurnInFlight (code `attempt_over`) if it was or the attempt has failed, NotFound if
        the turn is gone.
        """

    async def fail(self, owner: Owner, turn_id: str, attempt: str, code: str, message: str) -> Turn:
        """Store why there is no answer, and return the turn as it is now.

        A turn that this attempt has already ended stays as it is: after a commit whose confirmation
        was lost, the turn comes back committed. Raises like `renew` if it was taken over or is gone.
        """

    async def head(self, owner: Owner) -> Head | None:
        """The conversation's head, or None where there is no such conversation."""

    async def turn(self, owner: Owner, turn_id: str) -> Turn | None:
        """One turn, or None where there is no such turn."""

    async def turns(self, owner: Owner, *, after_seq: int = 0, limit: int = 100) -> list[Turn]:
        """Turns of every status by seq, from the first after `after_seq`; no conversation, no turns."""

    async def conversations(
        self, organization_id: str, user_id: str, *, limit: int, cursor: str | None = None
    ) -> tuple[list[Head], str | None]:
        """One page of a user's conversations, latest used first, and the cursor of the next, if any.

        A cursor holds a place in that order, so nothing comes twice; a conversation that is used
        meanwhile moves to the first page. Raises InvalidInput for a cursor that is not from here.
        """

    async def ensure_conversation(self, owner: Owner) -> Head:
        """The conversation's head, made if absent: an upload may come before any question."""

    async def delete(self, owner: Owner) -> bool:
        """Remove the conversation and all its turns; False where there was none.

        The head goes first and takes the conversation out of every other method's sight, atomically;
        its turns are gone when this returns. An answer still being made cannot be committed any more.
        """

    async def ping(self) -> None:
        """Raise DependencyDown unless the log can be used now."""
