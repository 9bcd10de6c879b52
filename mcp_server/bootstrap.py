"""Builds what the tools need, once per process, and closes it again."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from core.bootstrap import Documents, open_documents
from core.documents.analysis.ports import AnalysisStore
from core.grounding.answers import NOT_FOUND_ANSWER
from core.grounding.markers import marker
from core.llm.factory import build_chat_model
from core.llm.model import ChatModel
from core.scope import ScopeTokens
from mcp_server.settings import Settings
from mcp_server.tools.connections import Connections
from mcp_server.tools.contents import Contents
from mcp_server.tools.document_chat import DocumentChat
from mcp_server.tools.documents_analyze import DocumentsAnalyze, Limits
from mcp_server.tools.pages import Pages
from mcp_server.tools.part_readers import BestMatches, NoteTaker
from mcp_server.tools.reach import Library
from mcp_server.tools.reading import Reader, ReadingLimits
from mcp_server.tools.searching import Searching

_PROMPTS = Path(__file__).parent / "prompts"
_PARTS_WITHOUT_MODEL = 1000
"""Without a model, reading a part costs no call but some 30 ms."""


@dataclass(frozen=True)
class Services:
    """What a tool call can use."""

    library: Library
    analyses: AnalysisStore
    document_chat: DocumentChat
    documents_analyze: DocumentsAnalyze
    searching: Searching
    pages: Pages
    connections: Connections
    contents: Contents
    tokens: ScopeTokens
    ping_stores: Callable[[], Awaitable[None]]

    async def ping(self) -> None:
        """Raise DependencyDown unless the stores answer."""
        await self.ping_stores()


@asynccontextmanager
async def open_services(settings: Settings) -> AsyncIterator[Services]:
    """Everything built from `settings`, for as long as the context is open."""
    async with open_documents(settings) as documents:
        model = build_chat_model(settings, "writer", documents.counter, documents.engines.provider)
        yield _assemble(settings, documents, model)


def _assemble(settings: Settings, documents: Documents, model: ChatModel) -> Services:
    library, analyses = documents.library, documents.stores.analyses
    return Services(
        library=library,
        analyses=analyses,
        document_chat=DocumentChat(
            library=documents.library,
            reader=Reader(documents.library, documents.retriever, _reading_limits(settings)),
            read_boxes=documents.stores.pages.boxes,
            files=documents.files,
            model=model,
            prompt=read_prompt("document_chat"),
        ),
        documents_analyze=_build_analyze(settings, documents, model),
        searching=Searching(library, documents.retriever, analyses),
        pages=Pages(library, analyses, characters=settings.page_characters),
        connections=Connections(library, analyses),
        contents=Contents(library, analyses, characters=settings.content_characters),
        tokens=documents.tokens,
        ping_stores=documents.stores.catalog.ping,
    )


def _reading_limits(settings: Settings) -> ReadingLimits:
    return ReadingLimits(
        whole=settings.inline_token_budget,
        unindexed=settings.inline_limit_tokens,
        passages=settings.retrieval_passages,
    )


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
        limits=Limits(
            model_calls=settings.analyze_model_calls if settings.has_model else _PARTS_WITHOUT_MODEL,
            part_tokens=settings.analyze_part_tokens,
            largest_part_tokens=settings.analyze_largest_part_tokens,
        ),
    )


def read_prompt(name: str) -> str:
    """The instructions in prompts/NAME.md, which say how to cite and how to find nothing."""
    return (_PROMPTS / f"{name}.md").read_text().format(marker=marker(3), not_found=NOT_FOUND_ANSWER)
