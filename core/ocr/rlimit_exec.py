"""Becomes another program, under limits: python -m core.ocr.rlimit_exec MEMORY SECONDS PROGRAM ..."""

import os
import sys

from core.extraction import limits

NOT_STARTED = 127
"""The exit code where the program cannot be started, as shells have it."""


def main() -> None:
    memory_bytes, seconds, *command = sys.argv[1:]
    limits.confine(int(memory_bytes), float(seconds))
    limits.forbid_files()
    try:
        os.execv(command[0], command)
    except OSError:
        os._exit(NOT_STARTED)


if __name__ == "__main__":
    main()
