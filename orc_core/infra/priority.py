"""Priority and processor time of the processes that read files and texts."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

NICENESS = 5
"""Answers have priority, but people wait for uploads too."""
_ROOT = Path("/")
LONG_SECONDS = 2.0
"""Few ordinary files or texts take longer. Several hostile ones can at the same time."""


def give_way() -> None:
    """Lower the priority of this process, which leads a session."""
    _lower(0, NICENESS)


def give_more_way(process: int) -> None:
    """Lower the priority of another process, which has given way before, again."""
    _lower(process, 2 * NICENESS)


def _lower(process: int, of_session: int) -> None:
    if sys.platform == "win32":
        return
    with suppress(OSError):  # it has ended
        os.setpriority(os.PRIO_PROCESS, process, os.getpriority(os.PRIO_PROCESS, process) + NICENESS)
        # Linux may schedule by session first.
        Path(f"/proc/{process or 'self'}/autogroup").write_text(str(of_session))


def is_busy(root: Path = _ROOT) -> bool:
    """Whether another process of ours would slow others down.

    It would if this process has one processor only, or if more processes want to run now than it has
    processors, as far as that is known.

    `root`, of the files of the system, is replaced in tests only.
    """
    available = processors(root)
    try:
        running = int((root / "proc/loadavg").read_text().split()[3].partition("/")[0])
    except (OSError, ValueError, IndexError):
        running = 1
    return available == 1 or running - 1 > available


def processors(root: Path = _ROOT) -> int:
    """The number of processors that this process may use, at least 1.

    It is the number to which the process is bound, limited by the CPU quotas of its control groups, rounded
    down.
    """
    if sys.platform != "linux":
        return os.cpu_count() or 1
    return max(1, int(min([len(os.sched_getaffinity(0)), *_quotas(root)])))


def _quotas(root: Path) -> Iterator[float]:
    """The processors that each control group of this process, and each group around it, may use at once."""
    try:
        memberships = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for membership in memberships:
        _, controllers, path = membership.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        # Version 2 of control groups names no controllers. Inside a container the path may be that of the
        # host; the group of the container is then the first one.
        first = root / "sys/fs/cgroup" / ("cpu" if controllers else "")
        group = PurePosixPath(path.lstrip("/"))
        for folder in (group, *group.parents):
            yield from _quota(first / folder)


def _quota(group: Path) -> Iterator[float]:
    for names in (["cpu.max"], ["cpu.cfs_quota_us", "cpu.cfs_period_us"]):
        try:
            quota, period = " ".join((group / name).read_text() for name in names).split()
        except (OSError, ValueError):
            continue
        if quota.isdigit() and period.isdigit():  # "max" and "-1" are no limit
            yield int(quota) / int(period)


def processor_seconds(pid: int) -> float:
    """Processor time that a process has used, in seconds; 0 if it has ended."""
    if sys.platform == "linux":
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except (OSError, ValueError):
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return processor_seconds_of_ps(pid)


def processor_seconds_of_ps(pid: int) -> float:
    """The same from the program ps, which every Unix has."""
    shown = subprocess.run(["ps", "-o", "time=", "-p", str(pid)], capture_output=True, text=True, check=False)
    days, _, clock = shown.stdout.strip().rpartition("-")
    seconds = 0.0
    for part in clock.split(":"):
        seconds = 60 * seconds + float(part or 0)
    return seconds + 86_400 * int(days or 0)
