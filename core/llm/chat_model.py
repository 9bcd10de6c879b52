"""One chat model as the rest of the code uses it: text, text as it comes, a filled form, or tool calls."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from typing import Any, TypeVar, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.runnables import Runnable
from pydantic import BaseModel, ValidationError

from core.errors import BudgetExceeded, OrcError
from core.infra.resilience import CircuitBreaker, Translate
from core.infra.telemetry.model_calls import Call, Model
from core.llm.errors import ContentFiltered, ModelOutputInvalid, ReplyCut, model_down
from core.llm.provider_replies import answering_model, reasons_in, said_in, whole, why_it_ends
from core.llm.tokens import TokenCounter
from core.models import Record, Usage

Form = TypeVar("Form", bound=BaseModel)
Prompt = Sequence[BaseMessage]

TOO_LONG = frozenset({"length", "max_output_tokens", "incomplete"})
"""Why an answer ends that is not whole, as chat completions and responses say it."""


class ModelCall(Record):
    """One call of a model: for which role, what it cost, when it began (in seconds of
    `time.perf_counter`), and how long it took."""

    role: str
    model: str
    usage: Usage
    started: float
    duration_ms: float


class Meter:
    """The model calls and tokens of one turn. Every call is counted before it is made.

    `by_tools` is what tools have used in other processes: it costs, and counts against no limit here.
    """

    def __init__(self, max_calls: int) -> None:
        self.max_calls = max_calls
        self.usage = Usage()
        self.by_tools = Usage()
        self.calls: list[ModelCall] = []

    @property
    def total(self) -> Usage:
        """What the turn has used in all."""
        return self.usage + self.by_tools

    @property
    def calls_left(self) -> int:
        """How many calls may still be made."""
        return self.max_calls - self.usage.model_calls

    def begin_call(self) -> None:
        """Count one call; BudgetExceeded where that would be one too many."""
        if self.calls_left <= 0:
            raise BudgetExceeded(f"This turn has used all its {self.max_calls} model calls.")
        self.usage += Usage(model_calls=1)

    def add(self, call: ModelCall) -> None:
        """Add what a call has cost in tokens."""
        self.usage += call.usage
        self.calls.append(call)


class ChatModel:
    """Wraps one LangChain chat model; its failures come out as OrcError. `name` is for people.

    `role` is what it is used for, as the meter notes it. `max_tokens` bounds an answer's length: one that
    reaches it raises ReplyCut, a stream after its last delta.

    `reads_files` answers prompts with files in them, where that takes another API of the provider's.
    `breaker` is shared by all that ask the same provider; a stream concerns it until its first chunk.
    `provider` is its name to OpenTelemetry, whose spans hold prompts and answers with `tells_content` only.

    Every method raises BudgetExceeded before a call that `meter` does not allow, DependencyDown where
    the model does not answer, and ContextTooLong or ContentFiltered where it refuses to. Streams are
    generators: close them (`contextlib.aclosing`) and the provider's connection is closed with them.
    """

    def __init__(
        self,
        model: BaseChatModel,
        counter: TokenCounter,
        *,
        name: str,
        role: str = "writer",
        reads_files: BaseChatModel | None = None,
        translate: Translate = lambda _: None,
        breaker: CircuitBreaker | None = None,
        says_why_it_ends: bool = False,
        provider: str = "orc",
        tells_content: bool = False,
        close: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.name = name
        self.role = role
        self._model = model
        self._reads_files = reads_files
        self._counter = counter
        self._translate = translate
        self._breaker = breaker
        self._says_why_it_ends = says_why_it_ends
        self._telemetry = Model(name, provider=provider, role=role, content=tells_content)
        self._close = close
        self._forms: dict[type[BaseModel], Runnable[Any, AIMessage]] = {}

    async def complete(self, messages: Prompt, *, meter: Meter, max_tokens: int | None = None) -> str:
        """The whole answer; never empty."""
        message = await self._invoke(self._reader_of(messages), messages, meter, **_capped(max_tokens))
        self._refuse_cut([message])
        if not message.text:
            raise empty_reply()
        return str(message.text)

    async def stream(
        self, messages: Prompt, *, meter: Meter, max_tokens: int | None = None
    ) -> AsyncGenerator[str, None]:
        """The answer's text as it comes; at least one delta."""
        said = False
        async with aclosing(self._chunks(messages, meter, **_capped(max_tokens))) as chunks:
            async for chunk in chunks:
                if text := chunk.text:
                    said = True
                    yield str(text)
        if not said:
            raise empty_reply()

    async def structured(self, messages: Prompt, schema: type[Form], *, meter: Meter) -> Form:
        """The model's answer as a `schema`; ModelOutputInvalid where it does not fit."""
        message = await self._invoke(self._filling(schema), messages, meter)
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
        meter: Meter,
        max_tokens: int | None = None,
    ) -> AsyncGenerator[str | AIMessage, None]:
        """Text as it comes and last the whole message, which may hold tool calls.

        `tools` are in OpenAI's function format. A call whose arguments are not a JSON object is in
        the message's `invalid_tool_calls`.
        """
        parts: list[AIMessageChunk] = []
        options = _capped(max_tokens) | ({"tools": list(tools)} if tools else {})  # none may be empty
        async with aclosing(self._chunks(messages, meter, **options)) as chunks:
            async for chunk in chunks:
                parts.append(chunk)
                if text := chunk.text:
                    yield str(text)
        message = whole(parts)
        if not (message.text or message.tool_calls or message.invalid_tool_calls):
            raise empty_reply()
        yield message

    async def aclose(self) -> None:
        """Close the connections that were opened for this model."""
        if self._close is not None:
            await self._close()

    async def _invoke(
        self, model: Runnable[Any, AIMessage], messages: Prompt, meter: Meter, **options: Any
    ) -> AIMessage:
        meter.begin_call()
        with self._telemetry.call(messages, options.get("max_tokens")) as call:
            async with self._attempt():
                message = await model.ainvoke(list(messages), **options)
            _refuse_filtered(message)
            self._note(call, meter, self._usage(messages, [message]), [message])
        return message

    async def _chunks(
        self, messages: Prompt, meter: Meter, **options: Any
    ) -> AsyncGenerator[AIMessageChunk, None]:
        meter.begin_call()
        received: list[AIMessageChunk] = []
        with self._telemetry.call(messages, options.get("max_tokens")) as call:
            try:
                stream = self._reader_of(messages).astream(list(messages), **options)
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
                    self._note(call, meter, self._usage(messages, received), received)
        self._refuse_cut(received)

    def _reader_of(self, messages: Prompt) -> BaseChatModel:
        if self._reads_files is None or all(isinstance(message.content, str) for message in messages):
            return self._model
        return self._reads_files

    def _refuse_cut(self, messages: Sequence[AIMessage]) -> None:
        """Raise DependencyDown for an answer that is not whole: its end is missing, or over the limit."""
        reasons = reasons_in(messages)
        at_limit = bool(TOO_LONG.intersection(reasons))
        if at_limit or (self._says_why_it_ends and not reasons):
            raise ReplyCut(at_limit=at_limit)

    def _filling(self, schema: type[Form]) -> Runnable[Any, AIMessage]:
        # A forced tool call: every provider has it, and it costs a third of with_structured_output.
        if schema not in self._forms:
            self._forms[schema] = self._model.bind_tools([schema], tool_choice=schema.__name__)
        return self._forms[schema]

    def _note(self, call: Call, meter: Meter, usage: Usage, received: Sequence[AIMessage]) -> None:
        duration = round(call.seconds * 1000, 1)
        meter.add(
            ModelCall(role=self.role, model=self.name, usage=usage, started=call.began, duration_ms=duration)
        )
        call.used(usage)
        if call.recorded:
            call.answered(said_in(received), model=answering_model(received), reasons=reasons_in(received))

    def _usage(self, messages: Prompt, received: Sequence[AIMessage]) -> Usage:
        if told := [message.usage_metadata for message in received if message.usage_metadata]:
            return Usage(input_tokens=told[-1]["input_tokens"], output_tokens=told[-1]["output_tokens"])
        given = sum(self._counter.count(message.text) for message in messages)
        said = self._counter.count(said_in(received))
        return Usage(input_tokens=given, output_tokens=said, estimated=True)

    @asynccontextmanager
    async def _attempt(self) -> AsyncIterator[None]:
        if self._breaker is not None:
            async with self._breaker.attempt():
                yield
        else:
            with self._translated():
                yield

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except Exception as exc:  # what the provider's library raises is known to `translate` alone
            if isinstance(exc, OrcError) or (ours := self._translate(exc)) is None:
                raise
            raise ours from exc


def _capped(max_tokens: int | None) -> dict[str, Any]:
    return {} if max_tokens is None else {"max_tokens": max_tokens}


def empty_reply() -> OrcError:
    """For an answer that says nothing."""
    return model_down("The model gave an empty answer. Try again.", "model_reply_empty")


def _refuse_filtered(message: AIMessage) -> None:
    if why_it_ends(message) == "content_filter":
        raise ContentFiltered
