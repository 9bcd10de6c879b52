"""Renders every error as a problem document."""

import logging
from http import HTTPStatus

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.params import Form
from fastapi.responses import JSONResponse, RedirectResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.routing import Match

from orc.limits.models import Taken
from orc.problems import FieldProblem, Problem, problem, problem_of
from orc_core.errors import DependencyDown, OrcError
from orc_core.infra.exhaustion import TEMPORARY, exhausted

MEDIA_TYPE = "application/problem+json"

logger = logging.getLogger(__name__)

RETRY_AFTER_SECONDS = 2
SESSION_HEADER = "x-session-id"
TRACE_HEADER = "x-trace-id"
CONVERSATION_HEADER = "x-conversation-id"
TURN_HEADER = "x-turn-id"
EXPOSED_HEADERS = (
    *(SESSION_HEADER, TRACE_HEADER, CONVERSATION_HEADER, TURN_HEADER),
    *("retry-after", "ratelimit", "ratelimit-policy", "content-disposition"),
    *("www-authenticate", "mcp-session-id"),
)
"""What a page of an allowed origin may read of a response, besides what each may."""
METHODS = ("DELETE", "GET", "PATCH", "POST", "PUT")

_FILES = (
    "Send files to POST /api/conversations/ID/documents: they are indexed there, and questions with the ID "
    "in the header x-session-id search them."
)
_TALKS = (
    "A conversation begins with its first question: POST /v1/responses, then again with the "
    "previous_response_id, or with an id of yours in `conversation`."
)
_IN_PLACE_OF = {
    **dict.fromkeys(("files", "uploads", "vector_stores", "containers"), _FILES),
    **dict.fromkeys(("assistants", "threads", "conversations"), _TALKS),
    "embeddings": f"Vectors are made where documents are searched. {_FILES}",
}
"""What to use in place of absent routes of OpenAI's interface, by the first part of their path."""


def render(content: Problem) -> JSONResponse:
    """A problem document as a response."""
    seconds = content.retry_after or RETRY_AFTER_SECONDS
    headers = {"cache-control": "no-store"}
    if content.retryable or content.status in {429, 503, 507}:
        headers["retry-after"] = str(seconds)
    if content.conversation_id and content.turn_id:
        headers |= turn_headers(content.conversation_id, content.turn_id)
    body = content.model_dump(mode="json", exclude_none=True)
    return JSONResponse(body, content.status, headers, media_type=MEDIA_TYPE)


def turn_headers(conversation_id: str, turn_id: str) -> dict[str, str]:
    """The headers that name a turn."""
    return {CONVERSATION_HEADER: conversation_id, TURN_HEADER: turn_id}


def limit_headers(allowance: Taken | None) -> dict[str, str]:
    """The headers of draft-ietf-httpapi-ratelimit-headers; none without a limit."""
    if allowance is None:
        return {}
    policy = f'"messages";q={allowance.limit};w={allowance.seconds}'
    return {"ratelimit-policy": policy, "ratelimit": f'"messages";r={allowance.remaining}'}


def add_error_handlers(app: FastAPI) -> None:
    """Make the app answer every failure with a problem document."""
    app.add_exception_handler(OrcError, _ours)
    app.add_exception_handler(OSError, _of_the_system)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _unexpected)


async def _ours(request: Request, exc: Exception) -> JSONResponse:
    assert isinstance(exc, OrcError)
    log_cause(exc)
    return _of_session(request, render(problem_of(exc, _trace_id(request))))


def log_cause(exc: OrcError) -> None:
    """Log one line about an error that another exception caused."""
    if exc.__cause__ is not None:
        place = f" dependency={exc.dependency}" if isinstance(exc, DependencyDown) else ""
        logger.warning("%s: %s%s", exc.code, type(exc.__cause__).__name__, place)


async def _of_the_system(request: Request, exc: Exception) -> JSONResponse:
    """An OSError: a full disk and too many open files have answers; any other is unexpected."""
    if (ours := exhausted(exc)) is None:
        raise exc
    ours.__cause__ = exc
    return await _ours(request, ours)


async def _invalid(request: Request, exc: Exception) -> JSONResponse:
    assert isinstance(exc, RequestValidationError)
    # A header that may be absent has no null: that it is not null either says nothing.
    errors = [error for error in exc.errors() if error["type"] != "none_required"] or exc.errors()
    if any(error["type"] == "json_invalid" for error in errors):
        return render(problem(400, "The body is not valid JSON.", _trace_id(request), code="malformed_json"))
    # Whether the route that was found has a body, and one that is no form.
    route = request.scope.get("route")
    body = route.body_field if isinstance(route, APIRoute) else None
    takes_json = body is not None and not isinstance(body.field_info, Form)
    if takes_json and "json" not in request.headers.get("content-type", "json"):
        return render(problem(415, "Send the body as application/json.", _trace_id(request)))
    fields: list[FieldProblem] = []
    for error in errors:
        # The dotted place of the field, without the leading `body` or `path`. What follows the name of a
        # parameter is the kind of its value, not a field.
        first, *place = error["loc"]
        place = place if first == "body" else place[:1]
        name = ".".join(map(str, place)) or str(first)
        fields.append(FieldProblem(field=name, reason=error["msg"], code=error["type"]))
    detail = "; ".join(f"{field.field}: {field.reason}" for field in fields[:3])
    return render(problem(422, detail, _trace_id(request), code="invalid_input", errors=fields))


async def _http(request: Request, exc: Exception) -> Response:
    assert isinstance(exc, HTTPException)
    is_program = request.url.path.startswith(("/api/", "/v1/"))
    if exc.status_code == 404 and not is_program and "text/html" in request.headers.get("accept", ""):
        # A person at a wrong address: the page says so.
        return RedirectResponse("/#/nowhere", HTTPStatus.SEE_OTHER)
    # The framework stores large uploads in the temporary folder and reports any failure as a bad body.
    if (ours := exhausted(exc, *TEMPORARY)) is not None:
        ours.__cause__ = exc.__cause__
        return await _ours(request, ours)
    detail, (_, openais, path) = str(exc.detail), request.url.path.partition("/v1/")
    if exc.status_code == HTTPStatus.NOT_FOUND and openais:
        instead = _IN_PLACE_OF.get(path.partition("/")[0], "Use /v1/responses or /v1/chat/completions.")
        detail = f"Orc has no /v1/{path}. {instead}"
    response = render(problem(exc.status_code, detail, _trace_id(request)))
    response.headers.update(exc.headers or {})
    if exc.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        # Of all routes with this path; the framework names the methods of the first one alone.
        scopes = {method: {**request.scope, "method": method} for method in METHODS}
        routes = request.app.routes
        response.headers["allow"] = ", ".join(
            method
            for method, scope in scopes.items()
            if any(route.matches(scope)[0] is Match.FULL for route in routes)
        )
    return response


async def _unexpected(request: Request, exc: Exception) -> JSONResponse:
    logger.error("unexpected error", exc_info=exc)
    detail = "Something went wrong on our side. The trace id helps to find it."
    response = _of_session(request, render(problem(500, detail, _trace_id(request), code="internal")))
    # This handler alone runs outside of the middleware that sets the header.
    response.headers[TRACE_HEADER] = _trace_id(request)
    return response


def _of_session(request: Request, response: JSONResponse) -> JSONResponse:
    """The response with the session of the request, if that was known when it failed."""
    if (session := getattr(request.state, "session_id", None)) is not None:
        response.headers[SESSION_HEADER] = session
    return response


def _trace_id(request: Request) -> str:
    return str(request.scope.get("orc.trace_id", ""))
