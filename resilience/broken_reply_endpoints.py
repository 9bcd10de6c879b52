"""The endpoints other than `/api/orc` at which a turn can be asked, and the end of each."""

import json
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import httpx

from devkit.system import read_events, upload

Json = dict[str, Any]
Breaking = Callable[[str], AbstractContextManager[None]]
"""Makes the model give replies of a kind for a while."""
QUESTION = "When is the deposit due?"
FAILURE = "an error 500"
"""The kind of replies after which a turn has failed."""


class Endpoint(StrEnum):
    """Where a turn is asked, other than `/api/orc`."""

    COMPLETIONS = "chat completions"
    WORKSPACE = "workspace"
    RETRY = "retry"
    REPLACES = "new version"


@dataclass(frozen=True)
class Ending:
    """The ends that a response has, and the result or the error in it."""

    ends: list[str]
    body: Json

    @property
    def worked(self) -> bool:
        """Whether there is an answer."""
        return self.ends == ["done"]


@dataclass
class Visitor:
    """Asks at each endpoint, as one user with a conversation and a workspace."""

    http: httpx.Client
    document: tuple[str, bytes]
    breaking: Breaking
    conversation: str = field(default_factory=lambda: str(uuid.uuid4()))
    workspace: str = ""
    session: str | None = None

    def prepare(self) -> None:
        """Upload the document into a conversation and into a new workspace."""
        upload(self.http, self.conversation, self.document).raise_for_status()
        made = self.http.post("/contexts", json={"type": "workspace", "name": "Quays"}).raise_for_status()
        self.workspace = made.json()["context_id"]
        files = [("file", self.document)]
        self.http.post(f"/contexts/{self.workspace}/documents", files=files).raise_for_status()

    def ask(self, endpoint: Endpoint, kind: str, *, stream: bool) -> Ending:
        """A turn at this endpoint, to which the model replies with this kind."""
        if endpoint is Endpoint.COMPLETIONS:
            return self._complete(kind, stream=stream)
        path, body = "/orc", {**self._question}
        if endpoint is Endpoint.WORKSPACE:
            path, body = self._in_workspace()
        elif endpoint is Endpoint.RETRY:
            path = f"/conversations/{self.conversation}/turns/{self._turn('failed', FAILURE)}/retry"
        else:
            body["replaces"] = self._turn("committed")
        return self._post(path, body, kind, stream=stream)

    def ask_next(self, endpoint: Endpoint) -> Ending:
        """The next turn in the same conversation or workspace, of a model that works again."""
        if endpoint is not Endpoint.WORKSPACE:
            return self._post("/orc", self._question)
        ending = self._post(*self._in_workspace())
        self.session = ending.body.get("session_id")
        return ending

    def _in_workspace(self) -> tuple[str, Json]:
        return f"/workspaces/{self.workspace}/chat", {"message": QUESTION, "session_id": self.session}

    @property
    def _question(self) -> Json:
        return {"conversation_id": self.conversation, "question": QUESTION}

    def _turn(self, status: str, kind: str = "") -> str:
        """The latest turn if it has this status; else one is asked first, with replies of a kind."""
        path = f"/conversations/{self.conversation}"
        turns = self.http.get(path).raise_for_status().json()["turns"]
        if not turns or turns[-1]["status"] != status:
            self._post("/orc", self._question, kind)
            turns = self.http.get(path).raise_for_status().json()["turns"]
        return str(turns[-1]["turn_id"])

    def _post(self, path: str, body: Json, kind: str = "", *, stream: bool = False) -> Ending:
        accept = {"accept": "text/event-stream" if stream else "application/json"}
        broken = self.breaking(kind) if kind else nullcontext()
        with broken, self.http.stream("POST", path, json=body, headers=accept) as response:
            if stream and response.is_success:
                events = list(read_events(response))
                ends = [kind for _, kind, _ in events if kind in ("done", "error", "stopped")]
                return Ending(ends, events[-1][2] if events else {})
            response.read()
        return Ending(["done" if response.is_success else "error"], response.json())

    def _complete(self, kind: str, *, stream: bool) -> Ending:
        body = {"model": "orc", "stream": stream, "messages": [{"role": "user", "content": QUESTION}]}
        address = str(self.http.base_url).removesuffix("/").removesuffix("/api") + "/v1/chat/completions"
        with self.breaking(kind):
            response = self.http.post(address, json=body, headers={"x-session-id": self.conversation})
        if not (stream and response.is_success):
            return Ending(["done" if response.is_success else "error"], _problem(response.json()))
        *chunks, last = _data(response)
        ends = [end for chunk in map(json.loads, chunks) if (end := _end_of(chunk))]
        found: Json = next((json.loads(chunk) for chunk in chunks if "error" in json.loads(chunk)), {})
        return Ending(ends if last == "[DONE]" else [*ends, "cut off"], _problem(found))


def _data(response: httpx.Response) -> Iterator[str]:
    for line in response.text.splitlines():
        if line.startswith("data: "):
            yield line.removeprefix("data: ")


def _end_of(chunk: Mapping[str, Any]) -> str | None:
    if "error" in chunk:
        return "error"
    return "done" if any(choice.get("finish_reason") for choice in chunk["choices"]) else None


def _problem(body: Json) -> Json:
    """An error in OpenAI's form as a problem document has it."""
    problem: Json = body.get("error", body)
    return problem
