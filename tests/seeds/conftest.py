"""What the acceptance of the seeds runs on: APIs and a tools server, with doubles of a model and of the web.

Each module holds one of the documents that Orc was asked for from against the product: its example payloads
and scenarios word for word. What differs on purpose is said where it is tested.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import httpx
import pytest

from devkit.doubles import web_search_double
from devkit.doubles.openai_double import ChatRequest, OpenAIDouble, Reply, ToolCall, serving
from devkit.doubles.web_search_double import WebSearchDouble
from devkit.in_process import InProcess, Variant, running_here
from devkit.system import principal_headers, upload
from mcp_server.web.ports import WebPage
from tests.system.steps import Json, answered, new_id

TENANT = "acme"
VARIANTS = {
    "": Variant({"critic": "off"}),
    "critic": Variant({"critic": "on"}),
    "limited": Variant({"critic": "off", "messages_per_hour": 20}),
    "title": Variant({"critic": "off", "title_model": "gpt-4.1-nano"}),
}


class World(NamedTuple):
    """What is running. A user is made for each test, so that tests do not see each other's conversations."""

    here: InProcess
    model: OpenAIDouble
    web: WebSearchDouble

    def client(self, user: str, variant: str = "", *roles: str) -> httpx.Client:
        headers = principal_headers(TENANT, user, *roles)
        return httpx.Client(base_url=self.here.addresses[variant], headers=headers, timeout=60)

    def context(self, kind: str, name: str, parent: str | None = None, **members: str) -> str:
        """A context of this type and name, whose members have these roles."""
        with self.client("root", "", "orc.admin") as root:
            made = root.post("/contexts", json={"type": kind, "name": name, "parent_id": parent})
            identifier: str = made.raise_for_status().json()["context_id"]
            for user, role in members.items():
                path = f"/contexts/{identifier}/members/user/{user}"
                root.put(path, json={"role": role}).raise_for_status()
        return identifier

    def share(self, context: str, *files: tuple[str, bytes]) -> None:
        """Store files in a context."""
        with self.client("root", "", "orc.admin") as root:
            sent = [("file", file) for file in files]
            root.post(f"/contexts/{context}/documents", files=sent).raise_for_status()


def plans(*steps: str, confidence: float = 0.9) -> Callable[[ChatRequest], Reply | None]:
    """A model that is sure of its plans, and says what the double says by itself to all else."""

    def respond(request: ChatRequest) -> Reply | None:
        if not (form := request.form) or form["name"] != "TurnPlan":
            return None
        said = {
            "intent": "factual_lookup",
            "question": request.question,
            "steps": list(steps or ("retrieve", "answer")),
            "confidence": confidence,
        }
        return Reply(tool_calls=[ToolCall(name=form["name"], arguments=said)])

    return respond


@pytest.fixture(scope="session")
def seeds_running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    model, web = OpenAIDouble(), WebSearchDouble()
    with serving(model) as base_url, web_search_double.serving(web) as target:
        common: Json = {
            "model": "openai:gpt-5.1",
            "openai_base_url": base_url,
            "model_retries": 0,
            "provider_files": "files",
            # What is indexed is read whole only if it has a few sentences.
            "full_text_tokens": 60,
        }
        tools = {name.lower().removeprefix("orc_"): value for name, value in target.settings().items()}
        with running_here(tmp_path_factory.mktemp("seeds"), VARIANTS, common=common, tools=tools) as here:
            yield World(here, model, web)


@pytest.fixture
def world(seeds_running: World) -> World:
    seeds_running.model.responder = plans()
    seeds_running.model.requests.clear()
    page = WebPage(title="Quays", url="https://quays.example/", text="Quays open at six.")
    seeds_running.web.start_over(page)
    return seeds_running


@pytest.fixture
def ann(world: World) -> Iterator[httpx.Client]:
    """A user who has asked nothing yet."""
    with world.client(f"ann-{new_id()}") as client:
        yield client


def ask(client: httpx.Client, question: str, **body: Any) -> Json:
    """The answer to a question at `/api/orc`."""
    return answered(client.post("/orc", json={"question": question, **body}))


def with_files(client: httpx.Client, **texts: str) -> str:
    """A conversation with text files of these names and texts."""
    conversation = new_id()
    files = [(name.replace("_", "."), text.encode()) for name, text in texts.items()]
    assert upload(client, conversation, *files).json()["errors"] == []
    return conversation
