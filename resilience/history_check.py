"""What was asked and acknowledged, held against what the store gives back."""

import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from resilience.model import LOOK_IT_UP, TOKEN
from resilience.report import Check

Json = dict[str, Any]

QUAY = ("quay.txt", b"The quay opens at seven. The harbour master keeps the key. Boats pay at the gate.")
KINDS: Sequence[tuple[str, Sequence[str]]] = (
    ("When does the quay open?", [QUAY[0]]),
    (f"{LOOK_IT_UP}: who keeps the key?", []),
    ("Good morning.", []),
)
"""Questions with the documents that they name: a document turn, one with a tool, one without."""


@dataclass
class Asked:
    """One question, identified by its token. `result` is the acknowledged answer, if there was one."""

    token: str
    question: str
    key: str
    result: Json | None = None


def new_question(text: str) -> Asked:
    """A unique question under a unique key."""
    token = f"T-{uuid.uuid4().hex[:12]}"
    return Asked(token, f"{text} {token}", key=str(uuid.uuid4()))


@dataclass
class Conversation:
    """What one client asked, in order, and afterwards what is stored of it."""

    conversation_id: str
    asked: list[Asked] = field(default_factory=list)
    turns: list[Json] = field(default_factory=list)
    history: list[Json] = field(default_factory=list)

    @property
    def acknowledged(self) -> list[tuple[Asked, Json]]:
        """The questions that were answered, each with its result."""
        return [(asked, asked.result) for asked in self.asked if asked.result is not None]


Find = Callable[[Conversation], Iterator[str]]


def examine(conversations: Sequence[Conversation]) -> list[Check]:
    """Hold what is stored against what was acknowledged."""
    asked = sum(len(each.asked) for each in conversations)
    acknowledged = sum(len(each.acknowledged) for each in conversations)
    stored = sum(len(each.turns) for each in conversations)
    messages = sum(len(each.history) for each in conversations)

    def check(name: str, of: int, find: Find) -> Check:
        return Check(name, of, [finding for each in conversations for finding in find(each)])

    return [
        check("acknowledged turns lost", acknowledged, _lost),
        check("turns duplicated", stored, _duplicated),
        check("turns out of order", stored, _disordered),
        check("turns stuck", asked, _stuck),
        check("answers to another question", acknowledged, _mistaken),
        check("orphans in the history", messages, _orphans),
    ]


def _lost(conversation: Conversation) -> Iterator[str]:
    stored = {turn["turn_id"]: turn for turn in conversation.turns}
    for asked, result in conversation.acknowledged:
        turn = stored.get(result["turn_id"])
        if turn is None:
            yield f"{asked.token} was answered and is not there"
        elif turn["status"] != "committed" or turn["result"] != result:
            yield f"{asked.token} was answered otherwise than is stored ({turn['status']})"


def _duplicated(conversation: Conversation) -> Iterator[str]:
    known = {asked.question for asked in conversation.asked}
    for question, times in Counter(turn["question"] for turn in conversation.turns).items():
        if question not in known:
            yield f"{question!r} was never asked"
        elif times > 1:
            yield f"{question!r} is there {times} times"


def _disordered(conversation: Conversation) -> Iterator[str]:
    numbers = [turn["seq"] for turn in conversation.turns]
    if numbers != list(range(1, len(numbers) + 1)):
        yield f"the turns of {conversation.conversation_id} are numbered {numbers}"
    order = [asked.question for asked in conversation.asked]
    places = [order.index(turn["question"]) for turn in conversation.turns if turn["question"] in order]
    if places != sorted(places):
        yield f"the turns of {conversation.conversation_id} were asked in the order {places}"


def _stuck(conversation: Conversation) -> Iterator[str]:
    for asked in conversation.asked:
        if asked.result is None:
            yield f"{asked.token} was never answered"
    for turn in conversation.turns:
        if turn["status"] == "pending":
            yield f"{turn['question']!r} is pending though no process answers it"


def _mistaken(conversation: Conversation) -> Iterator[str]:
    for asked, result in conversation.acknowledged:
        if set(TOKEN.findall(result["answer"])) != {asked.token}:
            yield f"{asked.token} was answered with {result['answer']!r}"


def _orphans(conversation: Conversation) -> Iterator[str]:
    answered = [turn for turn in conversation.turns if turn["status"] == "committed"]
    due = [message for turn in answered for message in _messages(turn)]
    if [(message["role"], message["content"]) for message in conversation.history] != due:
        yield f"the history of {conversation.conversation_id} is not that of its turns"


def _messages(turn: Json) -> tuple[tuple[str, str], tuple[str, str]]:
    return ("user", turn["question"]), ("assistant", turn["answer"])
