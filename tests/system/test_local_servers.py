"""What a user gets from models on servers of others, over HTTP: an answer, or a sentence on what to do."""

from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest

from devkit.doubles.openai_double import ChatRequest, Failure, OpenAIDouble, Reply, default_reply, serving
from devkit.in_process import InProcess, Variant, running_here
from devkit.shared_data import HANDBOOK
from devkit.system import upload
from tests.system.steps import answered, new_id

QUESTION = "How many days of annual leave are there?"
WISH = "From now on answer in bullet points."
Quirk = Callable[[ChatRequest], Reply | Failure | None]


def no_tools(asked: ChatRequest) -> Failure | None:
    return Failure(status=400, message="gemma3 does not support tools") if asked.body.get("tools") else None


def alternates(asked: ChatRequest) -> Failure | None:
    roles = [message["role"] for message in asked.body["messages"]]
    repeats = any(one == other for one, other in pairwise(roles))
    return Failure(status=400, message="Conversation roles must alternate") if repeats else None


def no_system_role(asked: ChatRequest) -> Failure | None:
    """As the template of Gemma 2; its server fails instead of refusing."""
    is_first = asked.body["messages"][0]["role"] == "system"
    return Failure(status=500, message="Jinja Exception: System role not supported") if is_first else None


def strict(asked: ChatRequest) -> Failure | None:
    """As servers that refuse fields that they do not know."""
    known = {"model", "messages", "stream", "max_tokens", "temperature"}
    return (
        Failure(status=422, message="Extra inputs are not permitted") if asked.body.keys() - known else None
    )


def thinks(asked: ChatRequest) -> Reply:
    reply = default_reply(asked)
    return reply.model_copy(update={"text": f"<think>\nLet me see.\n</think>\n\n{reply.text}"})


def never_ends(asked: ChatRequest) -> Reply:
    return default_reply(asked).model_copy(update={"finish_reason": None})


def only_talks(asked: ChatRequest) -> Reply | Failure | None:
    """No form of structured output is known, and tools are refused."""
    if asked.body.get("response_format") or asked.body.get("tools"):
        return Failure(status=400, message="unknown field")
    return None


QUIRKS = (no_tools, alternates, no_system_role, strict, thinks, never_ends, only_talks)
FACTS = {name: {"context_window": 32_000} for name in ("too_long", *(quirk.__name__ for quirk in QUIRKS))}


@pytest.fixture(scope="module")
def double() -> OpenAIDouble:
    return OpenAIDouble()


@pytest.fixture(scope="module")
def here(double: OpenAIDouble, tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcess]:
    # A model for each, because what was learned of one is remembered.
    variants = {
        quirk.__name__: Variant({"model": f"ollama:{quirk.__name__}", "model_catalog": FACTS})
        for quirk in QUIRKS
    }
    variants["too_long"] = Variant({"model": "ollama:too_long", "model_catalog": FACTS})
    variants["small"] = Variant({"model": "ollama:small"})
    with serving(double) as address:
        common = {"openai_base_url": address, "model_retries": 0, "page_analysis": "off"}
        with running_here(tmp_path_factory.mktemp("local"), variants, common=common, tools={}) as running:
            yield running


@pytest.mark.parametrize("quirk", QUIRKS)
def test_the_user_gets_a_cited_answer_in_each_turn(
    quirk: Quirk, here: InProcess, double: OpenAIDouble
) -> None:
    double.responder = quirk
    place = new_id()
    with here.client(quirk.__name__, "acme") as client:
        upload(client, place, HANDBOOK).raise_for_status()
        here.index()
        answered(client.post("/orc", json={"question": WISH, "conversation_id": place}))
        for question in (QUESTION, "And who approves it?"):
            result = answered(client.post("/orc", json={"question": question, "conversation_id": place}))
            assert result["citations"], result["answer"]
            assert "think" not in result["answer"]


def test_a_small_window_gets_passages_and_no_tools(here: InProcess, double: OpenAIDouble) -> None:
    double.responder, place = None, new_id()
    with here.client("small", "acme") as client:
        upload(client, place, HANDBOOK).raise_for_status()
        here.index()
        double.requests.clear()
        result = answered(client.post("/orc", json={"question": QUESTION, "conversation_id": place}))
    assert result["citations"]
    assert not any(request.body.get("tools") for request in double.requests)


def test_a_prompt_that_is_too_long_says_what_to_do(here: InProcess, double: OpenAIDouble) -> None:
    says = "request (18031 tokens) exceeds the available context size (8192 tokens)"
    double.responder, place = lambda _: Failure(status=400, message=says), new_id()
    with here.client("too_long", "acme") as client:
        upload(client, place, HANDBOOK).raise_for_status()
        here.index()
        response = client.post("/orc", json={"question": QUESTION, "conversation_id": place})
    assert response.status_code != 503
    assert "Ask about fewer documents" in response.json()["detail"]
