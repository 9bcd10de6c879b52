"""The priority of processes that read files and texts: below that of the servers, lower if they take long."""

import os
import sys
from contextlib import suppress
from pathlib import Path

NICENESS = 5
"""Answers have priority, but people wait for uploads too."""
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
