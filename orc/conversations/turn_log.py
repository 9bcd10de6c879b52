"""The port of the turn log, which stores hold. See docs/decisions/turn-log.md."""

from collections.abc import Callable, Sequence
from typing import Protocol

from orc.conversations.models import (
    HISTORY_TURNS,
    Begun,
    Feedback,
    Head,
    NewTurn,
    Started,
    TitleBy,
    Turn,
    TurnOutcome,
    TurnPage,
)
from orc.conversations.search import Wanted
from orc_core.names import Owner


class TurnLog(Protocol):
    """Conversations, one head each, and their turns, one item each.

    Every item is in the partition of its owner, and no write spans two of them. If two items must change
    together, the method says so, and a lost race is retried on a fresh read inside the adapter. Another
    caller's conversation is indistinguishable from an absent one.

    Every read shows a pending turn whose lease ran out as failed (code `interrupted`). Any method raises
    DependencyDown if the store cannot be used; an empty answer always means that there is nothing.
    """

    async def begin(
        self,
        owner: Owner,
        new: NewTurn,
        *,
        lease_seconds: float,
        history_limit: int = HISTORY_TURNS,
        on_started: Callable[[Started], object] | None = None,
    ) -> Begun:
        """Store the question as a pending turn, durably, before this returns.

        `on_started` is called once with what this returns, unless that is Replayed or an error. It can be
        called before the commit. Do only work there that can be thrown away: no events, no model calls.

        The attempt of `new` may begin again if it does not know whether it was stored: it gets the same turn.

        Atomic: the turn with its seq, and the head with its `turn_count`, its version, and a title from the
        question if it has none. An absent conversation is made in the same write. A known key gives Replayed
        if its turn is committed or stopped; if it failed or its lease ran out, the turn is pending again
        under another attempt. At most `history_limit` turns with a result come back, the newest before this
        turn, without those that were replaced. A stopped turn that is being retried counts, but is left out.

        A turn that replaces another one is written together with it. It replaces the last version of the one
        that is named, so that each has at most one next version. With `retry`, the request's hash does not
        count, and a stopped turn is pending again. What there was of its answer is the turn's again, with the
        status `stopped`, if this attempt fails, is interrupted, or is stopped without any text. The head has
        each turn that was begun again in `retried`, and a new version.

        Raises KeyReused (known key, other `request_hash`), TurnInFlight (known key, lease still held),
        NotFound (nothing to replace or to retry), Conflict (a retry of a turn that is answered or replaced).
        """

    async def renew(self, owner: Owner, turn_id: str, attempt: str, *, lease_seconds: float) -> Turn:
        """Hold the turn for `lease_seconds` from now.

        A lease that ran out is renewed if no other process took the turn over. Raises TurnInFlight (code
        `attempt_over`) if another did or the attempt has ended, NotFound if the turn is gone.
        """

    async def commit(self, owner: Owner, turn_id: str, attempt: str, outcome: TurnOutcome) -> Turn:
        """Store the answer, whole or stopped; it is durable when this returns.

        Atomic: the turn, and the head with what the outcome carries on and its version. The same attempt may
        commit again: the first outcome stays. Raises TurnInFlight (code `attempt_over`) if the turn was taken
        over or the attempt has failed, NotFound if the turn is gone.
        """

    async def fail(self, owner: Owner, turn_id: str, attempt: str, code: str, message: str) -> Turn:
        """Store why there is no answer, and return the turn as it is now.

        A turn that this attempt has already ended stays as it is: after a commit whose confirmation
        was lost, the turn comes back committed. Raises like `renew` if it was taken over or is gone.
        """

    async def ask_to_stop(self, owner: Owner, turn_id: str) -> Turn:
        """Have the process that answers the turn stop: it reads `stop_asked`, and commits what there is.

        Returns the turn as it is now; one that has ended stays as it ended. Raises NotFound.
        """

    async def rate(self, owner: Owner, turn_id: str, feedback: Feedback | None) -> Turn:
        """Store what the user says of the answer; None removes it. A retry removes it too.

        Raises NotFound, and Conflict (code `turn_not_answered`) for feedback on a turn without an answer.
        """

    async def page(self, owner: Owner, *, limit: int, before_seq: int | None = None) -> TurnPage | None:
        """The head, and the newest turns (before that one) by seq; None if there is no such conversation."""

    async def head(self, owner: Owner) -> Head | None:
        """The conversation's head, or None if there is no such conversation."""

    async def turn(self, owner: Owner, turn_id: str) -> Turn | None:
        """One turn, or None if there is no such turn."""

    async def turns(self, owner: Owner, *, after_seq: int = 0, limit: int = 100) -> list[Turn]:
        """Turns of every status by seq, from the first after `after_seq`; no conversation, no turns."""

    async def conversations(
        self,
        organization_id: str,
        user_id: str,
        *,
        limit: int,
        cursor: str | None = None,
        words: Sequence[Wanted] = (),
        home: str | None = None,
    ) -> tuple[list[Head], str | None]:
        """One page of a user's conversations, latest used first, and the cursor of the next, if any.

        `words`: only those that have all of them; `home`: only those that were opened in this context. A
        conversation that is used meanwhile moves to the first page. Raises InvalidInput for a wrong cursor.
        """

    async def retitle(self, owner: Owner, title: str, by: TitleBy = TitleBy.USER) -> Head:
        """Give the conversation a title; NotFound if there is no such one. Its place in lists stays.

        A model's title only takes the place of a question's words or a file's name: the head is then as
        it was.
        """

    async def ensure_conversation(self, owner: Owner, file: str = "") -> Head:
        """The conversation's head, made if absent: an upload may come before any question.

        A new one has the name of the file as its title, until there is a question.
        """

    async def delete(self, owner: Owner) -> bool:
        """Remove the conversation and all its turns; False if there was none.

        The head goes first and takes the conversation out of every other method's sight, atomically;
        its turns are gone when this returns. An answer still being made cannot be committed any more.
        """

    async def ping(self) -> None:
        """Raise DependencyDown unless the log can be used now."""
