"""Heads and turns as items, and back, and the search for heads."""

import uuid
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any, NamedTuple

from orc.conversations.listing import PINNED, place_of, sortable, timestamp
from orc.conversations.models import NO_SEQ, Head, Turn
from orc.conversations.search import Wanted
from orc_core.infra.items import (
    VERSION,
    All,
    Change,
    Condition,
    Item,
    Some,
    Where,
    create,
    delete,
    equal,
    id_part,
    over,
)


class Conversation(NamedTuple):
    """A head as it was read. `life` tells it from earlier conversations of the same id, since deleted."""

    head: Head
    life: str
    stored: Item | None = None

    @classmethod
    def begun(cls, head: Head) -> "Conversation":
        """A conversation that begins."""
        return cls(head, uuid.uuid4().hex)

    def written(self, head: Head) -> Change:
        """The write of this head over the one that was read; what only a newer version knows of it stays."""
        place, kept = sortable(place_of(head)), self.stored["item"] if self.stored else {}
        record = {**kept, **head.model_dump(mode="json")}
        item = {"id": HEAD, "life": self.life, "place": place, "home": head.home, "item": record}
        item["about"] = " ".join(["", *(each.context_id for each in head.contexts if each.named), ""])
        return over(self.stored, item)

    def ended(self) -> list[Change]:
        """The removal of the head that was read, and a note by which its turns are found, which goes last."""
        if self.stored is None:
            return []
        note = {"id": f"{ENDED}{self.life}", "life": self.life, "seq": NO_SEQ}
        return [delete(HEAD, self.stored[VERSION]), create(note)]


HEAD, ENDED = "head", "ended:"
OWNER = ("organization_id", "user_id", "conversation_id")
LIFE = ("conversation_id", "life")
"""What tells a conversation of a user from all others, also from earlier ones of its id."""
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


def turn_item(turn: Turn, life: str) -> Item:
    """The item of a turn in this life of its conversation."""
    record = turn.model_dump(mode="json")
    result, message = record["result"], record["assistant"]
    twice = [name for name, field in SAID_TWICE.items() if result and result.get(name) == message[field]]
    return {
        "id": turn_id_of(life, turn.turn_id),
        "life": life,
        "seq": turn.seq,
        "asked": timestamp(turn.created_at),
        "status": turn.listed_as,
        "item": {**record, "result": result and {**result, **dict.fromkeys(twice)}},
        "said_twice": twice,
    }


def is_said(words: Sequence[Wanted]) -> list[Condition]:
    """The turn has the words in its question or its answer, whose markers name files."""
    names = ("item.question", "item.assistant.content")
    said = [
        Some([Where(name, "has lower", part) for part in sorted(word.parts) for name in names])
        for word in words
    ]
    return [Where("seq", ">", 0), *said]


def of_heads(turns: Iterable[Item], heads: Iterable[Item]) -> Iterator[Item]:
    """The turns of these conversations. Those of earlier ones of the same ids were deleted."""
    life = itemgetter(*LIFE)
    alive = set(map(life, heads))
    return (turn for turn in turns if life(turn) in alive)


def is_listed(
    after: tuple[str, str], words: Sequence[Wanted], among: Sequence[str], home: str | None, about: str | None
) -> list[Condition]:
    """It is behind this place, has all words or is `among` these, and belongs to these contexts."""
    listed: list[Condition] = [Where("place", "<", sortable(after))]
    if words:
        listed.append(Some([All([*map(has_word, words)]), Where("conversation_id", "in", [*among])]))
    if about is not None:
        listed.append(Some([equal(home=about), Where("about", "has", f" {about} ")]))
    return listed if home is None else [*listed, equal(home=home)]


def is_of_another(life: str) -> list[Condition]:
    """It is a turn of another life, or the note that one has ended."""
    return [Where("seq", ">", 0), Where("life", "!=", life)]


def is_older(moment: datetime) -> Condition:
    """The conversation was last used before this moment, pinned or not, or has ended but left turns."""
    end = timestamp(moment)
    pinned = All([Where("place", ">", PINNED), Where("place", "<", PINNED + end)])
    return Some([Where("place", "<", end), pinned, Where("id", "starts", ENDED)])


def has_word(word: Wanted) -> Condition:
    """The conversation has the word in its questions or its title; of an earlier version, in its title."""
    names = ("item.words", "item.title_words")
    found = [Where(name, "has", fragment) for fragment in word.fragments for name in names]
    plain = All([Where("item.words", "no text"), Where("item.title", "has lower", word.plain)])
    return Some([*found, plain])
