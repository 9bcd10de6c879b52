"""Settings that both deployables share, read from the environment and from `.env`."""

import logging
import os
import re
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import AliasChoices, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict, SettingsError

from core.errors import InvalidInput
from core.models import Record

MIB = 1024 * 1024
PREFIX = "ORC_"
DAY_SECONDS = 24 * 3600

RETIRED_SETTINGS = {"ORC_TOKEN_CACHE": "the file that token counts need is part of the package."}
"""Settings of earlier releases that have no effect any more, and why."""

logger = logging.getLogger(__name__)


class ModelFacts(Record):
    """Facts about one model. `input_usd` and `output_usd` are prices per million tokens; None: unknown."""

    context_window: int = Field(default=128_000, ge=1000, description="tokens of prompt and answer together")
    input_usd: float | None = Field(default=None, ge=0)
    output_usd: float | None = Field(default=None, ge=0)
    encoding: Literal["o200k_base", "other"] = "o200k_base"


class CoreSettings(BaseSettings):
    """Where state lives, which models answer, and the limits on documents."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_file=".env", extra="ignore", populate_by_name=True
    )

    data_dir: Path = Field(default=Path(".orc"), description="database, documents and the scope key")
    scope_key: SecretStr | None = Field(
        default=None,
        min_length=32,
        description="secret shared by both processes; default: made in the data directory",
    )

    azure_cosmos_endpoint: str | None = Field(
        default=None,
        validation_alias=AliasChoices("AZURE_COSMOS_ENDPOINT"),
        description="conversations, records and analyses in Cosmos DB; default: SQLite",
    )
    azure_cosmos_key: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices("AZURE_COSMOS_KEY"),
        description="default: the identity of this process",
    )
    azure_cosmos_database: str = Field(
        default="orc",
        min_length=1,
        validation_alias=AliasChoices("AZURE_COSMOS_DATABASE"),
        description="its name in the account",
    )
    retention_days: int | None = Field(
        default=None,
        ge=1,
        description="in Cosmos DB turns this old are removed, and everywhere traces; default: never",
    )
    azure_storage_account_url: str | None = Field(
        default=None,
        validation_alias=AliasChoices("AZURE_STORAGE_ACCOUNT_URL"),
        description="documents, their pages and the job queue in a storage account; default: a folder",
    )
    azure_storage_queue_url: str | None = Field(
        default=None,
        validation_alias=AliasChoices("AZURE_STORAGE_QUEUE_URL"),
        description="default: the account's, by its usual name",
    )
    azure_storage_key: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices("AZURE_STORAGE_KEY"),
        description="default: the identity of this process",
    )
    azure_storage_container: str = Field(
        default="documents",
        pattern=r"^[a-z0-9](-?[a-z0-9]){2,62}$",
        validation_alias=AliasChoices("AZURE_STORAGE_CONTAINER"),
        description="of the documents; what is made of them lies in one with `-derived` added",
    )
    azure_search_endpoint: str | None = Field(
        default=None,
        validation_alias=AliasChoices("AZURE_SEARCH_ENDPOINT"),
        description="passages in Azure AI Search; default: SQLite",
    )
    azure_search_key: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices("AZURE_SEARCH_KEY"),
        description="default: the identity of this process",
    )
    azure_search_index: str = Field(
        default="orc-passages",
        pattern=r"^[a-z0-9](-?[a-z0-9])*$",
        validation_alias=AliasChoices("AZURE_SEARCH_INDEX"),
        description="its name in the service",
    )
    azure_search_semantic: bool = Field(
        default=True,
        validation_alias=AliasChoices("AZURE_SEARCH_SEMANTIC"),
        description="rank the results by the service's semantic reranker",
    )

    openai_api_key: SecretStr | None = Field(
        default=None, validation_alias=AliasChoices("OPENAI_API_KEY"), description="models of OpenAI answer"
    )
    openai_base_url: str | None = Field(
        default=None,
        validation_alias=AliasChoices("OPENAI_BASE_URL"),
        description="a server that speaks OpenAI's API; it may ask for no key",
    )
    azure_openai_endpoint: str | None = Field(
        default=None,
        validation_alias=AliasChoices("AZURE_OPENAI_ENDPOINT"),
        description="models of Azure OpenAI answer; the names below are those of deployments",
    )
    azure_openai_api_key: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices("AZURE_OPENAI_API_KEY"),
        description="default: the identity of this process",
    )
    chat_model: str = Field(default="gpt-4o", description="model or deployment name")
    models: Annotated[list[str], NoDecode] = Field(
        default=[],
        description="further models, with commas between, that a request or a kind of question may name",
    )
    model_facts: dict[str, ModelFacts] = Field(
        default={},
        description="what is to be known of models, as a JSON object by name: context_window in tokens,"
        " input_usd and output_usd per million tokens; default: what is known of OpenAI's",
    )
    context_window: int | None = Field(
        default=None, ge=4000, description="tokens that the models take; default: what is known of each"
    )
    planner_model: str | None = Field(default=None, description="default: the chat model")
    critic_model: str | None = Field(default=None, description="default: the chat model")
    summary_model: str | None = Field(default=None, description="default: the chat model")
    embedding_model: str | None = Field(
        default=None, description="embedding model or deployment; without it search is lexical"
    )
    model_timeout_seconds: float = Field(default=60.0, gt=0, description="how long a model may be silent")
    model_retries: int = Field(
        default=2, ge=0, description="of a request that failed before its answer began"
    )

    inline_token_budget: int = Field(
        default=6000, description="whole documents up to this size go to the model"
    )
    inline_limit_tokens: int = Field(
        default=32_000, description="what is read whole of documents that are not yet indexed"
    )
    retrieval_passages: int = Field(
        default=8, ge=1, le=50, description="what is read of documents that are searched"
    )
    file_id_ttl_seconds: int = Field(
        default=7 * DAY_SECONDS, ge=3600, le=30 * DAY_SECONDS, description="how long a file reference holds"
    )
    provider_files: Literal["auto", "files", "base64", "text"] = Field(
        default="auto",
        description="how PDFs that are read whole reach the model: by a file id of the provider, within the"
        " request, or as the text of their pages; auto: by file id at OpenAI and Azure OpenAI, else text",
    )
    responses_api: bool = Field(default=False, description="use the provider's responses API for chat")

    max_upload_bytes: int = Field(default=100 * MIB, description="per file")
    extraction_seconds: float = Field(default=15.0, description="time one file's text may take")
    extraction_memory_bytes: int = Field(default=1024 * MIB, description="memory one file's text may take")
    extraction_processes: int = Field(default=2, ge=1, description="files that one process reads at a time")

    ingestion_workers: int = Field(
        default=1, ge=0, description="processes that `orc serve` starts to index and analyse documents"
    )
    ingestion_at_once: int = Field(default=2, ge=1, description="documents that one worker has in hand")
    ingestion_lease_seconds: float = Field(
        default=6.0, gt=0, description="after a crash of a worker its documents wait this long"
    )
    page_analysis: Literal["auto", "extractive", "off"] = Field(
        default="auto", description="auto: by the model where one is configured; extractive: never by a model"
    )
    analysis_model: str | None = Field(default=None, description="default: the chat model")

    ocr: Literal["auto", "off", "tesseract", "azure"] = Field(
        default="auto",
        description="what reads scanned pages; auto: Azure if set, else Tesseract if installed",
    )
    ocr_languages: str = Field(
        default="eng",
        pattern=r"^\w+(/\w+)?(\+\w+(/\w+)?)*$",
        description="Tesseract's names of languages, like deu+eng; Azure finds them out itself",
    )
    ocr_seconds: float = Field(default=1800.0, gt=0, description="time the OCR of one file may take")
    azure_document_intelligence_endpoint: str | None = Field(
        default=None,
        validation_alias=AliasChoices("AZURE_DOCUMENT_INTELLIGENCE_ENDPOINT"),
        description="OCR by Azure",
    )
    azure_document_intelligence_key: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices("AZURE_DOCUMENT_INTELLIGENCE_KEY"),
        description="default: the identity of this process",
    )

    telemetry_exporters: Annotated[list[Literal["console", "otlp", "azure"]], NoDecode] = Field(
        default=[],
        description="where spans and metrics go, with commas between: console, otlp (OTEL_EXPORTER_OTLP_*"
        " say where), azure (Application Insights); default: nowhere",
    )
    telemetry_content: bool = Field(
        default=False, description="have spans hold what was asked and answered, too"
    )
    applicationinsights_connection_string: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices("APPLICATIONINSIGHTS_CONNECTION_STRING"),
        description="the resource that `azure` exports to",
    )

    @field_validator("models", "telemetry_exporters", mode="before")
    @classmethod
    def _separated_by_commas(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        return [part.strip() for part in value.split(",") if part.strip()]

    @field_validator("scope_key", mode="after")
    @classmethod
    def _is_resolved(cls, key: SecretStr | None) -> SecretStr | None:
        # What Azure leaves in the variable where it could not read the vault: anybody can guess it.
        if key is not None and key.get_secret_value().startswith("@Microsoft.KeyVault("):
            raise ValueError("the reference to Key Vault was not resolved: check the identity's role")
        return key

    @property
    def has_model(self) -> bool:
        """Whether a model provider is configured; without one the offline model answers."""
        return bool(self.openai_api_key or self.openai_base_url or self.azure_openai_endpoint)

    @property
    def azure_storage_derived(self) -> str:
        """The container of what is made of documents."""
        return f"{self.azure_storage_container}-derived"

    @property
    def database_path(self) -> Path:
        return self.data_dir / "orc.db"

    @property
    def blobs_dir(self) -> Path:
        return self.data_dir / "blobs"


Kind = TypeVar("Kind", bound=CoreSettings)


def load_settings(kind: type[Kind]) -> Kind:
    """The settings of this process. Raises InvalidInput naming the variable that cannot be used."""
    _warn_of_retired_settings()
    try:
        return kind()
    except ValidationError as exc:
        problems = [f"{_place(error['loc'])}: {error['msg']}" for error in exc.errors()]
        raise InvalidInput(f"Settings that cannot be used: {'; '.join(problems)}.") from exc
    except SettingsError as exc:
        problem = re.sub(r'.*field "(\w+)".*', lambda found: _variable(found[1]), str(exc))
        raise InvalidInput(f"Settings that cannot be used: {problem} is not JSON.") from exc


def _warn_of_retired_settings() -> None:
    for name in RETIRED_SETTINGS.keys() & os.environ.keys():
        logger.warning("%s is ignored: %s", name, RETIRED_SETTINGS[name])


def _place(loc: tuple[str | int, ...]) -> str:
    """The variable, and where in its value."""
    return ".".join([_variable(str(loc[0])), *map(str, loc[1:])])


def _variable(field: str) -> str:
    return field if field.isupper() else PREFIX + field.upper()
