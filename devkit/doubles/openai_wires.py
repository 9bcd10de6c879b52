"""How the OpenAI double puts a reply: as chat completions and as responses, whole and in pieces."""

import json
from collections.abc import Iterator
from typing import Protocol

from devkit.doubles.openai_talk import Json, Reply, ToolCall, tokens_of

ARGUMENT_LETTERS = 16
_WHY_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}


class Wire(Protocol):
    """One API's form of a reply."""

    def whole(self) -> Json:
        """The reply as one JSON object."""

    def opening(self) -> str:
        """The events before the first delta."""

    def delta(self, text: str) -> str:
        """The event for a piece of text."""

    def broken(self, message: str, code: str | None) -> str:
        """The event for a failure in mid-stream."""

    def closing(self) -> Iterator[str]:
        """The events after the last delta."""


class ChatCompletions:
    """`POST /chat/completions`."""

    def __init__(self, body: Json, reply: Reply) -> None:
        self._body = body
        self._reply = reply
        self._head = {"id": "chatcmpl-0", "created": 0, "model": "double"}

    def whole(self) -> Json:
        message: Json = {"role": "assistant", "content": self._reply.text or None}
        message["refusal"] = self._reply.refusal or None
        if self._reply.tool_calls:
            message["tool_calls"] = [_call(i, call) for i, call in enumerate(self._reply.tool_calls)]
        choice = {"index": 0, "message": message, "finish_reason": self._reply.finish}
        usage = {"usage": self._usage()} if self._reply.usage else {}
        choices = [choice] if self._reply.choices else []
        return {**self._head, "object": "chat.completion", "choices": choices, **usage}

    def opening(self) -> str:
        return self._event({"role": "assistant", "content": ""})

    def delta(self, text: str) -> str:
        return self._event({"content": text})

    def broken(self, message: str, code: str | None) -> str:
        return _event({"error": {"message": message, "code": code, "type": "scripted"}})

    def closing(self) -> Iterator[str]:
        for part in _in_parts(self._reply.refusal):
            yield self._event({"refusal": part})
        for index, call in enumerate(self._reply.tool_calls):
            named = _call(index, call.model_copy(update={"arguments": ""}))
            yield self._event({"tool_calls": [{"index": index, **named}]})
            for part in _in_parts(call.arguments_text):
                yield self._event({"tool_calls": [{"index": index, "function": {"arguments": part}}]})
        yield self._event({}, self._reply.finish)
        if self._reply.usage and (self._body.get("stream_options") or {}).get("include_usage"):
            yield _event({**self._head, **_CHUNK, "choices": [], "usage": self._usage()})
        yield "data: [DONE]\n\n"

    def _event(self, delta: Json, finish: str | None = None) -> str:
        choices = [{"index": 0, "delta": delta, "finish_reason": finish}] if self._reply.choices else []
        return _event({**self._head, **_CHUNK, "choices": choices})

    def _usage(self) -> Json:
        given, made = tokens_of(self._body, self._reply)
        return {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}


class Responses:
    """`POST /responses`."""

    def __init__(self, body: Json, reply: Reply) -> None:
        self._body = body
        self._reply = reply
        self._number = 0

    def whole(self) -> Json:
        reason = _WHY_INCOMPLETE.get(self._reply.finish or "")
        given, made = tokens_of(self._body, self._reply)
        usage = {
            "input_tokens": given,
            "output_tokens": made,
            "total_tokens": given + made,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        }
        return {
            **self._response("incomplete" if reason else "completed"),
            "incomplete_details": {"reason": reason} if reason else None,
            "output": self._output() if self._reply.choices else [],
            "usage": usage if self._reply.usage else None,
        }

    def opening(self) -> str:
        item = {**_message(""), "status": "in_progress", "content": []}
        part = {"type": "output_text", "text": "", "annotations": []}
        opened = self._event("response.created", response=self._response("in_progress"))
        if not self._reply.text:
            return opened
        return (
            opened
            + self._event("response.output_item.added", output_index=0, item=item)
            + self._event("response.content_part.added", **_TEXT, part=part)
        )

    def delta(self, text: str) -> str:
        return self._event("response.output_text.delta", **_TEXT, delta=text, logprobs=[])

    def broken(self, message: str, code: str | None) -> str:
        return self._event("error", code=code, message=message, param=None)

    def closing(self) -> Iterator[str]:
        for at, item in enumerate(self._output()):
            if item["type"] == "function_call":
                yield from self._call_events(at, item)
            elif self._reply.refusal:
                yield self._event("response.refusal.done", **_TEXT, refusal=self._reply.refusal)
            else:
                yield self._event("response.output_text.done", **_TEXT, text=self._reply.text, logprobs=[])
            yield self._event("response.output_item.done", output_index=at, item=item)
        whole = self.whole()
        yield self._event(f"response.{whole['status']}", response=whole)

    def _call_events(self, at: int, item: Json) -> Iterator[str]:
        begun = {**item, "arguments": "", "status": "in_progress"}
        yield self._event("response.output_item.added", output_index=at, item=begun)
        place = {"output_index": at, "item_id": item["id"]}
        for part in _in_parts(item["arguments"]):
            yield self._event("response.function_call_arguments.delta", **place, delta=part)
        done = {"name": item["name"], "arguments": item["arguments"]}
        yield self._event("response.function_call_arguments.done", **place, **done)

    def _output(self) -> list[Json]:
        said = [_message(self._reply.text)] if self._reply.text else []
        said += [_refused(self._reply.refusal)] if self._reply.refusal else []
        return said + [_function_call(i, call) for i, call in enumerate(self._reply.tool_calls)]

    def _response(self, status: str) -> Json:
        return {
            "id": "resp_0",
            "object": "response",
            "created_at": 0,
            "status": status,
            "model": "double",
            "output": [],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "error": None,
            "incomplete_details": None,
            "metadata": {},
        }

    def _event(self, kind: str, **data: object) -> str:
        self._number += 1
        return f"event: {kind}\n" + _event({"type": kind, "sequence_number": self._number, **data})


def as_chat(body: Json) -> Json:
    """A request to the responses API in the form of chat completions."""
    chat: Json = {"messages": [_as_message(item) for item in body["input"]]}
    if body.get("instructions"):
        chat["messages"].insert(0, {"role": "system", "content": body["instructions"]})
    if tools := body.get("tools"):
        chat["tools"] = [
            {"type": "function", "function": {k: v for k, v in tool.items() if k not in ("type", "strict")}}
            for tool in tools
        ]
    if (form := (body.get("text") or {}).get("format")) is not None:
        chat["response_format"] = {"type": form["type"], "json_schema": form}
    choice = body.get("tool_choice")
    chat["tool_choice"] = {"function": choice} if isinstance(choice, dict) else choice
    return chat


def _as_message(item: Json) -> Json:
    match item.get("type", "message"):
        case "function_call":
            function = {"name": item["name"], "arguments": item["arguments"]}
            return {"role": "assistant", "tool_calls": [{"id": item["call_id"], "function": function}]}
        case "function_call_output":
            return {"role": "tool", "tool_call_id": item["call_id"], "content": item["output"]}
        case _:
            content = item["content"]
            return {
                "role": item["role"],
                "content": content if isinstance(content, str) else [_as_part(part) for part in content],
            }


def _as_part(part: Json) -> Json:
    if part["type"] == "input_file":
        return {"type": "file", "file": {key: value for key, value in part.items() if key != "type"}}
    if part["type"] == "input_image":
        image = {"url": part["image_url"], "detail": part.get("detail", "")}
        return {"type": "image_url", "image_url": image}
    return {"type": "text", "text": part["text"]}


_CHUNK = {"object": "chat.completion.chunk"}
_TEXT: Json = {"output_index": 0, "content_index": 0, "item_id": "msg_0"}


def _message(text: str) -> Json:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {
        "type": "message",
        "id": "msg_0",
        "role": "assistant",
        "status": "completed",
        "content": content,
    }


def _refused(text: str) -> Json:
    return {**_message(""), "content": [{"type": "refusal", "refusal": text}]}


def _function_call(index: int, call: ToolCall) -> Json:
    return {
        "type": "function_call",
        "id": f"fc_{index}",
        "call_id": f"call_{index}",
        "name": call.name,
        "arguments": call.arguments_text,
        "status": "completed",
    }


def _call(index: int, call: ToolCall) -> Json:
    function = {"name": call.name, "arguments": call.arguments_text}
    return {"id": f"call_{index}", "type": "function", "function": function}


def _in_parts(arguments: str) -> Iterator[str]:
    for start in range(0, len(arguments), ARGUMENT_LETTERS):
        yield arguments[start : start + ARGUMENT_LETTERS]


def _event(data: Json) -> str:
    return f"data: {json.dumps(data)}\n\n"
