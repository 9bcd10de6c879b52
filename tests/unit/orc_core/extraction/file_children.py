"""Functions that tests run in the place of the reader of files.

They may read the "file", a folder in which the test leaves notes, and `name` says what they do.
"""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from orc_core.errors import UnreadableDocument
from orc_core.infra.sandbox_child import ChildMessage


def page(text: str, *, follows: bool = False) -> ChildMessage:
    return ChildMessage({"follows": follows}, text.encode())


def opened(total: int = 3) -> ChildMessage:
    return ChildMessage({"opened": "application/pdf", "total": total})


def work(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def hang(**_: object) -> Iterator[ChildMessage]:
    yield opened()
    yield page("a page")
    time.sleep(600)


def slow_second_page(first: int, **_: object) -> Iterator[ChildMessage]:
    yield opened()
    for number in range(first, 4):
        if number == 2:
            work(60)
        yield page(f"page {number}")


def slow_pages(**_: object) -> Iterator[ChildMessage]:
    yield opened()
    work(60)


def endless_text(**_: object) -> Iterator[ChildMessage]:
    yield opened()
    while True:
        yield page("x" * 1_000_000)


def end(name: str, path: str, **_: object) -> Iterator[ChildMessage]:
    """End by the signal of this name after a page, unless there is the note "again"."""
    yield opened()
    yield page("a page")
    if not (Path(path) / "again").exists():
        yield from fail(name)


def fail(how: str) -> Iterator[ChildMessage]:
    if how.startswith("SIG"):
        os.kill(os.getpid(), getattr(signal, how))
        time.sleep(60)
    elif how == "exit":
        os._exit(3)
    elif how == "invalid":
        yield ChildMessage({"boxes": "none"})
    elif how == "refused":
        raise UnreadableDocument("It is damaged.", code="corrupt")
    raise ValueError(how)
