"""Replies that are JSON objects: the forms in which a model can be asked for one, and how a reply is read."""

import json
import logging
import math
import re
import time
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Any, TypeVar

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall
from langchain_core.messages.tool import tool_call
from pydantic import BaseModel, ValidationError

from orc_core.errors import OrcError
from orc_core.llm.errors import REQUEST_REFUSED, ReplyCut

Json = dict[str, Any]
Output = TypeVar("Output", bound=BaseModel)
_KEPT = ("type", "description", "enum", "const")
_NAMED_CALL = ("arguments", "parameters")
FAILED = 500
"""The status of servers on this machine if a template, or a part of them, lacks what a request has."""
_AROUND_CALLS = re.compile(r"(?:\[[A-Z_]+\]|`{1,3}\w*|</?[\w|]+>|[\s,\]]+|\[(?![A-Z_]))*")
"""A fence, a list, `[TOOL_CALLS]` and tags: what models write around calls."""
_MAY_CALL = re.compile(r"\Z|\{\s*(?:\Z|\")|(?:\[[A-Z_]*|</?[\w|]*)\Z")
"""Begins `{"name": ...}`, or what may stand around it."""

PAUSE_SECONDS = 600.0
"""How long a model is not asked for an object after so many misses in a row."""
MOST_MISSES, SLOW_SECONDS = 4, 10.0
"""A reply that is no object is one miss; a caller that has waited for so long and gives up is two."""
SHOWN_CHARACTERS = 2000
"""The part of a wrong reply that the model is shown again."""


logger = logging.getLogger(__name__)


class Form(Enum):
    """How a model is asked for an object: held to a schema, held to JSON, or by a tool that it must call."""

    SCHEMA = "a JSON schema"
    OBJECT = "JSON mode with the schema in the prompt"
    TOOL = "a tool call"


class Part(IntEnum):
    """What not every server takes in a request, in the order in which it is left out."""

    TOOLS = 1
    OPTIONS = 2
    SYSTEM = 3
    STREAM = 4


@dataclass
class Abilities:
    """What a server has shown that it can do with a model. One for all roles of the model in a process.

    `forms` are tried in this order. Of a request that is refused `parts` may be left out. With `thinks_first`
    its text begins with thoughts that only their end marks, and with `reports_finish` an answer that has no
    finish reason is a broken one.
    """

    forms: Sequence[Form] = (Form.TOOL,)
    parts: Sequence[Part] = (Part.TOOLS,)
    thinks_first: bool = False
    is_local: bool = False
    reports_finish: bool = False
    pause_seconds: float = PAUSE_SECONDS
    clock: Callable[[], float] = field(default=time.monotonic, repr=False)

    def __post_init__(self) -> None:
        self._left_out_until = dict[Part, float]()
        self._restart(asked_from=0.0)

    def _restart(self, asked_from: float) -> None:
        self._left, self._misses, self._works = list(self.forms), 0, False
        self._asked_from = asked_from

    @property
    def form(self) -> Form | None:
        """The form to ask in; None: the model is not asked for a while, because all have failed."""
        return self._left[0] if self.clock() >= self._asked_from else None

    @property
    def without(self) -> set[Part]:
        """The parts that are left out of requests, because some were taken without them only."""
        return {part for part, until in self._left_out_until.items() if self.clock() < until}

    @property
    def takes_tools(self) -> bool:
        """Whether no request was refused for its tools."""
        return Part.TOOLS not in self.without

    def part_to_leave_out(self, exc: OrcError, without: Set[Part], *, has_tools: bool) -> Part | None:
        """What to leave out, in addition, of a request that has failed so; None if it may not help."""
        rest = set(self.parts) - without - (set() if has_tools else {Part.TOOLS})
        if isinstance(exc, ReplyCut) and exc.at_limit and Part.OPTIONS in rest:
            return Part.OPTIONS  # the limit was spent on thoughts
        has_failed = self.is_local and getattr(exc.__cause__, "status_code", 0) == FAILED
        return min(rest, default=None) if has_failed or exc.code == REQUEST_REFUSED else None

    def taken(self, left_out: Mapping[Part, OrcError]) -> None:
        """A request was taken without these parts, after these errors. None before the last was the only
        cause; and of what was no refusal, not even that is known permanently."""
        for part, error in [*left_out.items()][-1:]:
            until = math.inf if error.code == REQUEST_REFUSED else self.clock() + self.pause_seconds
            self._left_out_until[part] = max(until, self._left_out_until.get(part, 0.0))
            logger.info("requests are sent without %s from now on", part.name)
            if part is not Part.TOOLS:
                self._restart(asked_from=0.0)

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


class WrittenCalls:
    """Holds back a text that may be calls of these tools: some models write them as text."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._held: str | None = "" if names else None

    def feed(self, text: str) -> str:
        """What of the text is known to be none."""
        if self._held is None:
            return text
        self._held += text
        return "" if _MAY_CALL.match(_AROUND_CALLS.sub("", self._held, count=1)) else self.finish()

    def finish(self) -> str:
        """What was held back."""
        held, self._held = self._held or "", None
        return held

    @property
    def calls(self) -> list[ToolCall]:
        """The calls that the text consists of; none if it says anything else."""
        rest, found = self._held or "", list[ToolCall]()
        while rest := _AROUND_CALLS.sub("", rest, count=1):
            try:
                value, end = json.JSONDecoder().raw_decode(rest)
                name, given = value.get("name"), [value[key] for key in _NAMED_CALL if key in value]
            except (ValueError, RecursionError, AttributeError):
                return []
            if name not in self._names or not all(isinstance(each, dict) for each in given):
                return []
            rest = rest[end:]
            found.append(tool_call(name=name, args=next(iter(given), {}), id=f"call_{len(found)}_in_text"))
        return found


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
