"""The OpenAPI document, in which errors are what they are: problem documents."""

from http import HTTPStatus
from typing import Any

from fastapi import FastAPI

from orc.events import Problem
from orc.problems import problem

MEDIA_TYPE = "application/problem+json"
EVENT_STREAM = "text/event-stream"
EVENTS: dict[str, Any] = {
    EVENT_STREAM: {
        "schema": {"type": "string"},
        "example": 'id: 1\nevent: token\ndata: {"text":"..."}\n\n',
    }
}
"""The content of a response that is a stream of events."""
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
        return document


def _response(status: HTTPStatus) -> dict[str, Any]:
    example = problem(
        status, "What went wrong, for the person who asked.", "0af7651916cd43dd8448eb211c80319c"
    )
    content = {
        "schema": {"$ref": _REFERENCES.format(model=Problem.__name__)},
        "example": example.model_dump(mode="json", exclude_none=True),
    }
    return {"description": status.phrase, "content": {MEDIA_TYPE: content}}
