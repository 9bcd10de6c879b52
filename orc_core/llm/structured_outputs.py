"""Replies that are JSON objects: the forms in which a model can be asked for one, and how a reply is read."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeVar

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from pydantic import BaseModel, ValidationError

Json = dict[str, Any]
Output = TypeVar("Output", bound=BaseModel)
_KEPT = ("type", "description", "enum", "const")
_NAMED_CALL = ("arguments", "parameters")

PAUSE_SECONDS = 600.0
"""How long a model is not asked for an object after so many misses in a row."""
MOST_MISSES, SLOW_SECONDS = 4, 10.0
"""A reply that is no object is one miss; a caller that has waited for so long and gives up is two."""
SHOWN_CHARACTERS = 2000
"""The part of a wrong reply that the model is shown again."""


class Form(Enum):
    """How a model is asked for an object: held to a schema, held to JSON, or by a tool that it must call."""

    SCHEMA = "a JSON schema"
    OBJECT = "JSON mode with the schema in the prompt"
    TOOL = "a tool call"


@dataclass
class Abilities:
    """What a server has shown that it can do with a model. One for all roles of the model in a process.

    `forms` are tried in this order. Without `takes_tools` it refused a request that had some. With
    `reports_finish` an answer that has no finish reason is a broken one.
    """

    forms: Sequence[Form] = (Form.TOOL,)
    takes_tools: bool = True
    reports_finish: bool = False
    pause_seconds: float = PAUSE_SECONDS
    clock: Callable[[], float] = field(default=time.monotonic, repr=False)

    def __post_init__(self) -> None:
        self._restart(asked_from=0.0)

    def _restart(self, asked_from: float) -> None:
        self._left, self._misses, self._works = list(self.forms), 0, False
        self._asked_from = asked_from

    @property
    def form(self) -> Form | None:
        """The form to ask in; None: the model is not asked for a while, because all have failed."""
        return self._left[0] if self.clock() >= self._asked_from else None

    def worked(self) -> None:
        """The reply was an object."""
        self._works, self._misses = True, 0

    def failed(self, *, refused: bool = False) -> None:
        """The form was refused, or the reply was no object: the next one is tried, unless this has worked."""
        is_last = len(self._left) == 1
        if not is_last and (refused or not self._works):
            del self._left[0]
            self._works = False
        self._miss(MOST_MISSES if refused and is_last else not refused)

    def gave_up(self, seconds: float) -> None:
        """A caller did not wait any longer than this."""
        self._miss(2 * (seconds >= SLOW_SECONDS))

    def _miss(self, times: int) -> None:
        self._misses += times
        if self._misses >= MOST_MISSES:
            self._restart(self.clock() + self.pause_seconds)


def instruction(schema: type[BaseModel]) -> BaseMessage:
    """What asks for the object in the prompt."""
    described = json.dumps(_function(schema)["parameters"], ensure_ascii=False)
    return HumanMessage(f"Answer with one JSON object and nothing else. Its JSON schema:\n{described}")


def correction(reply: AIMessage, problem: Exception) -> list[BaseMessage]:
    """The reply that was no object, and what was wrong with it."""
    said = reply.text or json.dumps([call["args"] for call in reply.tool_calls])
    why = "that is not a JSON object"
    if isinstance(problem, ValidationError):
        first = problem.errors()[0]
        why = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    asked = HumanMessage(f"Your reply cannot be used: {why}. Answer again, with the right JSON object only.")
    return [AIMessage(said[:SHOWN_CHARACTERS]), asked]


def read_object(reply: AIMessage, schema: type[Output]) -> Output:
    """The object in a tool call, or in the text whatever is around it. ValueError if there is none."""
    value: Any = reply.tool_calls[0]["args"] if reply.tool_calls else _first_object(str(reply.text))
    if isinstance(value, dict) and not value.keys() & schema.model_fields.keys():
        value = next((value[key] for key in _NAMED_CALL if key in value), value)
    return schema.model_validate(json.loads(value) if isinstance(value, str) else value)


def _first_object(text: str) -> Any:
    start = text.index("{")
    try:
        return json.JSONDecoder().raw_decode(text, start)[0]
    except RecursionError as exc:
        raise ValueError("the object is too deep") from exc


def response_format(schema: type[BaseModel]) -> Json:
    """The `response_format` that holds a reply to `schema`, in the subset that OpenAI and Azure enforce."""
    function = _function(schema)
    strict = {"name": function["name"], "strict": True, "schema": strict_schema(function["parameters"])}
    return {"type": "json_schema", "json_schema": strict}


def _function(schema: type[BaseModel]) -> Json:
    from langchain_core.utils.function_calling import convert_to_openai_function

    return convert_to_openai_function(schema)  # inlines references


def strict_schema(schema: Json) -> Json:
    """The schema with every property required and no others allowed.

    Limits and defaults are dropped: Azure refuses them, and the reply is validated against them anyway.
    """
    strict = {key: schema[key] for key in _KEPT if key in schema}
    if (properties := schema.get("properties")) is not None:
        strict["properties"] = {name: strict_schema(part) for name, part in properties.items()}
        strict["required"] = list(properties)
        strict["additionalProperties"] = False
    if "items" in schema:
        strict["items"] = strict_schema(schema["items"])
    if "anyOf" in schema:
        strict["anyOf"] = [strict_schema(part) for part in schema["anyOf"]]
    return strict
