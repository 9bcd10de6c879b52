"""Builds what the API needs, once per process, and closes it again."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from orc.contexts.people import People
from orc.contexts.proposals import Proposals
from orc.contexts.service import ContextService
from orc.contexts.store import ContextStore
from orc.contexts.turn_scope import TurnScopes
from orc.contexts.withholding import RevokedAnswers
from orc.conversations.turn_log import TurnLog
from orc.credentials import CredentialStore
from orc.exports.service import Exporter, Renderer
from orc.graphs.models import Prompts
from orc.graphs.plan_rules import CONVERSATIONAL, FACTUAL, check_intents
from orc.graphs.query_planner import PlanMessage, TurnPlan
from orc.identity import PURPOSE as SESSIONS_KEY
from orc.identity import SessionIds
from orc.judges.building import build_judge, trusted
from orc.judges.ports import SupportJudge
from orc.limits.models import MESSAGES, TASKS, UPLOADS, LimitStore, RateLimit, UserLimit, UserTurns, Window
from orc.memory.models import ConversationMemory
from orc.memory.recall import Selection, TextVectors
from orc.memory.service import MemoryService, MemoryStore
from orc.memory.summary import Summarizer
from orc.readiness import Check, build_checks
from orc.retention import SessionStores, open_session_stores
from orc.settings import Settings
from orc.sharing import Sharing
from orc.tools.catalogue import ToolCatalogue
from orc.tools.mcp_client import McpToolGateway
from orc.traces.models import TraceSink, TraceStore
from orc.turns.running_turn import TurnDependencies
from orc.turns.service import TurnService
from orc.turns.suggestions import Suggestions
from orc.turns.tasks import PER_MESSAGE, Tasks
from orc.turns.user_tools import UserTools
from orc_core.analysis.store import AnalysisStore
from orc_core.bootstrap import Documents, open_documents
from orc_core.documents.pictures import PagePictures
from orc_core.documents.proposals import ProposalStore
from orc_core.documents.service import DocumentService
from orc_core.documents.worker import Worker
from orc_core.grounding.answer_rules import read_answer_rules
from orc_core.infra.azure import require_sdk
from orc_core.llm.chat_model import ChatModel
from orc_core.llm.factory import ChatModels, build_chat_models
from orc_core.llm.model_catalog import ModelCatalogue
from orc_core.llm.tokens import TokenCounter
from orc_core.models import JobProgress
from orc_core.names import Owner
from orc_core.offline.model import Conversation, OfflineModel, recall, says_nothing_to_find
from orc_core.search.hybrid import HybridRetriever
from orc_core.text.wording import names_documents

DRAWINGS_PER_USER = 2
"""Pictures of pages that are drawn for one user at a time."""
HOUR, DAY = 60 * 60, 24 * 60 * 60
_PROMPTS = Path(__file__).parent / "prompts"

Override = Callable[[TurnDependencies], TurnDependencies]


@dataclass(frozen=True)
class App:
    """What routes and commands use."""

    settings: Settings
    turn_service: TurnService
    library: DocumentService
    uploads: RateLimit
    worker: Worker
    log: TurnLog
    exports: Exporter
    memory: ConversationMemory
    contexts: ContextService
    proposals: Proposals
    sharing: Sharing
    scopes: TurnScopes
    revoked: RevokedAnswers
    sessions: SessionIds
    credentials: CredentialStore
    stored: SessionStores
    checks: list[Check]
    warm: Callable[[], Coroutine[Any, Any, None]]
    """Makes what the first turn would otherwise wait for."""
    models: ChatModels
    model_facts: ModelCatalogue
    tools: ToolCatalogue
    messages: RateLimit
    tasks: Tasks
    pictures: PagePictures
    drawings: UserTurns
    analyses: AnalysisStore
    suggestions: Suggestions
    user_tools: UserTools
    reading: dict[tuple[Owner, str], JobProgress] = field(default_factory=dict)
    """How far the files of uploads that are not answered yet are read in this process, by their names."""

    @property
    def traces(self) -> TraceStore:
        """The traces of turns."""
        return self.stored.traces


class AppProvider:
    """Opens the app on first use and keeps it; safe for concurrent requests."""

    def __init__(self, settings: Settings, override: Override | None = None) -> None:
        self._settings = settings
        self._override = override
        self._stack = AsyncExitStack()
        self._lock = asyncio.Lock()
        self._app: App | None = None

    async def get(self) -> App:
        """The app of this process."""
        if self._app is None:
            async with self._lock:
                if self._app is None:
                    opening = open_app(self._settings, self._override)
                    self._app = await self._stack.enter_async_context(opening)
        return self._app

    async def close(self) -> None:
        """Close what was opened."""
        await self._stack.aclose()


@asynccontextmanager
async def open_app(settings: Settings, override: Override | None = None) -> AsyncIterator[App]:
    """Open everything that `settings` name. `override` replaces dependencies of turns, in tests."""
    async with AsyncExitStack() as stack:
        documents = await stack.enter_async_context(open_documents(settings))
        models, gateway = _build_models(settings, documents), _open_gateway(settings, stack)
        stored, items = await open_session_stores(settings, documents), documents.clients.items
        limits, log = LimitStore(await items("limits")), stored.log
        scopes, places = await _open_contexts(settings, documents, stack)
        parts = TurnDependencies(
            log=log,
            library=documents.library,
            memory=_build_memory(settings, documents, stored.memory, log, models.summariser, stack),
            tools=gateway,
            scope_tokens=documents.tokens,
            models=models,
            catalogue=documents.model_catalogue(settings),
            counter=documents.counter,
            prompts=load_prompts(),
            settings=settings,
            contexts=scopes,
            revoked=(revoked := RevokedAnswers(scopes if settings.revoked_answers == "withhold" else None)),
            messages=RateLimit(limits, MESSAGES, _window(settings.most_messages, HOUR)),
            pictures=documents.pictures,
            traces=stored.traces if settings.store_turn_traces else TraceSink(),
            judge=_open_judge(settings, documents, models, stack),
        )
        turn_service = TurnService(parts := override(parts) if override else parts)
        stack.push_async_callback(turn_service.close)
        tasks = _tasks_for(settings, limits, parts)
        yield App(
            settings,
            turn_service,
            documents.library,
            RateLimit(limits, UPLOADS, _window(settings.most_upload_bytes, DAY)),
            documents.worker,
            parts.log,
            Exporter(parts.log, Renderer(documents.sandbox, settings.fonts_folder), revoked),
            parts.memory,
            places,
            Proposals(ProposalStore(stored.shared), places, documents.library),
            Sharing(stored.shared, parts.log, revoked, settings.most_share_days),
            scopes,
            revoked,
            (sessions := SessionIds(documents.keys.derived(SESSIONS_KEY))),
            CredentialStore(await items("credentials"), documents.keys, settings),
            stored,
            build_checks(settings, documents, gateway, log, models.writer),
            partial(_warm, documents, parts.models),
            parts.models,
            parts.catalogue,
            ToolCatalogue(parts.tools, documents.tokens, has_model=settings.has_model),
            parts.messages,
            tasks(None if documents.provider is None else parts.models.summariser),
            documents.pictures,
            UserTurns(DRAWINGS_PER_USER),
            documents.analyses,
            _build_suggestions(documents, log, scopes, tasks(parts.models.titler)),
            UserTools(gateway, documents.tokens, sessions, parts.log, places, scopes, parts.messages),
        )


def _open_gateway(settings: Settings, stack: AsyncExitStack) -> McpToolGateway:
    gateway = McpToolGateway(settings.mcp_server_url, timeout_seconds=settings.tool_timeout_seconds)
    stack.push_async_callback(gateway.close)
    return gateway


async def _open_contexts(
    settings: Settings, documents: Documents, stack: AsyncExitStack
) -> tuple[TurnScopes, ContextService]:
    """The contexts, with the directory of people that the settings name, if any."""
    items, directory = await documents.clients.items("contexts"), None
    if settings.directory_tenant is not None:
        require_sdk()
        # Not at the top: few installations need it.
        import httpx2

        from orc.contexts.microsoft_graph import SECONDS, MicrosoftGraph

        stack.push_async_callback((http := httpx2.AsyncClient(timeout=SECONDS)).aclose)
        directory = MicrosoftGraph(http, documents.clients.credentials, settings.directory_tenant)
    contexts, people = ContextStore(items), People(items, directory)
    everyone_creates = settings.everyone_creates_contexts
    return TurnScopes(contexts), ContextService(contexts, people, everyone_creates=everyone_creates)


def _build_models(settings: Settings, documents: Documents) -> ChatModels:
    """The models of all roles; InvalidInput for intents that name others."""
    counter, provider = documents.counter, documents.provider
    models = build_chat_models(settings, counter, provider, offline=build_offline_model)
    check_intents(settings.intents, models)
    if provider is None:
        return models
    offline = build_chat_models(settings, counter, None, offline=build_offline_model)
    # By any name that a request or an intent may have.
    return replace(models, stand_in=replace(offline, others=dict.fromkeys(models.names, offline.writer)))


def _open_judge(
    settings: Settings, documents: Documents, models: ChatModels, stack: AsyncExitStack
) -> SupportJudge | None:
    """What reads answers a second time; None if nothing does."""
    critic = None if documents.provider is None else models.critic
    judge = build_judge(settings, critic, documents.clients.credentials, stack)
    return trusted(judge, settings, ModelCatalogue(settings.model_catalog))


async def _warm(documents: Documents, models: ChatModels) -> None:
    """Make what the first upload and the first question would otherwise wait for."""
    await documents.sandbox.prepare()
    await documents.warm(models)


def _build_suggestions(documents: Documents, log: TurnLog, scopes: TurnScopes, tasks: Tasks) -> Suggestions:
    # By words alone: vectors would take a call of a model for each question.
    by_words = HybridRetriever(documents.stores.index)
    return Suggestions(documents.library, by_words, log, scopes, tasks)


def _tasks_for(
    settings: Settings, limits: LimitStore, parts: TurnDependencies
) -> Callable[[ChatModel | None], Tasks]:
    """The tasks of a model; of all models together, a user may ask for so many."""
    limit = RateLimit(limits, TASKS, _window(PER_MESSAGE * settings.most_messages, HOUR))
    at_a_time = UserLimit(settings.turns_per_user, "tasks")
    return lambda model: Tasks(model, limit, at_a_time, parts.traces, parts.catalogue)


def _window(limit: int, seconds: int) -> Window | None:
    """The window of a limit; 0 is no limit."""
    return Window(limit, seconds) if limit else None


def _build_memory(
    settings: Settings,
    documents: Documents,
    store: MemoryStore,
    log: TurnLog,
    summariser: ChatModel,
    stack: AsyncExitStack,
) -> ConversationMemory:
    if settings.memory == "off":
        return ConversationMemory()
    counter, nearness, summarizer = documents.counter, None, None
    if documents.embedder is not None:
        nearness = TextVectors(documents.embedder)
        stack.push_async_callback(nearness.close)
    # The offline model cannot summarize.
    if settings.memory in ("auto", "model") and documents.provider is not None:
        summarizer = Summarizer(summariser, (_PROMPTS / "summarise.md").read_text(), counter)
    selection = Selection(settings.memory_tokens, counter, nearness)
    return MemoryService(store, log, selection, counter, settings, summarizer)


def load_prompts() -> Prompts:
    """The prompts that ship with the code."""
    plan, answer, revise = ((_PROMPTS / f"{name}.md").read_text() for name in ("plan", "answer", "revise"))
    plans, parts = (
        dict(part.strip().split("\n", 1) for part in re.split(r"^# ", text, flags=re.M) if part)
        for text in (plan, answer)
    )
    return Prompts(plans, parts | read_answer_rules(), revise)


def build_offline_model(counter: TokenCounter) -> OfflineModel:
    """The model that answers if no provider is configured."""
    return OfflineModel(counter=counter, fill={TurnPlan: plan_offline})


def plan_offline(conversation: Conversation) -> TurnPlan:
    """A plan that searches documents, or the web, unless it is talk or the user has said it before."""
    request = conversation.request
    if not isinstance(request, PlanMessage):
        raise TypeError("A TurnPlan is filled from a PlanMessage.")
    step = "retrieve" if request.documents else "web_search" if request.web else None
    asked = conversation.question
    is_known = not names_documents(asked) and recall(asked, conversation.earlier) is not None
    if step is None or is_known or says_nothing_to_find(asked):
        return TurnPlan(intent=CONVERSATIONAL, question=conversation.question, steps=["answer"], confidence=1)
    return TurnPlan(intent=FACTUAL, question=conversation.query, steps=[step, "answer"], confidence=1)
