"""`/v1/models` and `/v1/chat/completions`: the turns of `/api/chat` for clients of OpenAI's interface."""

import json
import logging
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Request, Response
from fastapi.responses import JSONResponse
from pydantic import ValidationError
from sse_starlette import ServerSentEvent

from orc.api.completions import (
    MODEL,
    WITH_SOURCES,
    Completion,
    CompletionRequest,
    Json,
    error_of,
    numbered,
    usage_of,
    without_sources,
)
from orc.api.dependencies import AppDep, PrincipalDep, TraceIdDep
from orc.api.errors import SESSION_HEADER, limit_headers, render, turn_headers
from orc.api.responses import EVENT_STREAM, TURN_HEADERS, IdempotencyKey, event_stream, responses
from orc.api.routes.chat import ClientId, chat_turn
from orc.api.schemas import MAX_MESSAGE_CHARACTERS, MAX_MESSAGES, ChatRequest
from orc.bootstrap import App
from orc.events import Done, Event, Failed, Stopped, Tool
from orc.problems import Problem, problem
from orc.turns.event_log import EventLog
from orc.turns.requests import TurnRequest
from orc.words import summary_words
from orc_core.errors import INTERNAL, InvalidInput, NotFound
from orc_core.models import Usage

router = APIRouter(tags=["openai"])
logger = logging.getLogger(__name__)

_CREATED = 1_763_769_600
"""Clients want a date of each model; this is that of the first version of this interface."""

_Session = Annotated[str | None, Header(max_length=200, description="names the conversation; empty: none")]
_ChatId = Annotated[str | None, Header(max_length=200, description="the same; Open WebUI sends it")]
_Task = Annotated[str | None, Header(max_length=200, description="not empty: the request is no question")]
_ONE: Json = {"id": MODEL, "object": "model", "created": _CREATED, "owned_by": "orc", "name": MODEL}
_LISTED: Json = {"content": {"application/json": {"example": {"object": "list", "data": [_ONE]}}}}
_LISTED_ONE: Json = {"content": {"application/json": {"example": _ONE}}}


_TEXT, _TEXT_OR_NULL = {"type": "string"}, {"type": ["string", "null"]}
_FIELDS = {"message": _TEXT, "type": _TEXT, "param": _TEXT_OR_NULL, "code": _TEXT_OR_NULL}
_ERROR = {"type": "object", "properties": _FIELDS, "required": [*_FIELDS]}
_ERRORS = {"type": "object", "properties": {"error": _ERROR}, "required": ["error"]}


def failures(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The documentation of errors, which have OpenAI's form here."""
    example = error_of(problem(400, "What went wrong, for the person who asked.", ""))
    # FastAPI leaves out a null of an example, and the field is required.
    example["error"]["param"] = "messages"
    content = {"application/json": {"schema": _ERRORS, "example": example}}
    return {status: {**known, "content": content} for status, known in responses(400, *statuses).items()}


def answers(kind: str) -> dict[int | str, dict[str, Any]]:
    """The documentation of a route that answers with an object of this kind."""
    whole = {"schema": {"type": "object"}, "example": {"object": kind, "model": MODEL}}
    stream = {"schema": {"type": "string"}, "example": "data: [DONE]\n\n"}
    return {
        **failures(404, 409, 413, 415, 429, 504, 507),
        200: {
            "description": f"A {kind}, or with `stream` its parts as events, ending in `[DONE]`.",
            "headers": TURN_HEADERS,
            "content": {"application/json": whole, EVENT_STREAM: stream},
        },
    }


def _models(app: App) -> Iterator[Json]:
    families = (MODEL, WITH_SOURCES)
    for name in (*families, *(f"{family}/{name}" for family in families for name in app.models.names)):
        yield {"id": name, "object": "model", "created": _CREATED, "owned_by": "orc", "name": name}


@dataclass
class Asked:
    """What a request for an answer has besides its body."""

    request: Request
    app: AppDep
    caller: PrincipalDep
    trace: TraceIdDep
    client_id: ClientId = None
    idempotency_key: IdempotencyKey = None
    x_session_id: _Session = None

    async def answer(
        self, body: CompletionRequest, named: str | None, form: "type[Writing]", shows_events: bool = False
    ) -> Response:
        """The answer in this form; `named` names the conversation if no header does."""
        session = self.x_session_id or named or (body.metadata or {}).get("session_id") or None
        asked = _chat_request(body, session)
        about = self.request, self.app, self.caller, self.trace
        turn = await chat_turn(asked, *about, False, self.client_id, self.idempotency_key)
        log = await self.app.turn_service.start(turn, self.caller)
        public = self.app.settings.public_url or str(self.request.base_url)
        writing = form(body, turn, f"{public.rstrip('/')}/api", shows_events)
        headers = limit_headers(log.allowance) | turn_headers(log.conversation_id, log.turn_id)
        headers[SESSION_HEADER] = log.conversation_id
        if body.stream:
            return _encoded_stream(writing.chunks(log), headers, self.trace)
        match await log.last():
            case Failed(problem=failure):
                response = render(failure)
            case ending:
                response = JSONResponse(writing.whole(writing.completion(ending)))
        response.headers.update(headers)
        return response


Asking = Annotated[Asked, Depends()]


@router.get("/models", responses={**failures(), 200: _LISTED})
async def models(app: AppDep, _caller: PrincipalDep) -> Json:
    """The models: `orc`, and each configured model behind it."""
    return {"object": "list", "data": list(_models(app))}


@router.get("/models/{model:path}", responses={**failures(404), 200: _LISTED_ONE})
async def model_of_name(model: str, app: AppDep, _caller: PrincipalDep) -> Json:
    """One of the models; all of them for an address that ends in a slash."""
    if not model:
        return {"object": "list", "data": list(_models(app))}
    for known in _models(app):
        if known["id"] == model:
            return known
    raise NotFound(f"There is no model {model}. GET /v1/models lists them.")


@router.post("/chat/completions", responses=answers("chat.completion"))
async def chat_completions(
    body: CompletionRequest, asking: Asking, x_openwebui_chat_id: _ChatId = None, x_orc_task: _Task = None
) -> Response:
    """Answer the last message."""
    body.check()
    prompt = body.messages[-1].text if x_orc_task else body.task
    if prompt is not None:
        if len(prompt) > MAX_MESSAGE_CHARACTERS:
            raise InvalidInput(f"A task may have {MAX_MESSAGE_CHARACTERS:,} characters.", field="messages")
        text, usage = await asking.app.tasks.answer(
            prompt, asking.caller, max_tokens=body.max_tokens, trace_id=asking.trace
        )
        return JSONResponse(_completion(body, asking.trace, text, usage))
    return await asking.answer(body, x_openwebui_chat_id, Writing, x_openwebui_chat_id is not None)


def _chat_request(body: CompletionRequest, session: str | None) -> ChatRequest:
    said = [
        {
            "role": message.role,
            "content": without_sources(message.text) if message.role == "assistant" else message.text,
        }
        for message in body.messages
    ]
    # The first message of the user tells chats without a session apart.
    dropped, said = said[: 1 - MAX_MESSAGES], said[1 - MAX_MESSAGES :]
    said = [message for message in dropped if message["role"] == "user"][:1] + said
    try:
        return ChatRequest.model_validate({"messages": said, "session_id": session, "model": body.writer})
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_input=False, include_context=False)[0]
        raise InvalidInput(first["msg"], field=".".join(map(str, first["loc"]))) from exc


def _completion(body: CompletionRequest, trace_id: str, text: str, usage: Usage, **more: Any) -> Json:
    message = {"role": "assistant", "content": text, "refusal": None, **more}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    whole = {"choices": [choice], "usage": usage_of(usage)}
    return _envelope("chat.completion", trace_id, body.model) | whole


@dataclass
class Writing:
    """The response to one question, whole or in chunks.

    `shows_events`: Open WebUI's own events are among these, for the progress and the sources.
    """

    body: CompletionRequest
    turn: TurnRequest
    base_url: str
    shows_events: bool

    def completion(self, ending: Event) -> Completion:
        """The finished answer with numbered sources."""
        assert isinstance(ending, Done | Stopped), f"a turn cannot end with {ending.kind}"
        return numbered(ending.result, self.base_url, lists_sources=self.body.lists_sources)

    def whole(self, done: Completion) -> Json:
        """The response without a stream."""
        usage = done.result.metadata.usage
        about = {"annotations": done.annotations}
        return _completion(self.body, self.turn.trace_id, done.text, usage, **about) | {"orc": done.details}

    async def chunks(self, log: EventLog) -> AsyncIterator[Json]:
        """The chunks. The text comes once it has been checked: a client cannot be made to withdraw text."""
        for chunk in self.opening(log):
            yield chunk
        async for _, event in log.follow():
            if isinstance(event, Tool) and event.message and self.shows_events:
                yield self._shown("status", description=event.message, done=False)
            if isinstance(event, Failed):
                yield self.failure(event.problem)
            elif event.ends_turn:
                for chunk in self.ending(self.completion(event)):
                    yield chunk

    def opening(self, _log: EventLog) -> Iterator[Json]:
        """What comes before anything is known."""
        yield self._chunk({"role": "assistant", "content": ""})

    def failure(self, problem: Problem) -> Json:
        """The end of a turn that has failed."""
        return error_of(problem)

    def ending(self, done: Completion) -> Iterator[Json]:
        """The answer."""
        if self.shows_events:
            yield self._shown("status", description=summary_words(done.result.citations), done=True)
        for piece in done.pieces:
            yield self._chunk({"content": piece})
        if self.shows_events:
            # Open WebUI would show each annotation as one more source.
            for source in done.sources:
                cited, about = source.citations[0], {"name": source.title, "url": source.url}
                # It joins sources of one id, and web pages may have one title. It counts pages from 0.
                metadata: Json = {"source": f"{source.title} {cited.url or ''}".strip(), **about}
                metadata |= {} if cited.url else {"page": cited.page - 1}
                yield self._shown(
                    "source",
                    source={"id": source.title, **about},
                    document=source.quotes,
                    metadata=[metadata] * len(source.quotes),
                )
        elif done.annotations:
            yield self._chunk({"annotations": done.annotations})
        yield self._chunk({}, finish_reason="stop") | {"orc": done.details}
        if self.body.stream_options and self.body.stream_options.include_usage:
            usage = usage_of(done.result.metadata.usage)
            yield self._bare() | {"choices": [], "usage": usage}

    def _chunk(self, delta: Json, finish_reason: str | None = None) -> Json:
        return self._bare() | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}

    def _shown(self, kind: str, **data: Any) -> Json:
        return self._bare() | {"choices": [], "event": {"type": kind, "data": data}}

    def _bare(self) -> Json:
        return _envelope("chat.completion.chunk", self.turn.trace_id, self.body.model)


def _envelope(kind: str, trace_id: str, model: str) -> Json:
    return {"id": f"chatcmpl-{trace_id}", "object": kind, "created": int(time.time()), "model": model}


def _encoded_stream(chunks: AsyncIterator[Json], headers: dict[str, str], trace_id: str) -> Response:
    async def encoded() -> AsyncIterator[ServerSentEvent]:
        try:
            async for chunk in chunks:
                yield ServerSentEvent(data=json.dumps(chunk), event=chunk.get("type"), sep="\n")
        except Exception:
            # The outermost edge of a stream: its reader would otherwise wait for an end.
            logger.exception("a completion broke off")
            broken = problem(500, "The answer could not be sent to its end.", trace_id, code=INTERNAL)
            yield ServerSentEvent(data=json.dumps(error_of(broken)), sep="\n")
        yield ServerSentEvent(data="[DONE]", sep="\n")

    return event_stream(encoded(), headers)
