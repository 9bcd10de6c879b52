"""Every request is a span in a trace, that of `traceparent` if it is valid, and every response names it."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry import metrics
from opentelemetry.trace import Span, StatusCode
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from orc_core.infra.telemetry.spans import ERROR_TYPE, SCOPE, request_span, trace_id_of

TRACE_HEADER = "x-trace-id"
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


class TraceIds:
    """ASGI middleware that never touches the body.

    OpenTelemetry's own for ASGI would note paths and queries, which hold the names of documents. Routes
    name their paths below the first of the `prefixes` that fits.
    """

    def __init__(self, app: ASGIApp, *, prefixes: tuple[str, ...]) -> None:
        self._app = app
        self._prefixes = prefixes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        prefix = next(filter(scope["path"].startswith, self._prefixes), "")
        with _request(scope, prefix) as (begun, attributes):
            scope["orc.trace_id"] = trace_id = trace_id_of(begun)

            async def send_with_id(message: Message) -> None:
                if message["type"] == "http.response.start":
                    MutableHeaders(scope=message)[TRACE_HEADER] = trace_id
                    attributes["http.response.status_code"] = message["status"]
                await send(message)

            await self._app(scope, receive, send_with_id)


@contextmanager
def _request(scope: Scope, prefix: str) -> Iterator[tuple[Span, dict[str, str | int]]]:
    """The span of a request and its attributes, to which the response's status is added."""
    method = scope["method"] if scope["method"] in _METHODS else "_OTHER"
    name = None if scope["path"].endswith(PROBES) else method
    attributes: dict[str, str | int] = {"http.request.method": method}
    began = time.perf_counter()
    with request_span(Headers(scope=scope).get("traceparent", ""), name) as begun:
        try:
            yield begun, attributes
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
