"""`/v1/responses`: the turns of `/v1/chat/completions`, in the form that SDKs of today use by default."""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Response
from pydantic import ConfigDict, Field, StringConstraints

from orc.api.completions import (
    MAX_MESSAGES,
    MODEL,
    Completion,
    CompletionRequest,
    Json,
    Lenient,
    Message,
    error_of,
)
from orc.api.routes.openai import Asking, Writing, answers
from orc.problems import Problem
from orc.turns.event_log import EventLog
from orc_core.errors import InvalidInput, NotFound

router = APIRouter(tags=["openai"])

_ID = re.compile(r"resp_([0-9a-f-]{36})_[0-9a-f-]{36}")


class InputItem(Message):
    type: Literal["message"] = "message"


class TextOptions(Lenient):
    format: dict[str, Any] | None = None


class ResponseRequest(Lenient):
    """The last message is the question; `instructions`, `tools` and sampling options have no effect."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"model": MODEL, "input": "What is the hotel limit?"}]}
    )

    model: Annotated[str, StringConstraints(max_length=200)] = MODEL
    input: str | Annotated[list[InputItem], Field(min_length=1, max_length=MAX_MESSAGES)]
    stream: bool = False
    previous_response_id: str | None = Field(
        default=None, description="goes on with the conversation of that response, from its latest turn"
    )
    conversation: str | dict[str, str] | None = Field(
        default=None, description="the conversation, or its `id`"
    )
    metadata: dict[str, str] | None = None
    tool_choice: str | dict[str, Any] | None = None
    text: TextOptions | None = None
    background: bool | None = None

    @property
    def completion(self) -> CompletionRequest:
        """The same as a chat completion. Raises InvalidInput for what cannot be done."""
        if self.background:
            raise InvalidInput("background is not supported.", field="background")
        said = [InputItem(role="user", content=self.input)] if isinstance(self.input, str) else self.input
        same = self.model_dump(include={"model", "stream", "metadata", "tool_choice"})
        form = self.text.format if self.text else None
        asked = CompletionRequest(**same, messages=[*said], response_format=form)
        asked.check()
        return asked


@router.post("/responses", responses=answers("response"))
async def create_response(body: ResponseRequest, asking: Asking) -> Response:
    """Answer the last message of the input; `previous_response_id` goes on with a conversation."""
    named = body.conversation.get("id") if isinstance(body.conversation, dict) else body.conversation
    if (previous := body.previous_response_id) is not None:
        found = _ID.fullmatch(previous)
        if found is None or await asking.app.log.head(asking.caller.owner_of(found[1])) is None:
            raise NotFound(f"There is no response {previous}.")
        named = found[1]
    return await asking.answer(body.completion, named, WrittenResponse)


@dataclass
class WrittenResponse(Writing):
    number: Iterator[int] = field(default_factory=count)

    def whole(self, done: Completion) -> Json:
        usage = done.result.metadata.usage
        used = {
            "input_tokens": usage.input_tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": usage.output_tokens,
            "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
            "total_tokens": usage.input_tokens + usage.output_tokens,
        }
        ids = done.result.conversation_id, done.result.turn_id
        return self._response(*ids, "completed", [_message(done)]) | {"usage": used, "orc": done.details}

    def opening(self, log: EventLog) -> Iterator[Json]:
        begun = self._response(log.conversation_id, log.turn_id, "in_progress", [])
        yield self._event("created", response=begun)
        yield self._event("in_progress", response=begun)

    def ending(self, done: Completion) -> Iterator[Json]:
        message = _message(done)
        [part], item = message["content"], {"output_index": 0, "item_id": message["id"]}
        place = item | {"content_index": 0}
        begun = message | {"status": "in_progress", "content": []}
        yield self._event("output_item.added", output_index=0, item=begun)
        yield self._event("content_part.added", **place, part=part | {"text": "", "annotations": []})
        for piece in done.pieces:
            yield self._event("output_text.delta", **place, delta=piece, logprobs=[])
        for number, each in enumerate(part["annotations"]):
            yield self._event(
                "output_text.annotation.added", **place, annotation_index=number, annotation=each
            )
        yield self._event("output_text.done", **place, text=done.text, logprobs=[])
        yield self._event("content_part.done", **place, part=part)
        yield self._event("output_item.done", output_index=0, item=message)
        yield self._event("completed", response=self.whole(done))

    def failure(self, problem: Problem) -> Json:
        failed = error_of(problem)
        return {"type": "error", "sequence_number": next(self.number), **failed["error"], **failed}

    def _event(self, kind: str, **data: Any) -> Json:
        return {"type": f"response.{kind}", "sequence_number": next(self.number), **data}

    def _response(self, conversation_id: str, turn_id: str, status: str, output: list[Json]) -> Json:
        without = dict.fromkeys(["error", "incomplete_details", "instructions", "temperature", "top_p"])
        return {
            "id": f"resp_{conversation_id}_{turn_id}",
            "object": "response",
            "created_at": int(time.time()),
            "status": status,
            "model": self.body.model,
            "output": output,
            "metadata": self.body.metadata or {},
            "parallel_tool_calls": False,
            "tool_choice": "auto",
            "tools": [],
            **without,
        }


def _message(done: Completion) -> Json:
    cited = [{"type": "url_citation", **each["url_citation"]} for each in done.annotations]
    part = {"type": "output_text", "text": done.text, "annotations": cited, "logprobs": []}
    about = {"id": f"msg_{done.result.turn_id}", "type": "message", "role": "assistant"}
    return {**about, "status": "completed", "content": [part]}
