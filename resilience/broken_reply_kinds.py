"""Broken replies of a model, each as whole JSON and as a stream of chat completions."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.responses import Response, StreamingResponse

Json = dict[str, Any]
Broken = Callable[[bool], Response]
"""Makes the response to a request that wants a stream, or does not."""

TEXT = "The deposit is due on 1 March. [S1]"
REFUSAL = "I cannot help with that request."
LONG_WAIT = 120
"""Seconds that a busy model asks its callers to wait."""
SILENCE_SECONDS = 30.0
"""Longer than any timeout of the campaign."""
HUGE = 200_000
DEPTH = 100_000

_HEAD = {"id": "chatcmpl-0", "created": 0, "model": "broken"}
_USAGE = {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10}
_DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True)
class Part:
    """Bytes of a body. Before them nothing is sent for `seconds`; after them the connection is `reset`."""

    content: bytes
    seconds: float = 0
    reset: bool = False


async def _body(parts: Iterable[Part]) -> AsyncIterator[bytes]:
    for part in parts:
        await asyncio.sleep(part.seconds)
        yield part.content
        if part.reset:
            raise ConnectionResetError("on purpose")


def _sent(parts: Iterable[Part], *, stream: bool) -> Response:
    return StreamingResponse(_body(parts), media_type="text/event-stream" if stream else "application/json")


def _event(data: object) -> bytes:
    return f"data: {json.dumps(data)}\n\n".encode()


def _status(status: int, headers: Mapping[str, str] | None = None, body: str = "", media: str = "") -> Broken:
    """A refusal, the same for streams."""
    content = body or json.dumps({"error": {"message": "broken on purpose", "type": "scripted"}})
    return lambda _stream: Response(content, status, headers, media or "application/json")


def _raw(whole: bytes, events: bytes | None = None, headers: Mapping[str, str] | None = None) -> Broken:
    """Bytes as they are; without `events` the same for streams."""

    def response(stream: bool) -> Response:
        media = "text/event-stream" if stream else "application/json"
        return Response(whole if events is None or not stream else events, 200, headers, media)

    return response


def _json(whole: object, *chunks: object) -> Broken:
    """A JSON value, and the values of the events of a stream."""
    return _raw(json.dumps(whole).encode(), b"".join(map(_event, chunks)) + _DONE)


def _choices(choices: object, chunk_choices: object) -> Broken:
    chunk = {**_HEAD, "object": "chat.completion.chunk", "choices": chunk_choices}
    return _json({**_HEAD, "object": "chat.completion", "choices": choices, "usage": _USAGE}, chunk)


def _choice(choice: object, chunk_choice: object) -> Broken:
    return _choices([choice], [chunk_choice])


def _message(finish: object = "stop", usage: object = _USAGE, **fields: object) -> Broken:
    """A message with these fields, in a stream as one delta."""
    said = {"role": "assistant", **fields}
    whole = {**_HEAD, "choices": [{"index": 0, "message": said, "finish_reason": finish}], "usage": usage}
    chunk = {**_HEAD, "choices": [{"index": 0, "delta": said, "finish_reason": None}]}
    last = {**_HEAD, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}], "usage": usage}
    return _json(whole, chunk, last)


def _text_deltas(*texts: str) -> Broken:
    deltas = [{**_HEAD, "choices": [{"index": 0, "delta": {"content": text}}]} for text in texts]
    end = {**_HEAD, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    said = {"role": "assistant", "content": "".join(texts)}
    whole = {**_HEAD, "choices": [{"index": 0, "message": said, "finish_reason": "stop"}], "usage": _USAGE}
    return _json(whole, *deltas, end)


def _calls(*calls: object) -> Broken:
    return _message("tool_calls", content=None, tool_calls=list(calls))


def _call(name: object, arguments: object, number: object = "call_0", index: int = 0) -> Json:
    function = {"name": name, "arguments": arguments}
    return {"index": index, "id": number, "type": "function", "function": function}


def _in_the_middle(rest: Part) -> Broken:
    """The beginning of an answer, and then `rest`."""
    said = [{**_HEAD, "choices": [{"index": 0, "delta": {"content": "The deposit"}}]}]
    beginning = {True: _event(said[0]), False: b'{"id": "chatcmpl-0", "choices": [{"ind'}
    return lambda stream: _sent([Part(beginning[stream]), rest], stream=stream)


def _before(first: Part) -> Broken:
    return lambda stream: _sent([first], stream=stream)


def _hanging_before_its_head(_stream: bool) -> Response:
    async def late() -> AsyncIterator[bytes]:
        yield b""

    class Late(StreamingResponse):
        async def __call__(self, *asgi: Any) -> None:
            await asyncio.sleep(SILENCE_SECONDS)
            await super().__call__(*asgi)

    return Late(late())


def _no_end(stream: bool) -> Response:
    """A whole answer, in a stream without its last event."""
    whole = _message(content=TEXT)(stream)
    return Response(bytes(whole.body).replace(_DONE, b""), media_type=whole.media_type)


_ANSWER: dict[str, Broken] = {
    "no JSON": _raw(b"hello", b"data: hello\n\n"),
    "an HTML page": _raw(b"<html><body>proxy</body></html>"),
    "nothing": _raw(b""),
    "null": _json(None, None),
    "a list": _json([], []),
    "a number": _json(5, 5),
    "a text": _json("fine", "fine"),
    "bytes that are no UTF-8": _raw(b'{"choices": "\xff\xfe"}', b'data: {"choices": "\xff"}\n\n'),
    "JSON that is too deep": _raw(b"[" * DEPTH + b"]" * DEPTH, b"data: " + b"[" * DEPTH + b"\n\n"),
    "a body that is not compressed as it says": _raw(b"plain", headers={"content-encoding": "gzip"}),
    "half of a compressed body": _raw(
        gzip.compress(b'{"choices": []}' * 99)[:40], headers={"content-encoding": "gzip"}
    ),
    "no choices": _json(dict(_HEAD), dict(_HEAD)),
    "choices that are null": _choices(None, None),
    "an empty list of choices": _choices([], []),
    "choices that are text": _choices("none", "none"),
    "a choice that is null": _choice(None, None),
    "a choice that is text": _choice("stop", "stop"),
    "a message that is null": _choice({"index": 0, "message": None}, {"index": 0, "delta": None}),
    "no message": _choice({"index": 0, "finish_reason": "stop"}, {"index": 0}),
    "a message that is text": _choice({"index": 0, "message": TEXT}, {"index": 0, "delta": TEXT}),
    "content that is null": _message(content=None),
    "content that is a number": _message(content=5),
    "content that is an object": _message(content={"text": TEXT}),
    "content of unknown parts": _message(content=[{"type": "text", "text": None}, {"type": "hologram"}, 5]),
    "white space": _message(content=" \n\t "),
    "an unknown role": _message(role="oracle", content=TEXT),
    "a role that is null": _message(role=None, content=TEXT),
    "two choices": _choices(
        [{"index": at, "message": {"role": "assistant", "content": TEXT}} for at in range(2)],
        [{"index": at, "delta": {"content": TEXT}, "finish_reason": "stop"} for at in range(2)],
    ),
    "usage in words": _message(content=TEXT, usage={"prompt_tokens": "many", "completion_tokens": None}),
    "usage below zero": _message(content=TEXT, usage={"prompt_tokens": -5, "completion_tokens": -5}),
    "usage that is a list": _message(content=TEXT, usage=[1, 2]),
    "usage that is null": _message(content=TEXT, usage=None),
    "usage without its parts": _message(content=TEXT, usage={}),
    "an unknown finish reason": _message("tired", content=TEXT),
    "a finish reason that is a number": _message(5, content=TEXT),
    "no finish reason": _message(None, content=TEXT),
    "an error with status 200": _json({"error": {"message": "overloaded"}}, {"error": {"message": "busy"}}),
    "an error in words": _json({"error": "overloaded"}, {"error": "overloaded"}),
    "no last event": _no_end,
    "only the last event": _raw(b"{}", _DONE),
    "only comments": _raw(b"{}", b": ping\n\n: ping\n\n"),
    "an unknown event": _raw(b"{}", b"event: surprise\ndata: {}\n\n" + _DONE),
}
_TEXTS: dict[str, Broken] = {
    "a refusal": _message(refusal=REFUSAL, content=None),
    "a content filter": _message("content_filter", content="The"),
    "a length limit": _message("length", content=TEXT),
    "a length limit before any text": _message("length", content=None),
    "a lone surrogate": _text_deltas("The deposit \ud83d is due on 1 March. [S1]"),
    "a surrogate pair in two parts": _text_deltas("The deposit \ud83d", "\ude00 is due on 1 March. [S1]"),
    "a lone surrogate at the end": _text_deltas("The deposit is due. [S1]", "\ud83d"),
    "control characters": _text_deltas("The\x00 deposit\x1b[31m is due\u2028 on 1 March. [S1]\ufeff"),
    "a huge text": _text_deltas("word " * (HUGE // 5)),
    "text that looks like our citation": _text_deltas(
        'It is. [Page 1 of Document "deposit.txt"] [S99] [S-1]'
    ),
    "an event of ours": _text_deltas("event: done\ndata: {}\n\nid: 9\n\n"),
}
_CALLS: dict[str, Broken] = {
    "a call of an unknown tool": _calls(_call("format_disk", "{}")),
    "a call without a name": _calls(_call(None, "{}")),
    "a call whose name is a number": _calls(_call(5, "{}")),
    "a call with half of its arguments": _calls(_call("semantic_search", '{"query": "dep')),
    "a call with arguments that are text": _calls(_call("semantic_search", "deposit")),
    "a call with arguments that are a list": _calls(_call("semantic_search", '["deposit"]')),
    "a call with arguments that are no text": _calls(_call("semantic_search", {"query": "deposit"})),
    "a call with arguments that are null": _calls(_call("semantic_search", None)),
    "a call with wrong types": _calls(_call("semantic_search", '{"query": 5, "top_k": "all"}')),
    "a call with surrogates": _calls(_call("semantic_search", '{"query": "\\ud83d deposit"}')),
    "a call with huge arguments": _calls(_call("semantic_search", json.dumps({"query": "x" * HUGE}))),
    "a call for documents of others": _calls(_call("documents_get_content", '{"document_id": "../other"}')),
    "calls with one id": _calls(*(_call("documents_list", "{}", "same", at) for at in range(3))),
    "a call without an id": _calls(_call("documents_list", "{}", None)),
    "a call that is null": _calls(None),
    "a call without a function": _calls({"index": 0, "id": "call_0", "type": "function", "function": None}),
    "calls that are an object": _message("tool_calls", content=None, tool_calls={"name": "documents_list"}),
    "forty calls": _calls(*(_call("documents_list", "{}", f"call_{at}", at) for at in range(40))),
}
_CONNECTION: dict[str, Broken] = {
    "a reset before the body": _before(Part(b"", reset=True)),
    "a reset in the middle": _in_the_middle(Part(b"", reset=True)),
    "an end in the middle": _in_the_middle(Part(b"")),
    "broken JSON in the middle": _in_the_middle(Part(b"data: {oops\n\n")),
    "an error in the middle": _in_the_middle(Part(_event({"error": {"message": "lost", "code": None}}))),
    "a silence before the head": _hanging_before_its_head,
    "a silence before the body": _before(Part(b"", seconds=SILENCE_SECONDS)),
    "a silence in the middle": _in_the_middle(Part(b"", seconds=SILENCE_SECONDS)),
}
_html = partial(_status, body="<html>Bad gateway</html>", media="text/html")
_STATUS: dict[str, Broken] = {
    "busy": _status(429),
    "busy for long": _status(429, {"retry-after": str(LONG_WAIT)}),
    "busy for long in milliseconds": _status(429, {"retry-after-ms": str(LONG_WAIT * 1000)}),
    "busy until a date long past": _status(429, {"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}),
    "busy for an odd time": _status(429, {"retry-after": "soon"}),
    "busy for a negative time": _status(429, {"retry-after": "-7"}),
    "busy for ever": _status(429, {"retry-after": "inf"}),
    "busy, and to be asked again": _status(429, {"x-should-retry": "true"}),
    "an error 500": _status(500),
    "an error 500 without a body": _status(500, body=" "),
    "an error 500 of an odd form": _status(500, body='{"error": ["a", 5, null]}'),
    "an error 502 of a proxy": _html(502),
    "an error 503 for long": _html(503, {"retry-after": str(LONG_WAIT)}),
    "an error 529": _status(529),
    "a refused request": _status(400),
    "a refused key": _status(401),
    "an unknown model": _status(404),
    "a request that is too large": _html(413),
    "a teapot": _status(418),
    "a redirection in circles": _status(307, {"location": "/v1/chat/completions"}),
    "no content": lambda _stream: Response(status_code=204),
}
KINDS: dict[str, Broken] = {**_ANSWER, **_TEXTS, **_CALLS, **_CONNECTION, **_STATUS}
LONG_WAITS = ("busy for long", "busy for long in milliseconds", "an error 503 for long")
SURROGATES = ("a lone surrogate", "a surrogate pair in two parts")
CUT = "a length limit"
REFUSED = "a refusal"
