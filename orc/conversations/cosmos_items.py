"""Heads and turns as items of Cosmos DB, and back."""

import hashlib
import re
from typing import Any

from core.azure.cosmos import Item
from core.documents.names import Owner
from orc.conversations.listing import place_of
from orc.conversations.models import Head, Turn

HEAD = "head"
SAID_TWICE = {"answer": "content", "citations": "citations"}
"""What a result and the assistant's message both hold, under their names for it: stored once."""

_PLAIN_KEY = re.compile(r"[\w.-]+", re.ASCII)


def key_of(owner: Owner) -> tuple[str, str, str]:
    """The partition of a conversation."""
    return owner.organization_id, owner.user_id, owner.conversation_id


def turn_id_of(life: str, key: str) -> str:
    """The id of a turn's item."""
    # The service takes neither slashes nor question marks in an id, nor more than 1,023 bytes.
    name = key if _PLAIN_KEY.fullmatch(key) else f"~{hashlib.sha256(key.encode()).hexdigest()}"
    return f"turn:{life}:{name}"


def sortable(place: tuple[str, str]) -> str:
    """A place in the listing as one string: to sort by two fields would take an index of both."""
    return " ".join(place)


def head_item(head: Head, life: str, retention_seconds: int | None) -> Item:
    """The item of a conversation's head."""
    return {
        **_common(HEAD, head.owner, life, retention_seconds),
        "place": sortable(place_of(head)),
        "item": head.model_dump(mode="json"),
    }


def head_of(item: Item) -> Head:
    """The head that `head_item` has stored."""
    return Head.model_validate(item["item"])


def turn_item(turn: Turn, owner: Owner, life: str, retention_seconds: int | None) -> Item:
    """The item of one turn."""
    record = turn.model_dump(mode="json")
    result, message = record["result"], record["assistant"]
    twice = [name for name, field in SAID_TWICE.items() if result and result.get(name) == message[field]]
    return {
        **_common(turn_id_of(life, turn.turn_id), owner, life, retention_seconds),
        "seq": turn.seq,
        "status": turn.status.value,
        "item": {**record, "result": result and {**result, **dict.fromkeys(twice)}},
        "said_twice": twice,
    }


def turn_of(item: Item) -> Turn:
    """The turn that `turn_item` has stored."""
    record: dict[str, Any] = item["item"]
    twice = {name: record["assistant"][SAID_TWICE[name]] for name in item["said_twice"]}
    return Turn.model_validate({**record, "result": record["result"] and {**record["result"], **twice}})


def _common(item_id: str, owner: Owner, life: str, retention_seconds: int | None) -> Item:
    names = ("organization_id", "user_id", "conversation_id")
    expiry = {} if retention_seconds is None else {"ttl": retention_seconds}
    return {"id": item_id, **dict(zip(names, key_of(owner), strict=True)), "life": life, **expiry}
