"""A model's context window: counts a request as OpenAI says that its models do, and what does not fit.

Written from OpenAI's own notes on counting tokens, not from our code, which tests hold against it.
"""

import json
from dataclasses import dataclass, field

from tiktoken import Encoding

from devkit.doubles.openai_talk import Json, text_of
from orc_core.llm.tokens import load_encoding


@dataclass
class Window:
    """So many tokens for prompt and answer; `prompts` holds the size of every request, in order."""

    tokens: int
    encoding: Encoding = field(default_factory=load_encoding)
    prompts: list[int] = field(default_factory=list)
    overflows: int = 0

    def takes(self, body: Json) -> bool:
        """Whether the request fits; it is counted either way."""
        size = self.size_of(body)
        self.prompts.append(size)
        fits = size + (body.get("max_completion_tokens") or body.get("max_tokens") or 0) <= self.tokens
        self.overflows += not fits
        return fits

    def size_of(self, body: Json) -> int:
        """Tokens of a request: each message costs 3 and its role, the reply begins with 3."""
        total = 3
        for message in body["messages"]:
            total += 3 + self._count(message["role"]) + self._count(text_of(message))
            total += self._count(message.get("tool_call_id", "")) and 3
            for call in message.get("tool_calls") or []:
                total += self._count(call["function"]["name"]) + self._count(call["function"]["arguments"])
        return total + self._functions(body.get("tools") or [])

    def _functions(self, tools: list[Json]) -> int:
        total = 12 if tools else 0
        for function in (tool["function"] for tool in tools):
            total += 7 + self._count(function["name"] + ":" + function.get("description", "").rstrip("."))
            properties = function.get("parameters", {}).get("properties", {})
            total += 3 if properties else 0
            for name, schema in properties.items():
                described = f"{name}:{schema.get('type', '')}:{schema.get('description', '').rstrip('.')}"
                total += 3 + self._count(described)
                total += sum(3 + self._count(item) for item in schema.get("enum", [])) - 3 * (
                    "enum" in schema
                )
        return total

    def _count(self, text: object) -> int:
        return len(self.encoding.encode_ordinary(text if isinstance(text, str) else json.dumps(text)))
