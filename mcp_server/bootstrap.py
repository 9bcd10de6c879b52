"""Builds what the tools need, once per process, and closes it again."""

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2

from mcp_server.settings import Settings
from mcp_server.tools.additions import Additions
from mcp_server.tools.document_chat import DocumentChat
from mcp_server.tools.document_context import Reader, ReadingLimits, tokens_for_text
from mcp_server.tools.documents import DocumentContents
from mcp_server.tools.documents_analyze import DocumentsAnalyze, Limits
from mcp_server.tools.page_images import DocumentImages
from mcp_server.tools.pages import Pages
from mcp_server.tools.parts import BestMatches, NoteTaker
from mcp_server.tools.relations import Relations
from mcp_server.tools.search import DocumentSearch
from mcp_server.tools.web_search import WebSearchTool
from mcp_server.web.engines import BraveSearch, GoogleSearch
from orc_core.bootstrap import Documents, open_documents
from orc_core.documents.proposals import ProposalStore
from orc_core.documents.scope import ScopeTokens
from orc_core.errors import InvalidInput
from orc_core.grounding.answer_rules import read_answer_rules
from orc_core.llm.chat_model import ChatModel
from orc_core.llm.factory import ChatModels, build_chat_models
from orc_core.llm.tokens import TokenCounter

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

WEB_SEARCH_SECONDS = 8.0
"""Time limit of a web search."""
_PROMPTS = Path(__file__).parent / "prompts"
_WEB_SEARCH_KEYS = {"google": "GOOGLE_SEARCH_KEY and GOOGLE_SEARCH_ENGINE", "brave": "BRAVE_SEARCH_KEY"}
_PARTS_WITHOUT_MODEL = 1000
"""Without a model, reading a part takes about 30 ms and no call."""


@dataclass(frozen=True)
class App:
    """The objects that tool calls use."""

    document_chat: DocumentChat
    documents_analyze: DocumentsAnalyze
    search: DocumentSearch
    pages: Pages
    relations: Relations | None
    contents: DocumentContents
    additions: Additions
    web: WebSearchTool | None
    tokens: ScopeTokens
    ping_stores: Callable[[], Awaitable[None]]
    """Raises DependencyDown unless the stores answer."""
    warm: Callable[[], Coroutine[Any, Any, None]]
    """Makes what the first calls would otherwise wait for."""


@asynccontextmanager
async def open_app(
    settings: Settings, *, models: ChatModels | None = None, web: WebSearchTool | None = None
) -> AsyncIterator[App]:
    """Open everything that `settings` name; tests replace the models or the web search.

    Raises InvalidInput if the named search engine has no key.
    """
    if settings.web_search_engine is None and (keys := _WEB_SEARCH_KEYS.get(settings.web_search)):
        raise InvalidInput(f"ORC_WEB_SEARCH is {settings.web_search}, which takes {keys}.")
    async with open_documents(settings) as documents, _open_web_search(settings) as configured:
        models = models or build_chat_models(
            settings, documents.counter, documents.provider, offline=_build_offline_model
        )
        await documents.model_catalogue(settings).learn()
        proposals = ProposalStore(await documents.clients.items("contexts"))
        yield _assemble(settings, documents, models, web or configured, proposals)


def _build_offline_model(counter: TokenCounter) -> "BaseChatModel":
    # The tools ask for text only, so no structured output is registered.
    from orc_core.offline.model import OfflineModel

    return OfflineModel(counter=counter)


def _assemble(
    settings: Settings,
    documents: Documents,
    models: ChatModels,
    web: WebSearchTool | None,
    proposals: ProposalStore,
) -> App:
    library, analyses, analysis = documents.library, documents.analyses, settings.page_analysis
    catalogue = documents.model_catalogue(settings)
    window = settings.context_window or catalogue.window(models.names)
    most = tokens_for_text(window)
    limits = ReadingLimits(
        whole=min(settings.full_text_tokens, most), unindexed=min(settings.unindexed_text_tokens, most)
    )
    return App(
        document_chat=DocumentChat(
            library=library,
            reader=Reader(library, documents.retriever, limits),
            read_boxes=documents.stores.pages.boxes,
            files=documents.files,
            named=models.named,
            counter=documents.counter,
            window=window,
            prompt=read_prompt("document_chat"),
            wishes=read_prompt("wishes"),
            images=DocumentImages(library, documents.pictures, catalogue),
        ),
        documents_analyze=_build_analyze(settings, documents, models.writer),
        search=DocumentSearch(library, documents.retriever, analyses),
        pages=Pages(library, analyses),
        relations=Relations(library, analyses, has_model=settings.has_model) if analysis == "auto" else None,
        additions=Additions(library, proposals),
        contents=DocumentContents(library, analyses, has_analysis=analysis != "off"),
        web=web,
        tokens=documents.tokens,
        ping_stores=documents.stores.catalog.ping,
        warm=partial(documents.warm, models),
    )


@asynccontextmanager
async def _open_web_search(settings: Settings) -> AsyncIterator[WebSearchTool | None]:
    """The web search with its connections; None if no search engine is configured."""
    if settings.web_search_engine is None:
        yield None
        return
    async with httpx2.AsyncClient(timeout=WEB_SEARCH_SECONDS) as client:
        key, seconds = settings.brave_search_key, WEB_SEARCH_SECONDS
        if settings.web_search_engine == "brave":
            assert key
            yield WebSearchTool(BraveSearch(client, settings.brave_search_url, key=key, seconds=seconds))
            return
        key, engine, url = (
            settings.google_search_key,
            settings.google_search_engine,
            settings.google_search_url,
        )
        assert key
        assert engine
        yield WebSearchTool(GoogleSearch(client, url, key=key, engine_id=engine, seconds=seconds))


def _build_analyze(settings: Settings, documents: Documents, model: ChatModel) -> DocumentsAnalyze:
    reader = NoteTaker(model, read_prompt("documents_analyze_part")) if settings.has_model else BestMatches()
    return DocumentsAnalyze(
        library=documents.library,
        retriever=documents.retriever,
        reader=reader,
        model=model,
        prompt=read_prompt("documents_analyze"),
        counter=documents.counter,
        read_boxes=documents.stores.pages.boxes,
        limits=Limits() if settings.has_model else Limits(model_calls=_PARTS_WITHOUT_MODEL),
    )


def read_prompt(name: str) -> str:
    """The instructions in prompts/NAME.md, with the rules for answers."""
    return (_PROMPTS / f"{name}.md").read_text().format_map(read_answer_rules())
