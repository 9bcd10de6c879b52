"""The one chat model interface: whole text, streamed text, structured output, or text with tool calls."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeVar, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import add_ai_message_chunks
from langchain_core.messages.tool import invalid_tool_call, tool_call
from langchain_core.runnables import Runnable
from pydantic import BaseModel, ValidationError

from core.errors import BudgetExceeded, OrcError
from core.infra.resilience import CircuitBreaker, Translate
from core.infra.telemetry.calls import Call, Model
from core.llm.errors import ContentFiltered, ModelOutputInvalid, ReplyCut, model_down
from core.llm.tokens import TokenCounter
from core.models import Record, Usage

Output = TypeVar("Output", bound=BaseModel)
Prompt = Sequence[BaseMessage]

TOO_LONG = frozenset({"length", "max_output_tokens", "incomplete"})
"""Finish reasons of an answer that was cut, in the words of both of the provider's APIs."""


class ModelCall(Record):
    """One call of a model. `started` is in seconds of `time.perf_counter`."""

    role: str
    model: str
    usage: Usage
    started: float
    duration_ms: float


class CallBudget:
    """Limits the model calls of one turn, and records them and their tokens.

    Every call is counted before it is made. `by_tools` is the usage of tools in other processes, whose
    calls do not count.
    """

    def __init__(self, max_calls: int) -> None:
        self.max_calls = max_calls
        self.usage = Usage()
        self.by_tools = Usage()
        self.calls: list[ModelCall] = []

    @property
    def total(self) -> Usage:
        """The usage of the whole turn, tools included."""
        return self.usage + self.by_tools

    def add(self, call: ModelCall) -> None:
        """Adds a finished call and its tokens."""
        self.usage += call.usage
        self.calls.append(call)

    @property
    def calls_left(self) -> int:
        """How many more calls may be made."""
        return self.max_calls - self.usage.model_calls

    def begin_call(self) -> None:
        """Counts a call; raises BudgetExceeded if it exceeds the limit."""
        if self.calls_left <= 0:
            raise BudgetExceeded(f"This turn has used all its {self.max_calls} model calls.")
        self.usage += Usage(model_calls=1)


@dataclass(eq=False)
class ChatModel:
    """Wraps a LangChain chat model; its failures are raised as OrcError.

    `name` and `role` are recorded with each call. `file_model` answers prompts that contain files, if the
    provider needs another API for those. `breaker` is shared by all users of a provider. `provider` is the
    provider's name for OpenTelemetry; spans contain prompts and answers only with `records_content`.
    With `reports_finish_reason` an answer without a finish reason counts as cut.

    Every method raises BudgetExceeded before a call that `budget` does not allow, DependencyDown if the
    model does not answer, ContextTooLong or ContentFiltered if it refuses to, and ReplyCut for an answer
    longer than `max_tokens` (a stream: after its last delta). Streams are generators: close them
    (`contextlib.aclosing`) to close the provider's connection.
    """

    model: BaseChatModel
    counter: TokenCounter
    _: KW_ONLY
    name: str
    role: str = "writer"
    file_model: BaseChatModel | None = None
    translate: Translate = lambda _: None
    breaker: CircuitBreaker | None = None
    reports_finish_reason: bool = False
    provider: str = "orc"
    records_content: bool = False

    def __post_init__(self) -> None:
        self._telemetry = Model(
            self.name, provider=self.provider, role=self.role, content=self.records_content
        )
        self._bound: dict[type[BaseModel], Runnable[Any, AIMessage]] = {}

    async def complete(self, messages: Prompt, *, budget: CallBudget, max_tokens: int | None = None) -> str:
        """The whole answer; never empty."""
        message = await self._invoke(self._model_for(messages), messages, budget, **_limit(max_tokens))
        self._refuse_cut([message])
        if not message.text:
            raise empty_reply()
        return str(message.text)

    async def stream(
        self, messages: Prompt, *, budget: CallBudget, max_tokens: int | None = None
    ) -> AsyncGenerator[str, None]:
        """Streams the answer's text; at least one delta."""
        is_empty = True
        async with aclosing(self._chunks(messages, budget, **_limit(max_tokens))) as chunks:
            async for chunk in chunks:
                if text := chunk.text:
                    is_empty = False
                    yield str(text)
        if is_empty:
            raise empty_reply()

    async def structured(self, messages: Prompt, schema: type[Output], *, budget: CallBudget) -> Output:
        """The model's answer as a `schema`. Raises ModelOutputInvalid if it is not one."""
        if schema not in self._bound:
            # A forced tool call: every provider has it, and it costs a third of with_structured_output.
            self._bound[schema] = self.model.bind_tools([schema], tool_choice=schema.__name__)
        message = await self._invoke(self._bound[schema], messages, budget)
        try:
            if message.tool_calls:
                return schema.model_validate(message.tool_calls[0]["args"])
            return schema.model_validate_json(message.text)
        except ValidationError as exc:
            raise ModelOutputInvalid(f"The model's reply is not a {schema.__name__}.") from exc

    async def stream_with_tools(
        self,
        messages: Prompt,
        tools: Sequence[dict[str, Any]],
        *,
        budget: CallBudget,
        max_tokens: int | None = None,
    ) -> AsyncGenerator[str | AIMessage, None]:
        """Streams text, then yields the whole message, which may have tool calls.

        `tools` are in OpenAI's function format. A call whose arguments are not a JSON object is in the
        message's `invalid_tool_calls`.
        """
        parts: list[AIMessageChunk] = []
        options = _limit(max_tokens)
        if tools:  # providers refuse an empty list
            options["tools"] = list(tools)
        async with aclosing(self._chunks(messages, budget, **options)) as chunks:
            async for chunk in chunks:
                parts.append(chunk)
                if text := chunk.text:
                    yield str(text)
        message = merge_chunks(parts)
        if not (message.text or message.tool_calls or message.invalid_tool_calls):
            raise empty_reply()
        yield message

    async def _invoke(
        self, model: Runnable[Any, AIMessage], messages: Prompt, budget: CallBudget, **options: Any
    ) -> AIMessage:
        budget.begin_call()
        with self._telemetry.call(messages, options.get("max_tokens")) as call:
            async with self._attempt():
                message = await model.ainvoke(list(messages), **options)
            _refuse_filtered(message)
            self._record(call, budget, messages, [message])
        return message

    async def _chunks(
        self, messages: Prompt, budget: CallBudget, **options: Any
    ) -> AsyncGenerator[AIMessageChunk, None]:
        budget.begin_call()
        received: list[AIMessageChunk] = []
        with self._telemetry.call(messages, options.get("max_tokens")) as call:
            try:
                stream = self._model_for(messages).astream(list(messages), **options)
                async with aclosing(cast(AsyncGenerator[AIMessageChunk, None], stream)) as chunks:
                    async with self._attempt():
                        chunk = await anext(chunks, None)
                    call.began_to_answer()
                    with self._translated():
                        while chunk is not None:
                            received.append(chunk)
                            _refuse_filtered(chunk)
                            yield chunk
                            chunk = await anext(chunks, None)
            finally:
                if received:
                    self._record(call, budget, messages, received)
        self._refuse_cut(received)

    def _model_for(self, messages: Prompt) -> BaseChatModel:
        if self.file_model is None or all(isinstance(message.content, str) for message in messages):
            return self.model
        return self.file_model

    def _refuse_cut(self, messages: Sequence[AIMessage]) -> None:
        """Raises ReplyCut for an answer that broke off or reached its limit."""
        reasons = finish_reasons(messages)
        at_limit = bool(TOO_LONG.intersection(reasons))
        if at_limit or (self.reports_finish_reason and not reasons):
            raise ReplyCut(at_limit=at_limit)

    def _record(
        self, call: Call, budget: CallBudget, messages: Prompt, received: Sequence[AIMessage]
    ) -> None:
        usage = self._usage(messages, received)
        duration = round(call.seconds * 1000, 1)
        budget.add(
            ModelCall(role=self.role, model=self.name, usage=usage, started=call.began, duration_ms=duration)
        )
        call.used(usage)
        if call.recorded:
            call.answered(reply_text(received), model=model_name(received), reasons=finish_reasons(received))

    def _usage(self, messages: Prompt, received: Sequence[AIMessage]) -> Usage:
        if reported := [message.usage_metadata for message in received if message.usage_metadata]:
            last = reported[-1]
            return Usage(input_tokens=last["input_tokens"], output_tokens=last["output_tokens"])
        prompt = sum(self.counter.count(message.text) for message in messages)
        reply = self.counter.count(reply_text(received))
        return Usage(input_tokens=prompt, output_tokens=reply, estimated=True)

    @asynccontextmanager
    async def _attempt(self) -> AsyncIterator[None]:
        if self.breaker is not None:
            async with self.breaker.attempt():
                yield
        else:
            with self._translated():
                yield

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except Exception as exc:  # only `translate` knows the provider's exceptions
            if isinstance(exc, OrcError) or (ours := self.translate(exc)) is None:
                raise
            raise ours from exc


def _limit(max_tokens: int | None) -> dict[str, Any]:
    return {} if max_tokens is None else {"max_tokens": max_tokens}


def empty_reply() -> OrcError:
    """The error for an answer without text."""
    return model_down("The model gave an empty answer. Try again.", "model_reply_empty")


def _refuse_filtered(message: AIMessage) -> None:
    if finish_reason(message) == "content_filter":
        raise ContentFiltered


def finish_reason(message: AIMessage) -> str | None:
    """Why the answer ends, in the words of either of the provider's APIs; None if it goes on."""
    metadata = message.response_metadata
    if (reason := metadata.get("finish_reason")) or metadata.get("status") != "incomplete":
        return cast("str | None", reason or metadata.get("status"))
    return cast(str, (metadata.get("incomplete_details") or {}).get("reason", "incomplete"))


def finish_reasons(messages: Sequence[AIMessage]) -> list[str]:
    """The finish reasons that the parts of an answer have."""
    return [reason for message in messages if (reason := finish_reason(message))]


def model_name(messages: Sequence[AIMessage]) -> str | None:
    """The provider's name for the model that answered."""
    names = (message.response_metadata.get("model_name") for message in reversed(messages))
    return next((str(name) for name in names if name), None)


def reply_text(messages: Sequence[AIMessage]) -> str:
    """The text of an answer, with the arguments of its tool calls."""
    return "".join(message.text + _arguments(message) for message in messages)


def _arguments(message: AIMessage) -> str:
    if isinstance(message, AIMessageChunk):
        return "".join(call["args"] or "" for call in message.tool_call_chunks)
    return json.dumps([call["args"] for call in message.tool_calls]) if message.tool_calls else ""


def merge_chunks(chunks: list[AIMessageChunk]) -> AIMessage:
    """The chunks as one message. LangChain repairs invalid arguments of streamed calls; this does not."""
    merged = add_ai_message_chunks(chunks[0], *chunks[1:])
    # As text: the blocks of the responses API refer to items of an earlier answer, which is not stored.
    message = AIMessage(
        str(merged.text), usage_metadata=merged.usage_metadata, response_metadata=merged.response_metadata
    )
    for call in merged.tool_call_chunks:
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
    return message
