"""A double of the APIs of Anthropic, Gemini and Mistral, in the wire forms of their documentation.

Anthropic: docs.anthropic.com/en/api/messages-streaming. Gemini: ai.google.dev/api/generate-content.
Mistral: docs.mistral.ai/api, which has OpenAI's form.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

Json = dict[str, Any]
USED = (40, 9)
"""Tokens of each prompt and reply."""
CUT = {"anthropic": "max_tokens", "google_genai": "MAX_TOKENS", "mistralai": "length"}
ENDED = {"anthropic": "end_turn", "google_genai": "STOP", "mistralai": "stop"}
TOO_LONG = {
    "anthropic": "prompt is too long: 210000 tokens > 200000 maximum",
    "google_genai": "The input token count exceeds the maximum number of tokens allowed",
    "mistralai": "Prompt contains 210000 tokens, too large for model with 131072 maximum context length",
}


@dataclass
class OtherDouble:
    """Answers all requests alike, and keeps their headers and bodies."""

    text: str = ""
    call: Json | None = None
    """The arguments of a call of the first tool that is offered."""
    is_cut: bool = False
    failure: tuple[int, str] | None = None
    asked: list[Json] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        # The packages have no public way to close connections, and tests wait for all to be closed.
        self.app = Starlette(
            middleware=[Middleware(_ClosesConnections)],
            routes=[
                Route("/v1/messages", self._anthropic, methods=["POST"]),
                Route("/v1/models/{model}", self._gemini, methods=["POST"]),
                Route("/chat/completions", self._mistral, methods=["POST"]),
                Route("/{path:path}models", self._models),
            ],
        )

    async def _models(self, request: Request) -> Response:
        is_known = self._key(request) == "secret"
        return JSONResponse({"data": []}) if is_known else JSONResponse({}, status_code=401)

    def _key(self, request: Request) -> str:
        headers = request.headers
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        self.keys.append(headers.get("x-api-key") or headers.get("x-goog-api-key") or bearer)
        return self.keys[-1]

    async def _read(self, request: Request) -> tuple[Json, Response | None]:
        self._key(request)
        self.asked.append(body := await request.json())
        if self.failure is None:
            return body, None
        status, said = self.failure
        error = {"type": "error", "message": said, "status": "FAILED", "code": status}
        return body, JSONResponse({"type": "error", "error": error, "message": said}, status)

    async def _anthropic(self, request: Request) -> Response:
        body, failure = await self._read(request)
        if failure is not None:
            return failure
        content: list[Json] = [{"type": "text", "text": self.text}] if self.text else []
        if self.call is not None:
            name = body["tools"][0]["name"]
            content.append({"type": "tool_use", "id": "toolu_1", "name": name, "input": self.call})
        reason = CUT["anthropic"] if self.is_cut else "tool_use" if self.call else ENDED["anthropic"]
        message = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": content,
            "stop_reason": reason,
            "stop_sequence": None,
            "usage": {"input_tokens": USED[0], "output_tokens": USED[1]},
        }
        if not body.get("stream"):
            return JSONResponse(message)
        return _events(_anthropic_events(message, content), named=True)

    async def _gemini(self, request: Request) -> Response:
        body, failure = await self._read(request)
        if failure is not None:
            return failure
        parts: list[Json] = [{"text": each} for each in _pieces(self.text)]
        if self.call is not None:
            name = body["tools"][0]["functionDeclarations"][0]["name"]
            parts.append({"functionCall": {"name": name, "args": self.call}})
        usage = {
            "promptTokenCount": USED[0],
            "candidatesTokenCount": USED[1],
            "totalTokenCount": sum(USED),
        }
        reason = (CUT if self.is_cut else ENDED)["google_genai"]

        def reply(parts: list[Json], **ended: str) -> Json:
            candidate = {"content": {"role": "model", "parts": parts}, "index": 0, **ended}
            return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini"}

        if "stream" not in request.url.path:
            return JSONResponse(reply(parts, finishReason=reason))
        last = len(parts) - 1
        ended = ({"finishReason": reason} if number == last else {} for number in range(len(parts)))
        return _events(reply([part], **how) for part, how in zip(parts, ended, strict=True))

    async def _mistral(self, request: Request) -> Response:
        body, failure = await self._read(request)
        if failure is not None:
            return failure
        calls: list[Json] = []
        if self.call is not None:
            called = {"name": body["tools"][0]["function"]["name"], "arguments": json.dumps(self.call)}
            calls.append({"id": "call00001", "index": 0, "type": "function", "function": called})
        reason = CUT["mistralai"] if self.is_cut else "tool_calls" if calls else ENDED["mistralai"]
        message = {"role": "assistant", "content": self.text, "tool_calls": calls or None}
        usage = {"prompt_tokens": USED[0], "completion_tokens": USED[1], "total_tokens": sum(USED)}
        reply = {"id": "cmpl", "object": "chat.completion", "model": body["model"], "created": 1}

        def choice(**said: Any) -> list[Json]:
            return [{"index": 0, "finish_reason": None, **said}]

        if not body.get("stream"):
            return JSONResponse(
                {**reply, "choices": choice(message=message, finish_reason=reason), "usage": usage}
            )
        deltas: list[Json] = [{"role": "assistant", "content": each} for each in _pieces(self.text)]
        deltas += [{"content": "", "tool_calls": calls}] if calls else []
        events = [{**reply, "choices": choice(delta=delta)} for delta in deltas]
        events.append(
            {**reply, "choices": choice(delta={"content": ""}, finish_reason=reason), "usage": usage}
        )
        return _events([*events, "[DONE]"])


class _ClosesConnections:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def answered(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"connection", b"close")]
            await send(message)

        await self._app(scope, receive, answered)


def _pieces(text: str) -> list[str]:
    return [text[: len(text) // 2], text[len(text) // 2 :]] if text else []


def _anthropic_events(message: Json, content: list[Json]) -> Iterator[Json]:
    begun = {**message, "content": [], "stop_reason": None}
    yield {"type": "message_start", "message": begun}
    for index, block in enumerate(content):
        if block["type"] == "text":
            empty, deltas = (
                {**block, "text": ""},
                [{"type": "text_delta", "text": each} for each in _pieces(block["text"])],
            )
        else:
            empty, deltas = (
                {**block, "input": {}},
                [
                    {"type": "input_json_delta", "partial_json": each}
                    for each in _pieces(json.dumps(block["input"]))
                ],
            )
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": message["usage"]}
    yield {"type": "message_stop"}


def _events(events: Any, *, named: bool = False) -> Response:
    def lines() -> Iterator[str]:
        for each in events:
            name = f"event: {each['type']}\n" if named else ""
            yield f"{name}data: {each if isinstance(each, str) else json.dumps(each)}\n\n"

    return StreamingResponse(lines(), media_type="text/event-stream")
