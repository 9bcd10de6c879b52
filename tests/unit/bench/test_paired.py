"""The comparison of two checkouts."""

import signal
import sys
import time

import psutil
import pytest

from bench.deployment import ROOT, used_ms
from bench.paired import summarize
from devkit.processes import is_tools_server, left_behind


def test_the_ratio_is_that_of_neighbouring_measurements() -> None:
    # Both became twice as slow in the second round: a ratio of medians would be .75.
    found = {"chat": [(10.0, 5.0), (20.0, 10.0), (40.0, 30.0)]}
    [line] = summarize(found)
    assert line.split() == ["chat", "20.00", "->", "10.00", "0.50x", "[0.50,", "0.75]"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems count in steps of 10 ms")
def test_processor_time_is_measured_finer_than_the_kernel_counts() -> None:
    me = psutil.Process()
    before, began = used_ms(me), time.process_time_ns()
    while time.process_time_ns() < began + 3_000_000:
        pass
    assert 3 <= used_ms(me) - before < 8


@pytest.mark.slow
@pytest.mark.parametrize("ended", [signal.SIGTERM, signal.SIGINT])
def test_servers_end_with_the_comparison(ended: signal.Signals) -> None:
    def are_two(servers: set[psutil.Process]) -> bool:
        return sum(map(is_tools_server, servers)) >= 2

    assert left_behind(["-m", "bench.paired", str(ROOT), "--only", "chat"], ended, are_two) == []
