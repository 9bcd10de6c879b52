"""What a model's reply says, in characters that can be encoded: text, tool calls, refusal, finish reason."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, cast

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.ai import add_ai_message_chunks
from langchain_core.messages.tool import invalid_tool_call, tool_call

from orc_core.models import Usage

TOO_LONG = frozenset({"length", "max_output_tokens", "incomplete"})
"""Finish reasons of an answer that was cut, in the words of both of the provider's APIs."""

_SURROGATE = re.compile(r"[\ud800-\udfff]")
_REPAIRED = ("content", "tool_calls", "invalid_tool_calls", "additional_kwargs")
_OPENING, _CLOSING = "<think>", "</think>"
_THOUGHTS = tuple(
    (opening, re.compile(re.escape(closing), re.IGNORECASE))
    for opening, closing in [
        *((f"<{tag}>", f"</{tag}>") for tag in ("think", "thinking", "thought", "reasoning")),
        ("[think]", "[/think]"),
        ("<|channel|>analysis<|message|>", "<|channel|>final<|message|>"),
    ]
)
"""The marks between which models think: of Qwen and DeepSeek, Mistral, and gpt-oss."""


def repair_text(text: str) -> str:
    """The text with the halves of surrogate pairs joined, and lone ones replaced: UTF-8 has no surrogates."""
    if _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def repair(value: Any) -> Any:
    """A JSON value with all its texts repaired."""
    if isinstance(value, str):
        return repair_text(value)
    if isinstance(value, dict):
        return {repair_text(key): repair(item) for key, item in value.items()}
    return [repair(item) for item in value] if isinstance(value, list) else value


def repair_message(message: AIMessage) -> AIMessage:
    """A whole reply with all its texts repaired, without its thoughts. Raises TypeError if its text is not
    text."""
    repaired = message.model_copy(update={name: repair(getattr(message, name)) for name in _REPAIRED})
    _ = repaired.text
    if isinstance(repaired.content, str):
        thoughts = Thoughts()
        repaired.content = thoughts.feed(repaired.content) + thoughts.finish()
    return repaired


class Thoughts:
    """Drops what a model thinks at the beginning of its text, between marks that may be split over chunks.

    Some templates write the opening mark into the prompt. `is_open`: the model is known to begin so;
    `was_open`: its text had a closing mark, and no other before it.
    """

    def __init__(self, *, is_open: bool = False) -> None:
        self._is_open, self.was_open = is_open, False
        self._held: str | None = _OPENING * is_open

    def feed(self, text: str) -> str:
        """What of the text is known to be the answer."""
        if self._held is not None:
            self._held += text
            begun = self._held.lstrip()
            for opening, closing in _THOUGHTS:
                if begun[: len(opening)].lower() == opening:
                    if (closed := closing.search(begun)) is None:
                        return ""
                    answer, self.was_open = begun[closed.end() :].lstrip(), self._is_open
                    self._held = None if answer else ""
                    return answer
                if opening.startswith(begun.lower()):
                    return ""
            text, self._held = begun, None
        thought, closed_by, answer = text.partition(_CLOSING)
        self.was_open = self.was_open or bool(closed_by)
        return answer.lstrip() if closed_by else thought

    def finish(self) -> str:
        """What was held back and is no thought."""
        held, self._held = self._held or "", None
        if self._is_open:
            return held.removeprefix(_OPENING)
        return "" if held.lstrip().lower().startswith(tuple(opening for opening, _ in _THOUGHTS)) else held


class StreamRepair:
    """Repairs the text of a streamed reply and drops its thoughts. Half of a pair at the end of a chunk waits
    for the next one."""

    def __init__(self, thoughts: Thoughts | None = None) -> None:
        self._half = ""
        self.thoughts = thoughts or Thoughts()

    def feed(self, chunk: AIMessageChunk) -> AIMessageChunk:
        """The chunk with repaired text. Raises TypeError if its text is not text."""
        if isinstance(chunk.content, str):
            content: Any = self.thoughts.feed(self._feed(chunk.content))
        else:
            content = [self._feed_block(block) for block in chunk.content]
        return chunk if content == chunk.content else chunk.model_copy(update={"content": content})

    def finish(self) -> AIMessageChunk | None:
        """What was held back to the end; None if nothing was."""
        rest = self.thoughts.feed(repair_text(self._half)) + self.thoughts.finish()
        return AIMessageChunk(content=rest) if rest else None

    def _feed(self, text: str) -> str:
        text, self._half = self._half + text, ""
        if "\ud800" <= text[-1:] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return repair_text(text)

    def _feed_block(self, block: Any) -> Any:
        if isinstance(block, dict) and block.get("type") == "text" and "text" in block:
            return {**block, "text": self._feed(block["text"])}
        return repair(block)


def finish_reason(message: AIMessage) -> str | None:
    """Why the answer ends, in the words of either of the provider's APIs; None if it goes on."""
    metadata = message.response_metadata
    if (reason := metadata.get("finish_reason")) or metadata.get("status") != "incomplete":
        return cast("str | None", reason or metadata.get("status"))
    return cast(str, (metadata.get("incomplete_details") or {}).get("reason", "incomplete"))


def finish_reasons(messages: Sequence[AIMessage]) -> list[str]:
    """The finish reasons that the parts of an answer have."""
    return [repair_text(str(reason)) for message in messages if (reason := finish_reason(message))]


def refusal(messages: Sequence[AIMessage]) -> str:
    """The words in which the model refused to answer; empty if it did not."""
    return repair_text("".join(part for message in messages for part in _refusals(message))).strip()


def _refusals(message: AIMessage) -> Iterator[str]:
    """The blocks of a refusal."""
    if isinstance(message.content, list):
        for block in message.content:
            if isinstance(block, dict) and block.get("type") == "refusal":
                yield str(block.get("refusal") or "")


def model_name(messages: Sequence[AIMessage]) -> str | None:
    """The provider's name for the model that answered."""
    names = (message.response_metadata.get("model_name") for message in reversed(messages))
    return next((repair_text(str(name)) for name in names if name), None)


def reported_usage(messages: Sequence[AIMessage]) -> Usage | None:
    """The tokens that the provider reports; None if it reports none, or impossible ones.

    The tokens of a model's reasoning are among those of its output.
    """
    reported = next((each.usage_metadata for each in reversed(messages) if each.usage_metadata), None)
    if reported is None or min(reported["input_tokens"], reported["output_tokens"]) < 0:
        return None
    reasoning = (reported.get("output_token_details") or {}).get("reasoning") or 0
    return Usage(
        input_tokens=reported["input_tokens"],
        output_tokens=reported["output_tokens"],
        reasoning_tokens=min(max(reasoning, 0), reported["output_tokens"]),
    )


def reply_text(messages: Sequence[AIMessage]) -> str:
    """The text of an answer, with the arguments of its tool calls."""
    return repair_text("".join(message.text + _arguments(message) for message in messages))


def _arguments(message: AIMessage) -> str:
    if isinstance(message, AIMessageChunk):
        return "".join(call["args"] or "" for call in message.tool_call_chunks)
    return json.dumps([call["args"] for call in message.tool_calls]) if message.tool_calls else ""


def calls_tools(message: AIMessage) -> bool:
    """Whether the message, or the part of one, has a tool call, even an invalid one."""
    is_part_of_one = isinstance(message, AIMessageChunk) and bool(message.tool_call_chunks)
    return is_part_of_one or bool(message.tool_calls or message.invalid_tool_calls)


def merge_chunks(chunks: list[AIMessageChunk]) -> AIMessage:
    """The chunks as one message. LangChain repairs invalid arguments of streamed calls; this does not."""
    merged = add_ai_message_chunks(chunks[0], *chunks[1:])
    # As text: the blocks of the responses API refer to items of an earlier answer, which is not stored.
    message = AIMessage(
        str(merged.text), usage_metadata=merged.usage_metadata, response_metadata=merged.response_metadata
    )
    numbers: set[str] = set()
    for call in merged.tool_call_chunks:
        given = repair_text(call["args"] or "")
        try:
            arguments = repair(json.loads(given or "{}"))
        except (json.JSONDecodeError, RecursionError):
            arguments = None
        name, number = repair_text(call["name"] or ""), repair_text(call["id"] or "")
        if not number or number in numbers:  # each result refers to one call
            number = f"call_{len(numbers)}_of_orc"
        numbers.add(number)
        if isinstance(arguments, dict) and name:
            message.tool_calls.append(tool_call(name=name, args=arguments, id=number))
        else:
            message.invalid_tool_calls.append(
                invalid_tool_call(name=name, args=given, id=number, error="not a JSON object")
            )
    return message
