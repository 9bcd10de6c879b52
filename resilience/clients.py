"""Clients that work until the API is gone, and what they remember, held against what is stored."""

import asyncio
import json
import random
import time
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from secrets import token_hex
from typing import Any

import httpx

from devkit.faults.messages import read_head, response_pieces
from devkit.faults.proxy import reset
from devkit.stream_to_json import shown_text
from devkit.system import Event, read_events, upload
from resilience.checks import Tally
from resilience.history_check import Asked, Conversation, Json
from resilience.model import TOKEN

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
    """A question and what its client received: that the turn had begun, or even the answer."""

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

    def _accepted(self, status: int, detail: str) -> bool:
        return self.tally.expect(REFUSED, status in (200, 201), f"{status}: {detail[:200]}")


class Auditor:
    """Compares what is stored with what clients received."""

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
            finding = f"{question.body['question']}: {turn}"[:300]
            if question.begun or question.result:
                self._tally.expect(QUESTIONS, bool(turn), finding)
            if question.result:
                same = turn.get("status") == "committed" and turn["result"] == question.result
                self._tally.expect(ANSWERS, same, finding)

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


LONGEST_SILENCE = 0.25
MOST_EVENTS = 14
MOST_BYTES = 2500


class Point(StrEnum):
    """Where a client goes."""

    BEFORE_HEADERS = "before the headers"
    AFTER_EVENTS = "after some events"
    WITHIN_AN_EVENT = "within an event"


@dataclass(frozen=True)
class Departure:
    """How one client goes: at which point, how far there, and whether its end is a reset."""

    point: Point
    far: float
    abrupt: bool

    @classmethod
    def drawn(cls, random: Random) -> "Departure":
        return cls(random.choice(list(Point)), random.random(), random.random() < 0.5)


@dataclass
class Left:
    """What a client has that went: the events that arrived whole."""

    conversation_id: str
    asked: Asked
    departure: Departure
    events: list[Event] = field(default_factory=list)

    @property
    def last_number(self) -> int:
        """What it says as Last-Event-ID when it comes back."""
        return self.events[-1][0] if self.events else 0


async def ask_and_leave(port: int, left: Left, body: Json) -> None:
    """Ask for a stream and go as the departure says; what arrived until then is noted."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(_request(port, left.asked.key, body))
        await writer.drain()
        if left.departure.point is Point.BEFORE_HEADERS:
            await asyncio.sleep(left.departure.far * LONGEST_SILENCE)
        else:
            left.events += await _read_some(reader, left.departure)
    finally:
        if left.departure.abrupt:
            reset(writer)
        writer.close()


async def _read_some(reader: asyncio.StreamReader, departure: Departure) -> list[Event]:
    head = await read_head(reader)
    assert head is not None and head.status == 200, head and head.first
    text = ""
    async for piece in response_pieces(reader, head, "POST"):
        text += piece.split(b"\r\n", 1)[1].removesuffix(b"\r\n").decode()
        if _is_far_enough(text, departure):
            break
    return whole_events(text)


def _is_far_enough(text: str, departure: Departure) -> bool:
    if departure.point is Point.AFTER_EVENTS:
        return len(whole_events(text)) >= departure.far * MOST_EVENTS
    return len(text) >= departure.far * MOST_BYTES


def _request(port: int, key: str, body: Json) -> bytes:
    content = json.dumps(body).encode()
    headers = {**STREAM, "host": f"127.0.0.1:{port}", "content-type": "application/json"}
    headers |= {"idempotency-key": key, "content-length": str(len(content))}
    lines = ["POST /api/orc HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "\r\n"]).encode() + content


ANSWER_SECONDS = 60
LOST = 0
"""The status of a turn whose connection broke."""


@dataclass(frozen=True)
class Outcome:
    """The result or the problem that a question ended in. `shown`: what a reader has on screen."""

    question: str
    status: int
    body: Json
    shown: str
    seconds: float
    ended_at: float

    @property
    def answered(self) -> bool:
        return self.status == 200

    @property
    def is_own_answer(self) -> bool:
        """Whether the answer is to this question alone, and is what was shown."""
        answer = self.body.get("answer", "")
        return TOKEN.findall(answer) == TOKEN.findall(self.question) and self.shown == answer

    def blames(self, dependency: str) -> bool:
        """Whether the turn ended in an error that says who did not answer, or that time ran out."""
        named = self.status == 503 and self.body.get("dependency") == dependency
        return named or (self.status == 504 and self.body.get("code") == "deadline_exceeded")

    def __str__(self) -> str:
        text = self.body.get("answer") or self.body.get("detail") or self.body
        return f"{self.question}: {self.status} after {self.seconds:.1f} s: {text}"


def new_question() -> str:
    """A question like no other."""
    return f"When does the quay open? T-{token_hex(6)}"


def ask(http: httpx.Client, conversation_id: str, *names: str, streaming: bool = False) -> Outcome:
    """Ask a new question, and wait for the end of its turn."""
    question = new_question()
    body = {"question": question, "conversation_id": conversation_id, "blob_names": names}
    began = time.monotonic()
    try:
        status, reply, shown = _streamed(http, body) if streaming else _whole(http, body)
    except httpx.TransportError as exc:
        status, reply, shown = LOST, {"detail": repr(exc)}, ""
    ended = time.monotonic()
    return Outcome(question, status, reply, shown, ended - began, ended)


def turns_of(http: httpx.Client, conversation_id: str) -> list[Json]:
    """All turns of a conversation, in their order."""
    turns: list[Json] = []
    after: int | None = 0
    while after is not None:
        params: Json = {"after_seq": after, "limit": 200, "full": "true"}
        page = http.get(f"/conversations/{conversation_id}", params=params).raise_for_status().json()
        turns += page["turns"]
        after = page["next_seq"]
    return turns


def _whole(http: httpx.Client, body: Json) -> tuple[int, Json, str]:
    response = http.post("/orc", json=body, timeout=ANSWER_SECONDS)
    reply: Json = response.json()
    return response.status_code, reply, reply.get("answer", "")


def _streamed(http: httpx.Client, body: Json) -> tuple[int, Json, str]:
    with http.stream("POST", "/orc/stream", json=body, timeout=ANSWER_SECONDS) as response:
        if response.status_code != 200:
            response.read()
            return response.status_code, response.json(), ""
        return _end_of(list(read_events(response)))


def _end_of(events: list[Event]) -> tuple[int, Json, str]:
    shown = shown_text(events)
    for _, kind, data in events:
        if kind in ("done", "error"):
            return 200 if kind == "done" else data["status"], data, shown
    return LOST, {"detail": "the stream broke off"}, shown


RETRIED = {409, 429, 503, 504}
TRY_SECONDS = 40.0
LONGEST_WAIT = 0.3
IDLE_SECONDS = 2.0
STREAM = {"accept": "text/event-stream"}


def open_client(**options: Any) -> httpx.AsyncClient:
    """A client that drops idle connections before the server does, so that none breaks for that."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=IDLE_SECONDS)
    return httpx.AsyncClient(timeout=TRY_SECONDS, limits=limits, **options)


class Refused(Exception):
    """An answer other than 200; `status` says which."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(f"{status} {detail}")
        self.status = status


@dataclass
class Encounters:
    """What all clients of a campaign met. `wrong` is what no client should ever meet."""

    tries: int = 0
    streams: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    unlike: list[str] = field(default_factory=list)


@dataclass
class Asker:
    """Asks the questions of one conversation, any instance of the API each time."""

    http: httpx.AsyncClient
    addresses: Sequence[str]
    random: Random
    met: Encounters
    patience_seconds: float

    async def ask_until_answered(
        self, conversation: Conversation, asked: Asked, names: Sequence[str]
    ) -> None:
        """Ask under one key until there is an answer, or patience ends."""
        body = {"question": asked.question, "conversation_id": conversation.conversation_id}
        try:
            async with asyncio.timeout(self.patience_seconds):
                while asked.result is None:
                    asked.result = await self._try({**body, "blob_names": list(names)}, asked.key)
                    if asked.result is None:
                        await asyncio.sleep(self.random.uniform(0, LONGEST_WAIT))
        except TimeoutError:
            return

    async def _try(self, body: Json, key: str) -> Json | None:
        """One request: the answer, or None if the same may be asked again."""
        self.met.tries += 1
        ask = self._streamed if self.random.random() < 0.5 else self._whole
        try:
            return await ask(f"{self.random.choice(self.addresses)}/api/orc", body, {"idempotency-key": key})
        except Refused as exc:
            self.met.failed[str(exc.status)] += 1
            if exc.status not in RETRIED:
                self.met.wrong.append(str(exc))
        except (httpx.TransportError, EOFError):
            self.met.failed["connection lost"] += 1
        return None

    async def _whole(self, url: str, body: Json, headers: dict[str, str]) -> Json:
        response = await self.http.post(url, json=body, headers=headers)
        if response.status_code != 200:
            raise Refused(response.status_code, response.text)
        result: Json = response.json()
        return result

    async def _streamed(self, url: str, body: Json, headers: dict[str, str]) -> Json:
        async with self.http.stream("POST", url, json=body, headers=headers | STREAM) as response:
            if response.status_code != 200:
                raise Refused(response.status_code, (await response.aread()).decode())
            result, shown = outcome(whole_events((await response.aread()).decode()))
        self.met.streams += 1
        if shown != result["answer"]:
            self.met.unlike.append(f"{shown!r} was streamed, {result['answer']!r} is the answer")
        return result


def whole_events(text: str) -> list[Event]:
    """The server-sent events that have arrived whole: number, kind, data."""
    blocks = text.replace("\r\n", "\n").split("\n\n")[:-1]
    return [_event(block) for block in blocks if not block.startswith(":")]


def _event(block: str) -> Event:
    fields = dict(line.split(": ", 1) for line in block.split("\n") if not line.startswith(":"))
    return int(fields["id"]), fields["event"], json.loads(fields["data"])


def outcome(events: Sequence[Event]) -> tuple[Json, str]:
    """The result that a stream ended in, and the text that its reader has on screen.

    Raises Refused if it ended in an error, and EOFError if it did not end.
    """
    for _, kind, data in events:
        if kind == "error":
            raise Refused(data["status"], data["detail"])
        if kind == "done":
            return data, shown_text(events)
    raise EOFError("the stream broke off")
