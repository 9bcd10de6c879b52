"""Checks whether each service in use answers, for `/api/ready` and `orc doctor`."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial

from orc.conversations.turn_log import TurnLog
from orc.settings import Settings
from orc.tools.mcp_client import McpToolGateway
from orc_core.bootstrap import Documents
from orc_core.documents.scope import Scope, ScopeTokens
from orc_core.errors import DependencyDown, OrcError
from orc_core.infra.keys import Keys
from orc_core.llm.chat_model import ChatModel
from orc_core.llm.factory import describe
from orc_core.llm.model_catalog import ModelCatalogue
from orc_core.models import Record

SECONDS = 5.0
ONLY_SECOND_KEY = "It accepts the second signing key only: it was started before the keys were changed."


class DependencyState(Record):
    """What is in use for one need, and whether it answers. `where` is for the operator's eyes only.

    `advice` says what would add to a service that answers.
    """

    name: str
    backend: str
    where: str
    advice: str = ""
    ok: bool
    latency_ms: float
    detail: str | None = None
    needed: bool = True

    @property
    def allows_turns(self) -> bool:
        """Whether turns can be answered as far as this goes."""
        return self.ok or not self.needed


Check = Callable[[], Awaitable[DependencyState]]


def check(
    name: str,
    backend: str,
    where: str,
    ping: Callable[[], Awaitable[object]] | None,
    *,
    needed: bool = True,
    advice: str = "",
) -> Check:
    """A check of one dependency; None for one that is in this process or costs money to ask.

    Turns can be answered without one that is not `needed`.
    """

    async def run() -> DependencyState:
        started, detail = time.perf_counter(), None
        try:
            async with asyncio.timeout(SECONDS):
                if ping is not None:
                    await ping()
        except OrcError as exc:
            detail = exc.message
        except TimeoutError:
            detail = f"No answer within {SECONDS:.0f} s."
        return DependencyState(
            name=name,
            backend=backend,
            where=where,
            advice=advice,
            ok=detail is None,
            latency_ms=round((time.perf_counter() - started) * 1000, 1),
            detail=detail,
            needed=needed,
        )

    return run


def build_checks(
    settings: Settings, documents: Documents, gateway: McpToolGateway, log: TurnLog, model: ChatModel
) -> list[Check]:
    """A check of every service in use."""
    provider, limits, ocr = documents.provider, settings.image_limits, documents.ocr
    facts = ModelCatalogue(settings.model_catalog).facts(model.name)
    why = limits.why_none(model.name, facts) if limits else ""
    reading = "Install Tesseract, or name an Azure endpoint. Until then scanned pages stay without text."
    return [
        *_store_checks(settings, documents, log),
        check("mcp_server", "MCP over HTTP", settings.mcp_server_url, _ping_of_tools(gateway, documents)),
        # While the model is down questions fail, saying so, and all that was stored can be read.
        check(
            "model",
            model.name,
            describe(settings),
            partial(provider.ping, model.name) if provider else None,
            needed=False,
            advice=f"page_images in ORC_ADVANCED has no effect: {why}." if why else "",
        ),
        *_search_checks(settings, documents),
        check("ocr", ocr.name, "", ocr.ping, needed=False)
        if ocr
        else check("ocr", "none", "", None, advice=reading),
    ]


def _store_checks(settings: Settings, documents: Documents, log: TurnLog) -> list[Check]:
    clients, stores = documents.clients, documents.stores
    if clients.cosmos is None:
        checks = [check("turn_log", "SQLite", str(settings.database_path), log.ping)]
    else:
        where = f"{settings.azure_cosmos_endpoint} {settings.azure_cosmos_database}"
        checks = [
            check("turn_log", "Cosmos DB", where, log.ping),
            check("catalog", "Cosmos DB", where, stores.catalog.ping),
        ]
    if clients.storage is None:
        return [*checks, check("blobs", "folder", str(settings.blobs_dir), stores.blobs.ping)]
    from orc_core.storage.queue import queue_names

    account, storage = settings.azure_storage_account_url or "", clients.storage
    containers = (settings.azure_storage_container, settings.azure_storage_derived)
    blobs, queues = partial(storage.ping, containers), partial(storage.ping, (), queue_names().values())
    return [
        *checks,
        check("blobs", "Blob Storage", " ".join((account, *containers)), blobs),
        check("queue", "Queue Storage", settings.azure_storage_queue_url or account, queues),
    ]


def _ping_of_tools(gateway: McpToolGateway, documents: Documents) -> Callable[[], Awaitable[None]]:
    nowhere = Scope(organization_id="orc", user_id="ready", conversation_id="none")

    async def ping() -> None:
        await gateway.ping()
        # With a scope, though an empty one: both sides must sign with the same key.
        try:
            await gateway.list_tools(documents.tokens.mint(nowhere, seconds=60))
        except DependencyDown as exc:
            if exc.code == "tool_refused" and (second := documents.keys.second):
                await gateway.list_tools(ScopeTokens(Keys(second)).mint(nowhere, seconds=60))
                raise DependencyDown(ONLY_SECOND_KEY, dependency="mcp_server", code=exc.code) from exc
            raise

    return ping


def _search_checks(settings: Settings, documents: Documents) -> list[Check]:
    clients, embedder, url = documents.clients, documents.embedder, settings.upstash_vector_rest_url or ""
    how, where = ("words and vectors", embedder.name) if embedder else ("words only", "")
    advice = "" if embedder else "Set ORC_EMBEDDING_MODEL to search by vectors too."
    if clients.search is None:
        checks = [check("search", how, where, None, advice=advice)]
    else:
        index = f"{settings.azure_search_endpoint} {settings.azure_search_index}"
        index, ping = "; ".join(filter(None, [index, where])), clients.search.ping
        checks = [check("search", f"AI Search, {how}", index, ping, needed=False, advice=advice)]
    if clients.upstash:
        # While it is down, search uses words.
        checks.append(check("vectors", "Upstash Vector", url, clients.upstash.ping, needed=False))
    return checks
