"""The comparison of two checkouts."""

import sys
import time

import psutil
import pytest

from bench.deployment import used_ms
from bench.paired import summarize


def test_the_ratio_is_that_of_neighbouring_measurements() -> None:
    # Both became twice as slow in the second round: a ratio of medians would be .75.
    found = {"chat": [(10.0, 5.0), (20.0, 10.0), (40.0, 30.0)]}
    [line] = summarize(found)
    assert line.split() == ["chat", "20.00", "->", "10.00", "0.50x", "[0.50,", "0.75]"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems count in steps of 10 ms")
def test_processor_time_is_measured_finer_than_the_kernel_counts() -> None:
    me = psutil.Process()
    outer = time.process_time_ns()
    before, inner = used_ms(me), time.process_time_ns()
    while time.process_time_ns() < inner + 3_000_000:
        pass
    least = time.process_time_ns() - inner
    used = used_ms(me) - before
    most = time.process_time_ns() - outer
    assert least <= 1e6 * used <= most
