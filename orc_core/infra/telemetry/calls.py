"""Spans and histograms of model and tool calls, after OpenTelemetry's conventions for generative AI."""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.messages import BaseMessage
from opentelemetry import metrics
from opentelemetry.trace import Span, SpanKind

from orc_core.infra.telemetry.spans import ERROR_TYPE, SCOPE, begin_step, fail, kind_of, span, step
from orc_core.models import Usage

TEXT_CHARACTERS = 8_000
"""The longest text of a span, if spans may hold content: collectors take little more."""
LAST_MESSAGES = 20
_ROLES = {"human": "user", "ai": "assistant"}

_METER = metrics.get_meter(SCOPE)
_TOKENS = _METER.create_histogram(
    "gen_ai.client.token.usage",
    unit="{token}",
    description="Tokens that went into a model's call, and that came out of it.",
    explicit_bucket_boundaries_advisory=[4**power for power in range(14)],
)
_DURATION = _METER.create_histogram(
    "gen_ai.client.operation.duration",
    unit="s",
    description="How long a model's call took, to the end of its answer.",
    explicit_bucket_boundaries_advisory=[0.01 * 2**power for power in range(14)],
)


@dataclass(frozen=True, slots=True)
class Model:
    """A model to OpenTelemetry. `content`: spans may hold what it was asked and answered."""

    name: str
    operation: Literal["chat", "embeddings"] = "chat"
    provider: str = "orc"
    role: str | None = None
    content: bool = False

    @property
    def attributes(self) -> dict[str, str]:
        """The attributes that a call's span and its metrics have in common."""
        return {
            "gen_ai.operation.name": self.operation,
            "gen_ai.provider.name": self.provider,
            "gen_ai.request.model": self.name,
        }

    @contextmanager
    def call(self, asked: Sequence[BaseMessage] = (), max_tokens: int | None = None) -> Iterator["Call"]:
        """One call, from before it is sent to the end of its answer; a stream's reader may end it early."""
        call = Call(self, begin_step(f"{self.operation} {self.name}", kind=SpanKind.CLIENT))
        if call.recorded:
            call.ask(asked, max_tokens)
        try:
            yield call
        except GeneratorExit:
            raise
        except BaseException as exc:
            call.failed(exc)
            raise
        finally:
            call.end()


class Call:
    """A call under way. Its span is never the current one: between the pieces of a stream others are."""

    def __init__(self, model: Model, span: Span) -> None:
        self._model = model
        self._span = span
        self.began = time.perf_counter()
        self._attributes: dict[str, Any] = {}
        self._error: dict[str, str] = {}

    @property
    def recorded(self) -> bool:
        """Whether there is a span: only then are its details computed."""
        return self._span.is_recording()

    @property
    def seconds(self) -> float:
        """How long it has taken so far."""
        return time.perf_counter() - self.began

    def ask(self, messages: Sequence[BaseMessage], max_tokens: int | None) -> None:
        """Note what is asked for."""
        self._attributes = dict(self._model.attributes)
        if self._model.role is not None:
            self._attributes["orc.model.role"] = self._model.role
        if max_tokens is not None:
            self._attributes["gen_ai.request.max_tokens"] = max_tokens
        if self._model.content:
            shown = [
                {"role": _ROLES.get(message.type, message.type), "parts": [_part(str(message.text))]}
                for message in messages[-LAST_MESSAGES:]
            ]
            self._attributes["gen_ai.input.messages"] = json.dumps(shown, ensure_ascii=False)

    def began_to_answer(self) -> None:
        """Note that the first piece of a stream has come."""
        self._attributes["gen_ai.response.time_to_first_chunk"] = self.seconds

    def used(self, usage: Usage) -> None:
        """Note what it cost."""
        for kind, tokens in (("input", usage.input_tokens), ("output", usage.output_tokens)):
            _TOKENS.record(tokens, {**self._model.attributes, "gen_ai.token.type": kind})
        self._attributes["gen_ai.usage.input_tokens"] = usage.input_tokens
        self._attributes["gen_ai.usage.output_tokens"] = usage.output_tokens
        self._attributes["orc.usage.estimated"] = usage.estimated

    def answered(self, said: str, *, model: str | None, reasons: Sequence[str]) -> None:
        """Note the answer: its text, the provider's name of what gave it, and why it ends."""
        self._attributes["gen_ai.response.finish_reasons"] = list(reasons)
        if model is not None:
            self._attributes["gen_ai.response.model"] = model
        if self._model.content:
            shown = [{"role": "assistant", "parts": [_part(said)], "finish_reason": next(iter(reasons), "")}]
            self._attributes["gen_ai.output.messages"] = json.dumps(shown, ensure_ascii=False)

    def failed(self, error: BaseException) -> None:
        """Note that there is no whole answer."""
        self._error = {ERROR_TYPE: kind_of(error)}
        fail(self._span, error)

    def end(self) -> None:
        """Note how long it took."""
        _DURATION.record(self.seconds, {**self._model.attributes, **self._error})
        # All at once: each attribute by itself would be locked and checked.
        self._span.set_attributes(self._attributes)
        self._span.end()


def _part(text: str) -> dict[str, str]:
    return {"type": "text", "content": text[:TEXT_CHARACTERS]}


_CALL = {"gen_ai.operation.name": "execute_tool", "mcp.method.name": "tools/call"}


def tool_step(name: str | None) -> AbstractContextManager[Span]:
    """The span of the caller of a tool. `name` is None if no tool has that name: a model may invent one."""
    if name is None:
        return step("execute_tool", kind=SpanKind.CLIENT, attributes=_CALL)
    shown = {**_CALL, "gen_ai.tool.name": name, "gen_ai.tool.type": "extension"}
    return step(f"execute_tool {name}", kind=SpanKind.CLIENT, attributes=shown)


def tool_work() -> AbstractContextManager[Span]:
    """The span of a tool that is called, in the trace of its caller; see `name_tool`."""
    return span("tools/call", kind=SpanKind.SERVER, attributes=_CALL)


def name_tool(begun: Span, name: str) -> None:
    """Add the name of the tool, once it is known that there is one of this name."""
    begun.update_name(f"tools/call {name}")
    begun.set_attribute("gen_ai.tool.name", name)
