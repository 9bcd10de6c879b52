"""One turn as its client lives through it: how it ended, and when."""

import time
from dataclasses import dataclass
from secrets import token_hex
from typing import Any

import httpx

from qa.model import TOKEN
from tests.system import Event, read_events

Json = dict[str, Any]

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
        told = self.body.get("answer") or self.body.get("detail") or self.body
        return f"{self.question}: {self.status} after {self.seconds:.1f} s: {told}"


def new_question() -> str:
    """A question like no other."""
    return f"When does the quay open? T-{token_hex(6)}"


def ask(http: httpx.Client, conversation_id: str, *names: str, streaming: bool = False) -> Outcome:
    """Ask a new question, and wait for the end of its turn."""
    question = new_question()
    body = {"question": question, "conversation_id": conversation_id, "blob_names": names}
    began = time.monotonic()
    try:
        status, told, shown = _streamed(http, body) if streaming else _whole(http, body)
    except httpx.TransportError as exc:
        status, told, shown = LOST, {"detail": repr(exc)}, ""
    ended = time.monotonic()
    return Outcome(question, status, told, shown, ended - began, ended)


def turns_of(http: httpx.Client, conversation_id: str) -> list[Json]:
    """All turns of a conversation, in their order."""
    turns: list[Json] = []
    after: int | None = 0
    while after is not None:
        params = {"after_seq": after, "limit": 200}
        page = http.get(f"/conversations/{conversation_id}", params=params).raise_for_status().json()
        turns += page["turns"]
        after = page["next_seq"]
    return turns


def _whole(http: httpx.Client, body: Json) -> tuple[int, Json, str]:
    response = http.post("/orc", json=body, timeout=ANSWER_SECONDS)
    told: Json = response.json()
    return response.status_code, told, told.get("answer", "")


def _streamed(http: httpx.Client, body: Json) -> tuple[int, Json, str]:
    with http.stream("POST", "/orc/stream", json=body, timeout=ANSWER_SECONDS) as response:
        if response.status_code != 200:
            response.read()
            return response.status_code, response.json(), ""
        return _end_of(list(read_events(response)))


def _end_of(events: list[Event]) -> tuple[int, Json, str]:
    shown = ""
    for _, kind, data in events:
        match kind:
            case "token":
                shown += data["text"]
            case "reset":
                shown = ""
            case "done":
                return 200, data, shown
            case "error":
                return data["status"], data, shown
    return LOST, {"detail": "the stream broke off"}, shown
