"""Heads and turns as items of Cosmos DB, and back."""

import hashlib
import re
import uuid
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from orc.conversations import transitions
from orc.conversations.listing import first_page, place_of, read_cursor, sortable
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
from orc.conversations.search import Wanted
from orc_core.names import Owner
from orc_core.storage.cosmos.client import ETAG, Container, Item, Operation, create, delete, replace, unraced

HEAD = "head"
SAID_TWICE = {"answer": "content", "citations": "citations"}
"""What a result and the assistant's message both hold, under their names for it: stored once."""

_PLAIN_KEY = re.compile(r"[\w.-]+", re.ASCII)


def turn_id_of(life: str, key: str) -> str:
    """The id of a turn's item."""
    # The service takes neither slashes nor question marks in an id, nor more than 1,023 bytes.
    name = key if _PLAIN_KEY.fullmatch(key) else f"~{hashlib.sha256(key.encode()).hexdigest()}"
    return f"turn:{life}:{name}"


def head_of(item: Item) -> Head:
    """The head that an item holds."""
    return Head.model_validate(item["item"])


def turn_of(item: Item) -> Turn:
    """The turn that an item holds."""
    record: dict[str, Any] = item["item"]
    twice = {name: record["assistant"][SAID_TWICE[name]] for name in item["said_twice"]}
    return Turn.model_validate({**record, "result": record["result"] and {**record["result"], **twice}})


OPERATIONS_PER_BATCH = 100
_TURNS = "SELECT TOP @limit * FROM c WHERE c.life = @life AND c.seq > @after ORDER BY c.seq"
_NEWEST = "SELECT TOP @limit * FROM c WHERE c.life = @life AND c.seq < @before ORDER BY c.seq DESC"
_COMMITTED_BEFORE = f"""
SELECT TOP @limit * FROM c
WHERE c.life = @life AND c.status = '{TurnStatus.COMMITTED}' AND c.seq < @before ORDER BY c.seq DESC
"""
_TURNS_OF_OTHER_LIVES = f"""
SELECT TOP {OPERATIONS_PER_BATCH} c.id, c.life, c._etag FROM c WHERE c.seq > 0 AND c.life != @life
"""
# The key's beginning is repeated: a query over several partitions is not bound to it by that alone.
_HEADS = """
SELECT TOP @limit * FROM c
WHERE c.organization_id = @organization_id AND c.user_id = @user_id AND c.place < @place{found}
ORDER BY c.place DESC
"""

_HAS_WORD = " AND ({fragments} OR (NOT IS_STRING(c.item.words) AND CONTAINS(LOWER(c.item.title), {plain})))"
_HAS_FRAGMENT = "CONTAINS(c.item.words, {name}) OR CONTAINS(c.item.title_words, {name})"
_OPENED_IN = " AND c.home = @home"


class _Conversation(NamedTuple):
    """A head as it was read. `life` tells it from earlier conversations of the same id, since deleted."""

    head: Head
    life: str
    etag: str | None = None


class _Stored(NamedTuple):
    """A turn as it was read."""

    turn: Turn
    etag: str


class CosmosTurnLog:
    """A TurnLog over one container with the key [organization_id, user_id, conversation_id].

    Turns belong to one life of their conversation, which ends with its head: what a deletion that was
    cut short has left behind is not visible. Any write may have been made before, its confirmation
    lost: each is conditional, and where the condition does not hold, it is read and judged again.
    """

    def __init__(
        self,
        container: Container,
        *,
        clock: Callable[[], datetime] = utc_now,
        retention_seconds: int | None = None,
    ) -> None:
        self._container = container
        self._clock = clock
        self._expiry = {} if retention_seconds is None else {"ttl": retention_seconds}

    async def begin(
        self,
        owner: Owner,
        new: NewTurn,
        *,
        lease_seconds: float,
        history_limit: int = HISTORY_TURNS,
        on_started: Callable[[Started], object] | None = None,
    ) -> Begun:
        async def work() -> Begun:
            now = self._clock()
            conversation = await self._find(owner)
            if conversation is None:
                conversation = _new_life(transitions.first_head(owner, now))
            stored = await self._stored(conversation, new.key)
            before, replaced = stored and stored.turn, None
            if new.replaces is not None and stored is None:
                replaced = await self._last_version(conversation, new.replaces)
            head, turn = transitions.begin_turn(
                conversation.head, before, new, lease_seconds, now, replaced and replaced.turn
            )
            if turn.status.has_result:
                return Replayed(turn=turn)
            if turn is not before:
                await self._put(conversation, head, turn, stored, replaced)
            # After the write: the session then holds whatever was committed before it.
            found = await self._query(
                _COMMITTED_BEFORE, owner, life=conversation.life, before=turn.seq, limit=history_limit
            )
            history = transitions.history_of([turn_of(item) for item in found], now)
            if head.contexts or head.home or any(each.contexts for each in history):
                # A turn that was committed meanwhile has noted on the head which contexts it was shown.
                latest = await self._find(owner)
                head = latest.head if latest and latest.life == conversation.life else head
            return Started(turn=turn, head=head, history=history)

        begun = await unraced(work)
        if on_started is not None and isinstance(begun, Started):
            on_started(begun)
        return begun

    async def renew(self, owner: Owner, turn_id: str, attempt: str, *, lease_seconds: float) -> Turn:
        return await self._change(
            owner, turn_id, lambda turn, now: transitions.renew_turn(turn, attempt, lease_seconds, now)
        )

    async def commit(self, owner: Owner, turn_id: str, attempt: str, outcome: TurnOutcome) -> Turn:
        async def work() -> Turn:
            conversation = await self._found(owner)
            stored = await self._stored(conversation, turn_id)
            before = stored and stored.turn
            head, turn = transitions.commit_turn(conversation.head, before, attempt, outcome, self._clock())
            if turn is not before:
                await self._put(conversation, head, turn, stored)
            return turn

        return await unraced(work)

    async def fail(self, owner: Owner, turn_id: str, attempt: str, code: str, message: str) -> Turn:
        failure = Failure(code=code, message=message)
        return await self._change(
            owner, turn_id, lambda turn, now: transitions.fail_turn(turn, attempt, failure, now)
        )

    async def ask_to_stop(self, owner: Owner, turn_id: str) -> Turn:
        asked = await self._change(owner, turn_id, transitions.ask_to_stop)
        return transitions.as_read(asked, self._clock())

    async def rate(self, owner: Owner, turn_id: str, feedback: Feedback | None) -> Turn:
        rated = await self._change(
            owner, turn_id, lambda turn, now: transitions.rate_turn(turn, feedback, now)
        )
        return transitions.as_read(rated, self._clock())

    async def head(self, owner: Owner) -> Head | None:
        conversation = await self._find(owner)
        return conversation and conversation.head

    async def turn(self, owner: Owner, turn_id: str) -> Turn | None:
        conversation = await self._find(owner)
        stored = conversation and await self._stored(conversation, turn_id)
        return transitions.as_read(stored.turn, self._clock()) if stored else None

    async def turns(self, owner: Owner, *, after_seq: int = 0, limit: int = 100) -> list[Turn]:
        conversation = await self._find(owner)
        if conversation is None:
            return []
        found = await self._query(_TURNS, owner, life=conversation.life, after=after_seq, limit=limit)
        return [transitions.as_read(turn_of(item), self._clock()) for item in found]

    async def page(self, owner: Owner, *, limit: int, before_seq: int | None = None) -> TurnPage | None:
        conversation = await self._find(owner)
        if conversation is None:
            return None
        before = NO_SEQ if before_seq is None else before_seq
        found = await self._query(_NEWEST, owner, life=conversation.life, before=before, limit=limit)
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
        home: str | None = None,
    ) -> tuple[list[Head], str | None]:
        known = {"organization_id": organization_id, "user_id": user_id}
        condition, texts = _condition(words)
        if home is not None:
            condition, texts = condition + _OPENED_IN, {**texts, "home": home}
        parameters = {**known, **texts, "place": sortable(read_cursor(cursor)), "limit": limit + 1}
        found = await self._container.query(_HEADS.format(found=condition), parameters, list(known.values()))
        # If the service keeps a user's conversations in several partitions, each is sorted separately.
        heads = sorted(map(head_of, found), key=place_of, reverse=True)
        return first_page(heads, limit, place_of)

    async def retitle(self, owner: Owner, title: str, by: TitleBy = TitleBy.USER) -> Head:
        async def work() -> Head:
            conversation = await self._found(owner)
            head = transitions.retitle_head(conversation.head, title, by)
            if head is not conversation.head:
                assert conversation.etag is not None
                await self._container.replace(self._head_item(head, conversation.life), conversation.etag)
            return head

        return await unraced(work)

    async def ensure_conversation(self, owner: Owner, file: str = "") -> Head:
        async def work() -> Head:
            conversation = await self._find(owner)
            if conversation is None:
                conversation = _new_life(transitions.first_head(owner, self._clock(), file))
                await self._container.create(self._head_item(conversation.head, conversation.life))
            return conversation.head

        return await unraced(work)

    async def delete(self, owner: Owner) -> bool:
        deleted = await self._end_life(owner)
        await unraced(lambda: self._remove_turns_of_ended_lives(owner))
        return deleted

    async def ping(self) -> None:
        await self._container.read(HEAD, ("-", "-", "-"))

    async def _find(self, owner: Owner) -> _Conversation | None:
        item = await self._container.read(HEAD, owner.key)
        return None if item is None else _Conversation(head_of(item), item["life"], item[ETAG])

    async def _found(self, owner: Owner) -> _Conversation:
        if (conversation := await self._find(owner)) is None:
            raise transitions.missing_conversation()
        return conversation

    async def _stored(self, conversation: _Conversation, turn_id: str) -> _Stored | None:
        item = await self._container.read(turn_id_of(conversation.life, turn_id), conversation.head.owner.key)
        return None if item is None else _Stored(turn_of(item), item[ETAG])

    async def _change(
        self, owner: Owner, turn_id: str, change: Callable[[Turn | None, datetime], Turn]
    ) -> Turn:
        """Write what `change` makes of the turn; only the turn changes."""

        async def work() -> Turn:
            conversation = await self._found(owner)
            stored = await self._stored(conversation, turn_id)
            turn = change(stored and stored.turn, self._clock())
            if stored is not None:
                await self._replace(conversation, stored, turn)
            return turn

        return await unraced(work)

    async def _replace(self, conversation: _Conversation, stored: _Stored, turn: Turn) -> None:
        if turn is not stored.turn:
            await self._container.replace(self._turn_item(conversation, turn), stored.etag)

    async def _last_version(self, conversation: _Conversation, turn_id: str) -> _Stored:
        """The last version of a turn; NotFound if there is none."""
        stored = await self._stored(conversation, turn_id)
        while stored is not None and stored.turn.replaced_by is not None:
            stored = await self._stored(conversation, stored.turn.replaced_by)
        if stored is None:
            raise transitions.missing_turn()
        return stored

    async def _put(
        self,
        conversation: _Conversation,
        head: Head,
        turn: Turn,
        stored: _Stored | None = None,
        replaced: _Stored | None = None,
    ) -> None:
        """Write head, turn and the version that it replaces in one batch, over what was read."""
        operations = [
            _over(conversation.etag, self._head_item(head, conversation.life)),
            _over(stored and stored.etag, self._turn_item(conversation, turn)),
        ]
        if replaced is not None:
            before = transitions.replaced_turn(replaced.turn, turn)
            operations.append(_over(replaced.etag, self._turn_item(conversation, before)))
        await self._container.batch(operations, head.owner.key)

    async def _end_life(self, owner: Owner) -> bool:
        """Remove the present head; False if there was none."""
        ending = await self._find(owner)

        async def work() -> None:
            present = await self._find(owner)
            if ending and present and present.life == ending.life:
                await self._container.batch([delete(HEAD, present.etag)], owner.key)

        await unraced(work)
        return ending is not None

    async def _remove_turns_of_ended_lives(self, owner: Owner) -> None:
        alive = ""
        while found := await self._query(_TURNS_OF_OTHER_LIVES, owner, life=alive):
            # Read after them: a life that had turns by then, and has no head now, will not come back.
            present = await self._find(owner)
            alive = present.life if present else ""
            if ended := [delete(item["id"], item[ETAG]) for item in found if item["life"] != alive]:
                await self._container.batch(ended, owner.key)

    def _head_item(self, head: Head, life: str) -> Item:
        place, record = sortable(place_of(head)), head.model_dump(mode="json")
        return self._item(HEAD, head.owner, life) | {"place": place, "home": head.home, "item": record}

    def _turn_item(self, conversation: _Conversation, turn: Turn) -> Item:
        record, life = turn.model_dump(mode="json"), conversation.life
        result, message = record["result"], record["assistant"]
        twice = [name for name, field in SAID_TWICE.items() if result and result.get(name) == message[field]]
        return {
            **self._item(turn_id_of(life, turn.turn_id), conversation.head.owner, life),
            "seq": turn.seq,
            "status": turn.listed_as,
            "item": {**record, "result": result and {**result, **dict.fromkeys(twice)}},
            "said_twice": twice,
        }

    def _item(self, item_id: str, owner: Owner, life: str) -> Item:
        organization, user, conversation = owner.key
        key = {"organization_id": organization, "user_id": user, "conversation_id": conversation}
        return {"id": item_id, **key, "life": life, **self._expiry}

    async def _query(self, text: str, owner: Owner, **parameters: object) -> list[Item]:
        return await self._container.query(text, parameters, owner.key)


def _new_life(head: Head) -> _Conversation:
    return _Conversation(head, uuid.uuid4().hex)


def _over(etag: str | None, item: Item) -> Operation:
    return create(item) if etag is None else replace(item, etag)


def _condition(words: Sequence[Wanted]) -> tuple[str, dict[str, str]]:
    """The part of a query that finds heads with all of the words, and its parameters."""
    condition, texts = "", dict[str, str]()
    for number, word in enumerate(words):
        names = {f"word{number}_{place}": fragment for place, fragment in enumerate(word.fragments)}
        fragments = " OR ".join(_HAS_FRAGMENT.format(name=f"@{name}") for name in names)
        condition += _HAS_WORD.format(fragments=fragments, plain=f"@plain{number}")
        texts |= {**names, f"plain{number}": word.plain}
    return condition, texts
