"""Settings that all processes share, read from the environment and from `.env`.

A section is a frozen model with the settings of one subject. The settings of a process inherit from its
sections, so that they can be passed on as any of them without a copy.
"""

import logging
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, TypeVar
from urllib.parse import urlsplit

from dotenv import dotenv_values
from pydantic import AliasChoices, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from core.errors import InvalidInput
from core.infra.setting_names import (
    ADVANCED,
    ADVANCED_VARIABLE,
    PREFIX,
    RENAMED,
    advanced_values,
    deprecation_warnings,
)
from core.infra.setting_section import Section, split_commas
from core.models import Record

MIB = 1024 * 1024
DAY_SECONDS = 24 * 3600

log = logging.getLogger(__name__)


class ModelFacts(Record):
    """Facts about one model. `input_usd` and `output_usd` are prices per million tokens; None: unknown.

    `reasoning_effort` is sent with each request; None: not sent. A model may think in `reasoning_tokens`
    before it answers. `structured_outputs`: it can be held to a JSON schema. `images`: it reads pictures.
    """

    context_window: int = Field(128_000, ge=1000, description="tokens of prompt and answer together")
    input_usd: float | None = Field(None, ge=0)
    output_usd: float | None = Field(None, ge=0)
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high"] | None = None
    reasoning_tokens: int = Field(0, ge=0)
    structured_outputs: bool = True
    images: bool = False
    image_tokens: int = Field(3000, ge=1)


DEFAULT_CHAT_MODEL = "gpt-5.1"
DEFAULT_EMBEDDING_MODEL = "text-embedding-3-small"
DEFAULT_TITLE_MODEL = "gpt-4.1-nano"
"""The models that are used with a key of OpenAI and no other setting, see core/llm/models.toml."""
OPENAI_HOST = "api.openai.com"
OFF = "off"


class StorageSettings(Section):
    """Where state is stored."""

    data_dir: Path = Field(
        Path(".orc"), description="folder of the database, the documents and the scope signing key"
    )
    scope_signing_key: SecretStr | None = Field(
        None,
        min_length=32,
        description="secret with which the API signs the scope of a tool call, the same in all processes;"
        " default: generated in the data directory",
    )
    azure_cosmos_endpoint: str | None = Field(
        None,
        description="address of the Cosmos DB account for conversations, document records and analyses;"
        " default: SQLite",
    )
    azure_cosmos_key: SecretStr | None = Field(
        None, description="key of the Cosmos DB account; default: the identity of the process"
    )
    azure_cosmos_database: str = Field(
        "orc", min_length=1, description="name of the database in the Cosmos DB account"
    )
    retention_days: int | None = Field(
        None,
        ge=1,
        description="days after which traces are deleted, and in Cosmos DB conversations too; default: never",
    )
    azure_storage_account_url: str | None = Field(
        None,
        description="blob address of the storage account for documents, their pages and the job queue;"
        " default: a folder",
    )
    azure_storage_queue_url: str | None = Field(
        None, description="queue address of the storage account; default: derived from the blob address"
    )
    azure_storage_key: SecretStr | None = Field(
        None, description="key of the storage account; default: the identity of the process"
    )
    azure_storage_container: str = Field(
        "documents",
        pattern=r"^[a-z0-9](-?[a-z0-9]){2,62}$",
        description="blob container of the documents; extracted pages go to a second one, with `-derived`"
        " added to its name",
    )
    azure_search_endpoint: str | None = Field(
        None, description="address of the Azure AI Search service for passages; default: SQLite"
    )
    azure_search_key: SecretStr | None = Field(
        None, description="key of the Azure AI Search service; default: the identity of the process"
    )
    azure_search_index: str = Field(
        "orc-passages", pattern=r"^[a-z0-9](-?[a-z0-9])*$", description="name of the index in Azure AI Search"
    )
    azure_search_semantic: bool = Field(True, description="use the semantic ranker of Azure AI Search")
    upstash_vector_rest_url: str | None = Field(
        None,
        description="address of an index in Upstash Vector for the vectors of passages; default: SQLite; not"
        " together with Azure AI Search",
    )
    upstash_vector_rest_token: SecretStr | None = Field(
        None, description="token of the index in Upstash Vector, which allows writing"
    )

    @field_validator("scope_signing_key", mode="after")
    @classmethod
    def _is_resolved(cls, key: SecretStr | None) -> SecretStr | None:
        # Azure leaves the reference itself in the variable if it cannot read the vault: anyone can guess it.
        if key is not None and key.get_secret_value().startswith("@Microsoft.KeyVault("):
            raise ValueError("the reference to Key Vault was not resolved: check the identity's role")
        return key

    @property
    def azure_storage_derived(self) -> str:
        """Name of the container for what is derived from documents."""
        return f"{self.azure_storage_container}-derived"

    @property
    def azure_services(self) -> list[str]:
        """The services that keep a part of the data, by name."""
        services = {
            "Cosmos DB": self.azure_cosmos_endpoint,
            "Blob Storage": self.azure_storage_account_url,
            "AI Search": self.azure_search_endpoint,
        }
        return [name for name, address in services.items() if address]

    @property
    def database_path(self) -> Path:
        return self.data_dir / "orc.db"

    @property
    def blobs_dir(self) -> Path:
        return self.data_dir / "blobs"

    @property
    def retention_seconds(self) -> int | None:
        """How long turns are kept; None: forever."""
        return self.retention_days and self.retention_days * DAY_SECONDS


class WindowSettings(Section):
    """How much text the models accept."""

    context_window: int | None = Field(
        None, ge=4000, description="tokens that the models accept; default: from the model catalog"
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
    chat_model: str = Field(DEFAULT_CHAT_MODEL, description="model, or deployment, that writes the answers")
    models: Annotated[list[str], NoDecode] = Field(
        [], description="further models that a request or an intent may choose, separated by commas"
    )
    model_catalog: dict[str, ModelFacts] = Field(
        {},
        description="facts about models as a JSON object by model name: context_window in tokens, input_usd"
        " and output_usd per million tokens, reasoning_effort, reasoning_tokens added to a length limit,"
        " structured_outputs, images (it reads them), image_tokens; default: the facts that ship with Orc",
    )
    planner_model: str | None = Field(None, description="model that plans a turn; default: the chat model")
    critic_model: str | None = Field(None, description="model that judges answers; default: the chat model")
    summary_model: str | None = Field(
        None, description="model that summarizes older turns; default: the chat model"
    )
    title_model: str | None = Field(
        None,
        description="model that names conversations after their first question; off: its first words stay;"
        f" default: {DEFAULT_TITLE_MODEL} if the provider is OpenAI itself, else off",
    )
    analysis_model: str | None = Field(None, description="model that analyses pages; default: the chat model")
    embedding_model: str | None = Field(
        None,
        description="embedding model, or deployment; off: search uses words only; default:"
        f" {DEFAULT_EMBEDDING_MODEL} if the provider is OpenAI itself, else off",
    )
    model_timeout_seconds: float = Field(
        60.0, gt=0, description="longest silence of a model before its request fails"
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

    @property
    def is_openai(self) -> bool:
        """Whether the provider is OpenAI itself, whose models are known."""
        host = urlsplit(self.openai_base_url).hostname if self.openai_base_url else OPENAI_HOST
        return bool(self.openai_api_key) and not self.azure_openai_endpoint and host == OPENAI_HOST

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


class IngestionSettings(Section):
    """Uploads, the worker and OCR."""

    max_upload_bytes: int = Field(100 * MIB, description="largest size of an uploaded file, in bytes")
    analysis_tokens_per_day: int = Field(
        20_000_000,
        ge=0,
        description="tokens that one worker process uses a day to analyse an organization's pages by a model;"
        " beyond them pages are analysed without it",
    )
    bytes_per_organization: int = Field(
        100 * 1024 * MIB, ge=1, description="bytes of all documents that an organization may store"
    )
    workers: int = Field(
        1, ge=0, description="worker processes that `orc serve` starts to index and analyse documents"
    )
    worker_concurrency: int = Field(
        2, ge=1, description="documents that one worker processes at the same time"
    )
    ingestion_lease_seconds: float = Field(
        6.0, gt=0, description="time until the documents of a crashed worker are taken up again"
    )
    page_analysis: Literal["auto", "extractive", "off"] = Field(
        "auto",
        description="how pages are analysed; auto: by the model if one is configured; extractive: never by a"
        " model",
    )
    ocr: Literal["auto", "off", "tesseract", "azure"] = Field(
        "auto",
        description="OCR engine for scanned pages; auto: Azure if configured, else Tesseract if installed",
    )
    ocr_languages: str = Field(
        "eng",
        pattern=r"^\w+(/\w+)?(\+\w+(/\w+)?)*$",
        description="Tesseract's language names, for example deu+eng; Azure detects languages itself",
    )
    azure_document_intelligence_endpoint: str | None = Field(
        None, description="address of the Azure Document Intelligence resource for OCR"
    )
    azure_document_intelligence_key: SecretStr | None = Field(
        None,
        description="key of the Azure Document Intelligence resource; default: the identity of the process",
    )


class TelemetrySettings(Section):
    """Export of spans and metrics."""

    telemetry_exporters: Annotated[list[Literal["console", "otlp", "azure"]], NoDecode] = Field(
        [],
        description="where spans and metrics are exported, separated by commas: console, otlp (see the"
        " standard OTEL_EXPORTER_OTLP_* variables), azure (Application Insights); default: not exported",
    )
    telemetry_content: bool = Field(False, description="include questions and answers in spans")
    applicationinsights_connection_string: SecretStr | None = Field(
        None, description="connection string of the Application Insights resource for the `azure` exporter"
    )

    @field_validator("telemetry_exporters", mode="before")
    @classmethod
    def _separated_exporters(cls, value: object) -> object:
        return split_commas(value)


class ToolsServerSettings(Section):
    """Where the tools server listens."""

    mcp_host: str = Field(default="127.0.0.1", description="address on which the tools server listens")
    mcp_port: int = Field(
        default=7072,
        ge=0,
        le=65535,
        description="port on which the tools server listens; 0: a free one. `orc serve` starts the tools"
        " server at MCP_SERVER_URL instead, if that is set",
    )


def tools_url(host: str, port: int) -> str:
    """The address of a tools server that listens there."""
    return f"http://[{host}]:{port}/mcp" if ":" in host else f"http://{host}:{port}/mcp"


class CoreSettings(
    ToolsServerSettings, StorageSettings, ModelSettings, IngestionSettings, TelemetrySettings, BaseSettings
):
    """The settings of every process."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_file=".env", extra="ignore", populate_by_name=True, frozen=True
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, dotenv_settings, _OtherNames(settings_cls)


class _OtherNames(EnvSettingsSource):
    """Values under an old name, and those inside ORC_ADVANCED."""

    def _load_env_vars(self) -> Mapping[str, str | None]:
        given = set_variables()
        values = {new: given[old] for old, new in RENAMED.items() if old in given}
        advanced = {key: given[old] for key, old in ADVANCED.items() if old in given}
        advanced |= advanced_values(given.get(ADVANCED_VARIABLE, ""))
        fields = self.settings_cls.model_fields
        for key in advanced.keys() & fields.keys():
            values[variable_of(key, fields[key].validation_alias)] = advanced[key]
        return {name.lower(): value for name, value in values.items()}


Kind = TypeVar("Kind", bound=CoreSettings)


def load_settings(kind: type[Kind]) -> Kind:
    """The settings of this process. Raises InvalidInput naming the variable that cannot be used."""
    try:
        settings = kind()
    except ValidationError as exc:
        problems = [f"{_place(error['loc'])}: {error['msg']}" for error in exc.errors()]
        raise InvalidInput(f"Settings that cannot be used: {'; '.join(problems)}.") from exc
    except SettingsError as exc:
        problem = re.sub(r'.*field "(\w+)".*', lambda found: variable_of(found[1]), str(exc))
        raise InvalidInput(f"Settings that cannot be used: {problem} is not JSON.") from exc
    for warning in deprecated_settings():
        log.warning("%s", warning)
    return settings


def deprecated_settings() -> list[str]:
    """What to change in the environment or in `.env` before the next release."""
    return deprecation_warnings(set_variables())


def set_variables() -> dict[str, str]:
    """The environment, over the lines of `.env`, by upper-case name."""
    return {name.upper(): value or "" for name, value in {**dotenv_values(".env"), **os.environ}.items()}


def variable_of(field: str, alias: object = None) -> str:
    """The environment variable of a field."""
    if isinstance(alias, AliasChoices):
        return str(alias.choices[0])
    return field if field.isupper() else PREFIX + field.upper()


def _place(loc: tuple[str | int, ...]) -> str:
    """The variable, and where in its value."""
    return ".".join([variable_of(str(loc[0])), *map(str, loc[1:])])
