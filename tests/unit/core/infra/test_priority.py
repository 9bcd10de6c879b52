"""Whether a machine is busy."""

import subprocess
import sys
import time
from contextlib import ExitStack

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


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems bind no process to a processor")
def test_a_single_processor_has_no_time_for_another_process() -> None:
    code = (
        "import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])\n"
        "from core.infra.priority import is_busy; print(is_busy())"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "True"
