"""How often a model is asked in a turn, and with how much: counted at the double."""

import sys
import time
from collections.abc import Iterator
from itertools import pairwise, takewhile
from typing import Any

import httpx
import pytest

from devkit.doubles.openai_double import OpenAIDouble, default_reply
from devkit.doubles.openai_window import Window
from devkit.in_process import InProcess, Variant, over_model
from devkit.shared_data import HANDBOOK
from devkit.system import read_events, upload
from orc_core.infra.model_settings import DEFAULT_CHAT_MODEL
from tests.system.permutations import Model, Talk
from tests.system.steps import answered, new_id

QUESTION, SECOND = "Who is the harbour master?", "And when is he there?"
LISTING = "Which documents are there?"
NAMED = {"blob_names": [HANDBOOK.name]}
VARIANTS = {
    "defaults": Variant(),
    "judge": Variant({"model_catalog": {DEFAULT_CHAT_MODEL: {"judge_accuracy": 0.8}}}),
    "lazy": Variant({"lazy_retrieval": True}),
}
PLAN = {
    "intent": "factual_lookup",
    "question": "When is the harbour master there?",
    "steps": ["retrieve", "answer"],
    "confidence": 0.9,
}
VERDICT = {"sentences": [], "coverage": 1, "action": "accept"}
STREAM = {"accept": "text/event-stream"}
SLOW_MS = 200
"""What a model takes to its first text."""
OTHER = "His name can be read in the hall. [S1]"
"""In other words than any page."""
SCENARIOS: dict[str, tuple[str, dict[str, Any], int, int]] = {
    "document": ("defaults", NAMED, 1, 1),
    "search": ("defaults", {}, 1, 2),
    "tools": ("defaults", {"question": LISTING}, 2, 2),
    "lazy": ("lazy", {}, 1, 2),
    "document, judge": ("judge", NAMED, 1, 1),
    "search, judge": ("judge", {}, 1, 2),
    "document, judge, undecided": ("judge", NAMED, 2, 2),
    "search, judge, undecided": ("judge", {}, 2, 3),
}
"""The settings, what is asked, and how often a model is: by a first question, and by a second one."""


@pytest.fixture(scope="module")
def model() -> OpenAIDouble:
    """A model that counts its prompts as OpenAI's do."""
    return OpenAIDouble(window=Window(128_000))


@pytest.fixture(scope="module")
def here(model: OpenAIDouble, tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcess]:
    with over_model(model, tmp_path_factory.mktemp("calls"), VARIANTS) as running:
        yield running


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_turn_asks_a_model_as_often_as_documented(
    scenario: str, here: InProcess, model: OpenAIDouble, capfd: pytest.CaptureFixture[str]
) -> None:
    variant, body, first, second = SCENARIOS[scenario]
    place = new_id()
    with here.client(variant, "acme") as client:
        upload(client, place, HANDBOOK).raise_for_status()
        here.index()
        for number, (question, expected) in enumerate([(QUESTION, first), (SECOND, second)], 1):
            texts = [OTHER] if scenario.endswith("undecided") else []
            about = {"question": question, **body, "conversation_id": place}
            asked, usage = ask(client, model, about, texts)
            assert len(asked) == usage["model_calls"] == expected
            figures = f"{scenario}, question {number}: {' + '.join(asked)}, {usage['input_tokens']:,} tokens"
            with capfd.disabled():
                sys.stdout.write(f"\n{figures}")


def test_a_follow_up_on_a_named_document_begins_as_soon_and_repeats_the_prompt(
    here: InProcess, model: OpenAIDouble, capfd: pytest.CaptureFixture[str]
) -> None:
    """The first text waits for one call, and providers read the same beginning from their caches."""
    model.responder = lambda asked: default_reply(asked).model_copy(update={"delay_ms": SLOW_MS})
    waited, place = list[float](), new_id()
    with here.client("defaults", "acme") as client:
        upload(client, place, HANDBOOK).raise_for_status()
        here.index()
        answered(client.post("/orc", json={"question": "Hello", "conversation_id": new_id()}))  # imports
        model.requests.clear()
        for number, question in enumerate((QUESTION, SECOND, "And his deputy?", "Where is their office?")):
            body = {"question": question, **NAMED, "conversation_id": place}
            begun = time.monotonic()
            with client.stream("POST", "/orc", json=body, headers=STREAM) as response:
                for _, kind, _ in read_events(response):
                    if kind == "token" and len(waited) == number:
                        waited.append(time.monotonic() - begun)
    prompts = ["\n".join(str(each["content"]) for each in sent.body["messages"]) for sent in model.requests]
    asked = [prompt for prompt in prompts if HANDBOOK.name in prompt and "Question: " in prompt]
    shared = [len(beginning(*pair)) / len(pair[1]) for pair in pairwise(asked)]
    first, *later = waited
    with capfd.disabled():
        shares = ", ".join(f"{each:.1%}" for each in shared)
        sys.stdout.write(f"\nfirst text {first:.3f} s, then {min(later):.3f} s; shared: {shares}")
    assert len(shared) == len(later)
    assert min(shared) >= 0.95
    assert min(later) <= 1.2 * first


def beginning(one: str, other: str) -> list[str]:
    """The letters that two texts begin with."""
    return [a for a, _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))]


def ask(
    client: httpx.Client, model: OpenAIDouble, body: dict[str, Any], texts: list[str]
) -> tuple[list[str], dict[str, int]]:
    """What the model was asked for in one turn, and what the turn says that it cost."""
    calls: list[tuple[str, dict[str, Any]]] = [("documents_list", {})] if body["question"] == LISTING else []
    model.responder = scripted = Model(Talk([PLAN], [VERDICT], calls, texts))
    result = answered(client.post("/orc", json=body))
    return scripted.asked, result["metadata"]["usage"]
