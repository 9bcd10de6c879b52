"""Settings of the orchestrator, read from the environment and from `.env`."""

import os
from enum import StrEnum
from typing import Literal

from pydantic import AliasChoices, Field, field_validator

from core.infra.settings import CoreSettings, load_settings
from orc.intents import Intent


class AuthMode(StrEnum):
    """Where the identity of a caller comes from."""

    LOCAL = "local"
    EASYAUTH = "easyauth"
    JWT = "jwt"


class Settings(CoreSettings):
    """The API, who may call it, the tools server and the limits of a turn."""

    host: str = Field(default="127.0.0.1", description="address of the API that `orc serve` starts")
    port: int = Field(default=7071, ge=0, le=65535, description="and its port")

    auth_mode: AuthMode = Field(default=AuthMode.LOCAL, description="local works on a loopback address only")
    azure_instance_id: str | None = Field(
        default=None,
        validation_alias=AliasChoices("WEBSITE_INSTANCE_ID"),
        description="set by Azure, where local authentication is refused",
    )
    local_organization: str = Field(default="local", description="who the local user is")
    local_user: str = Field(default="me", description="who the local user is")
    jwt_issuer: str | None = Field(default=None, description="of bearer tokens, for `jwt`")
    jwt_audience: str | None = Field(default=None, description="of bearer tokens, for `jwt`")
    jwt_jwks_url: str | None = Field(default=None, description="where the issuer publishes its keys")
    admin_role: str = Field(default="orc.admin", description="the role that may see telemetry")

    mcp_server_url: str = Field(
        default="http://127.0.0.1:7072/mcp",
        validation_alias=AliasChoices("MCP_SERVER_URL", "ORC_MCP_SERVER_URL"),
        description="where the tools server answers",
    )
    tool_timeout_seconds: float = Field(default=120.0, description="what one tool call may take in all")
    tool_rounds: int = Field(default=4, ge=1, description="how often a model may ask for tools in one turn")

    max_documents_per_request: int = Field(
        default=3,
        ge=1,
        validation_alias=AliasChoices("MAX_DOCUMENTS_PER_REQUEST", "ORC_MAX_DOCUMENTS_PER_REQUEST"),
        description="that a question may name",
    )
    max_files_per_upload: int = Field(default=20, ge=1, description="in one request")
    turn_deadline_seconds: float = Field(
        default=200.0, description="below the 230 s of Azure's load balancer"
    )
    turn_lease_seconds: float = Field(
        default=15.0, description="after a crash a turn counts as failed this late"
    )
    max_model_calls: int = Field(default=10, ge=1, description="per turn, tools not counted")
    history_turns: int = Field(default=12, ge=0, description="earlier turns that a question is understood by")
    history_tokens: int = Field(default=4000, ge=0, description="of those turns, the newest first")
    planner_tokens: int = Field(default=3000, ge=500, description="of a prompt that plans a turn")
    retrieval_tokens: int = Field(
        default=6000, ge=500, description="of what was found, in a prompt that answers from it"
    )
    memory_tokens: int = Field(default=800, ge=0, description="of what is remembered from older turns")
    intents: dict[str, Intent] = Field(
        default={},
        description="kinds of questions as a JSON object, by name: description, keywords, model,"
        " max_output_tokens, retriever; they add to the four that there are, or change them",
    )
    planner_confidence: float = Field(
        default=0.5, ge=0, le=1, description="a plan that is less sure looks into documents and the web"
    )
    planner_seconds: float = Field(
        default=15.0, gt=0, description="how long a model may take to plan; then rules do"
    )
    lazy_retrieval: bool = Field(
        default=False, description="look at summaries of pages first; at the pages where the critic asks"
    )
    critic: Literal["off", "auto", "always"] = Field(
        default="off",
        description="whether a model judges answers after the code checks: auto, those that do not pass them",
    )
    critic_max_retries: int = Field(
        default=1,
        ge=0,
        le=5,
        validation_alias=AliasChoices("CRITIC_MAX_RETRIES", "ORC_CRITIC_MAX_RETRIES"),
        description="how often an answer is revised on the critic's advice",
    )
    critic_seconds: float = Field(default=20.0, gt=0, description="how long the critic may take")
    memory: Literal["extractive", "model", "off"] = Field(
        default="extractive",
        description="what is remembered of older turns: the user's words and sentences of answers, or what a"
        " model makes of them, off the turn's path",
    )
    summary_threshold_tokens: int = Field(
        default=2000, ge=200, description="of turns older than the history: past it a model condenses them"
    )
    traces: bool = Field(
        default=True, description="keep a trace of every turn, without what was asked and answered"
    )
    ping_seconds: int = Field(default=15, ge=1, description="between signs of life on a silent stream")

    @field_validator("local_organization", "local_user")
    @classmethod
    def _not_empty(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("must not be empty")
        return value


def load() -> Settings:
    """The settings of this process; InvalidInput names a variable that cannot be used."""
    return load_settings(Settings)


def child_environment(**overrides: str) -> dict[str, str]:
    """This process's environment for a child, with some settings of its own."""
    return {**os.environ, **overrides}
