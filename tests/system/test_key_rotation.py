"""The signing key is changed step by step while people work: nothing is lost, and the former is refused."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from devkit.doubles.openai_double import OpenAIDouble, Script
from devkit.system import System, read_events
from devkit.system_here import system_here
from orc_core.documents.scope import ScopeTokens
from orc_core.infra.keys import Keys
from orc_core.names import Owner
from tests.system.steps import answered, conversation_with, scope_over
from tests.system.test_tool_tokens import post

pytestmark = pytest.mark.slow

FORMER, NEXT = "former " * 8, "next " * 8
STEPS = {
    "before": Keys(FORMER),
    "next accepted": Keys(FORMER, NEXT, FORMER),
    "changed": Keys(NEXT, FORMER, FORMER),
    "after": Keys(NEXT, lasting=FORMER),
}
SLOWLY = Script(text="The quay opens at seven. " * 20, tokens=100, delay_ms=30)
STREAM = {"accept": "text/event-stream"}


class World(ExitStack):
    """Processes of the product on one data directory, each with the keys of a step."""

    def __init__(self, data: Path, settings: dict[str, str]) -> None:
        super().__init__()
        self.data, self.settings = data, settings

    def at(self, step: str, **more: str) -> System:
        keys = STEPS[step]
        given = {"SCOPE_SIGNING": keys.present, "SECOND_SIGNING": keys.second, "DERIVATION": keys.lasting}
        more |= {f"ORC_{name}_KEY": key for name, key in given.items() if key}
        return self.enter_context(system_here(self.data, **self.settings, **more))

    def client(self, system: System) -> httpx.Client:
        return self.enter_context(system.client())


@pytest.fixture
def world(tmp_path: Path, model_settings: dict[str, str], double: OpenAIDouble) -> Iterator[World]:
    with World(tmp_path / "data", model_settings) as opened:
        yield opened


def chat(client: httpx.Client, **body: Any) -> dict[str, Any]:
    """An answer in the session `weekly`, read by a tool."""
    messages = [{"role": "user", "content": "When does the quay open?"}]
    answer = answered(client.post("/chat", json={"messages": messages, "session_id": "weekly", **body}))
    assert all(call["status"] == "finished" for call in answer["metadata"]["tools"]), answer["metadata"]
    return answer


def test_a_change_of_keys_loses_no_session_no_stream_and_no_token(world: World, double: OpenAIDouble) -> None:
    before, following = world.at("before"), world.at("next accepted")
    first = world.client(before)
    weekly = chat(first)["conversation_id"]
    conversation_with(first, "fees.txt", within=weekly)
    token = ScopeTokens(STEPS["before"]).mint(scope_over(Owner("local", "me", weekly)), seconds=600)
    changed = world.at("changed")
    # In between, either half may be the first that has the new settings.
    ahead = world.client(world.at("changed", MCP_SERVER_URL=following.mcp_url))
    behind = world.client(world.at("next accepted", MCP_SERVER_URL=changed.mcp_url))
    double.script = SLOWLY.model_copy()
    body = {"question": "When?", "conversation_id": weekly, "blob_names": ["fees.txt"]}
    with behind.stream("POST", "/orc", json=body, headers=STREAM) as asked:
        events = read_events(asked)
        seen = [next(event for event in events if event[1] == "token")]
        assert chat(ahead)["conversation_id"] == weekly, "the other half changed while the stream runs"
        assert post(changed, token).status_code == post(following, token).status_code == 200
        seen += events
    done = seen[-1][2]
    assert (seen[-1][1], done["last_mcp_tool_used"]) == ("done", "document_chat")
    for client in (first, ahead, behind, world.client(changed)):
        assert chat(client)["conversation_id"] == weekly
    after = world.at("after")
    assert post(after, token).status_code == 401, "the former key is taken away"
    last = world.client(after)
    assert chat(last)["conversation_id"] == weekly, "sessions stay"
    turns = last.get(f"/conversations/{weekly}", params={"full": "true"}).json()["turns"]
    assert {turn["status"] for turn in turns} == {"committed"}
    assert done["turn_id"] in {turn["turn_id"] for turn in turns}


def test_a_name_of_a_session_leads_elsewhere_without_the_derivation_key(world: World) -> None:
    weekly = chat(world.client(world.at("before")))["conversation_id"]
    settings = {"ORC_SCOPE_SIGNING_KEY": NEXT}
    other = world.client(world.enter_context(system_here(world.data, **world.settings, **settings)))
    assert chat(other)["conversation_id"] != weekly
