"""Whether a machine is busy, and how many processors a process has."""

import os
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from psutil import cpu_count

from orc_core.infra.priority import is_busy, processors


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
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/loadavg").write_text(f"0.50 0.40 0.30 {others + 1}/250 4711\n")
    code = (
        "import os, pathlib, sys; from orc_core.infra.priority import is_busy\n"
        f"os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:{processors}])\n"
        "print(len(os.sched_getaffinity(0)), is_busy(pathlib.Path(sys.argv[1])))"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    has_one = found[0] == "1"  # this machine may have no more
    assert found[1] == str(busy or has_one)


V1 = "4:memory:/app\n3:cpu,cpuacct:{path}\n2:cpuset:/\n"
GROUPS = {
    "version 2": ("0::/app\n", {"app/cpu.max": "150000 100000\n"}),
    "version 2, first group of a container": ("0::/\n", {"cpu.max": "100000 100000\n"}),
    "version 2, path of the host": ("0::/kube/pod/app\n", {"cpu.max": "50000 100000\n"}),
    "version 2, group around": (
        "0::/kube/app\n",
        {"kube/cpu.max": "100000 100000\n", "kube/app/cpu.max": "max 100000\n"},
    ),
    "version 1": (
        V1.format(path="/app"),
        {"cpu/app/cpu.cfs_quota_us": "100000\n", "cpu/app/cpu.cfs_period_us": "100000\n"},
    ),
    "version 1, path of the host": (
        "0::/\n" + V1.format(path="/docker/4711"),
        {"cpu/cpu.cfs_quota_us": "10000\n", "cpu/cpu.cfs_period_us": "10000\n"},
    ),
}
"""Lines of /proc/self/cgroup and files of /sys/fs/cgroup."""


def lay_out(root: Path, memberships: str, files: dict[str, str]) -> None:
    """Make the files that describe the control groups of a process."""
    for name, text in {
        "proc/loadavg": "0.50 0.40 0.30 1/250 4711\n",
        "proc/self/cgroup": memberships,
        **{f"sys/fs/cgroup/{name}": text for name, text in files.items()},
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no control groups")
@pytest.mark.parametrize("group", GROUPS)
def test_a_quota_limits_the_processors(group: str, tmp_path: Path) -> None:
    lay_out(tmp_path, *GROUPS[group])
    assert processors(tmp_path) == 1
    assert is_busy(tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no control groups")
@pytest.mark.parametrize(
    ("memberships", "files"),
    [
        ("0::/app\n", {"app/cpu.max": "max 100000\n"}),
        (
            V1.format(path="/"),
            {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n", "cpuset/cpu.max": "1 1"},
        ),
        ("3:cpuset:/\n", {"cpu/cpu.cfs_quota_us": "100000\n", "cpu/cpu.cfs_period_us": "100000\n"}),
        ("0::/app\n", {"app/cpu.max": ""}),
        ("0::/app\n", {}),
    ],
)
def test_without_a_quota_a_process_has_all_to_which_it_is_bound(
    memberships: str, files: dict[str, str], tmp_path: Path
) -> None:
    lay_out(tmp_path, memberships, files)
    assert processors(tmp_path) == processors(tmp_path / "missing") == len(os.sched_getaffinity(0))
