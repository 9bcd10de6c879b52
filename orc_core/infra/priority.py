"""Priority and processor time of the processes that read files and texts."""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

NICENESS = 5
"""Answers have priority, but people wait for uploads too."""
LONG_SECONDS = 2.0
"""Few ordinary files or texts take longer. Several hostile ones can at the same time."""


def give_way(process: int = 0, times: int = 1) -> None:
    """Lower the priority of a process that leads a session, by default this one, once or another time."""
    if sys.platform == "win32":
        return
    with suppress(OSError):  # it has ended
        os.setpriority(os.PRIO_PROCESS, process, os.getpriority(os.PRIO_PROCESS, process) + NICENESS)
        # Linux may schedule by session first.
        Path(f"/proc/{process or 'self'}/autogroup").write_text(str(times * NICENESS))


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
