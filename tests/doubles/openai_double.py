"""An OpenAI-compatible server for tests and bench: scripted, counted, and with failures on request.

In process:  `double = OpenAIDouble(); with serving(double) as base_url: ...`
By itself:   `python -m tests.doubles.openai_double PORT [--tokens 50 --delay-ms 20 --text ...]`
Over HTTP:   `POST /_script` sets behaviour, `GET /_log` tells what was asked and how far each answer got.
"""

import argparse
import asyncio
import base64
import contextlib
import json
import re
import socket
import threading
from array import array
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import pairwise
from typing import Any

import uvicorn
from pydantic import BaseModel, Field
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from core.grounding.markers import marker
from core.grounding.sources import FencedSource, read_fenced, without_fenced
from tests.doubles.bag_of_words import DIMENSIONS, bag_of_words

PREFIXES = ("/v1", "/openai/v1")
Json = dict[str, Any]


class ToolCall(BaseModel):
    """A call to a tool; `arguments` as text may be broken JSON on purpose."""

    name: str
    arguments: Json | str = {}

    def as_json(self, index: int) -> Json:
        arguments = self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)
        function = {"name": self.name, "arguments": arguments}
        return {"id": f"call_{index}", "type": "function", "function": function}


class Reply(BaseModel):
    """One answer. `choices=False` sends none at all, `usage=False` leaves out the token counts."""

    text: str = ""
    tool_calls: list[ToolCall] = []
    finish_reason: str = ""
    usage: bool = True
    choices: bool = True

    @property
    def finish(self) -> str:
        return self.finish_reason or ("tool_calls" if self.tool_calls else "stop")


class Failure(BaseModel):
    """One refusal. With `after_tokens` a stream breaks off there instead of failing at once."""

    status: int = 500
    code: str | None = None
    message: str = "scripted failure"
    headers: dict[str, str] = {}
    after_tokens: int | None = None


class Script(BaseModel):
    """How to behave. Queued failures and replies go first; `tokens` cuts a text into so many deltas.

    `vectors` is how many an answer to an embeddings request holds; None: as many as there are texts.
    """

    failures: deque[Failure] = deque()
    replies: deque[Reply] = deque()
    text: str | None = None
    tokens: int | None = None
    delay_ms: float = 0
    embedding_failures: deque[Failure] = deque()
    embedding_delay_ms: float = 0
    vectors: int | None = None


class LoggedRequest(BaseModel):
    """A request and what has become of its answer."""

    path: str
    body: Json
    emitted: int = Field(default=0, description="text deltas sent so far")
    finished: bool = False


class ChatRequest(BaseModel):
    """What a responder may want to know of a request."""

    body: Json

    @property
    def question(self) -> str:
        """The last thing the user said, less any sources, transcript and label."""
        texts = [_text(message) for message in self.body["messages"] if message["role"] == "user"]
        return re.split(r"(?:^|\n)(?:Last q|Q)uestion:\s*", without_fenced(texts[-1]))[-1] if texts else ""

    @property
    def sources(self) -> list[FencedSource]:
        return read_fenced("\n".join(_text(message) for message in self.body["messages"]))

    @property
    def forced_tool(self) -> Json | None:
        """The function that the answer must call."""
        choice, tools = self.body.get("tool_choice"), self.body.get("tools") or []
        functions: list[Json] = [tool["function"] for tool in tools]
        if isinstance(choice, dict):
            return next(f for f in functions if f["name"] == choice["function"]["name"])
        return functions[0] if functions and choice in ("required", "any") else None

    @property
    def schema_asked(self) -> Json | None:
        """The JSON schema that the answer's text must have."""
        schema: Json | None = (self.body.get("response_format") or {}).get("json_schema", {}).get("schema")
        return schema


Responder = Callable[[ChatRequest], Reply | None]


class OpenAIDouble:
    """The server's state. `responder` goes before the defaults; None from it means: the default.

    `embedding` is released once for every embeddings request that arrives: acquire it to wait for one.
    """

    def __init__(self, responder: Responder | None = None, script: Script | None = None) -> None:
        self.responder = responder
        self.script = script or Script()
        self.requests: list[LoggedRequest] = []
        self.embedding = threading.Semaphore(0)
        self.most_embedding_at_once = 0
        routes = [Route("/_log", self._log), Route("/_script", self._set_script, methods=["POST"])]
        for prefix in PREFIXES:
            routes.append(Route(f"{prefix}/models", self._models))
            routes.append(Route(f"{prefix}/chat/completions", self._chat, methods=["POST"]))
            routes.append(Route(f"{prefix}/embeddings", self._embed, methods=["POST"]))
        self.app = Starlette(routes=routes)

    async def _models(self, _: Request) -> Response:
        return JSONResponse({"object": "list", "data": [{"id": "double", "object": "model"}]})

    async def _log(self, _: Request) -> Response:
        return JSONResponse([request.model_dump() for request in self.requests])

    async def _set_script(self, request: Request) -> Response:
        """Replace the script and forget the log."""
        self.script = Script.model_validate(await request.json())
        self.requests.clear()
        return JSONResponse(self.script.model_dump(mode="json"))

    async def _chat(self, request: Request) -> Response:
        body = await request.json()
        logged = LoggedRequest(path=request.url.path, body=body)
        self.requests.append(logged)
        failure = self.script.failures.popleft() if self.script.failures else None
        if failure and failure.after_tokens is None:
            return _refusal(failure)
        reply = self._reply(ChatRequest(body=body))
        pieces = _pieces(reply.text, self.script.tokens)
        if body.get("stream"):
            events = self._stream(logged, reply, pieces, failure)
            return StreamingResponse(events, media_type="text/event-stream")
        await asyncio.sleep(len(pieces) * self.script.delay_ms / 1000)
        logged.emitted, logged.finished = len(pieces), True
        return JSONResponse(_completion(body, reply))

    async def _embed(self, request: Request) -> Response:
        body = await request.json()
        logged = LoggedRequest(path=request.url.path, body=body)
        self.requests.append(logged)
        self.embedding.release()
        unfinished = sum(not each.finished for each in self.requests)
        self.most_embedding_at_once = max(self.most_embedding_at_once, unfinished)
        await asyncio.sleep(self.script.embedding_delay_ms / 1000)
        if self.script.embedding_failures:
            return _refusal(self.script.embedding_failures.popleft())
        logged.finished = True
        return JSONResponse(_embeddings(body, self.script.vectors))

    def _reply(self, asked: ChatRequest) -> Reply:
        if self.script.replies:
            return self.script.replies.popleft()
        scripted = self.responder(asked) if self.responder else None
        return scripted or default_reply(asked, self.script.text)

    async def _stream(
        self, logged: LoggedRequest, reply: Reply, pieces: list[str], failure: Failure | None
    ) -> AsyncIterator[str]:
        head = {"id": "chatcmpl-0", "object": "chat.completion.chunk", "created": 0, "model": "double"}

        def event(delta: Json, finish: str | None = None) -> str:
            choices = [{"index": 0, "delta": delta, "finish_reason": finish}] if reply.choices else []
            return _event({**head, "choices": choices})

        yield event({"role": "assistant", "content": ""})
        for piece in pieces:
            if failure and failure.after_tokens == logged.emitted:
                yield _event(
                    {"error": {"message": failure.message, "code": failure.code, "type": "scripted"}}
                )
                return
            if self.script.delay_ms:
                await asyncio.sleep(self.script.delay_ms / 1000)
            logged.emitted += 1
            yield event({"content": piece})
        for index, call in enumerate(reply.tool_calls):
            for delta in _call_deltas(index, call.as_json(index)):
                yield event({"tool_calls": [delta]})
        yield event({}, reply.finish)
        if reply.usage and (logged.body.get("stream_options") or {}).get("include_usage"):
            yield _event({**head, "choices": [], "usage": _usage(logged.body, reply)})
        logged.finished = True
        yield "data: [DONE]\n\n"


def default_reply(asked: ChatRequest, text: str | None = None) -> Reply:
    """What an obliging model would say: the forced form, else `text`, else a cited quote, else an echo."""
    if forced := asked.forced_tool:
        arguments = example(forced["parameters"], asked.question)
        return Reply(tool_calls=[ToolCall(name=forced["name"], arguments=arguments)])
    if schema := asked.schema_asked:
        return Reply(text=json.dumps(example(schema, asked.question)))
    if text is not None:
        return Reply(text=text)
    if sources := asked.sources:
        first = re.split(r"(?<=[.!?])\s", " ".join(sources[0].text.split()), maxsplit=1)[0]
        return Reply(text=f"{first} {marker(sources[0].number)}")
    return Reply(text=f"You said: {asked.question}")


def example(schema: Json, text: str) -> Any:
    """A small instance of an inlined JSON schema, with `text` for every string."""
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            return {name: example(part, text) for name, part in schema.get("properties", {}).items()}
        case "array":
            return []
        case "integer" | "number":
            return schema.get("minimum", 0)
        case "boolean":
            return False
        case "null":
            return None
        case _:
            return text


@contextlib.contextmanager
def serving(double: OpenAIDouble, prefix: str = PREFIXES[0]) -> Iterator[str]:
    """Serve from a thread on a free loopback port; gives the base URL that clients want."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(double.app, log_level="warning", lifespan="off", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}{prefix}"
        finally:
            server.should_exit = server.force_exit = True
            thread.join()


def _text(message: Json) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _pieces(text: str, tokens: int | None) -> list[str]:
    if not text:
        return []
    if tokens is None:
        return re.findall(r"\s*\S+\s*?", text)
    while len(text) < tokens:
        text += " " + text
    cuts = [len(text) * i // tokens for i in range(tokens + 1)]
    return [text[start:end] for start, end in pairwise(cuts)]


def _call_deltas(index: int, call: Json) -> Iterator[Json]:
    arguments = call["function"]["arguments"]
    yield {"index": index, **call, "function": {"name": call["function"]["name"], "arguments": ""}}
    for start in range(0, len(arguments), 16):
        yield {"index": index, "function": {"arguments": arguments[start : start + 16]}}


def _usage(body: Json, reply: Reply) -> Json:
    given = sum(len(_text(message).split()) for message in body["messages"])
    made = len(reply.text.split()) + sum(len(call.name) for call in reply.tool_calls)
    return {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}


def _completion(body: Json, reply: Reply) -> Json:
    message: Json = {"role": "assistant", "content": reply.text or None}
    if reply.tool_calls:
        message["tool_calls"] = [call.as_json(i) for i, call in enumerate(reply.tool_calls)]
    choice = {"index": 0, "message": message, "finish_reason": reply.finish}
    usage = {"usage": _usage(body, reply)} if reply.usage else {}
    head = {"id": "chatcmpl-0", "object": "chat.completion", "created": 0, "model": "double"}
    return {**head, "choices": [choice] if reply.choices else [], **usage}


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


def _event(data: Json) -> str:
    return f"data: {json.dumps(data)}\n\n"


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
