"""Builds the providers and exporters that the settings name. Imported only if something is exported."""

import sys
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from opentelemetry import metrics, trace
from opentelemetry.context import Context
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import (
    ConsoleMetricExporter,
    MetricExporter,
    MetricReader,
    PeriodicExportingMetricReader,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter

from orc_core import __version__
from orc_core.errors import InvalidInput
from orc_core.infra.azure import require_sdk
from orc_core.infra.settings import CoreSettings
from orc_core.infra.telemetry.spans import SCOPE

Exporters = tuple[SpanExporter, MetricExporter]


class Unrecorded(trace.NoOpTracer):
    """The tracer for libraries: it records nothing, and the current span stays ours or that of a caller."""

    @contextmanager
    def start_as_current_span(  # type: ignore[override]
        self, name: str, context: Context | None = None, **options: Any
    ) -> Iterator[trace.Span]:
        if context is None:
            yield trace.INVALID_SPAN
            return
        with super().start_as_current_span(name, context, **options) as caller:
            yield caller


class OwnTracers(trace.TracerProvider):
    """Records our own spans only. Vendors' libraries write messages, names and addresses into theirs."""

    def __init__(self, recording: TracerProvider) -> None:
        self._recording = recording

    @property
    def resource(self) -> Resource:
        """The service that records; Azure's exporter reads it."""
        return self._recording.resource

    def get_tracer(self, instrumenting_module_name: str, *args: Any, **options: Any) -> trace.Tracer:
        """Our tracer; for libraries one that records nothing."""
        if instrumenting_module_name != SCOPE:
            return Unrecorded()
        return self._recording.get_tracer(SCOPE, *args, **options)


class OwnMeters(metrics.MeterProvider):
    """Records our own metrics only."""

    def __init__(self, recording: MeterProvider) -> None:
        super().__init__()
        self._recording = recording

    def get_meter(self, name: str, *args: Any, **options: Any) -> metrics.Meter:
        """Our meter; for libraries one that counts nothing."""
        return self._recording.get_meter(name, *args, **options) if name == SCOPE else metrics.NoOpMeter(name)


def build_providers(
    settings: CoreSettings, service: str, processors: Sequence[SpanProcessor], readers: Sequence[MetricReader]
) -> tuple[TracerProvider, MeterProvider]:
    """The providers of `service`: the exporters of the settings, and these processors and readers."""
    exporters = [_build_exporters(name, settings) for name in dict.fromkeys(settings.telemetry_exporters)]
    # The id of the instance keeps the counts of two workers apart.
    about = {
        "service.name": service,
        "service.version": __version__,
        "service.instance.id": str(uuid.uuid4()),
    }
    resource = Resource.create(about)
    meters = MeterProvider(
        [PeriodicExportingMetricReader(exporter) for _, exporter in exporters] + list(readers),
        resource,
        shutdown_on_exit=False,
    )
    tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
    for processor in [*(BatchSpanProcessor(exporter) for exporter, _ in exporters), *processors]:
        tracers.add_span_processor(processor)
    return tracers, meters


def _build_exporters(name: str, settings: CoreSettings) -> Exporters:
    if name == "otlp":
        # Over HTTP, to where the library's own OTEL_EXPORTER_OTLP_* variables say.
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        return OTLPSpanExporter(), OTLPMetricExporter()
    if name == "azure":
        # To Application Insights, as the identity that APPLICATIONINSIGHTS_AUTHENTICATION_STRING names.
        if settings.applicationinsights_connection_string is None:
            raise InvalidInput(
                "ORC_TELEMETRY_EXPORTERS names azure, which needs APPLICATIONINSIGHTS_CONNECTION_STRING."
            )
        require_sdk()
        from azure.monitor.opentelemetry.exporter import AzureMonitorMetricExporter, AzureMonitorTraceExporter

        where = settings.applicationinsights_connection_string.get_secret_value()
        # What could not be sent is dropped: it would be written to the machine's temporary folder.
        options: dict[str, Any] = {"connection_string": where, "disable_offline_storage": True}
        try:
            return AzureMonitorTraceExporter(**options), AzureMonitorMetricExporter(**options)
        except ValueError as exc:
            raise InvalidInput("APPLICATIONINSIGHTS_CONNECTION_STRING cannot be used.") from exc
    # Not to standard output: a tools server over stdio uses it for MCP.
    return (
        ConsoleSpanExporter(out=sys.stderr, formatter=lambda span: span.to_json(indent=None) + "\n"),
        ConsoleMetricExporter(out=sys.stderr, formatter=lambda data: data.to_json(indent=None) + "\n"),
    )
