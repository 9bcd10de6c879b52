"""What is measured: the product with its processes, and the model double, each in its own process."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import chdir, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from devkit.system import System, wait_for
from orc.cli.ports import free_port

ROOT = Path(__file__).resolve().parents[1]
HANDBOOK = ROOT / "examples" / "harbour-handbook.pdf"
MIB = 1024 * 1024

_FOREIGN_SETTINGS = ("ORC_", "OPENAI_", "AZURE_", "LANGCHAIN_", "LANGSMITH_", "OTEL_", "MCP_")


@dataclass(frozen=True)
class Stage:
    """The running processes, where the double listens, and how long the product took to start."""

    system: System
    double_port: int
    api: psutil.Process
    tools: psutil.Process
    worker: psutil.Process
    double: psutil.Process
    start_seconds: float

    @property
    def processes(self) -> dict[str, psutil.Process]:
        """The processes by what the report calls them."""
        return {
            "API": self.api,
            "tools server": self.tools,
            "worker": self.worker,
            "model double": self.double,
        }

    def cpu_ms(self, *, helpers: bool = False) -> dict[str, float]:
        """User and system time that each process has used so far.

        `helpers`: with that of the children that read and check text, also of those that have ended.
        """
        used = {name: _own_ms(process) for name, process in self.processes.items()}
        if helpers:
            servers = set(self.processes.values())
            for name, process in self.processes.items():
                used[name] += _ended_cpu_ms(process)
                children = set(process.children()) - servers
                used[name] += sum(map(_own_ms, children))
        return used

    def resident_mib(self) -> dict[str, float]:
        """Memory of the product's processes now."""
        return {
            name: process.memory_info().rss / MIB
            for name, process in self.processes.items()
            if process is not self.double
        }


@contextmanager
def clean_surroundings(folder: Path) -> Iterator[None]:
    """Keep the developer's settings and `.env` out of the figures; work in an empty folder."""
    before = dict(os.environ)
    for name in set(before):
        if name.startswith(_FOREIGN_SETTINGS):
            del os.environ[name]
    os.environ["PYTHONPATH"] = str(ROOT)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # users have compiled modules from the second start on
    try:
        with chdir(folder):
            yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def running_double() -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """The model double's port and its process."""
    port = free_port()
    process = subprocess.Popen([sys.executable, "-m", "devkit.doubles.openai_double", str(port)])
    try:
        wait_for(f"{double_url(port)}/models")
        yield port, process
    finally:
        process.terminate()
        process.wait()


@contextmanager
def set_up(folder: Path) -> Iterator[Stage]:
    """Start everything, and stop it at the end."""
    with running_double() as (port, double):
        system = new_system(folder / "product", port)
        started = time.perf_counter()
        try:
            system.start()
            seconds = time.perf_counter() - started
            yield Stage(system, port, *_processes_of(system), psutil.Process(double.pid), seconds)
        except Exception as exc:
            exc.add_note(f"The product's log:\n{system.log}")
            raise
        finally:
            system.stop()


def used_ms(root: psutil.Process) -> float:
    """User and system time of a process and all below it, those that have ended included."""
    used = 0.0
    for process in (root, *root.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            used += _own_ms(process) + _ended_cpu_ms(process)
    return used


def _own_ms(process: psutil.Process) -> float:
    """User and system time of one process. Linux has a clock for it; counts have steps of 10 ms."""
    if sys.platform != "linux":
        return 1000 * float(sum(process.cpu_times()[:2]))
    try:
        return time.clock_gettime_ns(~process.pid << 3 | 2) / 1e6  # as clock_getcpuclockid(3) numbers it
    except OSError as exc:
        raise psutil.NoSuchProcess(process.pid) from exc


def _ended_cpu_ms(process: psutil.Process) -> float:
    """That of children that have ended and were waited for."""
    times = process.cpu_times()
    return 1000 * float(times.children_user + times.children_system)


def double_url(port: int) -> str:
    """The double's address as clients of OpenAI want it."""
    return f"http://127.0.0.1:{port}/v1"


def new_system(data_dir: Path, double_port: int) -> System:
    """A product that is yet to be started: its model is the double, and pages are not analysed."""
    settings = {
        "ORC_MODEL": "openai:gpt-5.1",
        "OPENAI_BASE_URL": double_url(double_port),
        "OPENAI_API_KEY": "none",
    }
    return System(data_dir, {**settings, "ORC_PAGE_ANALYSIS": "off"})


def _processes_of(system: System) -> tuple[psutil.Process, psutil.Process, psutil.Process]:
    """The API, the tools server and the worker."""
    assert system.process is not None
    api = psutil.Process(system.process.pid)
    return api, _child(api, "mcp_server"), _child(api, "worker")


def _child(parent: psutil.Process, argument: str) -> psutil.Process:
    return next(child for child in parent.children() if argument in child.cmdline())
