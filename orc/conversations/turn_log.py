"""The turn log: conversations, one head each, and their turns. See docs/decisions/turn-log.md."""

from collections.abc import Callable, Sequence
from datetime import datetime

from orc.conversations import transitions
from orc.conversations.listing import first_page, place_of, read_cursor
from orc.conversations.models import (
    HISTORY_TURNS,
    NO_SEQ,
    Begun,
    Failure,
    Feedback,
    Head,
    NewTurn,
    Replayed,
    Started,
    TitleBy,
    Turn,
    TurnOutcome,
    TurnPage,
    TurnStatus,
    utc_now,
)
from orc.conversations.search import MOST_SAID, Wanted, latest_passages
from orc.conversations.stored import (
    HEAD,
    LIFE,
    OWNER,
    Conversation,
    head_of,
    is_listed,
    is_of_another,
    is_older,
    is_said,
    of_heads,
    turn_id_of,
    turn_item,
    turn_of,
)
from orc_core.infra.items import (
    MOST_CHANGES,
    VERSION,
    Condition,
    Item,
    Items,
    Where,
    delete,
    equal,
    over,
    repeated_if_raced,
)
from orc_core.names import Owner


class TurnLog:
    """Conversations, one head each, and their turns, one item each.

    Every item is in the partition of its owner, and no write spans two of them. If two items must change
    together, the method says so, and a lost race is retried on a fresh read. Another caller's conversation is
    indistinguishable from an absent one.

    Every read shows a pending turn whose lease ran out as failed (code `interrupted`). Any method raises
    DependencyDown if the store cannot be used; an empty answer always means that there is nothing.

    Turns belong to one life of their conversation, which ends with its head: what a deletion that was
    cut short has left behind is not visible. Any write may have been made before, its confirmation
    lost: each is conditional, and where the condition does not hold, it is read and judged again.
    """

    def __init__(self, items: Items, *, clock: Callable[[], datetime] = utc_now) -> None:
        self._items = items
        self._clock = clock

    @repeated_if_raced
    async def begin(
        self, owner: Owner, new: NewTurn, *, lease_seconds: float, history_limit: int = HISTORY_TURNS
    ) -> Begun:
        """Store the question as a pending turn, durably, before this returns.

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
        now = self._clock()
        conversation = await self._find(owner)
        if conversation is None:
            conversation = Conversation.begun(transitions.first_head(owner, now))
        stored = await self._stored(conversation, new.key)
        before, replaced = turn_of(stored) if stored else None, None
        if new.replaces is not None and stored is None:
            replaced = await self._last_version(conversation, new.replaces)
        head, turn = transitions.begin_turn(
            conversation.head, before, new, lease_seconds, now, turn_of(replaced) if replaced else None
        )
        if turn.status.has_result:
            return Replayed(turn=turn)
        if turn is not before:
            await self._put(conversation, head, turn, stored, replaced)
        # After the write: the session then holds whatever was committed before it.
        found = await self._newest(
            conversation, turn.seq, history_limit, equal(status=TurnStatus.COMMITTED.value)
        )
        history = transitions.history_of([turn_of(item) for item in found], now)
        if head.contexts or head.home or any(each.contexts for each in history):
            # A turn that was committed meanwhile has noted on the head which contexts it was shown.
            latest = await self._find(owner)
            head = latest.head if latest and latest.life == conversation.life else head
        return Started(turn=turn, head=head, history=history)

    async def renew(self, owner: Owner, turn_id: str, attempt: str, *, lease_seconds: float) -> Turn:
        """Hold the turn for `lease_seconds` from now.

        A lease that ran out is renewed if no other process took the turn over. Raises TurnInFlight (code
        `attempt_over`) if another did or the attempt has ended, NotFound if the turn is gone.
        """
        return await self._change(
            owner, turn_id, lambda turn, now: transitions.renew_turn(turn, attempt, lease_seconds, now)
        )

    @repeated_if_raced
    async def commit(self, owner: Owner, turn_id: str, attempt: str, outcome: TurnOutcome) -> Turn:
        """Store the answer, whole or stopped; it is durable when this returns.

        Atomic: the turn, and the head with what the outcome carries on and its version. The same attempt may
        commit again: the first outcome stays. Raises TurnInFlight (code `attempt_over`) if the turn was taken
        over or the attempt has failed, NotFound if the turn is gone.
        """
        conversation = await self._found(owner)
        stored = await self._stored(conversation, turn_id)
        before = turn_of(stored) if stored else None
        head, turn = transitions.commit_turn(conversation.head, before, attempt, outcome, self._clock())
        if turn is not before:
            await self._put(conversation, head, turn, stored)
        return turn

    async def fail(self, owner: Owner, turn_id: str, attempt: str, code: str, message: str) -> Turn:
        """Store why there is no answer, and return the turn as it is now.

        A turn that this attempt has already ended stays as it is: after a commit whose confirmation
        was lost, the turn comes back committed. Raises like `renew` if it was taken over or is gone.
        """
        failure = Failure(code=code, message=message)
        return await self._change(
            owner, turn_id, lambda turn, now: transitions.fail_turn(turn, attempt, failure, now)
        )

    async def ask_to_stop(self, owner: Owner, turn_id: str) -> Turn:
        """Have the process that answers the turn stop: it reads `stop_asked`, and commits what there is.

        Returns the turn as it is now; one that has ended stays as it ended. Raises NotFound.
        """
        asked = await self._change(owner, turn_id, transitions.ask_to_stop)
        return transitions.as_read(asked, self._clock())

    async def rate(self, owner: Owner, turn_id: str, feedback: Feedback | None) -> Turn:
        """Store what the user says of the answer; None removes it. A retry removes it too.

        Raises NotFound, and Conflict (code `turn_not_answered`) for feedback on a turn without an answer.
        """
        rated = await self._change(
            owner, turn_id, lambda turn, now: transitions.rate_turn(turn, feedback, now)
        )
        return transitions.as_read(rated, self._clock())

    async def head(self, owner: Owner) -> Head | None:
        """The conversation's head, or None if there is no such conversation."""
        conversation = await self._find(owner)
        return conversation and conversation.head

    async def known_head(self, owner: Owner) -> Head:
        """The conversation's head. Raises NotFound if there is no such conversation."""
        return (await self._found(owner)).head

    async def turn(self, owner: Owner, turn_id: str) -> Turn | None:
        """One turn, or None if there is no such turn."""
        conversation = await self._find(owner)
        stored = conversation and await self._stored(conversation, turn_id)
        return transitions.as_read(turn_of(stored), self._clock()) if stored else None

    async def turns(self, owner: Owner, *, after_seq: int = 0, limit: int = 100) -> list[Turn]:
        """Turns of every status by seq, from the first after `after_seq`; no conversation, no turns."""
        conversation = await self._find(owner)
        if conversation is None:
            return []
        later = (equal(life=conversation.life), Where("seq", ">", after_seq))
        found = await self._items.query(owner.key, *later, order="seq", limit=limit)
        return [transitions.as_read(turn_of(item), self._clock()) for item in found]

    async def page(self, owner: Owner, *, limit: int, before_seq: int | None = None) -> TurnPage | None:
        """The head, and the newest turns (before that one) by seq; None if there is no such conversation."""
        conversation = await self._find(owner)
        if conversation is None:
            return None
        before = NO_SEQ if before_seq is None else before_seq
        found = await self._newest(conversation, before, limit)
        turns = [transitions.as_read(turn_of(item), self._clock()) for item in reversed(found)]
        return TurnPage(head=conversation.head, turns=turns)

    async def conversations(
        self,
        organization_id: str,
        user_id: str,
        *,
        limit: int,
        cursor: str | None = None,
        words: Sequence[Wanted] = (),
        among: Sequence[str] = (),
        home: str | None = None,
        about: str | None = None,
    ) -> tuple[list[Head], str | None]:
        """One page of a user's conversations, latest used first, and the cursor of the next, if any.

        `words`: only those that have all of them, and those `among` these ids; `home`: only those that were
        opened in this context; `about`: also those with a question about it. One that is used meanwhile moves
        to the first page. Raises InvalidInput.
        """
        user, listed = (organization_id, user_id), is_listed(read_cursor(cursor), words, among, home, about)
        found = await self._items.query(user, *listed, order="place", descending=True, limit=limit + 1)
        # Each conversation is its own partition, and the database may sort them separately.
        heads = sorted(map(head_of, found), key=place_of, reverse=True)
        return first_page(heads, limit, place_of)

    async def said(
        self, organization_id: str, user_id: str, words: Sequence[Wanted]
    ) -> dict[str, tuple[str, str]]:
        """Conversations with a turn that has all words, by id: the id and a part of the latest such turn."""
        user = (organization_id, user_id)
        found = await self._items.query(
            user, *is_said(words), order="asked", descending=True, limit=MOST_SAID
        )
        # Their heads, or those of later conversations of the same ids.
        of_turns = Where("conversation_id", "in", [*{each["conversation_id"] for each in found}])
        heads = await self._items.query(user, equal(id=HEAD), of_turns, fields=LIFE)
        return latest_passages(map(turn_of, of_heads(found, heads)), words)

    async def retitle(self, owner: Owner, title: str, by: TitleBy = TitleBy.USER) -> Head:
        """Give the conversation a title; NotFound if there is no such one. Its place in lists stays.

        A model's title only takes the place of a question's words or a file's name.
        """
        return await self._change_head(owner, lambda head: transitions.retitle_head(head, title, by))

    async def pin(self, owner: Owner, is_pinned: bool) -> Head:
        """Have lists begin with the conversation, or no longer; NotFound if there is no such one."""
        return await self._change_head(owner, lambda head: transitions.pin_head(head, is_pinned))

    @repeated_if_raced
    async def ensure_conversation(self, owner: Owner, file: str = "") -> Head:
        """The conversation's head, which an upload uses, or makes if it comes before any question.

        A new one has the name of the file as its title, until there is a question.
        """
        conversation, now = await self._find(owner), self._clock()
        if conversation is None:
            conversation = Conversation.begun(head := transitions.first_head(owner, now, file))
        else:
            head = transitions.use_head(conversation.head, now)
        await self._items.write(owner.key, conversation.written(head))
        return head

    async def unused_since(self, moment: datetime) -> list[Owner]:
        """The conversations of all users that were last used before it, or that have ended but left turns."""
        found = await self._items.query([], is_older(moment), fields=OWNER)
        return [Owner(*(item[name] for name in OWNER)) for item in found]

    @repeated_if_raced
    async def end(self, owner: Owner, is_meant: Callable[[Conversation], bool]) -> bool:
        """Remove the head if this one is meant, all else by `delete_ended`; False if there is another."""
        present = await self._find(owner)
        if present and (is_ending := is_meant(present)):
            await self._items.write(owner.key, *present.ended())
        return present is None or is_ending

    @repeated_if_raced
    async def delete_ended(self, owner: Owner) -> None:
        """Remove the turns of conversations of this id that have ended."""
        alive, fields = "", ["id", "life", VERSION]
        while found := await self._items.query(
            owner.key, *is_of_another(alive), order="seq", limit=MOST_CHANGES, fields=fields
        ):
            # Read after them: a life that had turns by then, and has no head now, will not come back.
            present = await self._find(owner)
            alive = present.life if present else ""
            if ended := [delete(each["id"], each[VERSION]) for each in found if each["life"] != alive]:
                await self._items.write(owner.key, *ended)

    async def delete(self, owner: Owner) -> bool:
        """Remove the conversation and all its turns; False if there was none.

        The head goes first and takes the conversation out of every other method's sight, atomically;
        its turns are gone when this returns. An answer still being made cannot be committed any more.
        """
        if ending := await self._find(owner):
            await self.end(owner, lambda present: present.life == ending.life)
        await self.delete_ended(owner)
        return ending is not None

    async def ping(self) -> None:
        """Raise DependencyDown unless the log can be used now."""
        await self._items.ping()

    async def _find(self, owner: Owner) -> Conversation | None:
        item = await self._items.read(owner.key, HEAD)
        return None if item is None else Conversation(head_of(item), item["life"], item)

    async def _found(self, owner: Owner) -> Conversation:
        if (conversation := await self._find(owner)) is None:
            raise transitions.missing_conversation()
        return conversation

    async def _stored(self, conversation: Conversation, turn_id: str) -> Item | None:
        return await self._items.read(conversation.head.owner.key, turn_id_of(conversation.life, turn_id))

    async def _newest(
        self, conversation: Conversation, before: int, limit: int, *conditions: Condition
    ) -> list[Item]:
        """Turns before that one by seq, the newest first."""
        earlier = (equal(life=conversation.life), Where("seq", "<", before), *conditions)
        key = conversation.head.owner.key
        return await self._items.query(key, *earlier, order="seq", descending=True, limit=limit)

    @repeated_if_raced
    async def _change(
        self, owner: Owner, turn_id: str, change: Callable[[Turn | None, datetime], Turn]
    ) -> Turn:
        """Write what `change` makes of the turn; only the turn changes."""
        conversation = await self._found(owner)
        stored = await self._stored(conversation, turn_id)
        before = turn_of(stored) if stored else None
        turn = change(before, self._clock())
        if turn is not before:
            await self._items.write(owner.key, over(stored, turn_item(turn, conversation.life)))
        return turn

    @repeated_if_raced
    async def _change_head(self, owner: Owner, change: Callable[[Head], Head]) -> Head:
        """Write what `change` makes of the head; nothing if that is the same."""
        conversation = await self._found(owner)
        head = change(conversation.head)
        if head is not conversation.head:
            await self._items.write(owner.key, conversation.written(head))
        return head

    async def _last_version(self, conversation: Conversation, turn_id: str) -> Item:
        """The last version of a turn; NotFound if there is none."""
        stored = await self._stored(conversation, turn_id)
        while stored is not None and (replaced_by := stored["item"].get("replaced_by")) is not None:
            stored = await self._stored(conversation, replaced_by)
        if stored is None:
            raise transitions.missing_turn()
        return stored

    async def _put(
        self,
        conversation: Conversation,
        head: Head,
        turn: Turn,
        stored: Item | None = None,
        replaced: Item | None = None,
    ) -> None:
        """Write head, turn and the version that it replaces together, over what was read."""
        changes = [conversation.written(head), over(stored, turn_item(turn, conversation.life))]
        if replaced is not None:
            before = transitions.replaced_turn(turn_of(replaced), turn)
            changes.append(over(replaced, turn_item(before, conversation.life)))
        await self._items.write(head.owner.key, *changes)
