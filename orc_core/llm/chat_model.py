"""The one chat model interface: whole text, streamed text, structured output, or text with tool calls."""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, cast

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from pydantic import BaseModel

from orc_core.errors import BudgetExceeded, DependencyDown, OrcError
from orc_core.infra.resilience import CircuitBreaker, Translate
from orc_core.infra.telemetry.calls import Call, Model
from orc_core.llm.errors import (
    REQUEST_REFUSED,
    ContentFiltered,
    ModelMisconfigured,
    ModelOutputInvalid,
    ModelRefused,
    ReplyCut,
    empty_reply,
)
from orc_core.llm.later import Later
from orc_core.llm.messages import has_files
from orc_core.llm.replies import (
    TOO_LONG,
    StreamRepair,
    Thoughts,
    calls_tools,
    finish_reason,
    finish_reasons,
    merge_chunks,
    model_name,
    refusal,
    repair_message,
    reply_text,
    reported_usage,
)
from orc_core.llm.structured_outputs import (
    Abilities,
    Form,
    Part,
    WrittenCalls,
    correction,
    instruction,
    read_object,
    response_format,
)
from orc_core.llm.tokens import TokenCounter
from orc_core.models import Record, Usage

# Importing these takes half a second, and a worker without a model needs them for nothing.
if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables import Runnable

LONGEST_TOKENS, LONGEST_CHARACTERS = 25_000, 20
"""Tokens of a reply without a limit, and characters for each token: four times as many as there can be."""

Output = TypeVar("Output", bound=BaseModel)
Prompt = Sequence[BaseMessage]

logger = logging.getLogger(__name__)


class ModelCall(Record):
    """One call of a model. `started` is in seconds of `time.perf_counter`."""

    role: str
    model: str
    usage: Usage
    started: float
    duration_ms: float


@dataclass
class CallBudget:
    """Limits the model calls of one turn, and records them and their tokens.

    Every call is counted before it is made. `by_tools` is the usage of tools in other processes, whose
    calls do not count.
    """

    max_calls: int = 10
    usage: Usage = field(default_factory=Usage)
    by_tools: Usage = field(default_factory=Usage)
    calls: list[ModelCall] = field(default_factory=list)

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
    provider needs another API for those. Both models may be made at their first use. `breaker` is shared by
    all users of a provider. `provider` is the provider's name for OpenTelemetry; spans contain prompts and
    answers only with `records_content`.
    `abilities` are learned from the provider's replies. `reasoning_tokens` are added to `max_tokens`, which
    limits the answer alone. What `is_local` is on this machine.

    Every method raises BudgetExceeded before a call that `budget` does not allow, DependencyDown if the
    model does not answer, ContextTooLong, ContentFiltered or ModelRefused if it refuses to, and ReplyCut for
    an answer that broke off or reached a length limit (a stream: after its last delta). Texts can be encoded
    as UTF-8, whatever the model sent. Streams are generators: close them (`contextlib.aclosing`) to close
    the provider's connection.
    """

    model: "BaseChatModel | Later[BaseChatModel]"
    counter: TokenCounter
    _: KW_ONLY
    name: str
    role: str = "writer"
    file_model: "BaseChatModel | Later[BaseChatModel] | None" = None
    translate: Translate = lambda _: None
    breaker: CircuitBreaker | None = None
    abilities: Abilities = field(default_factory=Abilities)
    is_local: bool = False
    reasoning_tokens: int = 0
    provider: str = "orc"
    records_content: bool = False

    def __post_init__(self) -> None:
        self._telemetry = Model(
            self.name, provider=self.provider, role=self.role, content=self.records_content
        )
        self._bound: dict[tuple[type[BaseModel], Form], Runnable[Any, AIMessage]] = {}

    async def warm(self) -> None:
        """Make the model now if it was to be made at its first use."""
        await self._made(self.model)

    async def complete(self, messages: Prompt, *, budget: CallBudget, max_tokens: int | None = None) -> str:
        """The whole answer; never empty."""
        async with aclosing(self.stream(messages, budget=budget, max_tokens=max_tokens)) as texts:
            return "".join([text async for text in texts])

    async def stream(
        self, messages: Prompt, *, budget: CallBudget, max_tokens: int | None = None
    ) -> AsyncGenerator[str, None]:
        """Streams the answer's text; at least one delta."""
        answer = self.stream_with_tools(messages, (), budget=budget, max_tokens=max_tokens)
        async with aclosing(answer) as parts:
            async for part in parts:
                if isinstance(part, str):
                    yield part

    async def structured(self, messages: Prompt, schema: type[Output], *, budget: CallBudget) -> Output:
        """The model's answer as a `schema`, in the first form in which the model gives one.

        A reply that is none is corrected once. Raises ModelOutputInvalid if that fails too, and without a
        call for a while after no form has worked. The last call of the budget is left for the answer.
        """
        asked, is_corrected, refused = list(messages), False, set[Form]()
        problem: DependencyDown | None = None
        while (form := self.abilities.form) is not None:
            try:
                reply = await self._object(form, asked, schema, budget)
            except ModelMisconfigured as exc:
                if exc.code != REQUEST_REFUSED:
                    raise
                logger.info("%s does not accept %s", self.name, form.value)
                self.abilities.failed(refused=True)
                refused.add(form)
                if self.abilities.form in refused or budget.calls_left <= 1:
                    raise
                problem = exc
                continue
            try:
                output = read_object(reply, schema)
            except ValueError as exc:
                self.abilities.failed()
                problem = ModelOutputInvalid(f"The model's reply is not a {schema.__name__}.")
                if is_corrected or budget.calls_left <= 1:
                    raise problem from exc
                asked, is_corrected = [*messages, *correction(reply, exc)], True
                continue
            self.abilities.worked()
            return output
        raise problem or ModelOutputInvalid("The model gives no structured outputs; it is not asked for now.")

    async def _object(
        self, form: Form, messages: Prompt, schema: type[BaseModel], budget: CallBudget
    ) -> AIMessage:
        """The reply to a request in this form."""
        if (schema, form) not in self._bound:
            chat = await self._made(self.model)
            if form is Form.TOOL:
                # It costs a third of with_structured_output.
                bound = chat.bind_tools([schema], tool_choice=schema.__name__)
            else:
                as_object = {"type": "json_object"}
                asked = response_format(schema) if form is Form.SCHEMA else as_object
                bound = chat.bind(response_format=asked)
            self._bound[schema, form] = cast("Runnable[Any, AIMessage]", bound)
        model, started = self._bound[schema, form], time.monotonic()
        prompt = [*messages, instruction(schema)] if form is Form.OBJECT else messages
        try:
            return await self._invoke(model, prompt, budget)
        except asyncio.CancelledError:
            self.abilities.gave_up(time.monotonic() - started)
            raise

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
        written = WrittenCalls([tool["function"]["name"] for tool in tools])
        limit = {} if max_tokens is None else {"max_tokens": max_tokens + self.reasoning_tokens}
        async with aclosing(self._answer(messages, tools, budget, limit)) as chunks:
            async for chunk in chunks:
                parts.append(chunk)
                if text := written.feed(str(chunk.text)):
                    yield text
        with self._translated():
            message = merge_chunks(parts)
        if calls := written.calls:
            invalid = message.invalid_tool_calls
            message = AIMessage("", tool_calls=message.tool_calls or calls, invalid_tool_calls=invalid)
        elif text := written.finish():
            yield text
        if not (message.text or calls_tools(message)):
            raise empty_reply()
        yield message

    async def _answer(
        self, messages: Prompt, tools: Sequence[dict[str, Any]], budget: CallBudget, options: dict[str, Any]
    ) -> AsyncGenerator[AIMessageChunk, None]:
        """The answer, to a request without what the server is known to refuse, or refuses now."""
        left_out: dict[Part, OrcError] = {}
        while True:
            without, has_begun = self.abilities.without.union(left_out), False
            offered = {"tools": list(tools)} if tools and Part.TOOLS not in without else {}
            plain = {"without": without} if without - {Part.TOOLS} else {}
            try:
                async with aclosing(self._chunks(messages, budget, **offered, **plain, **options)) as chunks:
                    async for chunk in chunks:
                        has_begun = has_begun or bool(chunk.text) or calls_tools(chunk)
                        yield chunk
                self.abilities.taken(left_out)
                return
            except DependencyDown as exc:
                part = self.abilities.part_to_leave_out(exc, without, has_tools=bool(offered))
                # Who sends files knows what to do if they are refused.
                if part is None or has_begun or has_files(messages) or not budget.calls_left:
                    raise
                left_out[part] = exc

    async def _invoke(
        self, model: "Runnable[Any, AIMessage]", messages: Prompt, budget: CallBudget
    ) -> AIMessage:
        budget.begin_call()
        with self._telemetry.call(messages) as call:
            async with self._attempt():
                without = self.abilities.without
                given: dict[str, Any] = {"without": without} if without - {Part.TOOLS} else {}
                message = repair_message(await model.ainvoke(list(messages), **given))
            _refuse_withheld([message])
            self._record(call, budget, messages, [message])
        return message

    async def _chunks(
        self, messages: Prompt, budget: CallBudget, **options: Any
    ) -> AsyncGenerator[AIMessageChunk, None]:
        budget.begin_call()
        received: list[AIMessageChunk] = []
        repair = StreamRepair(Thoughts(is_open=self.abilities.thinks_first))
        left = LONGEST_CHARACTERS * options.get("max_tokens", LONGEST_TOKENS)
        with self._telemetry.call(messages, options.get("max_tokens")) as call:
            try:
                model = await self._model_for(messages)
                stream = model.astream(list(messages), **options)
                async with aclosing(cast(AsyncGenerator[AIMessageChunk, None], stream)) as chunks:
                    async with self._attempt():
                        chunk = await anext(chunks, None)
                    call.began_to_answer()
                    with self._kept(received), self._translated():
                        while chunk is not None:
                            received.append(repair.feed(chunk))
                            yield received[-1]
                            left -= len(reply_text(received[-1:]))
                            if left < 0:  # the limit is the provider's to keep, and this one does not
                                raise ReplyCut(at_limit=True, text=reply_text(received))
                            chunk = await anext(chunks, None)
                self.abilities.thinks_first = repair.thoughts.was_open
                if rest := repair.finish():
                    received.append(rest)
                    yield rest
                _refuse_withheld(received)
            finally:
                if received:
                    self._record(call, budget, messages, received)
        self._refuse_cut(received)

    async def _model_for(self, messages: Prompt) -> "BaseChatModel":
        if self.file_model is not None and has_files(messages):
            return await self._made(self.file_model)
        return await self._made(self.model)

    async def _made(self, model: "BaseChatModel | Later[BaseChatModel]") -> "BaseChatModel":
        if not isinstance(model, Later):
            return model
        with self._translated():
            return await model.take()

    def _refuse_cut(self, messages: Sequence[AIMessage]) -> None:
        """Raises ReplyCut for an answer that broke off, as a cut tool call has, or that reached its limit."""
        reasons = finish_reasons(messages)
        at_limit = bool(TOO_LONG.intersection(reasons))
        is_broken = self.abilities.reports_finish and not reasons
        self.abilities.reports_finish |= bool(reasons)
        if at_limit or is_broken:
            text = "".join(str(message.text) for message in messages)
            raise ReplyCut(at_limit=at_limit and not any(map(calls_tools, messages)), text=text)

    def _record(
        self, call: Call, budget: CallBudget, messages: Prompt, received: Sequence[AIMessage]
    ) -> None:
        usage = reported_usage(received)
        if usage is None:
            prompt = sum(self.counter.count(message.text) for message in messages)
            reply = self.counter.count(reply_text(received))
            usage = Usage(input_tokens=prompt, output_tokens=reply, estimated=True)
        duration = round(call.seconds * 1000, 1)
        budget.add(
            ModelCall(role=self.role, model=self.name, usage=usage, started=call.began, duration_ms=duration)
        )
        call.used(usage)
        if call.recorded:
            call.answered(reply_text(received), model=model_name(received), reasons=finish_reasons(received))

    @asynccontextmanager
    async def _attempt(self) -> AsyncIterator[None]:
        if self.breaker is not None:
            async with self.breaker.attempt():
                yield
        else:
            with self._translated():
                yield

    @contextmanager
    def _kept(self, received: Sequence[AIMessage]) -> Iterator[None]:
        """Turns the end of a stream from this machine into a cut: asking again would cost minutes."""
        try:
            yield
        except DependencyDown as exc:
            text = "".join(str(message.text) for message in received)
            if not (self.is_local and exc.retryable and text.strip()):
                raise
            raise ReplyCut(text=text, is_kept=True) from exc

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except Exception as exc:  # only `translate` knows the provider's exceptions
            if isinstance(exc, OrcError) or (ours := self.translate(exc)) is None:
                raise
            raise ours from exc


def _refuse_withheld(messages: Sequence[AIMessage]) -> None:
    """Raises ContentFiltered or ModelRefused if there is no answer by intention."""
    if any(finish_reason(message) == "content_filter" for message in messages):
        raise ContentFiltered
    if said := refusal(messages):
        raise ModelRefused(said)
