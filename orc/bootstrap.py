"""Builds what the API needs, once per process, and closes it again."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path

from langchain_core.language_models import BaseChatModel

from core.bootstrap import Documents, open_documents
from core.documents.scope import Scope
from core.documents.service import DocumentService
from core.documents.worker import Worker
from core.grounding.citations import marker
from core.grounding.claims import NOT_FOUND_ANSWER
from core.llm.chat_model import ChatModel
from core.llm.factory import build_chat_models, describe
from core.llm.model_catalog import ModelCatalogue
from core.llm.tokens import TokenCounter
from core.storage.factory import Backends
from orc.conversations import sqlite as turn_log_sqlite
from orc.conversations.ports import TurnLog
from orc.conversations.sqlite import SqliteTurnLog
from orc.graphs.graph import compile_graph
from orc.graphs.models import Prompts
from orc.graphs.plan_rules import check_intents
from orc.identity import PURPOSE as SESSIONS_KEY
from orc.identity import SessionIds
from orc.memory import sqlite as memory_sqlite
from orc.memory.ports import MemoryStore, Remembering
from orc.memory.recall import Selection
from orc.memory.service import MemoryKeeper, NoMemory
from orc.memory.sqlite import SqliteMemoryStore
from orc.memory.summary import Condenser
from orc.readiness import Check, check
from orc.settings import Settings
from orc.tools.mcp_client import McpToolGateway
from orc.traces import sqlite as traces_sqlite
from orc.traces.ports import NoTraces, TraceStore
from orc.traces.sqlite import SqliteTraceStore
from orc.turns.runner import TurnDependencies
from orc.turns.service import Orchestrator

_PROMPTS = Path(__file__).parent / "prompts"

Change = Callable[[TurnDependencies], TurnDependencies]
"""Puts something else in the place of parts that the settings have built: doubles, in tests."""


def unchanged(parts: TurnDependencies) -> TurnDependencies:
    """The parts as they are."""
    return parts


@dataclass(frozen=True)
class Services:
    """What routes and commands can use."""

    settings: Settings
    orchestrator: Orchestrator
    library: DocumentService
    worker: Worker
    log: TurnLog
    memory: Remembering
    sessions: SessionIds
    traces: TraceStore
    checks: list[Check]


class ServiceProvider:
    """Opens the services on first use and keeps them; safe to ask for from many requests at once."""

    def __init__(self, settings: Settings, change: Change = unchanged) -> None:
        self._settings = settings
        self._change = change
        self._stack = AsyncExitStack()
        self._lock = asyncio.Lock()
        self._services: Services | None = None

    async def get(self) -> Services:
        """The services of this process."""
        if self._services is None:
            async with self._lock:
                if self._services is None:
                    opening = open_services(self._settings, self._change)
                    self._services = await self._stack.enter_async_context(opening)
        return self._services

    async def close(self) -> None:
        """Close what was opened."""
        await self._stack.aclose()


@asynccontextmanager
async def open_services(settings: Settings, change: Change = unchanged) -> AsyncIterator[Services]:
    """Everything built from `settings`, for as long as the context is open; turns use what `change` makes
    of the parts."""
    async with AsyncExitStack() as stack:
        documents = await stack.enter_async_context(open_documents(settings))
        models = build_chat_models(
            settings, documents.counter, documents.engines.provider, offline=_build_offline_model
        )
        check_intents(settings.intents, models)
        gateway = McpToolGateway(settings.mcp_server_url, timeout_seconds=settings.tool_timeout_seconds)
        log = await _open_turn_log(settings, documents.backends)
        traces = await _open_traces(settings, documents.backends)
        memory = await _open_memory(settings, documents, log, models.summariser, stack)
        parts = change(
            TurnDependencies(
                log=log,
                library=documents.library,
                memory=memory,
                tools=gateway,
                scope_tokens=documents.tokens,
                graph=compile_graph(),
                models=models,
                catalogue=ModelCatalogue(settings.model_catalog),
                counter=documents.counter,
                prompts=load_prompts(),
                settings=settings,
                traces=traces if settings.store_turn_traces else NoTraces(),
            )
        )
        orchestrator = Orchestrator(parts)
        for close in (gateway.close, orchestrator.close):
            stack.push_async_callback(close)
        yield Services(
            settings,
            orchestrator,
            documents.library,
            documents.worker,
            parts.log,
            parts.memory,
            SessionIds(documents.tokens.sub_key(SESSIONS_KEY)),
            traces,
            _checks(settings, documents, gateway, log, models.writer),
        )


def _build_offline_model(counter: TokenCounter) -> BaseChatModel:
    from orc.offline import build_offline_model

    return build_offline_model(counter)


async def _open_turn_log(settings: Settings, backends: Backends) -> TurnLog:
    if backends.cosmos is None:
        await backends.file.migrate(turn_log_sqlite.SCHEMA)
        return SqliteTurnLog(backends.file)
    from orc.conversations.cosmos import CosmosTurnLog

    return CosmosTurnLog(
        backends.cosmos.container("conversations"), retention_seconds=settings.retention_seconds
    )


async def _open_traces(settings: Settings, backends: Backends) -> TraceStore:
    days = settings.retention_days
    if backends.cosmos is None:
        await backends.file.migrate(traces_sqlite.SCHEMA)
        return SqliteTraceStore(backends.file, retention=timedelta(days=days) if days else None)
    from orc.traces.cosmos import CosmosTraceStore

    return CosmosTraceStore(backends.cosmos.container("traces"), retention_seconds=settings.retention_seconds)


async def _open_memory(
    settings: Settings, documents: Documents, log: TurnLog, summariser: ChatModel, stack: AsyncExitStack
) -> Remembering:
    if settings.memory == "off":
        return NoMemory()
    counter, engines = documents.counter, documents.engines
    nearness = None
    if engines.embedder is not None:
        from orc.memory.vectors import TextVectors

        nearness = TextVectors(engines.embedder)
        stack.push_async_callback(nearness.close)
    # The offline model cannot write; what it would quote is what points are made of without a model.
    condenser = None
    if settings.memory in ("auto", "model") and engines.provider is not None:
        condenser = Condenser(summariser, (_PROMPTS / "summarise.md").read_text(), counter)
    return MemoryKeeper(
        await _open_memory_store(settings, documents.backends),
        log,
        Selection(settings.memory_tokens, counter, nearness),
        counter,
        settings,
        condenser,
    )


async def _open_memory_store(settings: Settings, backends: Backends) -> MemoryStore:
    if backends.cosmos is None:
        await backends.file.migrate(memory_sqlite.SCHEMA)
        return SqliteMemoryStore(backends.file)
    from orc.memory.cosmos import CosmosMemoryStore

    return CosmosMemoryStore(
        backends.cosmos.container("memory"), retention_seconds=settings.retention_seconds
    )


def load_prompts() -> Prompts:
    """The prompts that ship with the code."""
    return Prompts(
        plan=(_PROMPTS / "plan.md").read_text(),
        converse=(_PROMPTS / "converse.md").read_text(),
        use_tools=_with_marker((_PROMPTS / "use_tools.md").read_text()),
        answer_from_tools=_with_marker((_PROMPTS / "answer_from_tools.md").read_text()),
        critic=(_PROMPTS / "critic.md").read_text(),
        revise=(_PROMPTS / "revise.md").read_text(),
    )


def _with_marker(prompt: str) -> str:
    return prompt.format(marker=marker(3), not_found=NOT_FOUND_ANSWER)


def _checks(
    settings: Settings, documents: Documents, gateway: McpToolGateway, log: TurnLog, model: ChatModel
) -> list[Check]:
    return [
        *_store_checks(settings, documents, log),
        check("mcp_server", "MCP over HTTP", settings.mcp_server_url, _ping_of_tools(gateway, documents)),
        _model_check(settings, documents, model),
        _search_check(settings, documents),
        _ocr_check(documents),
    ]


def _store_checks(settings: Settings, documents: Documents, log: TurnLog) -> list[Check]:
    backends, stores = documents.backends, documents.stores
    if backends.cosmos is None:
        checks = [check("turn_log", "SQLite", str(settings.database_path), log.ping)]
    else:
        where = f"{settings.azure_cosmos_endpoint} {settings.azure_cosmos_database}"
        checks = [
            check("turn_log", "Cosmos DB", where, log.ping),
            check("catalog", "Cosmos DB", where, stores.catalog.ping),
        ]
    if backends.storage is None:
        return [*checks, check("blobs", "folder", str(settings.blobs_dir), stores.blobs.ping)]
    where = settings.azure_storage_account_url or ""
    containers = (settings.azure_storage_container, settings.azure_storage_derived)
    from core.storage.queue import queue_names

    storage = backends.storage
    return [
        *checks,
        check("blobs", "Blob Storage", f"{where} {' '.join(containers)}", partial(storage.ping, containers)),
        check(
            "queue",
            "Queue Storage",
            settings.azure_storage_queue_url or where,
            partial(storage.ping, (), queue_names().values()),
        ),
    ]


def _ping_of_tools(gateway: McpToolGateway, documents: Documents) -> Callable[[], Awaitable[None]]:
    nowhere = Scope(organization_id="orc", user_id="ready", conversation_id="none")

    async def ping() -> None:
        await gateway.ping()
        # With a scope, though an empty one: both sides must sign with the same key.
        await gateway.list_tools(documents.tokens.mint(nowhere, seconds=60))

    return ping


def _model_check(settings: Settings, documents: Documents, model: ChatModel) -> Check:
    provider = documents.engines.provider
    # While it is down questions fail, saying so, and all that was stored can be read.
    ping = provider.ping if provider else None
    return check("model", model.name, describe(settings), ping, needed=False)


def _search_check(settings: Settings, documents: Documents) -> Check:
    embedder, search = documents.engines.embedder, documents.backends.search
    where = embedder.name if embedder else "name ORC_EMBEDDING_MODEL for vectors"
    how = "lexical and vectors" if embedder else "lexical"
    if search is None:
        return check("search", how, where, None)
    index = f"{settings.azure_search_endpoint} {settings.azure_search_index}; {where}"
    return check("search", f"AI Search, {how}", index, search.ping, needed=False)


def _ocr_check(documents: Documents) -> Check:
    ocr = documents.engines.ocr
    if ocr is None:
        advice = "scanned pages stay without text: install Tesseract, or name an Azure endpoint"
        return check("ocr", "none", advice, None)
    return check("ocr", ocr.name, "reads scanned pages", ocr.ping, needed=False)
