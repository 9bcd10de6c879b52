"""What a provider's messages say of an answer, whichever of its APIs they came by, in pieces or whole."""

import json
from collections.abc import Sequence
from typing import cast

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.ai import add_ai_message_chunks
from langchain_core.messages.tool import ToolCallChunk, invalid_tool_call, tool_call


def why_it_ends(message: AIMessage) -> str | None:
    """The provider's reason, in the words of either of its APIs; None where it does not end yet."""
    metadata = message.response_metadata
    if (reason := metadata.get("finish_reason")) or metadata.get("status") != "incomplete":
        return cast("str | None", reason or metadata.get("status"))
    return cast(str, (metadata.get("incomplete_details") or {}).get("reason", "incomplete"))


def reasons_in(messages: Sequence[AIMessage]) -> list[str]:
    """Why the parts of an answer end, where they say so."""
    return [reason for message in messages if (reason := why_it_ends(message))]


def answering_model(messages: Sequence[AIMessage]) -> str | None:
    """The provider's name of the model that answered."""
    names = (message.response_metadata.get("model_name") for message in reversed(messages))
    return next((str(name) for name in names if name), None)


def said_in(messages: Sequence[AIMessage]) -> str:
    """The text of an answer, and the arguments of its tool calls."""
    return "".join(message.text + _arguments(message) for message in messages)


def _arguments(message: AIMessage) -> str:
    if isinstance(message, AIMessageChunk):
        return "".join(call["args"] or "" for call in message.tool_call_chunks)
    return json.dumps([call["args"] for call in message.tool_calls]) if message.tool_calls else ""


def whole(chunks: list[AIMessageChunk]) -> AIMessage:
    """The chunks as one message. LangChain mends broken arguments while streaming; here they stay broken."""
    merged = add_ai_message_chunks(chunks[0], *chunks[1:])
    # As text: the responses API's blocks name items of an earlier answer, which it does not keep for us.
    message = AIMessage(
        str(merged.text), usage_metadata=merged.usage_metadata, response_metadata=merged.response_metadata
    )
    for call in merged.tool_call_chunks:
        _add_call(message, call)
    return message


def _add_call(message: AIMessage, call: ToolCallChunk) -> None:
    try:
        arguments = json.loads(call["args"] or "{}")
    except json.JSONDecodeError:
        arguments = None
    name, number = call["name"] or "", call["id"]
    if isinstance(arguments, dict) and name:
        message.tool_calls.append(tool_call(name=name, args=arguments, id=number))
    else:
        message.invalid_tool_calls.append(
            invalid_tool_call(name=name, args=call["args"], id=number, error="not a JSON object")
        )
