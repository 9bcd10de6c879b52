"""Clients that work until the API is gone, and what they remember, held against what is stored."""

import random
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field

import httpx

from qa.outcomes import Json, new_question, turns_of
from qa.tally import Tally
from tests.system import read_events, upload

PATIENCE_SECONDS = 8.0
DEAF_SECONDS = 15.0
FIRST_FILE = "quay.txt"
QUAY = "The quay opens at seven. The harbour master keeps the key.\n"

ANSWERS = "acknowledged answers that are lost or changed"
QUESTIONS = "acknowledged questions that are lost"
DOUBLED = "questions stored twice, or out of order"
PENDING = "interrupted turns that stay pending"
REPEATED = "interrupted turns that cannot be asked again"
DOCUMENTS = "acknowledged documents that are lost"
CUT = "documents that are stored cut short"
DEAF = "clients that never heard of the end"
REFUSED = "requests refused while the API was there"
NAMES = (ANSWERS, QUESTIONS, DOUBLED, PENDING, REPEATED, DOCUMENTS, CUT, DEAF, REFUSED)


@dataclass
class Question:
    """A question and what its client was told: that the turn had begun, or even the answer."""

    key: str
    body: Json
    begun: bool = False
    result: Json | None = None


@dataclass
class Life:
    """One conversation, during which the API is killed, as its clients remember it."""

    conversation_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    questions: list[Question] = field(default_factory=list)
    sent: dict[str, int] = field(default_factory=dict)
    stored: set[str] = field(default_factory=set)

    @property
    def interrupted(self) -> list[Question]:
        return [question for question in self.questions if question.result is None]


@dataclass
class Customer:
    """A client that asks and uploads until the server is gone."""

    life: Life
    tally: Tally
    chance: random.Random

    def work(self, address: str) -> None:
        """Ends with the connection, and never otherwise."""
        acts = (self.ask, self.ask, self.ask_streaming, self.ask_streaming, self.upload)
        try:
            with httpx.Client(base_url=address, timeout=DEAF_SECONDS) as http:
                while True:
                    self.chance.choice(acts)(http)
        except httpx.TransportError as exc:
            heard = not isinstance(exc, httpx.TimeoutException)
            self.tally.expect(DEAF, heard, f"{self.life.conversation_id}: {exc!r}")

    def ask(self, http: httpx.Client) -> None:
        question = self._next_question()
        response = http.post("/orc", json=question.body, headers={"idempotency-key": question.key})
        if self._accepted(response.status_code, response.text):
            question.result = response.json()

    def ask_streaming(self, http: httpx.Client) -> None:
        question = self._next_question()
        headers = {"idempotency-key": question.key, "accept": "text/event-stream"}
        with http.stream("POST", "/orc", json=question.body, headers=headers) as response:
            if not self._accepted(response.status_code, "a stream"):
                return
            for _, kind, data in read_events(response):
                question.begun = True
                if kind == "done":
                    question.result = data
                elif kind == "error":
                    self._accepted(data["status"], data["detail"])

    def upload(self, http: httpx.Client) -> None:
        name = f"{uuid.uuid4().hex}.txt"
        content = f"{name}: {QUAY * self.chance.randint(1, 4000)}".encode()
        self.life.sent[name] = len(content)
        response = upload(http, self.life.conversation_id, (name, content))
        if self._accepted(response.status_code, response.text):
            self.life.stored.add(name)

    def _next_question(self) -> Question:
        names = [FIRST_FILE] * self.chance.randint(0, 1)
        body = {
            "question": new_question(),
            "conversation_id": self.life.conversation_id,
            "blob_names": names,
        }
        question = Question(str(uuid.uuid4()), body)
        self.life.questions.append(question)
        return question

    def _accepted(self, status: int, told: str) -> bool:
        return self.tally.expect(REFUSED, status in (200, 201), f"{status}: {told[:200]}")


class Auditor:
    """Holds what is stored against what clients were told."""

    def __init__(self, http: httpx.Client, tally: Tally) -> None:
        self._http = http
        self._tally = tally

    def audit(self, life: Life) -> None:
        """Check the conversation, then have every interrupted question answered."""
        turns = self._settled_turns(life)
        self.compare(life, turns)
        self._compare_documents(life)
        before = {turn["question"]: turn["turn_id"] for turn in turns}
        for question in life.interrupted:
            self._ask_again(question, before.get(question.body["question"]))
        self.compare(life, self._turns_of(life))

    def compare(self, life: Life, turns: Sequence[Json]) -> None:
        """What was acknowledged is there, once and in order."""
        stored = {turn["question"]: turn for turn in turns}
        in_order = [turn["seq"] for turn in turns] == list(range(1, len(turns) + 1))
        self._tally.expect(DOUBLED, in_order and len(stored) == len(turns), life.conversation_id)
        for question in life.questions:
            turn = stored.get(question.body["question"], {})
            told = f"{question.body['question']}: {turn}"[:300]
            if question.begun or question.result:
                self._tally.expect(QUESTIONS, bool(turn), told)
            if question.result:
                same = turn.get("status") == "committed" and turn["result"] == question.result
                self._tally.expect(ANSWERS, same, told)

    def compare_again(self, life: Life) -> None:
        """As `compare`, with the turns as they are now."""
        self.compare(life, self._turns_of(life))

    def _turns_of(self, life: Life) -> list[Json]:
        return turns_of(self._http, life.conversation_id)

    def _settled_turns(self, life: Life) -> list[Json]:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            turns = self._turns_of(life)
            pending = [turn["question"] for turn in turns if turn["status"] == "pending"]
            if not pending or time.monotonic() > deadline:
                break
            time.sleep(0.1)
        for question in life.interrupted:
            self._tally.expect(PENDING, question.body["question"] not in pending, question.key)
        return turns

    def _ask_again(self, question: Question, turn_id: str | None) -> None:
        response = self._http.post("/orc", json=question.body, headers={"idempotency-key": question.key})
        question.result = response.json() if response.status_code == 200 else None
        same_turn = question.result is not None and turn_id in (None, question.result["turn_id"])
        self._tally.expect(REPEATED, same_turn, lambda: f"{response.status_code}: {response.text[:200]}")

    def _compare_documents(self, life: Life) -> None:
        response = self._http.get(f"/conversations/{life.conversation_id}/documents").raise_for_status()
        sizes = {document["blob_name"]: document["size"] for document in response.json()["documents"]}
        for name in life.stored:
            self._tally.expect(DOCUMENTS, name in sizes, f"{life.conversation_id}/{name}")
        for name, size in sizes.items():
            self._tally.expect(CUT, life.sent[name] == size, f"{name} has {size} of {life.sent[name]} bytes")
