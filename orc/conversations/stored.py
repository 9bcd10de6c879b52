"""Heads and turns as items, and back, and the search for heads."""

from typing import Any

from orc.conversations.listing import place_of, sortable
from orc.conversations.models import Head, Turn
from orc.conversations.search import Wanted
from orc_core.infra.items import All, Condition, Item, Some, Where, id_part

HEAD = "head"
SAID_TWICE = {"answer": "content", "citations": "citations"}
"""What a result and the assistant's message both hold, under their names for it: stored once."""

PLAIN_KEY = r"[\w.-]+"


def turn_id_of(life: str, key: str) -> str:
    """The id of a turn's item."""
    return f"turn:{life}:{id_part(key, PLAIN_KEY)}"


def head_of(item: Item) -> Head:
    """The head that an item holds."""
    return Head.model_validate(item["item"])


def turn_of(item: Item) -> Turn:
    """The turn that an item holds."""
    record: dict[str, Any] = item["item"]
    twice = {name: record["assistant"][SAID_TWICE[name]] for name in item["said_twice"]}
    return Turn.model_validate({**record, "result": record["result"] and {**record["result"], **twice}})


def head_item(head: Head, life: str) -> Item:
    """The item of a head in this life of its conversation."""
    place, record = sortable(place_of(head)), head.model_dump(mode="json")
    return {"id": HEAD, "life": life, "place": place, "home": head.home, "item": record}


def turn_item(turn: Turn, life: str, *, ttl: int | None = None) -> Item:
    """The item of a turn in this life of its conversation. With `ttl` it expires after so many seconds."""
    record = turn.model_dump(mode="json")
    result, message = record["result"], record["assistant"]
    twice = [name for name, field in SAID_TWICE.items() if result and result.get(name) == message[field]]
    return {
        "id": turn_id_of(life, turn.turn_id),
        "life": life,
        "seq": turn.seq,
        "status": turn.listed_as,
        "item": {**record, "result": result and {**result, **dict.fromkeys(twice)}},
        "said_twice": twice,
        **({} if ttl is None else {"ttl": ttl}),
    }


def has_word(word: Wanted) -> Condition:
    """The conversation has the word in its questions or its title; of an earlier version, in its title."""
    names = ("item.words", "item.title_words")
    found = [Where(name, "has", fragment) for fragment in word.fragments for name in names]
    plain = All([Where("item.words", "no text"), Where("item.title", "has lower", word.plain)])
    return Some([*found, plain])
