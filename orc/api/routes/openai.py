"""`/v1/models` and `/v1/chat/completions`: the turns of `/api/chat` for clients of OpenAI's interface."""

import json
import logging
import time
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request, Response
from fastapi.responses import JSONResponse
from pydantic import ValidationError
from sse_starlette import EventSourceResponse, ServerSentEvent

from orc.api.completions import (
    MODEL,
    WITH_SOURCES,
    Completion,
    CompletionRequest,
    Json,
    NumberedSource,
    error_of,
    numbered,
    usage_of,
    without_sources,
)
from orc.api.dependencies import AppDep, PrincipalDep, TraceIdDep
from orc.api.errors import SESSION_HEADER, limit_headers, render, turn_headers
from orc.api.responses import (
    EVENT_STREAM,
    HEADERS,
    KEEPALIVE_SECONDS,
    TURN_HEADERS,
    IdempotencyKey,
    responses,
)
from orc.api.routes.chat import ClientId, chat_turn
from orc.api.schemas import MAX_MESSAGE_CHARACTERS, MAX_MESSAGES, ChatRequest
from orc.bootstrap import App
from orc.check_words import summary_words
from orc.events import Done, Event, Failed, Stopped, Tool
from orc.problems import problem
from orc.turns.event_log import EventLog
from orc.turns.requests import TurnRequest
from orc_core.errors import INTERNAL, InvalidInput, NotFound
from orc_core.models import Usage

router = APIRouter(tags=["openai"])
logger = logging.getLogger(__name__)

_CREATED = 1_763_769_600
"""Clients want a date of each model; this is that of the first version of this interface."""

_Session = Annotated[str | None, Header(max_length=200, description="names the conversation; empty: none")]
_ChatId = Annotated[str | None, Header(max_length=200, description="the same; Open WebUI sends it")]
_Task = Annotated[str | None, Header(max_length=200, description="not empty: the request is no question")]
_COMPLETED = {
    "description": "A chat completion, or with `stream` its chunks as events, ending in `[DONE]`.",
    "headers": TURN_HEADERS,
    "content": {
        "application/json": {
            "schema": {"type": "object"},
            "example": {"choices": [{"index": 0, "message": {"role": "assistant", "content": "20 days."}}]},
        },
        EVENT_STREAM: {"schema": {"type": "string"}, "example": "data: [DONE]\n\n"},
    },
}
_ONE: Json = {"id": MODEL, "object": "model", "created": _CREATED, "owned_by": "orc", "name": MODEL}
_LISTED: Json = {"content": {"application/json": {"example": {"object": "list", "data": [_ONE]}}}}
_LISTED_ONE: Json = {"content": {"application/json": {"example": _ONE}}}


_ERROR = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {
                "message": {"type": "string"},
                "type": {"type": "string"},
                "param": {"type": ["string", "null"]},
                "code": {"type": ["string", "null"]},
            },
            "required": ["message", "type", "param", "code"],
        }
    },
    "required": ["error"],
}


def _failures(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The documentation of errors, which have OpenAI's form here."""
    example = error_of(problem(400, "What went wrong, for the person who asked.", ""))
    # FastAPI leaves out a null of an example, and the field is required.
    example["error"]["param"] = "messages"
    content = {"application/json": {"schema": _ERROR, "example": example}}
    return {status: {**known, "content": content} for status, known in responses(400, *statuses).items()}


def _models(app: App) -> Iterator[Json]:
    families = (MODEL, WITH_SOURCES)
    for name in (*families, *(f"{family}/{name}" for family in families for name in app.models.names)):
        yield {"id": name, "object": "model", "created": _CREATED, "owned_by": "orc", "name": name}


@router.get("/models", responses={**_failures(), 200: _LISTED})
async def models(app: AppDep, _caller: PrincipalDep) -> Json:
    """The models: `orc`, and each configured model behind it."""
    return {"object": "list", "data": list(_models(app))}


@router.get("/models/{model:path}", responses={**_failures(404), 200: _LISTED_ONE})
async def model_of_name(model: str, app: AppDep, _caller: PrincipalDep) -> Json:
    """One of the models; all of them for an address that ends in a slash."""
    if not model:
        return {"object": "list", "data": list(_models(app))}
    for known in _models(app):
        if known["id"] == model:
            return known
    raise NotFound(f"There is no model {model}. GET /v1/models lists them.")


@router.post("/chat/completions", responses={**_failures(404, 409, 413, 415, 429, 504, 507), 200: _COMPLETED})
async def chat_completions(
    body: CompletionRequest,
    request: Request,
    app: AppDep,
    caller: PrincipalDep,
    trace: TraceIdDep,
    client_id: ClientId = None,
    idempotency_key: IdempotencyKey = None,
    x_session_id: _Session = None,
    x_openwebui_chat_id: _ChatId = None,
    x_orc_task: _Task = None,
) -> Response:
    """Answer the last message."""
    body.check()
    prompt = body.messages[-1].text if x_orc_task else body.task
    if prompt is not None:
        if len(prompt) > MAX_MESSAGE_CHARACTERS:
            raise InvalidInput(f"A task may have {MAX_MESSAGE_CHARACTERS:,} characters.", field="messages")
        text, usage = await app.tasks.answer(prompt, caller, max_tokens=body.max_tokens, trace_id=trace)
        return JSONResponse(_task_completion(body, text, usage, trace))
    session = x_session_id or x_openwebui_chat_id or (body.metadata or {}).get("session_id") or None
    asked = _chat_request(body, session)
    turn = await chat_turn(asked, request, app, caller, trace, client_id, idempotency_key)
    owner = caller.owner_of(str(turn.conversation_id))
    log = await app.turn_service.start(turn, caller)
    writing = _Writing(body, turn, f"{request.url.scheme}://{request.url.netloc}/api")
    named = {SESSION_HEADER: owner.conversation_id, **turn_headers(log.conversation_id, log.turn_id)}
    headers = limit_headers(log.allowance) | named
    if body.stream:
        chunks = writing.chunks(log, shows_events=x_openwebui_chat_id is not None)
        return _event_stream(chunks, headers, trace)
    match await log.last():
        case Failed(problem=failure):
            response = render(failure)
            response.headers.update(headers)
            return response
        case ending:
            return JSONResponse(writing.whole(writing.completion(ending)), headers=headers)


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


def _task_completion(body: CompletionRequest, text: str, usage: Usage, trace: str) -> Json:
    message = {"role": "assistant", "content": text, "refusal": None}
    return _envelope("chat.completion", trace, body.model) | {
        "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}],
        "usage": usage_of(usage),
    }


class _Writing:
    """The response to one question, whole or in chunks."""

    def __init__(self, body: CompletionRequest, turn: TurnRequest, base_url: str) -> None:
        self._body = body
        self._turn = turn
        self._base_url = base_url

    def completion(self, ending: Event) -> Completion:
        """The finished answer with numbered sources."""
        assert isinstance(ending, Done | Stopped), f"a turn cannot end with {ending.kind}"
        return numbered(ending.result, self._base_url, lists_sources=self._body.lists_sources)

    def whole(self, done: Completion) -> Json:
        """The response without a stream."""
        message = {
            "role": "assistant",
            "content": done.text,
            "refusal": None,
            "annotations": done.annotations,
        }
        return _envelope("chat.completion", self._turn.trace_id, self._body.model) | {
            "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}],
            "usage": usage_of(done.result.metadata.usage),
            "orc": done.details,
        }

    async def chunks(self, log: EventLog, *, shows_events: bool) -> AsyncIterator[Json]:
        """The chunks. The text comes once it has been checked: a client cannot be made to withdraw text.

        `shows_events`: Open WebUI's own events are among them, for the progress and the sources.
        """
        yield self._chunk({"role": "assistant", "content": ""})
        async for _, event in log.follow():
            if isinstance(event, Tool) and event.message and shows_events:
                yield self._event("status", description=event.message, done=False)
            if isinstance(event, Failed):
                yield error_of(event.problem)
            elif event.ends_turn:
                for chunk in self._answer(self.completion(event), shows_events=shows_events):
                    yield chunk

    def _answer(self, done: Completion, *, shows_events: bool) -> Iterator[Json]:
        if shows_events:
            yield self._event("status", description=summary_words(done.result.citations), done=True)
        for piece in done.pieces:
            yield self._chunk({"content": piece})
        if shows_events:
            # Open WebUI would show each annotation as one more source.
            yield from (self._event("source", **_shown(source)) for source in done.sources)
        elif done.annotations:
            yield self._chunk({"annotations": done.annotations})
        yield self._chunk({}, finish_reason="stop") | {"orc": done.details}
        if self._body.stream_options and self._body.stream_options.include_usage:
            usage = usage_of(done.result.metadata.usage)
            yield self._bare() | {"choices": [], "usage": usage}

    def _chunk(self, delta: Json, finish_reason: str | None = None) -> Json:
        return self._bare() | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}

    def _event(self, kind: str, **data: Any) -> Json:
        return self._bare() | {"choices": [], "event": {"type": kind, "data": data}}

    def _bare(self) -> Json:
        return _envelope("chat.completion.chunk", self._turn.trace_id, self._body.model)


def _envelope(kind: str, trace_id: str, model: str) -> Json:
    return {"id": f"chatcmpl-{trace_id}", "object": kind, "created": int(time.time()), "model": model}


def _shown(source: NumberedSource) -> Json:
    """A source as Open WebUI shows it; it counts pages from 0."""
    cited = source.citations[0]
    page = {} if cited.url else {"page": cited.page - 1}
    # It joins sources of one id, and web pages may have one title.
    identity = f"{source.title} {cited.url or ''}".strip()
    metadata = {"source": identity, "name": source.title, "url": source.url, **page}
    return {
        "source": {"id": source.title, "name": source.title, "url": source.url},
        "document": source.quotes,
        "metadata": [metadata] * len(source.quotes),
    }


def _event_stream(chunks: AsyncIterator[Json], headers: dict[str, str], trace_id: str) -> Response:
    async def encoded() -> AsyncIterator[ServerSentEvent]:
        try:
            async for chunk in chunks:
                yield ServerSentEvent(data=json.dumps(chunk), sep="\n")
        except Exception:
            # The outermost edge of a stream: its reader would otherwise wait for an end.
            logger.exception("a completion broke off")
            broken = problem(500, "The answer could not be sent to its end.", trace_id, code=INTERNAL)
            yield ServerSentEvent(data=json.dumps(error_of(broken)), sep="\n")
        yield ServerSentEvent(data="[DONE]", sep="\n")

    ping = ServerSentEvent(comment="ping")
    return EventSourceResponse(
        encoded(),
        headers={**HEADERS, **headers},
        ping=KEEPALIVE_SECONDS,
        ping_message_factory=lambda: ping,
        sep="\n",
    )
