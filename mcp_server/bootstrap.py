"""Builds what the tools need, once per process, and closes it again."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from core.bootstrap import open_documents
from core.documents.library import DocumentLibrary
from core.grounding.answers import NOT_FOUND_ANSWER
from core.grounding.markers import marker
from core.llm.factory import build_chat_model
from core.scope import ScopeTokens
from core.sqlite import Database
from mcp_server.settings import Settings
from mcp_server.tools.document_chat import DocumentChat

_PROMPTS = Path(__file__).parent / "prompts"


@dataclass(frozen=True)
class Services:
    """What a tool call can use."""

    library: DocumentLibrary
    document_chat: DocumentChat
    tokens: ScopeTokens
    database: Database

    async def ping(self) -> None:
        """Raise DependencyDown unless the stores answer."""
        await self.database.ping()


@asynccontextmanager
async def open_services(settings: Settings) -> AsyncIterator[Services]:
    """Everything built from `settings`, for as long as the context is open."""
    async with open_documents(settings) as documents:
        model = build_chat_model(settings, "writer", documents.counter)
        prompt = (_PROMPTS / "document_chat.md").read_text()
        chat = DocumentChat(
            library=documents.library,
            index=documents.index,
            files=documents.files,
            model=model,
            prompt=prompt.format(marker=marker(3), not_found=NOT_FOUND_ANSWER),
            inline_token_budget=settings.inline_token_budget,
            retrieval_passages=settings.retrieval_passages,
        )
        try:
            yield Services(documents.library, chat, documents.tokens, documents.database)
        finally:
            await model.aclose()
