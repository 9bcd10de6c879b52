"""What `orc doctor` says of a model after asking it."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from devkit.doubles.openai_double import ChatRequest, Failure, OpenAIDouble, Reply, serving
from devkit.fakes import WordCounter
from orc.cli.model_trial import report_model, try_model
from orc_core.errors import OrcError
from orc_core.infra.settings import CoreSettings
from orc_core.llm.chat_model import ChatModel
from orc_core.llm.factory import build_chat_model
from orc_core.llm.provider import open_provider
from orc_core.llm.served_models import found_here


@pytest.fixture
def double() -> OpenAIDouble:
    return OpenAIDouble()


@pytest.fixture
async def model(double: OpenAIDouble, tmp_path: Path) -> AsyncIterator[ChatModel]:
    with serving(double) as url:
        settings = CoreSettings(
            model="ollama:llama3.2", openai_base_url=url, data_dir=tmp_path, model_retries=0
        )
        provider = open_provider(settings)
        assert provider is not None
        yield build_chat_model(settings, "writer", WordCounter(), provider)
        await provider.aclose()


async def report(model: ChatModel, window: int = 128_000, server: str | None = None) -> str:
    lines: list[str] = []
    trials = [each async for each in try_model(model)]
    report_model(trials, window, server, lambda *parts: lines.append(" ".join(map(str, parts))))
    return "\n".join(lines)


def refuses(failure: Failure) -> Callable[[ChatRequest], Failure]:
    return lambda _: failure


@pytest.mark.parametrize(
    ("failure", "says"),
    [
        (Failure(status=404, message="no such deployment"), "no such model"),
        (Failure(status=401), "refused our key"),
        (Failure(status=429, code="insufficient_quota"), "quota is used up"),
    ],
    ids=["wrong deployment", "wrong key", "no quota"],
)
async def test_a_model_that_cannot_answer_is_an_error(
    failure: Failure, says: str, double: OpenAIDouble, model: ChatModel
) -> None:
    double.responder = refuses(failure)
    with pytest.raises(OrcError, match=says):
        await report(model)


async def test_what_a_small_model_lacks_is_no_error_and_has_a_remedy(
    double: OpenAIDouble, model: ChatModel
) -> None:
    def answer(asked: ChatRequest) -> Reply | Failure:
        refused = Failure(status=400, message="llama3.2 does not support tools")
        return refused if asked.body.get("tools") else Reply(text="It rains.")

    double.responder = answer
    said = await report(model, window=4096, server="ollama")
    assert "refuses tools" in said
    assert "Turns are planned by rules" in said
    assert "reads 4,096 tokens only" in said
    assert "OLLAMA_CONTEXT_LENGTH=16384" in said


async def test_what_a_server_refuses_is_left_out_and_said(double: OpenAIDouble, model: ChatModel) -> None:
    def answer(asked: ChatRequest) -> Reply | Failure | None:
        return Failure(status=400, message="no") if "temperature" in asked.body else None

    double.responder = answer
    said = await report(model)
    assert "refuses requests with options" in said
    assert "gives objects by a JSON schema" in said


async def test_a_model_that_can_do_all_needs_no_advice(double: OpenAIDouble, model: ChatModel) -> None:
    said = await report(model)
    assert "gives objects by a JSON schema" in said


async def test_servers_on_this_machine_are_named_and_not_used(double: OpenAIDouble) -> None:
    double.served["/v1/models"] = {"data": [{"id": "llama3.2:latest"}]}
    with serving(double) as url:
        servers = {"ollama": ("Ollama", url), "lmstudio": ("LM Studio", "http://127.0.0.1:9/v1")}
        assert await found_here(servers) == [
            "Ollama runs here. To use it, set ORC_MODEL=ollama:llama3.2:latest"
        ]
    assert not double.requests
