"""The prompts of answers: instructions, memory, history, question, and what tools found."""

from collections.abc import Iterator, Sequence
from typing import Literal

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from orc.conversations.models import ChatMessage
from orc.graphs.models import ConversationState, Run, ToolResult
from orc.graphs.tool_context import notes_of, with_sources
from orc.memory.recall import remembered
from orc.settings import TurnSettings
from orc_core.grounding.sources import Source, picture_parts
from orc_core.llm.messages import QuestionMessage, contexts_message, memory_message
from orc_core.llm.model_catalog import REPLY
from orc_core.llm.tokens import TokenCounter, message_tokens, take_first_fitting, truncate

MALFORMED = "The arguments were not valid JSON."
MALFORMED_TOKENS = 20
INSTRUCTIONS, INSTRUCTIONS_AND_TOOLS = 1200, 3000
"""Tokens reserved for the instructions, alone and with the definitions of tools."""
LEAST_WINDOW_FOR_TOOLS = 16_000
"""In a smaller window definitions of tools would take the space of the passages."""
LEAST = 200
MAX_BYTES_PER_CHARACTER = 4
"""No text has more tokens than bytes."""


# Why prompts are made of parts, and what was dropped: docs/decisions/prompts-and-budgets.md.
def sources_prompt(
    state: ConversationState,
    run: Run,
    results: Sequence[ToolResult],
    sources: Sequence[Source],
    *,
    may_call: bool = False,
) -> list[BaseMessage]:
    """The prompt of an answer from these results; `may_call`: with tools that the model may call.

    What changes from turn to turn comes last, and the question at the very end.
    """
    # What results say in addition to their sources. Handles are for tools.
    said = [(result.name, notes_of(result, with_handles=may_call)) for result in results]
    notes = [f"{name}: {text}" for name, text in said if text]
    tool_output = with_sources("\n".join(notes), sources) if results else None
    names = [result.name for result in results] if may_call else []
    text = f"{tool_output}\n\nQuestion: {state.question}" if tool_output else state.question
    known = remembered(state.recalled, run.context.settings.memory_tokens, run.resources.counter)
    past = [
        HumanMessage(message.content) if message.role == "user" else AIMessage(message.content)
        for message in history_in_prompt(state, run)
    ]
    pictures = picture_parts(state.images, sources)
    asked = QuestionMessage(
        content=[*pictures, {"type": "text", "text": text}] if pictures else text,
        question=state.question,
        tool_output=tool_output,
        looked_up=tuple(names),
        is_off=_is_off(state),
    )
    system = SystemMessage(_instructions(state, run, results, sources, may_call=may_call, known=known))
    return [system, *past, *memory_message(known), *contexts_message(state.context_block), asked]


def _instructions(
    state: ConversationState,
    run: Run,
    results: Sequence[ToolResult],
    sources: Sequence[Source],
    *,
    may_call: bool,
    known: str,
) -> str:
    """The parts of the instructions that apply: no rule is about something that is not there."""
    begins = "passages" if sources else "search" if may_call else "nothing" if results else "talk"
    applies = {
        begins: True,
        "rules": begins != "talk",
        "tools": may_call,
        "off": _is_off(state),
        "failed": any(result.error for result in results),
        "web": any(source.url for source in sources),
        "remembered": bool(known),
        "contexts": bool(state.context_block),
        "examples": begins != "talk",
    }
    return "\n".join(run.resources.prompts.answer[part] for part, does in applies.items() if does)


def _is_off(state: ConversationState) -> bool:
    """Whether nothing was found, and a search that the plan has is switched off."""
    is_skipped = any(step.reason_code == "switched_off" for step in state.lookup_steps)
    return is_skipped and not state.tool_results


def history_in_prompt(state: ConversationState, run: Run) -> list[ChatMessage]:
    """The messages of the history that the prompt of an answer contains.

    If nothing is looked up, they have the space of the sources too: they are what is answered from.
    """
    settings = run.context.settings
    is_talk = state.plan is not None and not state.plan.looks_up
    tokens = settings.history_tokens + settings.retrieval_tokens * is_talk
    return newest_messages(state.history, tokens, run.resources.counter)


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
    reserved, reply = INSTRUCTIONS_AND_TOOLS, cap or REPLY
    if window < LEAST_WINDOW_FOR_TOOLS:
        settings = settings.model_copy(update={"max_tool_rounds": 0})
        reserved, reply = INSTRUCTIONS, min(reply, window // 4)
    available = window - reserved - reply
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
