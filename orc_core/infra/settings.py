"""Settings that all processes share, read from the environment and from `.env`.

A section is a frozen model with the settings of one subject. The settings of a process inherit from its
sections, so that they can be passed on as any of them without a copy.
"""

import logging
import os
import re
from base64 import b64decode
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from dotenv import dotenv_values
from pydantic import AliasChoices, BeforeValidator, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from orc_core.errors import InvalidInput
from orc_core.infra.model_settings import ModelSettings
from orc_core.infra.setting_names import (
    ADVANCED,
    ADVANCED_VARIABLE,
    PREFIX,
    RENAMED,
    Section,
    advanced_values,
    deprecation_warnings,
    misspelt_names,
    split_commas,
)

MIB = 1024 * 1024
DAY_SECONDS = 24 * 3600

_SENDING = ("LANGSMITH_", "LANGCHAIN_", "OPENAI_LOG")
"""How the names of variables begin by which libraries send questions, pages and answers to a service, or log
them. Developers have them in their shell for other programs; Orc has its own settings for both."""

_IN_ANY_CASE = BeforeValidator(str.lower)

log = logging.getLogger(__name__)


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
    second_signing_key: SecretStr | None = Field(
        None,
        min_length=32,
        description="a second key, whose signatures are accepted too: the next one before a change of keys,"
        " the former one after it",
    )
    derivation_key: SecretStr | None = Field(
        None,
        min_length=32,
        description="secret that leads names of sessions to their conversations, which never may change;"
        " default: the signing key",
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
        description="days after which what `ORC_RETENTION_COVERS` names is deleted; default: never",
    )
    retention_covers: Literal["auto", "traces", "sessions", "contexts"] = Field(
        "auto",
        description="what `ORC_RETENTION_DAYS` deletes; sessions: those that were not used for so long, with"
        " their documents, and traces; contexts: documents of contexts of that age, too; auto: sessions if"
        " Cosmos DB has them, else traces",
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

    @field_validator("azure_cosmos_key", "azure_storage_key", mode="after")
    @classmethod
    def _is_base64(cls, key: SecretStr | None) -> SecretStr | None:
        # Azure's libraries decode it with each request, and then fail with a traceback.
        bare = key and SecretStr(key.get_secret_value().strip())
        try:
            b64decode(bare.get_secret_value() if bare else "", validate=True)
        except ValueError as exc:
            raise ValueError("this is no key: copy it whole, with the = at its end") from exc
        return bare

    @field_validator("scope_signing_key", "second_signing_key", "derivation_key", mode="after")
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
        """How long traces are kept; None: forever."""
        return self.retention_days and self.retention_days * DAY_SECONDS

    @property
    def session_seconds(self) -> int | None:
        """How long sessions are kept after their last use; None: forever."""
        keeps = self.retention_covers == "traces" or (
            self.retention_covers == "auto" and not self.azure_cosmos_endpoint
        )
        return None if keeps else self.retention_seconds


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
    """Export of spans and metrics, and the log that a process without a host writes to standard error."""

    telemetry_exporters: Annotated[list[Literal["console", "otlp", "azure"]], NoDecode] = Field(
        [],
        description="where spans and metrics are exported, separated by commas: console, otlp (see the"
        " standard OTEL_EXPORTER_OTLP_* variables), azure (Application Insights); default: not exported",
    )
    log_level: Annotated[Literal["debug", "info", "warning", "error"], _IN_ANY_CASE] = Field(
        "info",
        description="least level of what is logged; info: a line for each request; debug: health checks and"
        " files of the page too",
    )
    log_format: Annotated[Literal["text", "json"], _IN_ANY_CASE] = Field(
        "text", description="form of the log; json: an object a line"
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
        env_prefix=PREFIX, env_file=".env", extra="ignore", populate_by_name=True, frozen=True,
        hide_input_in_errors=True,  # it may be a secret, and errors are logged
    )  # fmt: skip

    @property
    def uses_azure(self) -> bool:
        """Whether Azure's libraries are needed, for services or for the identity of this process."""
        by_identity = self.azure_openai_endpoint and self.azure_openai_api_key is None
        return bool(self.azure_services or self.azure_document_intelligence_endpoint or by_identity)

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
    """The settings of this process. Raises InvalidInput naming the variable that cannot be used.

    The environment loses the variables by which libraries would send or log content by themselves.
    """
    for name in [name for name in os.environ if name.startswith(_SENDING)]:
        del os.environ[name]
    # Azure's exporter would report its own use to Microsoft.
    os.environ.setdefault("APPLICATIONINSIGHTS_STATSBEAT_DISABLED_ALL", "true")
    try:
        settings = kind()
    except ValidationError as exc:
        # A default that depends on the value of another field cannot be computed without that value.
        found = [error for error in exc.errors() if error["type"] != "default_factory_not_called"]
        problems = [f"{_place(error['loc'])}: {error['msg']}" for error in found]
        raise InvalidInput(f"Settings that cannot be used: {'; '.join(problems)}.") from exc
    except SettingsError as exc:
        problem = re.sub(r'.*field "(\w+)".*', lambda found: variable_of(found[1]), str(exc))
        raise InvalidInput(f"Settings that cannot be used: {problem} is not JSON.") from exc
    for warning in doubtful_settings(kind):
        log.warning("%s", warning)
    return settings


def doubtful_settings(kind: type[CoreSettings]) -> list[str]:
    """What to change in the environment or in `.env`: deprecated and misspelt names."""
    fields = {name: field for name, field in kind.model_fields.items() if name not in ADVANCED}
    known = {
        ADVANCED_VARIABLE,
        *(variable_of(name, field.validation_alias) for name, field in fields.items()),
    }
    variables = set_variables()
    return deprecation_warnings(variables) + misspelt_names(variables, known)


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
