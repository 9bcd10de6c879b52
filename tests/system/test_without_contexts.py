"""Turns that name no context send and show the same bytes, whether or not there are contexts."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx

from devkit.doubles.openai_double import OpenAIDouble
from devkit.in_process import InProcess, Variant, over_model
from devkit.system import ask_streaming, principal_headers, upload
from orc.tools.ports import ToolGateway
from orc.turns.running_turn import TurnDependencies

Json = dict[str, Any]
TENANT, CONVERSATION = "acme", "3f0d8f5e-6f0e-4f5a-9d5f-0b1f8f6b2a11"
FILES = {
    "ferry.txt": b"The ferry to the lighthouse costs ten crowns. It leaves at nine.\n\nDogs travel for free.",
    "harbour.txt": b"The harbour opens at seven and closes at dusk. Its master is Ada Quay.",
}
QUESTIONS: list[Json] = [
    {"question": "Hello!"},
    {"question": "What does the ferry cost?", "blob_names": ["ferry.txt"]},
    {"question": "And who is the master of the harbour?"},
    {"question": "When does the harbour open, and when does the ferry leave?"},
    {"question": "Compare both files.", "blob_names": ["ferry.txt", "harbour.txt"]},
]
SHOWN = ("answer", "citations", "conversation_id", "status")
_FILE = re.compile("file-[0-9a-f]{32}")


class RecordingTools:
    """Tools that note each call."""

    def __init__(self, tools: ToolGateway) -> None:
        self._tools = tools
        self.calls: list[Json] = []
        self.list_tools = tools.list_tools

    async def call(self, name: str, arguments: Json, token: str, **options: Any) -> Json:
        self.calls.append({"name": name, "arguments": arguments, "meta": options.get("meta")})
        return await self._tools.call(name, arguments, token, **options)


@contextmanager
def product(folder: Path) -> Iterator[tuple[InProcess, OpenAIDouble, list[Json]]]:
    """The running product, its model, and the calls of its tools."""
    calls: list[Json] = []

    def recording(parts: TurnDependencies) -> TurnDependencies:
        tools = RecordingTools(parts.tools)
        tools.calls = calls
        return replace(parts, tools=tools)

    double = OpenAIDouble()
    with over_model(double, folder, {"": Variant(override=recording)}, memory="extractive") as here:
        yield here, double, calls


def run(here: InProcess, double: OpenAIDouble, calls: list[Json]) -> list[Json]:
    """What each question sends to the model and to tools, and what its asker gets."""
    recorded = []
    with here.client("", TENANT) as http:
        assert upload(http, CONVERSATION, *FILES.items()).is_success
        here.index()
        for question in QUESTIONS:
            double.requests.clear()
            calls.clear()
            *_, (_, kind, result) = ask_streaming(http, conversation_id=CONVERSATION, **question)
            assert kind == "done"
            recorded.append(
                {
                    "question": question,
                    "prompts": [request.body for request in double.requests],
                    "tool_calls": list(calls),
                    "answer": {name: result[name] for name in SHOWN},
                }
            )
    content = json.dumps(recorded).replace(str(here.folder), "FOLDER")
    # The model's provider makes the ids of files.
    restored: list[Json] = json.loads(_FILE.sub("FILE", content))
    return restored


def add_contexts(http: httpx.Client) -> None:
    """Contexts of the asker's tenant with documents, which no question names."""
    headers = principal_headers(TENANT, "ann", "orc.admin")
    made = http.post("/contexts", json={"type": "organization", "name": "Harbours"}, headers=headers)
    context_id = made.raise_for_status().json()["context_id"]
    files = [("file", ("ferry.txt", b"The ferry costs ninety crowns, says Harbours."))]
    http.post(f"/contexts/{context_id}/documents", files=files, headers=headers).raise_for_status()


def test_contexts_that_no_question_names_change_nothing(tmp_path: Path) -> None:
    with product(tmp_path / "without") as (here, double, calls):
        without = run(here, double, calls)
    assert all(turn["prompts"] for turn in without)
    with product(tmp_path / "with") as (here, double, calls):
        with here.client("", TENANT) as http:
            add_contexts(http)
        assert run(here, double, calls) == without
