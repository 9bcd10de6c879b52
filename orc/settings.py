"""Settings of the orchestrator, read from the environment and from `.env`. See docs/decisions/settings.md."""

import json
import os
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AliasChoices, BeforeValidator, Field, SecretStr, field_validator
from pydantic_core import Url
from pydantic_settings import NoDecode

from orc.intents import Intent
from orc_core.documents.image_limits import MOST_IMAGE_TOKENS, MOST_IMAGES, ImageLimits
from orc_core.infra.model_settings import WindowSettings
from orc_core.infra.setting_names import Section, split_commas
from orc_core.infra.settings import CoreSettings, load_settings, tools_url

MESSAGES_PER_HOUR = 20
UPLOAD_BYTES_PER_DAY = 1024**3


class AuthMode(StrEnum):
    """Where the identity of a caller comes from."""

    LOCAL = "local"
    EASYAUTH = "easyauth"
    JWT = "jwt"
    OIDC = "oidc"


ClaimOf = Literal["tenant", "user", "name", "email", "roles", "groups"]
"""What Orc reads of an identity."""


class HistorySettings(Section):
    """The latest turns, which a question is understood by."""

    history_turns: int = Field(default=12, ge=0, description="earlier turns that a prompt shows")
    history_tokens: int = Field(
        default=4000, ge=0, description="tokens of earlier turns in a prompt, newest first"
    )
    memory_tokens: int = Field(
        default=800, ge=0, description="tokens of the memory of older turns in a prompt"
    )


class MemorySettings(HistorySettings):
    """What is remembered of a conversation beyond its latest turns."""

    memory: Literal["auto", "extractive", "model", "off"] = Field(
        default="auto",
        description="what is remembered of older turns; extractive: sentences of the user and of the answers;"
        " model: also summaries that a model writes in the background; auto: model if one is configured",
    )
    summary_threshold_tokens: int = Field(
        default=2000, ge=0, description="tokens of older turns after which a model summarizes them"
    )


def _read_earlier(value: object) -> object:
    """Values of earlier versions: all but `off` had a wrong number corrected."""
    return "on" if value in ("code", "auto", "always") else value


CriticSetting = Annotated[Literal["off", "on"], BeforeValidator(_read_earlier)]


class TurnSettings(HistorySettings, WindowSettings):
    """The limits of one turn, and how it retrieves and checks."""

    max_documents_per_request: int = Field(
        default=3,
        ge=1,
        validation_alias=AliasChoices("MAX_DOCUMENTS_PER_REQUEST"),
        description="named documents that are read whole together; if there are more, they are searched",
    )
    turn_deadline_seconds: float = Field(
        default=200.0,
        description="time limit of a turn; keep it below the 230 s of Azure's load balancer; 900 if the model"
        " runs on this machine",
    )
    turn_lease_seconds: float = Field(
        default=15.0,
        le=3600,
        description="time until a turn of a crashed process counts as failed",
    )
    turns_per_user: int = Field(
        default=50, ge=1, description="turns of one user that a process of the API answers at the same time"
    )
    max_model_calls: int = Field(
        default=10,
        ge=1,
        description="model calls of one turn; of those inside tools only the answers of document_chat count",
    )
    max_tool_rounds: int = Field(
        default=4, ge=1, description="how often the model may ask for tools in one turn"
    )
    planner_tokens: int = Field(
        default=3000,
        ge=0,
        description="tokens of the prompt that plans a turn; 1000 if the model runs on this machine",
    )
    planner_seconds: float = Field(
        default=15.0,
        gt=0,
        description="time limit of the planner model; rules plan the turn after that; 60 if the model runs on"
        " this machine",
    )
    retrieval_tokens: int = Field(
        default=6000, ge=0, description="tokens of retrieved text in the prompt for the answer"
    )
    intents: dict[str, Intent] = Field(
        default={},
        description="intents as a JSON object by name, with description, keywords, model, max_output_tokens"
        " and retriever; they extend or change the four that are built in",
    )
    lazy_retrieval: bool = Field(
        default=False,
        description="retrieve summaries of pages first, and the pages in full if the critic asks for them",
    )
    page_images: bool = Field(
        default=False,
        description="send a model that reads pictures those of a few pages: pages without text, and pages"
        " that were found",
    )
    most_page_images: int = Field(
        default=3, ge=0, le=MOST_IMAGES, description="pictures of pages in one prompt; 0: never any"
    )
    page_image_tokens: int = Field(
        default=6000,
        ge=0,
        le=MOST_IMAGE_TOKENS,
        description="tokens of the pictures in one prompt, each counted with the most that it can take",
    )
    critic: CriticSetting = Field(
        default="on",
        description="on: what the checks or the judge find wrong in an answer is corrected; off: it is only"
        " marked, and no judge is asked. Earlier values (code, auto, always) mean on",
    )
    judge: Literal["model", "azure", "off"] = Field(
        default="model",
        description="who reads sentences in other words than their pages a second time; model: the critic"
        " model, if it was measured (docs/citations.md); azure: Azure AI Content Safety, likewise; off:"
        " no judge",
    )
    critic_max_retries: int = Field(
        default=1,
        ge=0,
        le=5,
        validation_alias=AliasChoices("CRITIC_MAX_RETRIES"),
        description="how often what the checks or the judge found wrong is corrected, or more is looked up",
    )
    critic_seconds: float = Field(default=20.0, gt=0, description="time limit of the judge")

    @property
    def image_limits(self) -> ImageLimits | None:
        """What pictures of pages may take of a prompt; None if none are sent."""
        if not (self.page_images and self.most_page_images):
            return None
        return ImageLimits(most=self.most_page_images, tokens=self.page_image_tokens)


class CallerSettings(Section):
    """How callers are identified: where their tokens come from, and how a browser signs in."""

    auth_mode: AuthMode = Field(
        default=AuthMode.LOCAL,
        description="how callers are identified; local: one user, on a loopback address only; easyauth: by"
        " Azure App Service; jwt: by bearer tokens; oidc: by a sign-in on the page, and by bearer tokens",
    )
    public_url: str | None = Field(
        default=None,
        description="address at which browsers reach the page, for example `https://orc.example.com`; `oidc`"
        " needs it to come back from the sign-in; MCP clients sign in only if it is set",
    )
    allowed_origins: Annotated[list[str], NoDecode] = Field(
        default=[],
        description="origins of other pages whose scripts may call the API, separated by commas, for example"
        " `http://localhost:3000`; in `local` mode they act as its user, in others they need a bearer token",
    )
    jwt_issuer: str | None = Field(
        default=None,
        description="issuer of tokens in `jwt` and `oidc` mode, as it names itself at"
        " `/.well-known/openid-configuration` below this address",
    )
    jwt_audience: str | None = Field(
        default=None,
        description="audience of bearer tokens in `jwt` and `oidc` mode; without it `oidc` takes none",
    )
    jwt_jwks_url: str | None = Field(
        default=None,
        description="address of the issuer's public keys in `jwt` mode; default: what the issuer publishes",
    )
    jwt_tenant: str | None = Field(
        default=None,
        description="the one organization of all callers; if ORC_JWT_CLAIMS has `tenant`, callers whose claim"
        " does not name it are refused",
    )
    jwt_claims: dict[ClaimOf, str] = Field(
        default={},
        description="names of the claims with `tenant`, `user`, `name`, `email`, `roles` and `groups` of a"
        " caller, as a JSON object; a dot leads into an object; default: those of Entra, and `sub` if there"
        " is no `oid`",
    )
    oidc_client_id: str | None = Field(
        default=None, description="id under which the identity provider knows Orc in `oidc` mode"
    )
    oidc_client_secret: SecretStr | None = Field(
        default=None, description="secret of this client; default: a public client, which has none"
    )
    oidc_scope: str = Field(
        default="openid profile email", description="what is asked for at the sign-in in `oidc` mode"
    )
    mcp_audience: str | None = Field(
        default=None,
        description="audience of the tokens of MCP clients in `jwt` and `oidc` mode; default: the address of"
        " the MCP interface, `ORC_PUBLIC_URL/mcp`, which clients ask the issuer for",
    )
    mcp_scope: str = Field(
        default="openid",
        min_length=1,
        description="scopes that MCP clients ask the issuer for, with spaces between",
    )
    session_hours: float = Field(
        default=8.0, gt=0, le=720, description="hours after which one has to sign in again in `oidc` mode"
    )
    key_days: float = Field(
        default=90.0,
        gt=0,
        le=366,
        description="days after a user's latest sign-in at which the user's keys end",
    )

    @property
    def sign_in(self) -> str:
        """What decides who signs in: under another one, a user of the same name may be another user."""
        claims = sorted(self.jwt_claims.items())
        return json.dumps([self.jwt_issuer, self.oidc_client_id, self.jwt_tenant, claims])

    @field_validator("allowed_origins", mode="before")
    @classmethod
    def _separated_origins(cls, value: object) -> object:
        return split_commas(value)

    @field_validator("allowed_origins")
    @classmethod
    def _are_origins(cls, value: list[str]) -> list[str]:
        for each in value:
            if each != (origin := origin_in(each)):
                hint = f": write {origin}" if origin else ""
                raise ValueError(f"{each} is no origin, which is a scheme, a host and perhaps a port{hint}")
        return value


def origin_in(address: str) -> str | None:
    """The origin of an address as browsers write it; None if it has none."""
    try:
        url = Url(address)
    except ValueError:
        return None
    if url.scheme not in ("http", "https") or url.host is None or "*" in url.host:
        return None
    return str(Url.build(scheme=url.scheme, host=url.host, port=url.port)).removesuffix("/")


class Settings(TurnSettings, MemorySettings, CallerSettings, CoreSettings):
    """The API, its callers, the tools server and the limits of a turn."""

    host: str = Field(default="127.0.0.1", description="address on which the API of `orc serve` listens")
    port: int = Field(
        default=7071,
        ge=0,
        le=65535,
        description="port on which the API of `orc serve` listens; 0: a free one",
    )
    azure_instance_id: str | None = Field(
        default=None,
        validation_alias=AliasChoices("WEBSITE_INSTANCE_ID"),
        description="set by Azure App Service, where `local` authentication is refused",
    )
    uploads_per_user: int = Field(
        default=20, ge=1, description="uploads of one user that a process of the API takes at the same time"
    )
    streams_per_user: int = Field(
        default=200,
        ge=1,
        description="streams of events that a process of the API keeps open at the same time for one user",
    )
    azure_auth_enabled: bool = Field(
        default=False,
        validation_alias=AliasChoices("WEBSITE_AUTH_ENABLED"),
        description="set by Azure App Service if its authentication is on, which `easyauth` relies on",
    )
    trust_principal_header: bool = Field(
        default=False,
        description="accept `easyauth` outside of Azure, behind a proxy that sets `x-ms-client-principal` and"
        " removes the header of callers",
    )
    admin_role: str = Field(default="orc.admin", description="role that may read the telemetry of turns")
    context_creators: Literal["auto", "everyone", "admins"] = Field(
        default="auto",
        description="who creates organizations and workspaces; admins: callers with the admin role; auto:"
        " everyone in `local` mode, admins elsewhere",
    )
    directory_tenant: str | None = Field(
        default=None,
        description="tenant of Entra whose users and groups are found through Microsoft Graph to be given"
        " roles, by the identity of the process, which needs the permissions User.ReadBasic.All and"
        " GroupMember.Read.All; default: only who has opened the page is found",
    )
    revoked_answers: Literal["keep", "withhold"] = Field(
        default="keep",
        description="stored answers that drew on a context which their reader may not read any more: shown as"
        " they are, or withheld wherever they are shown again",
    )
    share_days: int = Field(
        default=90,
        ge=0,
        le=365,
        description="days that a link to a conversation is valid at most, for others of the organization who"
        " sign in; 0: conversations are not shared, as in `local` mode",
    )
    messages_per_hour: int | None = Field(
        default=None,
        ge=0,
        description="messages of one user in any hour, over all processes; 0: no limit; default: 20, and no"
        " limit in `local` mode",
    )
    upload_bytes_per_day: int | None = Field(
        default=None,
        ge=0,
        description="bytes that one user may upload through the API in any 24 hours; 0: no limit; default:"
        " 1 GiB, and no limit in `local` mode",
    )
    mcp_server_url: str = Field(
        default_factory=lambda known: tools_url(known["mcp_host"], known["mcp_port"]),
        validation_alias=AliasChoices("MCP_SERVER_URL"),
        description="address of the tools server, at which `orc serve` starts it; default:"
        " `http://ORC_MCP_HOST:ORC_MCP_PORT/mcp`",
    )
    tool_timeout_seconds: float = Field(
        default=120.0, description="time limit of one tool call; 600 if the model runs on this machine"
    )
    store_turn_traces: bool = Field(
        default=True, description="store a trace of every turn, without questions and answers"
    )

    azure_content_safety_endpoint: str | None = Field(
        default=None, description="address of the Azure AI Content Safety resource for `ORC_JUDGE=azure`"
    )
    azure_content_safety_key: SecretStr | None = Field(
        default=None,
        description="key of the Azure AI Content Safety resource; default: the identity of the process",
    )
    fonts_folder: str = Field(
        default="/usr/share/fonts",
        description="folder of fonts for PDF exports, for characters that the fonts of Orc lack",
    )

    @property
    def most_share_days(self) -> int:
        """Days that a link to a conversation is valid at most; 0: there is no one to share with, or none."""
        return 0 if self.auth_mode is AuthMode.LOCAL else self.share_days

    @property
    def most_messages(self) -> int:
        """Messages of a user in an hour; 0 for no limit."""
        default = 0 if self.auth_mode is AuthMode.LOCAL else MESSAGES_PER_HOUR
        return default if self.messages_per_hour is None else self.messages_per_hour

    @property
    def most_upload_bytes(self) -> int:
        """Uploaded bytes of a user in a day; 0 for no limit."""
        default = 0 if self.auth_mode is AuthMode.LOCAL else UPLOAD_BYTES_PER_DAY
        return default if self.upload_bytes_per_day is None else self.upload_bytes_per_day

    @property
    def everyone_creates_contexts(self) -> bool:
        """Whether every caller may create organizations and workspaces."""
        is_local = self.auth_mode is AuthMode.LOCAL
        return self.context_creators == "everyone" or (self.context_creators == "auto" and is_local)


def load() -> Settings:
    """The settings of this process; InvalidInput names a variable that cannot be used."""
    return load_settings(Settings)


def child_environment(**overrides: str) -> dict[str, str]:
    """This process's environment for a child process, with these variables changed."""
    return {**os.environ, **overrides}
