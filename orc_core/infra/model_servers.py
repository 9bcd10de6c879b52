"""The servers of language models that ORC_MODEL can name, as data."""

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

OPENAI = "openai"
LOOPBACK_HOSTS = frozenset({"127.0.0.1", "::1", "localhost"})
LOCAL_DEFAULTS = {
    "model_timeout_seconds": 300.0,
    "turn_deadline_seconds": 900.0,
    "tool_timeout_seconds": 600.0,
    "planner_seconds": 60.0,
    "planner_tokens": 1000,
}
"""Defaults of settings if the model runs on this machine, where it may read a prompt for minutes."""
TEMPERATURE = 0.2
"""For servers that take 0.7 to 1 by default: a small model then copies the prompt's examples and invents."""


class ModelServer(NamedTuple):
    """A kind of server: its name for people, its usual address, what makes its window larger, and the
    temperature that is sent; None: none, as its models may refuse one.

    It has OpenAI's chat API unless `package` names the one with LangChain's model of it, an extra of Orc.
    `models` is the path of its list of models, and `headers` are those that it takes the key in.
    """

    label: str
    url: str
    larger_window: str = ""
    temperature: float | None = None
    package: str = ""
    models: str = "models"
    headers: Mapping[str, str] = {"authorization": "Bearer {key}"}


SERVERS = {
    OPENAI: ModelServer("OpenAI", "https://api.openai.com/v1"),
    "anthropic": ModelServer(
        "Anthropic",
        "https://api.anthropic.com",
        package="langchain-anthropic",
        models="v1/models",
        headers={"x-api-key": "{key}", "anthropic-version": "2023-06-01"},
    ),
    "google_genai": ModelServer(
        "Gemini",
        "https://generativelanguage.googleapis.com",
        package="langchain-google-genai",
        models="v1/models",
        headers={"x-goog-api-key": "{key}"},
    ),
    "mistralai": ModelServer(
        "Mistral", "https://api.mistral.ai/v1", temperature=TEMPERATURE, package="langchain-mistralai"
    ),
    "openrouter": ModelServer("OpenRouter", "https://openrouter.ai/api/v1"),
    "ollama": ModelServer(
        "Ollama",
        "http://127.0.0.1:11434/v1",
        "start it with OLLAMA_CONTEXT_LENGTH=16384 (ollama serve)",
        TEMPERATURE,
    ),
    "lmstudio": ModelServer(
        "LM Studio", "http://127.0.0.1:1234/v1", "load the model with a longer context", TEMPERATURE
    ),
    "llamacpp": ModelServer(
        "llama.cpp", "http://127.0.0.1:8080/v1", "start it with --ctx-size 16384", TEMPERATURE
    ),
    "vllm": ModelServer(
        "vLLM", "http://127.0.0.1:8000/v1", "start it with --max-model-len 16384", TEMPERATURE
    ),
    "litellm": ModelServer("LiteLLM", "http://127.0.0.1:4000/v1"),
}
FOUND_BY_PORT = ("ollama", "lmstudio", "llamacpp")
"""What `orc serve` looks for on this machine if no model is configured."""


def read_name(model: str) -> tuple[str | None, str]:
    """The server and the model in `ollama:llama3.2`; without a known server the whole is a model's name."""
    server, colon, name = model.partition(":")
    return (server, name) if colon and server in SERVERS else (None, model)


def is_loopback(url: str | None) -> bool:
    """Whether the address is on this machine."""
    return bool(url) and urlsplit(url).hostname in LOOPBACK_HOSTS
