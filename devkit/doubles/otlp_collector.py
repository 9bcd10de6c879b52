"""A collector of OpenTelemetry over HTTP, for tests: it keeps the spans and metrics that processes export."""

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from devkit.serving import serve_from_thread

KINDS = ("unspecified", "internal", "server", "client", "producer", "consumer")
FAILED = 2


@dataclass(frozen=True)
class Span:
    """One span as it was exported. `parent` is empty where a trace begins; `said` is all free text."""

    service: str
    name: str
    kind: str
    trace_id: str
    id: str
    parent: str
    attributes: dict[str, object]
    failed: bool
    said: str


@dataclass(frozen=True)
class Metric:
    """One series of a metric."""

    service: str
    name: str
    attributes: dict[str, object]
    count: int
    bounds: tuple[float, ...] = ()


class Collector:
    """What has arrived. `raw` holds every request's body as it came, with its texts in it."""

    def __init__(self) -> None:
        self.raw: list[bytes] = []
        self.spans: list[Span] = []
        self.metrics: list[Metric] = []
        self.app = Starlette(
            routes=[
                Route("/v1/traces", self._take_spans, methods=["POST"]),
                Route("/v1/metrics", self._take_metrics, methods=["POST"]),
            ]
        )

    def trace(self, trace_id: str) -> list[Span]:
        """The spans of one trace that have arrived so far."""
        return [span for span in self.spans if span.trace_id == trace_id]

    async def _take_spans(self, request: Request) -> Response:
        body = await request.body()
        self.raw.append(body)
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            service = str(_values(resource.resource.attributes)["service.name"])
            for scope in resource.scope_spans:
                for span in scope.spans:
                    self.spans.append(
                        Span(
                            service=service,
                            name=span.name,
                            kind=KINDS[span.kind],
                            trace_id=span.trace_id.hex(),
                            id=span.span_id.hex(),
                            parent=span.parent_span_id.hex(),
                            attributes=_values(span.attributes),
                            failed=span.status.code == FAILED,
                            said=f"{span.status.message}{span.trace_state}{list(span.events) or ''}",
                        )
                    )
        return Response(media_type="application/x-protobuf")

    async def _take_metrics(self, request: Request) -> Response:
        body = await request.body()
        self.raw.append(body)
        for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
            service = str(_values(resource.resource.attributes)["service.name"])
            for metric in (metric for scope in resource.scope_metrics for metric in scope.metrics):
                for histogram in metric.histogram.data_points:
                    attributes = _values(histogram.attributes)
                    bounds = tuple(histogram.explicit_bounds)
                    self.metrics.append(Metric(service, metric.name, attributes, histogram.count, bounds))
                for number in metric.sum.data_points:
                    count = number.as_int
                    self.metrics.append(Metric(service, metric.name, _values(number.attributes), count))
        return Response(media_type="application/x-protobuf")


@contextlib.contextmanager
def collecting() -> Iterator[tuple[Collector, dict[str, str]]]:
    """A collector in a thread, and the settings under which processes export to it."""
    collector = Collector()
    with serve_from_thread(collector.app) as url:
        yield collector, {"ORC_TELEMETRY_EXPORTERS": "otlp", "OTEL_EXPORTER_OTLP_ENDPOINT": url}


def _values(attributes: Iterable[KeyValue]) -> dict[str, object]:
    return {attribute.key: _value(attribute.value) for attribute in attributes}


def _value(value: AnyValue) -> object:
    if value.HasField("array_value"):
        return [_value(each) for each in value.array_value.values]
    return getattr(value, value.WhichOneof("value") or "string_value")
