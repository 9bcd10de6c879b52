"""Functions that tests run in the place of the writer of PDF files."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from orc_core.infra.sandbox_child import ChildMessage

Entries = list[str]


def read_title(heading: dict[str, Any], entries: Entries, fonts_folder: str) -> Iterator[ChildMessage]:
    """The file whose path is the title of the export."""
    yield ChildMessage({}, Path(heading["title"]).read_bytes())


def end(heading: dict[str, Any], entries: Entries, fonts_folder: str) -> Iterator[ChildMessage]:
    """End as the title says: by a signal, or with an exit code or an exception of this name."""
    how = heading["title"]
    if how.isdigit():
        os._exit(int(how))
    if how.startswith("SIG"):
        os.kill(os.getpid(), getattr(signal, how))
    raise MemoryError if how == "MemoryError" else ValueError
    yield ChildMessage({})
