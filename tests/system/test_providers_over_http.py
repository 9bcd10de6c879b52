"""With a provider: vectors in addition to words, and pages analysed by a model."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from devkit.doubles.openai_double import OpenAIDouble
from devkit.system import System
from devkit.system_here import system_here
from tests.system.steps import answered, ask, conversation_with, wait_until

LONG = "".join(f"Rule {n}. The crane of berth {n} lifts {n} tons at most.\n\f" for n in range(1, 400))
QUESTION = "How much does the crane of berth 214 lift?"


@pytest.fixture(scope="module")
def embedding(tmp_path_factory: pytest.TempPathFactory, model_settings: dict[str, str]) -> Iterator[System]:
    """An Orc with an embedding model, whose analysis is left to the model."""
    settings = {**model_settings, "ORC_EMBEDDING_MODEL": "vectors", "ORC_PAGE_ANALYSIS": "auto"}
    with system_here(tmp_path_factory.mktemp("embedding"), **settings) as system:
        yield system


@pytest.fixture
def client(embedding: System) -> Iterator[httpx.Client]:
    with embedding.client() as client:
        yield client


def documents_of(client: httpx.Client, conversation_id: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get(f"/conversations/{conversation_id}/documents").json()[
        "documents"
    ]
    return found


def is_completed(client: httpx.Client, conversation_id: str) -> bool:
    return bool(documents_of(client, conversation_id)[0]["status"] == "completed")


def test_words_and_vectors_are_searched_together(client: httpx.Client, double: OpenAIDouble) -> None:
    conversation_id = conversation_with(client, "rules.txt", text=LONG)
    wait_until(lambda: is_completed(client, conversation_id), "completed")
    metadata = answered(ask(client, conversation_id, "rules.txt", question=QUESTION))["metadata"]
    assert metadata["retrieval_mode"] == "rag"
    assert metadata["retrieval_steps"][0]["method"] == "hybrid"
    assert metadata["retrieval_steps"][0]["hits"] > 0
    [prompt] = [body for r in double.requests if f"Question: {QUESTION}" in (body := json.dumps(r.body))]
    assert "berth 214 lifts 214 tons" in prompt
    [search] = [
        r.body["input"] for r in double.requests if "input" in r.body and QUESTION in str(r.body["input"])
    ]
    assert search


def test_pages_are_analysed_by_the_model_and_its_failures_are_reported(
    client: httpx.Client, double: OpenAIDouble
) -> None:
    conversation_id = conversation_with(
        client, "watch.txt", text="The night watch of Contoso Ltd. has 7 members."
    )
    wait_until(lambda: documents_of(client, conversation_id)[0]["summary_available"], "summary", seconds=30)
    assert any("night watch" in json.dumps(request.body) for request in double.requests)
