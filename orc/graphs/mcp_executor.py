"""call_tools: document_chat where documents are named, else a tool-calling loop of our own."""

import asyncio
import json
import time
from collections.abc import Sequence
from contextlib import aclosing
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage
from langgraph.runtime import Runtime
from pydantic import ValidationError

from core.contract import DocumentChatResult, StatusLine, TextDelta
from core.errors import DependencyDown, OrcError
from core.grounding.sources import Source
from orc.events import Reset, Token, Tool
from orc.graphs.findings import Findings, as_material
from orc.graphs.models import DOCUMENT_CHAT, ConversationState, Deps, ToolResult
from orc.graphs.speaking import Speech, checked
from orc.graphs.tool_views import Handles, offered
from orc.graphs.utils import changes, chat_messages, reusable_refs


async def call_tools(state: ConversationState, runtime: Runtime[Deps]) -> dict[str, Any]:
    """Force document_chat for named documents; otherwise let the model choose among the other tools."""
    if state.blob_names:
        return await _ask_documents(state, runtime.context)
    return await _let_model_choose(state, runtime.context)


async def _ask_documents(state: ConversationState, deps: Deps) -> dict[str, Any]:
    result = await _timed(DOCUMENT_CHAT, document_chat_arguments(state), deps, streams=deps.stream)
    try:
        found = DocumentChatResult.model_validate(result.content)
    except ValidationError as exc:
        raise DependencyDown("document_chat returned no answer.", dependency="mcp_server") from exc
    if not deps.stream:
        deps.emit(Token(text=found.answer))
    return changes(tool_results=[result], last_mcp_tool_used=DOCUMENT_CHAT)


def document_chat_arguments(state: ConversationState) -> dict[str, Any]:
    """What document_chat is called with; `cached_file_info` only for exactly the same set of blobs."""
    arguments: dict[str, Any] = {"question": state.query, "document_names": state.blob_names}
    if refs := reusable_refs(state.blob_names, state.uploaded_file_refs):
        arguments["cached_file_info"] = [ref.model_dump() for ref in refs]
    return arguments


async def _let_model_choose(state: ConversationState, deps: Deps) -> dict[str, Any]:
    tools = await _offered_tools(deps)
    system = deps.prompts.use_tools if state.has_documents else deps.prompts.converse
    messages = chat_messages(system, state.history, state.question)
    handles, findings, results = Handles(), Findings(deps.page_text), list[ToolResult]()
    for _ in range(deps.policy.tool_rounds):
        reply, speech = await _ask_model(messages, tools, findings.sources, deps)
        if not reply.tool_calls and not reply.invalid_tool_calls:
            return changes(
                answer=speech.text,
                **checked(speech, results),
                **_searched(results, findings, state),
            )
        if speech.text:
            deps.emit(Reset(reason="The model went on to use tools."))
        raw = await asyncio.gather(*(_run(call, handles, deps) for call in reply.tool_calls))
        shown = [await _shown(result, handles, findings) for result in raw]
        results.extend(shown)
        messages += [reply, *_answers(reply, shown)]
    return changes(**_searched(results, findings, state))


def _searched(results: list[ToolResult], findings: Findings, state: ConversationState) -> dict[str, Any]:
    """What the state keeps of the tools that a model chose."""
    worked = list(dict.fromkeys(result.name for result in results if not result.error))
    failed = list(dict.fromkeys(result.name for result in results if result.error))
    update: dict[str, Any] = {
        "tool_results": results,
        "sources": findings.sources,
        "last_mcp_tool_used": results[-1].name if results else state.last_mcp_tool_used,
        "retrieval_mode": "rag" if findings.sources else "none",
        "retrieval_steps": [step for result in results for step in result.content.get("steps", [])],
    }
    if results:
        reason = [f"The model looked into the conversation's documents with {', '.join(worked)}."] * bool(
            worked
        )
        reason += [f"What failed: {', '.join(failed)}."] * bool(failed)
        update["retrieval_reason"] = " ".join(reason)
    return update


async def _shown(result: ToolResult, handles: Handles, findings: Findings) -> ToolResult:
    """A result as the model sees it: sources numbered, identifiers replaced by handles."""
    if result.error:
        return result
    try:
        numbered, sources = await findings.take(result.content)
    except OrcError as exc:
        return ToolResult(name=result.name, error=exc.message)
    content = handles.hide(numbered)
    material = as_material(json.dumps(content, ensure_ascii=False), sources)
    return result.model_copy(update={"content": content, "material": material})


async def _offered_tools(deps: Deps) -> list[dict[str, Any]]:
    """The tools that the model may use; none, and that shown, while the tools server is down."""
    try:
        return offered(await deps.tools.list_tools(deps.scope_token), deps.tools_off)
    except DependencyDown as exc:
        deps.emit(Tool(name="tools", status="failed", message=exc.message))
        return []


async def _ask_model(
    messages: list[BaseMessage], tools: list[dict[str, Any]], sources: Sequence[Source], deps: Deps
) -> tuple[AIMessage, Speech]:
    speech, reply = Speech(deps.emit, sources), AIMessage("")
    async with aclosing(deps.models.writer.stream_with_tools(messages, tools, meter=deps.meter)) as pieces:
        async for piece in pieces:
            if isinstance(piece, str):
                speech.say(piece)
            else:
                reply = piece
    speech.end()
    return reply, speech


async def _run(call: ToolCall, handles: Handles, deps: Deps) -> ToolResult:
    """One call of the model's; a failure becomes a result that the model reads and the user sees."""
    name = call["name"]
    try:
        if name == DOCUMENT_CHAT or name in deps.tools_off:
            raise OrcError(f"There is no tool {name}.", code="unknown_tool")
        return await _timed(name, handles.resolve(call["args"]), deps)
    except OrcError as exc:
        return ToolResult(name=name, error=exc.message)


async def _timed(name: str, arguments: dict[str, Any], deps: Deps, *, streams: bool = False) -> ToolResult:
    """Call a tool and show its start, progress and end; with `streams`, its text becomes tokens."""
    started = time.perf_counter()
    deps.emit(Tool(name=name, status="started"))

    def progress(update: TextDelta | StatusLine) -> None:
        if isinstance(update, TextDelta):
            deps.emit(Token(text=update.text))
        else:
            deps.emit(Tool(name=name, status="progress", message=update.message))

    def ended(status: str, message: str | None = None) -> None:
        duration = round((time.perf_counter() - started) * 1000, 1)
        fields = {"name": name, "status": status, "message": message, "duration_ms": duration}
        deps.emit(Tool.model_validate(fields))

    try:
        content = await deps.tools.call(
            name,
            arguments,
            deps.scope_token,
            on_progress=progress if streams else None,
            on_restart=lambda reason: deps.emit(Reset(reason=reason)),
        )
    except OrcError as exc:
        ended("failed", exc.message)
        raise
    ended("finished")
    return ToolResult(name=name, content=content)


def _answers(reply: AIMessage, results: list[ToolResult]) -> list[ToolMessage]:
    answers = [
        ToolMessage(
            json.dumps({"error": result.error}, ensure_ascii=False) if result.error else result.material,
            tool_call_id=call["id"] or "",
            status="error" if result.error else "success",
        )
        for call, result in zip(reply.tool_calls, results, strict=True)
    ]
    malformed = [
        ToolMessage("The arguments were not valid JSON.", tool_call_id=call["id"] or "", status="error")
        for call in reply.invalid_tool_calls
    ]
    return answers + malformed
