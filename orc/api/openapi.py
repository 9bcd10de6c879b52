"""The OpenAPI document, in which errors are what they are: problem documents."""

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI

from orc.events import Problem
from orc.problems import problem

MEDIA_TYPE = "application/problem+json"
EVENT_STREAM = "text/event-stream"
_EVENT = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "description": "a number, for `Last-Event-ID`"},
        "event": {"type": "string"},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
    "required": ["id", "event", "data"],
}
EVENTS: dict[str, Any] = {
    EVENT_STREAM: {
        "schema": {"type": "array", "items": _EVENT},
        "itemSchema": _EVENT,
        "example": 'id: 1\nevent: token\ndata: {"text":"..."}\n\n',
    }
}
"""The content of a response that is a stream of events."""
_DISPOSITION = {
    "description": "the file's name, whose extension says what it is",
    "schema": {"type": "string", "example": 'form-data; name="file"; filename="handbook.txt"'},
}
_REFERENCES = "#/components/schemas/{model}"
_ALWAYS = {401, 403, 422, 500, 503}


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The error responses of a route; those that any route may give are always in."""
    return {status: _response(HTTPStatus(status)) for status in sorted({*_ALWAYS, *statuses})}


class DocumentedApp(FastAPI):
    """FastAPI whose document holds the schema that `responses` refers to.

    FastAPI itself would put a response's model under `application/json`, whatever its media type.
    """

    def openapi(self) -> dict[str, Any]:
        document = super().openapi()
        schema = Problem.model_json_schema(ref_template=_REFERENCES)
        document["components"]["schemas"].update({**schema.pop("$defs"), Problem.__name__: schema})
        for form in _upload_forms(document):
            form["encoding"] = {"file": {"headers": {"Content-Disposition": _DISPOSITION}}}
        return document


def _upload_forms(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The forms that carry files: a file's name says what it is, which its schema cannot tell."""
    for operations in document["paths"].values():
        for operation in operations.values():
            content = operation.get("requestBody", {}).get("content", {})
            if "multipart/form-data" in content:
                yield content["multipart/form-data"]


def _response(status: HTTPStatus) -> dict[str, Any]:
    example = problem(
        status, "What went wrong, for the person who asked.", "0af7651916cd43dd8448eb211c80319c"
    )
    content = {
        "schema": {"$ref": _REFERENCES.format(model=Problem.__name__)},
        "example": example.model_dump(mode="json", exclude_none=True),
    }
    return {"description": status.phrase, "content": {MEDIA_TYPE: content}}
