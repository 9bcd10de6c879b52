"""LangGraph's own server, which LangGraph Studio talks to: it draws the graph of a turn, and runs it."""

import os
import subprocess
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from devkit.shared_data import ROOT
from devkit.system import upload
from orc.cli.ports import free_port

pytestmark = pytest.mark.slow

LANGGRAPH = ROOT / ".venv-studio" / "bin" / "langgraph"
START_SECONDS = 90


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    if not LANGGRAPH.exists():
        pytest.skip("there is no .venv-studio; `make install-studio` makes it")
    folder: Path = tmp_path_factory.mktemp("studio")
    url = f"http://127.0.0.1:{(port := free_port())}"
    command = [str(LANGGRAPH), "dev", "--allow-blocking", "--no-browser", "--no-reload", "--port", str(port)]
    environment = {**os.environ, "ORC_DATA_DIR": str(folder), "LANGGRAPH_CLI_NO_ANALYTICS": "1"}
    with (
        (folder / "server.log").open("wb") as log,
        subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log) as process,
        httpx.Client(base_url=url, timeout=60) as client,
    ):
        deadline = time.monotonic() + START_SECONDS
        while not answers(client):
            said = (folder / "server.log").read_text(errors="replace")[-3000:]
            assert process.poll() is None and time.monotonic() < deadline, said
            time.sleep(0.2)
        yield client
        process.terminate()


def answers(client: httpx.Client) -> bool:
    try:
        return client.get("/ok").is_success
    except httpx.TransportError:
        return False


def asked(server: httpx.Client, how: str, **options: Any) -> tuple[str, httpx.Response]:
    """A question about a file of a conversation, and that conversation."""
    conversation = str(uuid.uuid4())
    with httpx.Client(base_url=server.base_url.join("/orc/api"), timeout=60) as api:
        upload(api, conversation, ("quay.txt", b"The quay opens at seven.")).raise_for_status()
    given = {"question": "When does the quay open?", "conversation_id": conversation}
    run = {"assistant_id": "orc", "input": given, **options}
    return conversation, server.post(f"/runs/{how}", json=run).raise_for_status()


def test_the_graph_is_drawn_with_the_steps_of_a_turn(server: httpx.Client) -> None:
    [assistant] = server.post("/assistants/search", json={}).json()
    graph = server.get(f"/assistants/{assistant['assistant_id']}/graph", params={"xray": "true"}).json()
    nodes = {node["id"] for node in graph["nodes"]}
    assert {"turn:plan_query", "turn:call_tools", "turn:critique", "turn:write_answer:call_model"} <= nodes


def test_a_question_about_a_document_gets_its_cited_answer_and_is_stored(server: httpx.Client) -> None:
    conversation, response = asked(server, "wait")
    result = response.json()
    assert "The quay opens at seven." in result["answer"]
    assert [(each["blob_name"], each["page"], each["check"]) for each in result["citations"]] == [
        ("quay.txt", 1, "quoted")
    ]
    stored = server.get(f"/orc/api/conversations/{conversation}").json()
    assert [turn["status"] for turn in stored["turns"]] == ["committed"]


def test_the_steps_of_a_turn_are_shown_while_they_run(server: httpx.Client) -> None:
    _, response = asked(server, "stream", stream_mode=["updates"], stream_subgraphs=True)
    steps = ("plan_query", "call_tools", "build_context", "write_answer", "critique", "return_state", "turn")
    places = [response.text.index(f'data: {{"{step}":') for step in steps]
    assert places == sorted(places)
