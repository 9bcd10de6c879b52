"""The tools that answer: document_chat and documents_analyze."""

from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import Field, ValidationError

from core.errors import InvalidInput, NoReadableDocument, NotFound, UnsafeName
from core.grounding.models import Revision
from core.mcp_contract import (
    CAP_META_KEY,
    MAX_QUESTION_CHARACTERS,
    MODEL_META_KEY,
    DocumentChatResult,
    DocumentsAnalyzeResult,
)
from core.models import FileRef
from mcp_server.bootstrap import Services
from mcp_server.errors import success
from mcp_server.progress import CallProgress
from mcp_server.registry.arguments import DocumentId
from mcp_server.registry.registration import CallScope, offer
from mcp_server.tools.document_chat import Writing

MAX_DOCUMENTS = 50

Question = Annotated[str, Field(min_length=1, max_length=MAX_QUESTION_CHARACTERS)]


def register(server: MCPServer[None], services: Services, scope: CallScope) -> None:
    """Add the tools to the server."""

    @offer(
        server,
        "Ask documents",
        NotFound.code,
        UnsafeName.code,
        NoReadableDocument.code,
    )
    async def document_chat(
        question: Question,
        document_names: Annotated[
            list[str],
            Field(min_length=1, max_length=MAX_DOCUMENTS, description="names of documents in scope"),
        ],
        ctx: Context[None],
        cached_file_info: Annotated[
            list[FileRef] | None,
            Field(description="the `files` of an earlier answer over the same documents"),
        ] = None,
        revision: Annotated[
            Revision | None, Field(description="an earlier answer to the question that this one is to mend")
        ] = None,
    ) -> Annotated[CallToolResult, DocumentChatResult]:
        """Answer a question from the named documents, with citations that were checked against the page."""
        progress = CallProgress(ctx)
        result = await services.document_chat.answer(
            scope(),
            question,
            document_names,
            cached_file_info or [],
            progress,
            stream=progress.streaming,
            writing=_writing(ctx),
            revision=revision,
        )
        return success(result, result.answer)

    @offer(server, "Analyse a whole document", NotFound.code, NoReadableDocument.code)
    async def documents_analyze(
        document_id: DocumentId, question: Question, ctx: Context[None]
    ) -> Annotated[CallToolResult, DocumentsAnalyzeResult]:
        """Answer a question from all pages of one document, however long, with checked citations.

        Takes a while. Use it where searching is not enough: to count, to compare, to survey.
        """
        result = await services.documents_analyze.answer(
            scope(), document_id, question, CallProgress(ctx).working
        )
        return success(result, result.answer)


def _writing(ctx: Context[None]) -> Writing:
    """What the call's `_meta` says of who writes; InvalidInput for what makes no sense."""
    meta = ctx.request_context.meta or {}
    try:
        return Writing(model=meta.get(MODEL_META_KEY), max_tokens=meta.get(CAP_META_KEY))
    except ValidationError:
        raise InvalidInput(f"{MODEL_META_KEY} is a name, {CAP_META_KEY} a number from 1.") from None
