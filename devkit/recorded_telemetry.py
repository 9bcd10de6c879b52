"""The spans and metrics that a test's own process records. OpenTelemetry is set up once in a process."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache

from opentelemetry.sdk.metrics.export import (
    Gauge,
    Histogram,
    HistogramDataPoint,
    InMemoryMetricReader,
    NumberDataPoint,
    Sum,
)
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

from orc_core.infra.settings import CoreSettings
from orc_core.infra.telemetry.setup import start_telemetry


class Recorded(SpanExporter):
    """Keeps spans while a test looks, and finds the counts of metrics."""

    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []
        self.looking = False
        self.reader = InMemoryMetricReader()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        if self.looking:
            self.spans.extend(spans)
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        return None

    @property
    def names(self) -> list[str]:
        """The names of the spans, in the order in which they ended."""
        return [span.name for span in self.spans]

    def span(self, name: str) -> ReadableSpan:
        """The only span of this name."""
        [found] = [span for span in self.spans if span.name == name]
        return found

    def attributes(self, name: str) -> dict[str, object]:
        """Those of the only span of this name."""
        return dict(self.span(name).attributes or {})

    def counted(self, metric: str, **attributes: str) -> int:
        """How often a metric was recorded with these attributes, dots written as `__`."""
        wanted = {(name.replace("__", "."), value) for name, value in attributes.items()}
        found = [point for point in self._points(metric) if wanted <= set((point.attributes or {}).items())]
        return sum(int(getattr(point, "count", 0) or getattr(point, "value", 0)) for point in found)

    def latest(self, metric: str) -> float:
        """The value that a gauge was last set to."""
        [point] = self._points(metric)
        return float(getattr(point, "value", "nan"))

    def _points(self, metric: str) -> list[NumberDataPoint | HistogramDataPoint]:
        data = self.reader.get_metrics_data()
        return [
            point
            for resource in (data.resource_metrics if data else [])
            for scope in resource.scope_metrics
            for each in scope.metrics
            if each.name == metric and isinstance(each.data, Histogram | Sum | Gauge)
            for point in each.data.data_points
        ]


@contextmanager
def recording() -> Iterator[Recorded]:
    """What is recorded while the context is open; metrics add up over the whole process."""
    recorded = _recorded()
    recorded.spans.clear()
    recorded.looking = True
    yield recorded
    recorded.looking = False


@cache
def _recorded() -> Recorded:
    recorded = Recorded()
    start_telemetry(
        CoreSettings(), "tests", processors=[SimpleSpanProcessor(recorded)], readers=[recorded.reader]
    )
    return recorded
