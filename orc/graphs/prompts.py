"""The prompts of answers: instructions, memory, history, question, and what tools found."""

from collections.abc import Iterator, Sequence
from typing import Literal

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from core.grounding.pictures import picture_parts
from core.grounding.sources import Source, inert_json
from core.llm.messages import QuestionMessage, contexts_message, memory_message
from core.llm.model_catalog import REPLY
from core.llm.tokens import TokenCounter, message_tokens, take_first_fitting, truncate
from orc.conversations.models import ChatMessage
from orc.graphs.models import ConversationState, Deps, ToolResult
from orc.graphs.tool_context import with_sources
from orc.memory.recall import remembered
from orc.settings import TurnSettings

MALFORMED = "The arguments were not valid JSON."
MALFORMED_TOKENS = 20
INSTRUCTIONS, INSTRUCTIONS_AND_TOOLS = 1200, 3000
"""Tokens reserved for the instructions, alone and with the definitions of tools."""
LEAST_WINDOW_FOR_TOOLS = 8000
"""In a smaller window definitions of tools would take the space of the passages."""
LEAST = 200
MAX_BYTES_PER_CHARACTER = 4
"""No text has more tokens than bytes."""


def answer_prompt(state: ConversationState, deps: Deps) -> list[BaseMessage]:
    """The prompt that write_answer starts with."""
    if not state.tools:
        return sources_prompt(state, deps)
    return tools_prompt(state, deps, state.tool_results, state.attempt.sources)


def tools_prompt(
    state: ConversationState, deps: Deps, results: Sequence[ToolResult], sources: Sequence[Source]
) -> list[BaseMessage]:
    """The prompt of a model that may call tools. Results of lookups that code made follow the question."""
    text, tool_output = state.question, _tool_output(results, sources)
    if tool_output is not None:
        text = f"{text}\n\nWhat was looked up for this question:\n{tool_output}"
    names = [result.name for result in results]
    return conversation_prompt(deps.prompts.use_tools, text, state, deps, tool_output, names, sources)


def sources_prompt(state: ConversationState, deps: Deps) -> list[BaseMessage]:
    """The prompt of an answer without tools."""
    prompts, tool_output = deps.prompts, _tool_output(state.tool_results, state.attempt.sources)
    system = prompts.answer_from_tools if state.tool_results else prompts.converse
    text = state.question
    if tool_output is not None:
        text = f"{text}\n\nWhat the tools found:\n{tool_output}"
    return conversation_prompt(system, text, state, deps, tool_output, sources=state.attempt.sources)


def _tool_output(results: Sequence[ToolResult], sources: Sequence[Source]) -> str | None:
    """The results of the tools as a model reads them; None if no tool was called."""
    if not results:
        return None
    found = [
        {"tool": result.name, **({"error": result.error} if result.error else result.content)}
        for result in results
    ]
    return with_sources(inert_json(found), sources)


def conversation_prompt(
    system: str,
    text: str,
    state: ConversationState,
    deps: Deps,
    tool_output: str | None = None,
    looked_up: Sequence[str] = (),
    sources: Sequence[Source] = (),
) -> list[BaseMessage]:
    """System prompt, memory and history within their budgets, and `text` as the last message.

    `text` is the question and what belongs to it, such as `tool_output`, which tools `looked_up` returned.
    The pictures of the turn go before it, if their pages are among the `sources`.
    """
    known = remembered(state.recalled, deps.settings.memory_tokens, deps.counter)
    past = [
        HumanMessage(message.content) if message.role == "user" else AIMessage(message.content)
        for message in history_in_prompt(state, deps)
    ]
    pictures = picture_parts(state.images, sources)
    asked = QuestionMessage(
        content=[*pictures, {"type": "text", "text": text}] if pictures else text,
        question=state.question,
        tool_output=tool_output,
        looked_up=tuple(looked_up),
    )
    about = contexts_message(state.context_block)
    return [SystemMessage(system), *memory_message(known), *about, *past, asked]


def history_in_prompt(state: ConversationState, deps: Deps) -> list[ChatMessage]:
    """The messages of the history that the prompt of an answer contains."""
    return newest_messages(state.history, deps.settings.history_tokens, deps.counter)


def newest_messages(history: Sequence[ChatMessage], tokens: int, counter: TokenCounter) -> list[ChatMessage]:
    """The newest messages that fit into the tokens together, in order; the first is the user's.

    Of a message that takes more than half of the tokens only the beginning is included.
    """

    def shortened(message: ChatMessage) -> ChatMessage:
        text = truncate(message.content, tokens // 2, counter)
        return message if text == message.content else message.model_copy(update={"content": f"{text} …"})

    newest_first = map(shortened, reversed(history))
    kept = take_first_fitting(newest_first, tokens, lambda message: counter.count(message.content))
    while kept and kept[-1].role == "assistant":
        kept.pop()
    return kept[::-1]


def round_messages(rounds: Sequence[AIMessage], results: Sequence[ToolResult]) -> Iterator[BaseMessage]:
    """The calls of each round, each followed by its result."""
    rendered = iter(results)
    for reply in rounds:
        yield reply
        for made in reply.tool_calls:
            result = next(rendered)
            status: Literal["error", "success"] = "error" if result.error else "success"
            yield ToolMessage(result.rendered, tool_call_id=made["id"] or "", status=status)
        for call in reply.invalid_tool_calls:
            yield ToolMessage(MALFORMED, tool_call_id=call["id"] or "", status="error")


def round_tokens(reply: AIMessage, counter: TokenCounter) -> int:
    """Tokens of a round without its results."""
    malformed = [MALFORMED_TOKENS + counter.count(call["args"] or "") for call in reply.invalid_tool_calls]
    return message_tokens(reply, counter) + sum(malformed)


def shrink_to_window(
    settings: TurnSettings, window: int, question: str, counter: TokenCounter, cap: int | None = None
) -> TurnSettings:
    """The settings with token budgets reduced in proportion, if the model's window is smaller than their sum.

    `cap` is the longest possible answer. If the question alone fills the window, each part keeps a minimum,
    and the model reports that the prompt is too long. A small window has no tools and a shorter answer.
    """
    reserved = INSTRUCTIONS_AND_TOOLS
    if window < LEAST_WINDOW_FOR_TOOLS:
        settings, reserved = settings.model_copy(update={"max_tool_rounds": 0}), INSTRUCTIONS
    available = window - reserved - min(cap or REPLY, window // 4)
    images = settings.page_image_tokens if settings.page_images else 0
    wanted = settings.history_tokens + settings.memory_tokens + settings.retrieval_tokens + images
    most = max(wanted, settings.planner_tokens)
    if most <= available - MAX_BYTES_PER_CHARACTER * len(question):
        return settings
    free = max(available - counter.count(question), 0)
    if most <= free:
        return settings
    share = min(free / max(wanted, 1), 1.0)
    reduced = {"planner_tokens": min(settings.planner_tokens, max(free, LEAST))}
    for name in ("history_tokens", "memory_tokens", "retrieval_tokens"):
        tokens = getattr(settings, name)
        # At least `LEAST`, unless the setting is lower.
        reduced[name] = min(tokens, max(int(tokens * share), LEAST))
    if settings.page_images:
        reduced["page_image_tokens"] = int(settings.page_image_tokens * share)
    return settings.model_copy(update=reduced)
