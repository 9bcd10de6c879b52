"""`orc serve` and its child processes end together; and the API under uvicorn's own workers."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psutil
import pytest

from devkit.doubles.openai_double import OpenAIDouble, Script
from devkit.system import System, running, wait_for
from orc.cli.ports import free_port
from tests.system.steps import answered, ask, turns_of, wait_until

pytestmark = pytest.mark.slow

SLOWLY = Script(text="The quay opens at seven and the key is there. " * 3, tokens=50, delay_ms=40)
TURNS = 3


@pytest.fixture(autouse=True)
def interrupts() -> Iterator[None]:
    """Programs that are started heed SIGINT, also if a shell runs the tests in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def system(tmp_path: Path, model_settings: dict[str, str]) -> Iterator[System]:
    with running(tmp_path / "data", **model_settings) as system:
        yield system


@pytest.mark.parametrize("ended_by", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_all_processes_once_their_turns_are_answered(
    system: System, double: OpenAIDouble, ended_by: signal.Signals
) -> None:
    double.script = SLOWLY.model_copy()
    assert system.process is not None
    family = psutil.Process(system.process.pid).children(recursive=True)
    assert len(family) >= 2
    with system.client() as client, ThreadPoolExecutor(TURNS) as pool:
        turns = [
            pool.submit(ask, client, question="When?", feature_flags={"critic": "off"}) for _ in range(TURNS)
        ]
        wait_until(lambda: len(double.requests) >= TURNS, "all turns have begun", 60)
        # A terminal sends Ctrl-C to the whole group.
        end = os.killpg if ended_by is signal.SIGINT else os.kill
        end(system.process.pid, ended_by)
        assert [each.result().status_code for each in turns] == [200] * TURNS
    assert system.process.wait(30) == (-ended_by if ended_by is signal.SIGTERM else 130)
    # Before it ends, and not some time after: a container ends with its first process.
    assert [each for each in family if each.is_running()] == []
    assert "Traceback" not in system.log


def test_uvicorns_workers_serve_the_api(system: System) -> None:
    port = free_port()
    command = f"-m uvicorn --factory orc.api.app:create_app --workers 2 --port {port}"
    environment = os.environ | system.settings
    with subprocess.Popen([sys.executable, *command.split()], env=environment) as uvicorn:
        try:
            wait_for(f"http://127.0.0.1:{port}/api/ready")
            with httpx.Client(base_url=f"http://127.0.0.1:{port}/api", timeout=60) as client:
                turn = answered(ask(client))
        finally:
            uvicorn.terminate()
    with system.client() as client:
        assert [each["result"] for each in turns_of(client, turn["conversation_id"])] == [turn]


def test_ctrl_c_right_after_the_start_shows_no_traceback(system: System) -> None:
    """The workers are still starting then."""
    assert system.process is not None
    os.killpg(system.process.pid, signal.SIGINT)
    assert system.process.wait(30) == 130
    assert "Traceback" not in system.log
