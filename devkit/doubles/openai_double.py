"""An OpenAI-compatible server for tests and bench: scripted, counted, and with failures on request.

In process:  `double = OpenAIDouble(); with serving(double) as base_url: ...`
By itself:   `python -m devkit.doubles.openai_double PORT [--tokens 50 --delay-ms 20 --text ...]`
Over HTTP:   `POST /_script` sets behaviour, `GET /_log` tells what was asked and how far each answer got.
"""

import argparse
import asyncio
import base64
import contextlib
import json
import threading
import time
from array import array
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator

import uvicorn
from pydantic import BaseModel, Field
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from devkit.doubles.bag_of_words import DIMENSIONS, bag_of_words
from devkit.doubles.openai_files import Shelf, file_type_refused, no_such_file
from devkit.doubles.openai_talk import ChatRequest, Json, Reply, ToolCall, default_reply, pieces_of
from devkit.doubles.openai_window import Window
from devkit.doubles.openai_wires import ChatCompletions, Responses, Wire, as_chat
from devkit.serving import serve_from_thread

__all__ = [
    "ChatRequest",
    "Failure",
    "LoggedRequest",
    "OpenAIDouble",
    "Reply",
    "Script",
    "ToolCall",
    "default_reply",
    "serving",
]

AZURE = "/openai/v1"
PREFIXES = ("/v1", AZURE)


class Failure(BaseModel):
    """One refusal. With `after_tokens` a stream breaks off there instead of failing at once.

    `silent`: it just ends there, as when the connection is cut.
    """

    status: int = 500
    code: str | None = None
    message: str = "scripted failure"
    headers: dict[str, str] = {}
    after_tokens: int | None = None
    silent: bool = False


TOO_LONG = Failure(status=400, code="context_length_exceeded", message="the prompt is too long")


class Script(BaseModel):
    """How to behave. Queued failures and replies go first; `tokens` cuts a text into so many deltas.

    `vectors` is how many an answer to an embeddings request holds; None: as many as there are texts.
    `reads_files`: whether the model takes files; under Azure's prefix only the responses API does anyway.
    """

    failures: deque[Failure] = deque()
    replies: deque[Reply] = deque()
    text: str | None = None
    tokens: int | None = None
    delay_ms: float = 0
    embedding_failures: deque[Failure] = deque()
    embedding_delay_ms: float = 0
    vectors: int | None = None
    reads_files: bool = True


class LoggedRequest(BaseModel):
    """A request and what has become of its answer."""

    path: str
    body: Json
    authorization: str = ""
    emitted: int = Field(default=0, description="text deltas sent so far")
    finished: bool = False
    at: float = Field(default_factory=time.monotonic, description="by the clock of all processes")


Responder = Callable[[ChatRequest], Reply | Failure | Response | None]


class OpenAIDouble:
    """The server's state. `responder` goes before the defaults; None from it means: the default.

    A `Response` of Starlette from it is sent as it is, however broken.

    With a `window` a prompt that is too long is refused, and the token counts are a model's.

    `served` is what other addresses answer, by path: `/v1/models` with an empty list unless it is there.

    `embedding` is released once for every embeddings request that arrives: acquire it to wait for one.
    """

    def __init__(
        self,
        responder: Responder | None = None,
        script: Script | None = None,
        window: Window | None = None,
    ) -> None:
        self.responder = responder
        self.window = window
        self.script = script or Script()
        self.requests: list[LoggedRequest] = []
        self.files = Shelf()
        self.served: dict[str, Json] = {}
        self.embedding = threading.Semaphore(0)
        self.most_embedding_at_once = 0
        routes = [Route("/_log", self._log), Route("/_script", self._set_script, methods=["POST"])]
        for prefix in PREFIXES:
            routes.append(Route(f"{prefix}/chat/completions", self._chat, methods=["POST"]))
            routes.append(Route(f"{prefix}/responses", self._respond, methods=["POST"]))
            routes += self.files.routes(prefix)
            routes.append(Route(f"{prefix}/embeddings", self._embed, methods=["POST"]))
        self.app = Starlette(routes=[*routes, Route("/{path:path}", self._serve, methods=["GET", "POST"])])

    async def _serve(self, request: Request) -> Response:
        path = request.url.path
        if path.endswith("/models") and path.removesuffix("/models") in PREFIXES:
            return JSONResponse(self.served.get(path, {"object": "list", "data": []}))
        return JSONResponse(self.served[path]) if path in self.served else Response("404 not found", 404)

    async def _log(self, _: Request) -> Response:
        return JSONResponse([request.model_dump() for request in self.requests])

    async def _set_script(self, request: Request) -> Response:
        """Replace the script and forget the log."""
        self.script = Script.model_validate(await request.json())
        self.requests.clear()
        return JSONResponse(self.script.model_dump(mode="json"))

    async def _chat(self, request: Request) -> Response:
        body = await request.json()
        takes_files = self.script.reads_files and not request.url.path.startswith(AZURE)
        return await self._answer(request, body, body, ChatCompletions, takes_files=takes_files)

    async def _respond(self, request: Request) -> Response:
        body = await request.json()
        return await self._answer(
            request, body, as_chat(body), Responses, takes_files=self.script.reads_files
        )

    async def _answer(
        self,
        request: Request,
        body: Json,
        chat: Json,
        wire: Callable[[Json, Reply], Wire],
        *,
        takes_files: bool,
    ) -> Response:
        logged = _logged(request, body)
        self.requests.append(logged)
        failure = self.script.failures.popleft() if self.script.failures else None
        if failure and failure.after_tokens is None:
            return _refusal(failure)
        if self.window and not self.window.takes(chat):
            return _refusal(TOO_LONG)
        asked = ChatRequest(body=chat)
        if asked.files and not takes_files:
            return file_type_refused()
        for file_id in filter(None, (file.file_id for file in asked.files)):
            if (file := self.files.live(file_id)) is None:
                # Both statuses are met in the wild.
                return no_such_file(file_id, 404 if wire is ChatCompletions else 400)
            asked.stored[file_id] = file.content
        reply = self._reply(asked)
        if isinstance(reply, Failure):
            return _refusal(reply)
        if isinstance(reply, Response):
            return reply
        await asyncio.sleep(reply.delay_ms / 1000)
        if self.window:
            reply.prompt_tokens = self.window.size_of(chat)
        pieces = pieces_of(reply.text, self.script.tokens)
        said = wire({**chat, "stream_options": body.get("stream_options")}, reply)
        if body.get("stream"):
            events = self._stream(logged, said, pieces, failure)
            return StreamingResponse(events, media_type="text/event-stream")
        await asyncio.sleep(len(pieces) * self.script.delay_ms / 1000)
        logged.emitted, logged.finished = len(pieces), True
        # In ASCII, so that a scripted text may hold half of a surrogate pair.
        return Response(json.dumps(said.whole()), media_type="application/json")

    async def _embed(self, request: Request) -> Response:
        body = await request.json()
        logged = _logged(request, body)
        self.requests.append(logged)
        self.embedding.release()
        unfinished = sum(not each.finished for each in self.requests)
        self.most_embedding_at_once = max(self.most_embedding_at_once, unfinished)
        await asyncio.sleep(self.script.embedding_delay_ms / 1000)
        if self.script.embedding_failures:
            return _refusal(self.script.embedding_failures.popleft())
        logged.finished = True
        return JSONResponse(_embeddings(body, self.script.vectors))

    def _reply(self, asked: ChatRequest) -> Reply | Failure | Response:
        if self.script.replies:
            return self.script.replies.popleft()
        scripted = self.responder(asked) if self.responder else None
        return scripted or default_reply(asked, self.script.text)

    async def _stream(
        self, logged: LoggedRequest, wire: Wire, pieces: list[str], failure: Failure | None
    ) -> AsyncIterator[str]:
        yield wire.opening()
        for piece in pieces:
            if failure and failure.after_tokens == logged.emitted:
                if not failure.silent:
                    yield wire.broken(failure.message, failure.code)
                return
            if self.script.delay_ms:
                await asyncio.sleep(self.script.delay_ms / 1000)
            logged.emitted += 1
            yield wire.delta(piece)
        for event in wire.closing():
            yield event
        logged.finished = True


@contextlib.contextmanager
def serving(double: OpenAIDouble, prefix: str = PREFIXES[0]) -> Iterator[str]:
    """Serve from a thread on a free loopback port; gives the base URL that clients want."""
    with serve_from_thread(double.app) as url:
        yield url + prefix


def _logged(request: Request, body: Json) -> LoggedRequest:
    authorization = request.headers.get("authorization", "")
    return LoggedRequest(path=request.url.path, body=body, authorization=authorization)


def _embeddings(body: Json, vectors: int | None) -> Json:
    texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
    made = [bag_of_words(text, body.get("dimensions") or DIMENSIONS) for text in texts]
    packed = body.get("encoding_format") == "base64"
    data = [
        {"object": "embedding", "index": i, "embedding": _packed(vector) if packed else vector}
        for i, vector in enumerate(made[:vectors])
    ]
    words = sum(len(text.split()) for text in texts)
    usage = {"prompt_tokens": words, "total_tokens": words}
    return {"object": "list", "data": data, "model": body["model"], "usage": usage}


def _packed(vector: list[float]) -> str:
    return base64.b64encode(array("f", vector).tobytes()).decode()


def _refusal(failure: Failure) -> Response:
    error = {"message": failure.message, "code": failure.code, "type": "scripted"}
    return JSONResponse({"error": error}, failure.status, failure.headers)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("port", type=int)
    parser.add_argument("--tokens", type=int, help="cut every text into so many deltas")
    parser.add_argument("--delay-ms", type=float, default=0, help="before each delta")
    parser.add_argument("--text", help="the text of every plain answer")
    given = parser.parse_args()
    script = Script(text=given.text, tokens=given.tokens, delay_ms=given.delay_ms)
    uvicorn.run(OpenAIDouble(script=script).app, host="127.0.0.1", port=given.port, log_level="warning")


if __name__ == "__main__":
    main()
