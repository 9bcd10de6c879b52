"""Starts what a process exports. Without an exporter it imports no SDK, and spans cost nothing."""

import atexit
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from opentelemetry import metrics, trace

from orc_core.infra.settings import CoreSettings

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import MetricReader
    from opentelemetry.sdk.trace import SpanProcessor

CLOSE_SECONDS = 2.0
"""How long the end of a process waits for the receiver of its last spans, which may be down."""


class Telemetry:
    """The exports of a process. Close it at the end of the process; otherwise Python's exit closes it."""

    def __init__(self, shut_down: Callable[[], None] | None = None) -> None:
        self._shut_down = shut_down

    def close(self) -> None:
        """Send the spans that are not sent yet, within two seconds, and export nothing after."""
        if self._shut_down is not None:
            # A daemon thread: it is abandoned if the receiver does not answer.
            sending = threading.Thread(target=self.finish, daemon=True)
            sending.start()
            sending.join(CLOSE_SECONDS)

    def finish(self) -> None:
        """Do what `close` does, without a time limit."""
        shut_down, self._shut_down = self._shut_down, None
        if shut_down is not None:
            shut_down()


def start_telemetry(
    settings: CoreSettings,
    service: str,
    *,
    processors: "Sequence[SpanProcessor]" = (),
    readers: "Sequence[MetricReader]" = (),
) -> Telemetry:
    """Export the spans and metrics of this process as `service`; see `telemetry_exporters`.

    Once per process, as OpenTelemetry has it: later calls change nothing. `processors` and `readers`
    receive what is recorded as well. Raises InvalidInput if an exporter's setting is missing.
    """
    if not (settings.telemetry_exporters or processors or readers):
        return Telemetry()

    from orc_core.infra.telemetry.exporters import OwnMeters, OwnTracers, build_providers

    if isinstance(trace.get_tracer_provider(), OwnTracers):
        return Telemetry()
    tracers, meters = build_providers(settings, service, processors, readers)
    trace.set_tracer_provider(OwnTracers(tracers))
    metrics.set_meter_provider(OwnMeters(meters))

    def shut_down() -> None:
        tracers.shutdown()
        meters.shutdown()

    started = Telemetry(shut_down)
    # As it exits, Python starts no more threads.
    atexit.register(started.finish)
    return started
