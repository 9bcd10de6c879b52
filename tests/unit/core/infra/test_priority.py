"""Whether a machine is busy."""

import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from psutil import cpu_count

from core.infra.priority import is_busy


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="unknown on other systems")
def test_a_machine_with_more_work_than_processors_is_busy() -> None:
    with ExitStack() as stack:
        for _ in range(2 + (cpu_count() or 1)):
            process = stack.enter_context(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
            stack.callback(process.kill)
        deadline = time.monotonic() + 20
        while not is_busy():
            assert time.monotonic() < deadline


@pytest.mark.skipif(sys.platform != "linux", reason="other systems bind no process to a processor")
@pytest.mark.parametrize(("processors", "others", "busy"), [(1, 0, True), (2, 2, False), (2, 3, True)])
def test_another_process_needs_a_processor(
    tmp_path: Path, processors: int, others: int, *, busy: bool
) -> None:
    (tmp_path / "load").write_text(f"0.50 0.40 0.30 {others + 1}/250 4711\n")
    code = (
        "import os, pathlib, sys; from core.infra.priority import is_busy\n"
        f"os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:{processors}])\n"
        "print(len(os.sched_getaffinity(0)), is_busy(pathlib.Path(sys.argv[1])))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "load")]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    has_one = found[0] == "1"  # this machine may have no more
    assert found[1] == str(busy or has_one)
