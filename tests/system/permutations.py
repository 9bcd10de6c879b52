"""One question asked through every endpoint: the model's replies, the runs, and how runs compare."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from devkit.doubles import web_search_double
from devkit.doubles.openai_double import ChatRequest, Failure, OpenAIDouble, Reply, ToolCall, serving
from devkit.doubles.web_search_double import ENGINE_ID, KEY, WebSearchDouble
from devkit.in_process import InProcess, Variant, running_here
from devkit.stream_to_json import Json, comparable, joined
from devkit.system import Event, read_events, upload
from mcp_server.web.ports import WebPage
from tests.system.steps import answered, come_back, new_id, turns_of

QUESTION = "When does the quay open?"
DOCUMENTS = (
    ("quay.txt", b"The quay opens at seven. The harbour master keeps the key."),
    ("pool.txt", b"The pool opens at nine. Families pay 15 crowns."),
)
PAGE = WebPage(title="Quays", url="https://quays.example/hours", text="Quays of the region open at six.")
STREAM = {"accept": "text/event-stream"}
WAYS = ("orc", "orc as events", "chat", "chat/stream")
Said = Json | str | Reply | Failure
"""A form's fields, a text, or an answer of the double's as it is."""


@dataclass(frozen=True)
class Talk:
    """What the model says in one turn: to forms by their name, where tools are offered, and else.

    What is not scripted, the double answers as it does by itself. Tools are named with their arguments.
    """

    plans: Sequence[Said] = ()
    verdicts: Sequence[Said] = ()
    calls: Sequence[tuple[str, Json]] = ()
    texts: Sequence[Said] = ()


class Model:
    """The model of one turn; `asked` is what it was asked for, in order."""

    def __init__(self, talk: Talk) -> None:
        self.asked: list[str] = []
        self._forms = {"TurnPlan": iter(talk.plans), "CriticVerdict": iter(talk.verdicts)}
        self._calls, self._texts = iter(talk.calls), iter(talk.texts)

    def __call__(self, asked: ChatRequest) -> Reply | Failure | None:
        forced = asked.form
        if forced:
            self.asked.append(forced["name"])
            return _filled(forced["name"], next(self._forms[forced["name"]], None))
        if asked.body.get("tools"):
            self.asked.append("tools")
            if call := next(self._calls, None):
                return Reply(tool_calls=[ToolCall(name=call[0], arguments=call[1])])
            return _text(next(self._texts, None))
        self.asked.append("text")
        return _text(next(self._texts, None))


@dataclass(frozen=True)
class Permutation:
    """A question, the settings and documents that it meets, what the model says, and what must come of it.

    `asked` is what the model is asked for, `tools` the tools with how they end, `actions` the verdicts on
    the answers, `cites` whose pages are cited and verified; `says` receives how the turn went, or failed.
    `earlier` was asked before: `/api/orc` has it stored, chats send it along with its answer.
    Unless it says otherwise, the documents are `indexed` and searched once, and one of them bears the answer
    out.
    """

    asked: list[str]
    talk: Talk = Talk()
    question: str = QUESTION
    earlier: str = ""
    variant: str = "plain"
    documents: bool = True
    indexed: bool = True
    body: Json = field(default_factory=dict)
    tools: list[str] = field(default_factory=lambda: ["semantic_search finished"])
    actions: list[str] = field(default_factory=lambda: ["accept"])
    cites: list[str] = field(default_factory=lambda: ["quay.txt"])
    says: str = ""
    status: int = 200


@dataclass(frozen=True)
class Run:
    """What came of a turn: its last object, its own events or the stream's, and what the model was asked."""

    status: int
    ended: Json
    events: list[Event]
    asked: list[str]

    def of(self, kind: str) -> list[Json]:
        """The data of the events of this kind."""
        return [data for _, each, data in self.events if each == kind]

    @property
    def tools(self) -> list[str]:
        """Each tool that was used, with how it ended, in the order of their names."""
        ends = [event for event in self.of("tool") if event["status"] in ("finished", "failed")]
        return sorted(f"{event['name']} {event['status']}" for event in ends)

    @property
    def cites(self) -> list[str]:
        """The documents and addresses whose pages are cited, each once."""
        cited = [citation for citation in self.ended.get("citations", []) if citation["verified"]]
        return sorted({citation["url"] or citation["blob_name"] for citation in cited})

    @property
    def said(self) -> str:
        """How the turn went, or why it failed, in words."""
        return json.dumps(self.ended.get("metadata", self.ended))


class Endpoints:
    """The API under one set of settings, asked by one user through all its endpoints."""

    def __init__(self, client: httpx.Client, double: OpenAIDouble, index: Callable[[], None]) -> None:
        self._client = client
        self._double = double
        self._index = index

    def run(self, permutation: Permutation) -> list[Run]:
        """The same turn through every endpoint, each in a separate conversation."""
        places = [self._place(permutation) for _ in WAYS]
        if permutation.indexed:
            self._index()
        return [self._run(permutation, way, place) for way, place in zip(WAYS, places, strict=True)]

    def _place(self, permutation: Permutation) -> str | None:
        if not permutation.documents:
            return None
        place = new_id()
        stored = upload(self._client, place, *DOCUMENTS)
        assert stored.status_code == 201, stored.text
        return place

    def _run(self, permutation: Permutation, way: str, place: str | None) -> Run:
        said = self._earlier(permutation, place)
        self._double.responder = model = Model(permutation.talk)
        path, _, rendering = way.partition(" as ")
        body = {**permutation.body, **_asking(path, permutation.question, said, place)}
        if rendering or path.endswith("/stream"):
            with self._client.stream("POST", f"/{path}", json=body, headers=STREAM) as response:
                assert response.status_code == 200, response.read()
                events = list(read_events(response))
            _, kind, ending = events[-1]
            return Run(ending["status"] if kind == "error" else 200, ending, events, model.asked)
        response = self._client.post(f"/{path}", json=body)
        return Run(response.status_code, response.json(), self._events_of(response, place), model.asked)

    def _earlier(self, permutation: Permutation, place: str | None) -> list[Json]:
        """What was said before, as messages, once it has been said."""
        if not permutation.earlier:
            return []
        self._double.responder = None
        body = {**permutation.body, **_asking("orc", permutation.earlier, [], place)}
        answer = answered(self._client.post("/orc", json=body))["answer"]
        return [_message("user", permutation.earlier), _message("assistant", answer)]

    def _events_of(self, response: httpx.Response, place: str | None) -> list[Event]:
        """The events of a turn that was answered as JSON."""
        conversation = place or response.json()["conversation_id"]
        *_, turn = turns_of(self._client, conversation)
        return come_back(self._client, f"/conversations/{conversation}/turns/{turn['turn_id']}")


@contextmanager
def running_with_doubles(
    folder: Path, variants: Mapping[str, Variant], model: OpenAIDouble
) -> Iterator[InProcess]:
    """APIs and a tools server that ask this model and, of the web, a search engine that finds one page."""
    with serving(model) as address, web_search_double.serving(WebSearchDouble(pages=[PAGE])) as engine:
        common = {
            "model": "openai:gpt-5.1",
            "openai_base_url": address,
            "openai_api_key": "none",
            "model_retries": 0,
        }
        web = {"google_search_url": f"{engine.url}/google", "google_search_engine": ENGINE_ID}
        tools = {"google_search_key": KEY, **web}
        with running_here(folder, variants, common=common, tools=tools) as running:
            yield running


def exchanged_by(run: Run) -> list[object]:
    """What the model was asked and the caller received, to compare with the same turn in another system."""
    exchanged: list[object] = comparable([run.asked, *joined(run.events)])
    return exchanged


def _asking(path: str, question: str, said: list[Json], place: str | None) -> Json:
    if path == "orc":
        return {"question": question, **({"conversation_id": place} if place else {})}
    return {"messages": [*said, _message("user", question)], "session_id": place or new_id()}


def _message(role: str, content: str) -> Json:
    return {"role": role, "content": content}


def _filled(form: str, said: Said | None) -> Reply | Failure | None:
    if isinstance(said, dict):
        return Reply(tool_calls=[ToolCall(name=form, arguments=said)])
    return _text(said) if isinstance(said, str) else said


def _text(said: Said | None) -> Reply | Failure | None:
    assert not isinstance(said, dict)
    return Reply(text=said) if isinstance(said, str) else said
