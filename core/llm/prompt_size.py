"""How many tokens a prompt has for the model that is given it: its texts, and what the chat format adds.

After the formulas that OpenAI published for its chat models (cookbook, "How to count tokens with tiktoken").
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from core.llm.messages import MemoryMessage
from core.llm.tokens import TokenCounter

PER_MESSAGE = 3
PER_ROLE = 1
BEFORE_THE_REPLY = 3
_PER_FUNCTION, _AFTER_FUNCTIONS = 7, 12
_PER_PROPERTY_LIST, _PER_PROPERTY = 3, 3
_PER_ENUM, _PER_ENUM_ITEM = -3, 3


async def measured(
    messages: Sequence[BaseMessage],
    question: str,
    counter: TokenCounter,
    tools: Sequence[dict[str, Any]] = (),
) -> dict[str, int]:
    """`sections_of`, counted in a thread: a long prompt takes some milliseconds, which a model call hides."""
    return await asyncio.to_thread(sections_of, messages, question, counter, tools)


def sections_of(
    messages: Sequence[BaseMessage],
    question: str,
    counter: TokenCounter,
    tools: Sequence[dict[str, Any]] = (),
) -> dict[str, int]:
    """How many tokens each part of a prompt has: they add up to `total`, which is what the model is given.

    `retrieval` is what was found: it follows the question, in its message or in later ones.
    """
    asked = max(at for at, message in enumerate(messages) if isinstance(message, HumanMessage))
    sizes = dict.fromkeys(("system", "memory", "history", "question", "retrieval"), 0)
    for at, message in enumerate(messages):
        tokens = message_tokens(message, counter)
        if isinstance(message, SystemMessage):
            sizes["system"] += tokens
        elif isinstance(message, MemoryMessage):
            sizes["memory"] += tokens
        elif at == asked:
            sizes["question"] += (own := min(tokens, counter.count(question)))
            sizes["retrieval"] += tokens - own
        else:
            sizes["history" if at < asked else "retrieval"] += tokens
    sizes["tools"] = tools_tokens(tools, counter)
    sizes["system"] += BEFORE_THE_REPLY
    return {**sizes, "total": sum(sizes.values())}


def message_tokens(message: BaseMessage, counter: TokenCounter) -> int:
    """Tokens of one message, calls of tools and the frame around it included."""
    texts = [str(message.text)]
    if isinstance(message, AIMessage):
        for call in message.tool_calls:
            texts += [call["name"], json.dumps(call["args"], ensure_ascii=False)]
    frame = PER_MESSAGE + PER_ROLE + (PER_MESSAGE if isinstance(message, ToolMessage) else 0)
    return frame + sum(counter.count(text) for text in texts)


def tools_tokens(tools: Sequence[Mapping[str, Any]], counter: TokenCounter) -> int:
    """Tokens of the tools' definitions, in OpenAI's function format."""
    if not tools:
        return 0
    return _AFTER_FUNCTIONS + sum(_function_tokens(tool["function"], counter) for tool in tools)


def _function_tokens(function: Mapping[str, Any], counter: TokenCounter) -> int:
    count = _PER_FUNCTION + counter.count(f"{function['name']}:{_sentence(function.get('description', ''))}")
    properties: Mapping[str, Any] = function.get("parameters", {}).get("properties", {})
    if properties:
        count += _PER_PROPERTY_LIST
    return count + sum(_property_tokens(name, schema, counter) for name, schema in properties.items())


def _property_tokens(name: str, schema: Mapping[str, Any], counter: TokenCounter) -> int:
    kind, description = schema.get("type", ""), _sentence(schema.get("description", ""))
    count = _PER_PROPERTY + counter.count(f"{name}:{kind}:{description}")
    if "enum" in schema:
        count += _PER_ENUM
        count += sum(_PER_ENUM_ITEM + counter.count(str(item)) for item in schema["enum"])
    return count


def _sentence(text: str) -> str:
    return text.removesuffix(".")
