"""The comparison of two checkouts."""

import signal
import subprocess
import sys
import time
from contextlib import suppress

import psutil
import pytest

from bench.deployment import ROOT, used_ms
from bench.paired import summarize


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
    command = [sys.executable, "-m", "bench.paired", str(ROOT), "--only", "chat"]
    servers: set[psutil.Process] = set()
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as program:
        try:
            deadline = time.monotonic() + 120
            while sum("mcp_server" in each.cmdline() for each in servers) < 2:
                assert time.monotonic() < deadline and program.poll() is None
                time.sleep(0.05)
                servers |= set(psutil.Process(program.pid).children(recursive=True))
            program.send_signal(ended)
            program.wait(60)
            _, left = psutil.wait_procs(servers, 5)
            assert [each for each in left if each.status() != psutil.STATUS_ZOMBIE] == []
        finally:
            for each in servers:
                with suppress(psutil.NoSuchProcess):
                    each.kill()
            program.kill()
