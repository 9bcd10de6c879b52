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
"""Few ordinary files or texts take longer; of hostile ones several do at the same time."""


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
    """Whether another process would take time from others: if more of them want to run now than this one has
    processors, as far as that is known, or if it has only one.

    `root`, of the files of the system, is replaced in tests only.
    """
    available = processors(root)
    try:
        running = int((root / "proc/loadavg").read_text().split()[3].partition("/")[0])
    except (OSError, ValueError, IndexError):
        running = 1
    return available == 1 or running - 1 > available


def processors(root: Path = _ROOT) -> int:
    """How many processors this process may use: those to which it is bound, within the quotas of its control
    groups, rounded down; at least 1.
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
