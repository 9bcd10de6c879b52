"""A client that asks over HTTP: once, or again under the same key until it has its answer."""

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import httpx

from qa.ledger import Asked, Conversation, Json

RETRIED = {409, 429, 503, 504}
TRY_SECONDS = 40.0
LONGEST_WAIT = 0.3
IDLE_SECONDS = 2.0
STREAM = {"accept": "text/event-stream"}

Event = tuple[int, str, Json]


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
        """One request: the answer, or None where the same may be asked again."""
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

    Raises Refused where it ended in an error, and EOFError where it did not end.
    """
    shown = ""
    for _, kind, data in events:
        match kind:
            case "token":
                shown += data["text"]
            case "reset":
                shown = ""
            case "error":
                raise Refused(data["status"], data["detail"])
            case "done":
                return data, shown
    raise EOFError("the stream broke off")
