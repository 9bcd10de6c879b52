"""What is around every request: its trace, the limits of a user, errors in OpenAI's form, and compression."""

import json
import re
import time
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus

from opentelemetry import metrics
from opentelemetry.trace import StatusCode
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.gzip import DEFAULT_EXCLUDED_CONTENT_TYPES, GZipMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from orc.api.auth import PRINCIPAL
from orc.api.completions import ANSWERING, error_of
from orc.api.errors import MEDIA_TYPE, TRACE_HEADER, render
from orc.api.responses import prefers_stream
from orc.limits.models import UserLimit
from orc.problems import Problem, problem_of
from orc.settings import Settings
from orc_core.errors import TooMany
from orc_core.extraction.formats import Format, Sign
from orc_core.infra.telemetry.spans import ERROR_TYPE, SCOPE, request_span, trace_id_of

PROBES = ("/health", "/ready")
"""Asked every few seconds by machines: they have a trace id, too, but no span."""
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_DURATION = metrics.get_meter(SCOPE).create_histogram(
    "http.server.request.duration",
    unit="s",
    description="How long a request took, to the end of its response.",
    explicit_bucket_boundaries_advisory=[
        0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 100
    ],
)  # fmt: skip


@dataclass
class TraceIds:
    """ASGI middleware that never touches the body. No cache keeps a response that does not say so.

    OpenTelemetry's own for ASGI would note paths and queries, which hold the names of documents. Routes
    name their paths below the first of the `prefixes` that fits.
    """

    app: ASGIApp
    prefixes: tuple[str, ...]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        method = scope["method"] if scope["method"] in _METHODS else "_OTHER"
        name = None if scope["path"].endswith(PROBES) else method
        attributes: dict[str, str | int] = {"http.request.method": method}
        prefix, began = next(filter(scope["path"].startswith, self.prefixes), ""), time.perf_counter()
        with request_span(Headers(scope=scope).get("traceparent", ""), name) as begun:
            scope["orc.trace_id"] = trace_id = trace_id_of(begun)
            scope["orc.began"] = datetime.now(UTC)

            async def send_with_id(message: Message) -> None:
                if message["type"] == "http.response.start":
                    headers = MutableHeaders(scope=message)
                    headers[TRACE_HEADER] = trace_id
                    headers.setdefault("cache-control", "no-store")
                    attributes["http.response.status_code"] = message["status"]
                await send(message)

            try:
                await self.app(scope, receive, send_with_id)
            finally:
                # The route names no document, as the path may; it is known once the request is answered.
                path = getattr(scope.get("route"), "path", None)
                if path is not None:
                    attributes["http.route"] = prefix + path.removeprefix(prefix)
                    begun.update_name(f"{method} {attributes['http.route']}")
                status = int(attributes.setdefault("http.response.status_code", 500))
                if status >= 500:
                    attributes[ERROR_TYPE] = str(status)
                    begun.set_status(StatusCode.ERROR)
                begun.set_attributes(attributes)
                if name is not None:
                    _DURATION.record(time.perf_counter() - began, attributes)


MOST_FOLLOWED = 20
"""Each stream of a conversation reads the stores now and then, so there are fewer of them than of others."""
_CONVERSATION_EVENTS = re.compile(r"/api/conversations/[^/]+/events")


class UserLimits:
    """ASGI middleware behind the one that authenticates. A request counts until its response has ended."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._uploads = UserLimit(settings.uploads_per_user, "uploads")
        self._streams = UserLimit(settings.streams_per_user, "streams of events")
        self._followed = UserLimit(min(MOST_FOLLOWED, settings.streams_per_user), "conversations open")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            with ExitStack() as held:
                for limit in self._limits_of(scope) if PRINCIPAL in scope else []:
                    held.enter_context(limit.hold(scope[PRINCIPAL]))
                await self._app(scope, receive, send)
        except TooMany as exc:
            await render(problem_of(exc, scope["orc.trace_id"]))(scope, receive, send)

    def _limits_of(self, scope: Scope) -> list[UserLimit]:
        is_post, path = scope["method"] == "POST", scope["path"]
        if is_post and path.endswith("/documents"):
            return [self._uploads]
        if _CONVERSATION_EVENTS.fullmatch(path):
            return [self._streams, self._followed]
        is_stream = path.endswith(("/events", "/stream")) or (is_post and path.endswith(ANSWERING))
        if is_stream or (is_post and prefers_stream(Headers(scope=scope).get("accept", ""))):
            return [self._streams]
        return []


@dataclass
class OpenAIErrors:
    """ASGI middleware around all others, also around the framework's own."""

    app: ASGIApp
    prefixes: tuple[str, ...]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(self.prefixes):
            await self.app(scope, receive, send)
            return
        start: Message | None = None
        collected = b""

        async def send_translated(message: Message) -> None:
            """Sends a response on; a problem document is collected and translated first."""
            nonlocal start, collected
            if message["type"] == "http.response.start":
                if MutableHeaders(raw=message["headers"]).get("content-type", "").startswith(MEDIA_TYPE):
                    start = message
                    return
            elif start is not None:
                collected += message.get("body", b"")
                if message.get("more_body"):
                    return
                body = json.dumps(error_of(Problem.model_validate_json(collected))).encode()
                headers = MutableHeaders(raw=start["headers"])
                headers["content-type"], headers["content-length"] = "application/json", str(len(body))
                if start["status"] == HTTPStatus.UNPROCESSABLE_ENTITY:
                    # Clients of this interface know 400 for a request that is wrong.
                    start["status"] = int(HTTPStatus.BAD_REQUEST)
                await send(start)
                message = {"type": "http.response.body", "body": body}
            await send(message)

        await self.app(scope, receive, send_translated)


_AS_THEY_ARE = tuple(kind.media_type for kind in Format if kind.sign is not Sign.NAME)
"""Files of users that are compressed already, or drawn."""


def compressed(app: ASGIApp) -> GZipMiddleware:
    """The app with texts compressed for callers who take gzip. Streams of events are passed on at once."""
    excluded = (*DEFAULT_EXCLUDED_CONTENT_TYPES, *_AS_THEY_ARE, "application/octet-stream")
    return GZipMiddleware(app, minimum_size=1024, compresslevel=6, exclude_content_types=excluded)
