"""The loop of a model and its tools: calls until it answers, in a prompt that stays within bounds."""

import asyncio
from collections.abc import Collection, Sequence
from contextlib import aclosing
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage
from langchain_core.messages.tool import tool_call

from core.errors import OrcError
from core.llm.errors import ReplyCut
from core.llm.tokens import measure_sections, message_tokens
from orc.events import Reset
from orc.graphs.answer_stream import Speech, checked
from orc.graphs.models import ConversationState, Deps, ToolResult
from orc.graphs.prompts import conversation_prompt
from orc.graphs.retrieval import Call, LookedUp, call_tool
from orc.graphs.tool_context import Material
from orc.graphs.utils import changes, writer_of
from orc.tools.ports import WEB_SEARCH, ToolSchema
from orc.tools.schemas import function_definitions

CALLS_AT_ONCE = 8
TOO_MANY = f"Only the first {CALLS_AT_ONCE} calls of a reply are made."
MALFORMED = "The arguments were not valid JSON."
MALFORMED_TOKENS = 20
NOTHING = "Nothing was looked up, though it was planned."


async def answer_with_tools(
    state: ConversationState, deps: Deps, tools: Sequence[ToolSchema], looked: LookedUp
) -> dict[str, Any]:
    """Let the model answer from what was looked up, or look further; without an answer after so many rounds
    the state has what was found. The last call that the turn may make is not for looking further."""
    choice = function_definitions(_within_plan(tools, state, looked))
    talk = _Talk(state, deps, can_look=bool(choice))
    await talk.open_with(looked.calls)
    allowed = {tool["function"]["name"] for tool in choice}
    for _ in range(deps.policy.max_tool_rounds):
        if deps.meter.calls_left <= 1:
            break
        (reply, speech), sizes = await asyncio.gather(
            _ask_model(talk, choice, state, deps),
            measure_sections(talk.messages(), state.question, deps.counter, choice),
        )
        if not reply.tool_calls and not reply.invalid_tool_calls:
            said = checked(speech, talk.material.results, state)
            return changes(answer=speech.text, context_budget=sizes, **said, **talk.kept(looked))
        if speech.text:
            deps.emit(Reset(reason="The model went on to use tools."))
        calls = (_run(call, allowed, talk.material, deps) for call in reply.tool_calls[:CALLS_AT_ONCE])
        too_many = [
            ToolResult(name=call["name"], error=TOO_MANY) for call in reply.tool_calls[CALLS_AT_ONCE:]
        ]
        await talk.take(reply, [*await asyncio.gather(*calls), *too_many])
    return changes(**talk.kept(looked))


def _within_plan(tools: Sequence[ToolSchema], state: ConversationState, looked: LookedUp) -> list[ToolSchema]:
    """Those for documents where there are some. The web's where the plan, or too little in the documents, has
    led there: a model that reads documents could tell a search engine what they hold."""
    searched = any(call.name == WEB_SEARCH for call in looked.calls)
    to_the_web = searched or (state.plan is not None and state.plan.names_web)
    return [tool for tool in tools if (to_the_web if tool.name == WEB_SEARCH else state.has_documents)]


def kept(material: Material, reasons: Sequence[str], state: ConversationState, deps: Deps) -> dict[str, Any]:
    """What the state keeps of what tools gave."""
    names = [result.name for result in material.results]
    tokens = deps.policy.retrieval_tokens
    cut = [f"{material.left_out} of the results did not fit into {tokens} tokens."] * bool(material.left_out)
    update: dict[str, Any] = {
        "tool_results": material.as_read(),
        "sources": material.sources,
        "last_mcp_tool_used": names[-1] if names else state.last_mcp_tool_used,
        "retrieval_mode": "rag" if material.sources else "none",
        "retrieval_steps": material.steps,
    }
    if reason := " ".join([*reasons, *cut]):
        update["retrieval_reason"] = reason
    return update


class _Talk:
    """The question and the rounds of calls since. What older rounds gave makes room for newer ones; where
    the calls alone take up half of the room, the oldest rounds go altogether: `_gone` results with them."""

    def __init__(self, state: ConversationState, deps: Deps, *, can_look: bool) -> None:
        system = deps.prompts.use_tools if can_look else deps.prompts.converse
        self.material = Material(deps)
        self._opening = conversation_prompt(system, state.question, state, deps)
        self._rounds: list[AIMessage] = []
        self._gone = 0
        self._looked_up = 0
        self._state = state
        self._deps = deps

    async def open_with(self, calls: Sequence[Call]) -> None:
        """Begin with what code has looked up, as if the model had asked for it."""
        if calls:
            asked = [
                tool_call(name=call.name, args=call.arguments, id=f"look_up_{number}")
                for number, call in enumerate(calls, 1)
            ]
            await self.take(AIMessage("", tool_calls=asked), [call.result for call in calls])
        self._looked_up = len(calls)

    async def take(self, reply: AIMessage, results: Sequence[ToolResult]) -> None:
        """Go on by a round: calls, and for each what it gave."""
        self._rounds.append(reply)
        room = self._deps.policy.retrieval_tokens
        while len(self._rounds) > 1 and sum(map(self._around, self._rounds)) > room // 2:
            self._gone += len(self._rounds.pop(0).tool_calls)
        room -= sum(map(self._around, self._rounds))
        await self.material.add(results, room)
        self.material.squeeze(room, gone=self._gone)

    def messages(self) -> list[BaseMessage]:
        """The whole prompt."""
        messages, results = list(self._opening), iter(self.material.as_read()[self._gone :])
        for reply in self._rounds:
            messages.append(reply)
            messages += [_answer(call, next(results)) for call in reply.tool_calls]
            messages += [
                ToolMessage(MALFORMED, tool_call_id=call["id"] or "", status="error")
                for call in reply.invalid_tool_calls
            ]
        return messages

    def kept(self, looked: LookedUp) -> dict[str, Any]:
        """What the state keeps, with who looked what up."""
        chosen = self.material.results[self._looked_up :]
        worked = dict.fromkeys(result.name for result in chosen if not result.error)
        failed = dict.fromkeys(result.name for result in chosen if result.error)
        reasons = [*looked.reasons]
        reasons += [f"The model {'went on' if looked.calls else 'looked'} with {', '.join(worked)}."] * bool(
            worked
        )
        reasons += [f"What failed: {', '.join(failed)}."] * bool(failed)
        reasons += [NOTHING] * (not self.material.results)
        return kept(self.material, reasons, self._state, self._deps)

    def _around(self, reply: AIMessage) -> int:
        """Tokens of a round beside its results."""
        counter = self._deps.counter
        malformed = [
            MALFORMED_TOKENS + counter.count(call["args"] or "") for call in reply.invalid_tool_calls
        ]
        return message_tokens(reply, counter) + sum(malformed)


def _answer(call: ToolCall, result: ToolResult) -> ToolMessage:
    status = "error" if result.error else "success"
    return ToolMessage(result.material, tool_call_id=call["id"] or "", status=status)


async def _ask_model(
    talk: _Talk, choice: list[dict[str, Any]], state: ConversationState, deps: Deps
) -> tuple[AIMessage, Speech]:
    """What the model says. Words that reach their limit are an answer that was cut."""
    writer, cap = writer_of(state, deps)
    speech, reply = _speech(talk, state, deps), AIMessage("")
    pieces = writer.stream_with_tools(talk.messages(), choice, meter=deps.meter, max_tokens=cap)
    try:
        async with aclosing(pieces):
            async for piece in pieces:
                if isinstance(piece, str):
                    speech.say(piece)
                else:
                    reply = piece
    except ReplyCut as exc:
        if cap is None or not exc.at_limit or not speech.has_begun:
            raise
        speech.cut = cap
    speech.end()
    return reply, speech


def _speech(talk: _Talk, state: ConversationState, deps: Deps) -> Speech:
    return Speech(deps.emit, talk.material.sources, f"{state.question}\n{state.query}")


async def _run(call: ToolCall, allowed: Collection[str], material: Material, deps: Deps) -> ToolResult:
    """One call of the model's; a failure becomes a result that the model reads and the user sees."""
    name = call["name"]
    try:
        if name not in allowed:
            raise OrcError(f"There is no tool {name}.", code="unknown_tool")
        return await call_tool(name, material.handles.resolve(call["args"]), deps)
    except OrcError as exc:
        return ToolResult(name=name, error=exc.message)
