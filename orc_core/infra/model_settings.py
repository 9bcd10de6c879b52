"""The settings of language models, and the facts that a deployment states about them."""

from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationInfo, field_validator, model_validator
from pydantic_settings import NoDecode

from orc_core.infra.model_servers import (
    FOUND_BY_PORT,
    LOCAL_DEFAULTS,
    OPENAI,
    SERVERS,
    is_loopback,
    read_name,
)
from orc_core.infra.setting_names import Section, split_commas
from orc_core.models import Record


class ModelFacts(Record):
    """Facts about one model. `input_usd` and `output_usd` are prices per million tokens; None: unknown.

    `reasoning_effort` and `temperature` are sent with each request; None: not sent. A model may think in
    `reasoning_tokens` before it answers. `images`: it reads pictures.
    `judge_accuracy`: its balanced accuracy as judge of answers; None: not measured.
    """

    context_window: int = Field(128_000, ge=1000, description="tokens of prompt and answer together")
    input_usd: float | None = Field(None, ge=0)
    output_usd: float | None = Field(None, ge=0)
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high"] | None = None
    temperature: float | None = Field(None, ge=0, le=2)
    reasoning_tokens: int = Field(0, ge=0)
    images: bool = False
    image_tokens: int = Field(3000, ge=1)
    judge_accuracy: float | None = Field(None, ge=0, le=1)


DEFAULT_CHAT_MODEL = "gpt-5.1"
DEFAULT_EMBEDDING_MODEL = "text-embedding-3-small"
DEFAULT_TITLE_MODEL = "gpt-4.1-nano"
"""The models that are used with a key of OpenAI and no other setting, see orc_core/llm/models.toml."""
OPENAI_HOST = "api.openai.com"
OFF = "off"


class WindowSettings(Section):
    """How much text the models accept, and are given of whole documents."""

    context_window: int | None = Field(
        None, ge=4000, description="tokens that the models accept; default: from the model catalog"
    )
    full_text_tokens: int = Field(
        6000, description="documents up to this many tokens in all are given to the model in full"
    )


class ModelSettings(WindowSettings):
    """The model provider and the models of each task."""

    openai_api_key: SecretStr | None = Field(
        None, description="key of OpenAI, or of the server in OPENAI_BASE_URL"
    )
    openai_base_url: str | None = Field(
        None, description="address of a server with OpenAI's API, which may need no key"
    )
    azure_openai_endpoint: str | None = Field(
        None, description="address of an Azure OpenAI resource; model names are then names of its deployments"
    )
    azure_openai_api_key: SecretStr | None = Field(
        None, description="key of the Azure OpenAI resource; default: the identity of the process"
    )
    model: str | None = Field(
        None,
        description="the model that answers, with its server: `ollama:llama3.2`; servers are "
        f"{', '.join(SERVERS)}; OPENAI_BASE_URL replaces the server's usual address (docs/models.md)",
    )
    model_key: SecretStr | None = Field(
        None, description="key of the server in ORC_MODEL; for openai also OPENAI_API_KEY"
    )
    chat_model: str = Field(DEFAULT_CHAT_MODEL, description="model, or deployment, that writes the answers")
    models: Annotated[list[str], NoDecode] = Field(
        [], description="further models that a request or an intent may choose, separated by commas"
    )
    model_catalog: dict[str, ModelFacts] = Field(
        {},
        description="facts about models as a JSON object by model name: context_window in tokens, input_usd"
        " and output_usd per million tokens, reasoning_effort, temperature, reasoning_tokens added to a"
        " length limit, images (it reads them), image_tokens, judge_accuracy (balanced, 0 to 1); default: the"
        " facts that ship with Orc",
    )
    planner_model: str | None = Field(None, description="model that plans a turn; default: the chat model")
    critic_model: str | None = Field(
        None, description="model that reads answers a second time; default: the chat model"
    )
    summary_model: str | None = Field(
        None, description="model that summarizes older turns; default: the chat model"
    )
    title_model: str | None = Field(
        None,
        description="model that names conversations after their first question, and writes questions to ask"
        " next; off: its first words stay, and documents suggest the questions that they contain;"
        f" default: {DEFAULT_TITLE_MODEL} if the provider is OpenAI itself, else off",
    )
    analysis_model: str | None = Field(None, description="model that analyses pages; default: the chat model")
    embedding_model: str | None = Field(
        None,
        description="embedding model, or deployment; off: search uses words only; default:"
        f" {DEFAULT_EMBEDDING_MODEL} if the provider is OpenAI itself, else off",
    )
    model_timeout_seconds: float = Field(
        60.0,
        gt=0,
        description="longest silence of a model before its request fails; 300 if it runs on this machine",
    )
    model_retries: int = Field(
        2, ge=0, description="retries of a model request that failed before its answer began"
    )
    provider_files: Literal["auto", "files", "base64", "text"] = Field(
        "auto",
        description="how the model receives a PDF that it reads in full: uploaded to the provider (files),"
        " inside the request (base64), or as extracted text; auto: files for OpenAI and Azure OpenAI,"
        " otherwise text",
    )
    responses_api: bool = Field(
        False, description="use the provider's Responses API instead of Chat Completions"
    )

    @field_validator("models", mode="before")
    @classmethod
    def _separated_models(cls, value: object) -> object:
        return split_commas(value)

    @field_validator("model")
    @classmethod
    def _has_server(cls, model: str | None, info: ValidationInfo) -> str | None:
        has_one = any(map(info.data.get, ("openai_api_key", "openai_base_url", "azure_openai_endpoint")))
        if model and not has_one and read_name(model)[0] is None:
            raise ValueError(f"name the server too, such as ollama:{model}; servers are {', '.join(SERVERS)}")
        return model

    @model_validator(mode="after")
    def _of_named_server(self) -> Self:
        """Fills in what ORC_MODEL and an address on this machine imply; what is set goes before."""
        server, name = read_name(self.model or "")
        implied: dict[str, object] = {"chat_model": name} if name else {}
        if server is not None:
            # No key goes to another company than it is from.
            known = self.openai_api_key if server == OPENAI or self.openai_base_url else None
            implied |= {
                "openai_base_url": self.openai_base_url or SERVERS[server].url,
                "openai_api_key": self.model_key or known,
                "azure_openai_endpoint": None,
            }
        self.__dict__.update(implied)
        if self.is_local:
            left = LOCAL_DEFAULTS.keys() & type(self).model_fields.keys() - self.model_fields_set
            self.__dict__.update({field: LOCAL_DEFAULTS[field] for field in left})
        return self

    @property
    def server(self) -> str | None:
        """The kind of server that ORC_MODEL names, if any."""
        return read_name(self.model or "")[0]

    @property
    def is_local(self) -> bool:
        """Whether the model runs on this machine, or by a server for single computers on another one."""
        is_near = self.server in FOUND_BY_PORT or is_loopback(self.openai_base_url)
        return self.has_other_server and is_near

    @property
    def is_openai(self) -> bool:
        """Whether the provider is OpenAI itself, whose models are known."""
        host = urlsplit(self.openai_base_url).hostname if self.openai_base_url else OPENAI_HOST
        return bool(self.openai_api_key) and not self.azure_openai_endpoint and host == OPENAI_HOST

    @property
    def has_other_server(self) -> bool:
        """Whether the provider is neither OpenAI, if only by name, nor Azure OpenAI."""
        is_known = self.is_openai or self.server == OPENAI or self.azure_openai_endpoint
        return self.has_model and not is_known

    @property
    def embedder_name(self) -> str | None:
        """The embedding model in use; None if search uses words only."""
        if self.embedding_model:
            return None if self.embedding_model == OFF else self.embedding_model
        return DEFAULT_EMBEDDING_MODEL if self.is_openai and self.embedding_model is None else None

    @property
    def titler_name(self) -> str | None:
        """The model that names conversations; None if their first words stay."""
        if self.title_model is not None:
            return None if self.title_model in ("", OFF) else self.title_model
        return DEFAULT_TITLE_MODEL if self.is_openai else None

    @property
    def has_model(self) -> bool:
        """Whether a model provider is configured; without one the offline model answers."""
        return bool(self.openai_api_key or self.openai_base_url or self.azure_openai_endpoint)
