"""Builds the chat models that the settings name. See docs/decisions/models-and-providers.md."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Literal

from orc_core.errors import InvalidInput
from orc_core.infra.model_servers import SERVERS
from orc_core.infra.model_settings import ModelFacts
from orc_core.infra.settings import CoreSettings
from orc_core.llm.chat_model import ChatModel
from orc_core.llm.errors import ModelMisconfigured
from orc_core.llm.later import Later
from orc_core.llm.model_catalog import ModelCatalogue
from orc_core.llm.provider import Provider, endpoint_of
from orc_core.llm.tokens import TokenCounter

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

Role = Literal["planner", "writer", "critic", "summariser", "analyst", "titler"]
BuildOffline = Callable[[TokenCounter], "BaseChatModel"]
"""Builds the model that answers if no provider is configured."""


@dataclass(frozen=True, slots=True)
class ChatModels:
    """The models of one process. `others` are writers that a request or an intent can name.

    `titler` names conversations; None: their first words stay. `stand_in` finds passages while these are
    away; None if they are the offline model.
    """

    planner: ChatModel
    writer: ChatModel
    critic: ChatModel
    summariser: ChatModel
    others: dict[str, ChatModel] = field(default_factory=dict)
    titler: ChatModel | None = None
    stand_in: "ChatModels | None" = None

    @property
    def names(self) -> list[str]:
        """The models that may write, the default first."""
        return list(dict.fromkeys([self.writer.name, *self.others]))

    async def warm(self) -> None:
        """Make the models now, which the first call of each would otherwise do: it imports a library."""
        for model in (self.planner, self.writer, self.critic, self.summariser, *self.others.values()):
            await model.warm()

    def named(self, name: str | None) -> ChatModel:
        """The writer with this name; None: the default. Raises InvalidInput for any other name."""
        if name is None or name == self.writer.name:
            return self.writer
        if name not in self.others:
            raise InvalidInput(f"The configured models are: {', '.join(self.names)}.", field="model")
        return self.others[name]


def build_chat_models(
    settings: CoreSettings,
    counter: TokenCounter,
    provider: Provider | None,
    *,
    offline: BuildOffline | None = None,
) -> ChatModels:
    """The models for all roles; see `build_chat_model`."""

    def build(role: Role, name: str | None = None) -> ChatModel:
        return build_chat_model(settings, role, counter, provider, name=name, offline=offline)

    return ChatModels(
        planner=build("planner"),
        writer=build("writer"),
        critic=build("critic"),
        summariser=build("summariser"),
        others={name: build("writer", name) for name in settings.models} if provider else {},
        titler=build("titler") if provider and settings.titler_name else None,
    )


def build_chat_model(
    settings: CoreSettings,
    role: Role,
    counter: TokenCounter,
    provider: Provider | None,
    *,
    name: str | None = None,
    offline: BuildOffline | None = None,
) -> ChatModel:
    """The model for a role: the provider's if there is one, else what `offline` builds.

    `name` replaces the model that the settings name for the role. Raises ModelMisconfigured if there is
    neither. Connects to nothing.
    """
    if provider is None:
        if offline is None:
            raise ModelMisconfigured(
                "No model is configured: set ORC_MODEL, OPENAI_API_KEY or AZURE_OPENAI_ENDPOINT."
            )
        recorded = settings.telemetry_content
        made = Later(partial(offline, counter))
        return ChatModel(made, counter, name="extractive", role=role, records_content=recorded)
    name = name or _model_name(settings, role)
    facts = ModelCatalogue(settings.model_catalog).facts(name)
    if settings.server is not None and facts.temperature is None:
        facts = facts.model_copy(update={"temperature": SERVERS[settings.server].temperature})
    endpoint = provider.endpoint
    return ChatModel(
        _chat(provider, name, facts, responses=settings.responses_api),
        counter,
        name=name,
        role=role,
        # Azure accepts files only through its responses API.
        file_model=_chat(provider, name, facts, responses=True) if endpoint.is_azure else None,
        translate=provider.translate,
        breaker=provider.chat,
        abilities=provider.abilities(name),
        is_local=settings.is_local,
        reasoning_tokens=facts.reasoning_tokens,
        provider=endpoint.telemetry_name,
        records_content=settings.telemetry_content,
    )


def _chat(provider: Provider, name: str, facts: ModelFacts, *, responses: bool) -> "Later[BaseChatModel]":
    def build() -> "BaseChatModel":
        if provider.endpoint.package:
            from orc_core.llm.other_chats import build_other_chat

            return build_other_chat(provider, name, facts)
        from orc_core.llm.openai_chat import build_openai_chat

        return build_openai_chat(provider, name, facts, responses=responses)

    return Later(build)


def describe(settings: CoreSettings) -> str:
    """Which models answer, and at which host. Contains no secrets."""
    endpoint = endpoint_of(settings)
    if endpoint is None:
        return "the offline extractive model (no ORC_MODEL, OPENAI_API_KEY or AZURE_OPENAI_ENDPOINT)"
    names = {_model_name(settings, "writer"): None, _model_name(settings, "planner"): None}
    return f"{' and '.join(names)} at {endpoint.host}"


def _model_name(settings: CoreSettings, role: Role) -> str:
    named = {
        "planner": settings.planner_model,
        "critic": settings.critic_model,
        "summariser": settings.summary_model,
        "analyst": settings.analysis_model,
        "titler": settings.titler_name,
    }
    return named.get(role) or settings.chat_model
