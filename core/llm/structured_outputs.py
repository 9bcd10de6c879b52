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
"""How long a model that gave no object in any form is not asked for one."""
SLOW_SECONDS, SLOW_TIMES = 10.0, 2
"""So often in a row a caller may give up waiting for so long before the model is not asked any more."""
MOST_BAD_REPLIES = 4
"""So many replies that were no object, with none that was, and a model is not asked any more."""
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
    clock: Callable[[], float] = field(default=time.monotonic, repr=False)

    def __post_init__(self) -> None:
        self._left: list[Form] = []
        self._restart(0.0)

    @property
    def form(self) -> Form | None:
        """The form to ask in; None: the model is not asked for a while, because all have failed."""
        return self._left[0] if self.clock() >= self._asked_from else None

    @property
    def proven(self) -> Form | None:
        """The form that has worked, if one has."""
        return self._left[0] if self._is_proven else None

    def without(self, form: Form) -> None:
        """Not to be asked in this form."""
        self.forms = [each for each in self.forms if each is not form]
        self._left = [each for each in self._left if each is not form]

    def worked(self) -> None:
        """The reply was an object."""
        self._is_proven, self._slow, self._bad_replies = True, 0, 0

    def failed(self, *, refused: bool = False) -> None:
        """The form was refused, or the reply was no object: the next one is tried, unless this has worked."""
        if not refused and self._is_proven:
            return
        self._is_proven, self._bad_replies = False, self._bad_replies + (not refused)
        if len(self._left) > 1:
            del self._left[0]
        elif refused or self._bad_replies >= MOST_BAD_REPLIES:
            self._restart(PAUSE_SECONDS)

    def gave_up(self, seconds: float) -> None:
        """A caller did not wait any longer than this."""
        self._slow += seconds >= SLOW_SECONDS
        if self._slow >= SLOW_TIMES:
            self._restart(PAUSE_SECONDS)

    def _restart(self, pause: float) -> None:
        self._left = list(self.forms)
        self._is_proven, self._slow, self._bad_replies = False, 0, 0
        self._asked_from = self.clock() + pause


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
