"""`python -m devkit.walk`: the modules that one question passes through, and their lines.

The API and the tools server run as a user starts them, with a folder, SQLite and no model. Each notes, with
`sys.monitoring`, whose functions start during the second question of a conversation about a PDF. Why this is
counted: docs/decisions/size.md. Needs Python 3.12.
"""

import json
import os
import sys
import tempfile
import threading
import time
import uuid
from functools import partial
from pathlib import Path
from types import CodeType
from typing import Any

from rich.console import Console

from devkit.shared_data import HANDBOOK, ROOT
from devkit.system import System, ask_streaming, interrupted_by_sigterm, running, upload

PRODUCT = tuple(f"{ROOT / package}{os.sep}" for package in ("orc_core", "orc", "mcp_server"))
FOLDER = "ORC_WALK_FOLDER"
"""The variable that names the folder in which processes leave what they noted."""
BEGIN, END = "begin", "end"
"""Files in it: each process notes what starts between them."""
LOOK_SECONDS, SETTLE_SECONDS = 0.02, 1.0
"""Titles, memory and traces are written after the answer."""
FIRST = "How many days of leave does a new employee get?"
SECOND = "What is the hotel limit in Hamburg during the harbour fair?"
SITE = "from devkit.walk import note_starts\n\nnote_starts()\n"


def note_starts() -> None:
    """Makes this process note the modules of the product whose functions start."""
    folder, seen = Path(os.environ[FOLDER]), set[str]()
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
    tool = monitoring.PROFILER_ID

    def started(code: CodeType, _offset: int) -> object:
        if code.co_filename.startswith(PRODUCT) and code.co_name != "<module>":
            seen.add(code.co_filename)
        return monitoring.DISABLE

    def follow() -> None:
        wait_for(folder / BEGIN)
        monitoring.use_tool_id(tool, "walk")
        monitoring.register_callback(tool, monitoring.events.PY_START, started)
        monitoring.set_events(tool, monitoring.events.PY_START)
        wait_for(folder / END)
        monitoring.set_events(tool, 0)
        (folder / f"{os.getpid()}.json").write_text(json.dumps({"argv": sys.argv, "files": sorted(seen)}))

    threading.Thread(target=follow, daemon=True).start()


def wait_for(file: Path) -> None:
    while not file.exists():
        time.sleep(LOOK_SECONDS)


def walk(folder: Path) -> dict[str, int]:
    """The modules by path, with their lines."""
    notes, site = folder / "notes", folder / "site"
    for each in (notes, site):
        each.mkdir()
    (site / "sitecustomize.py").write_text(SITE)
    with running(
        folder / "data", **{FOLDER: str(notes), "PYTHONPATH": f"{site}{os.pathsep}{ROOT}"}
    ) as system:
        _ask_twice(system, notes)
        passed = _passed(notes)
    return {str(file.relative_to(ROOT)): len(file.read_text().splitlines()) for file in sorted(passed)}


def _ask_twice(system: System, notes: Path) -> None:
    conversation_id = str(uuid.uuid4())
    with system.client() as client:
        upload(client, conversation_id, HANDBOOK).raise_for_status()
        ask_streaming(client, conversation_id=conversation_id, question=FIRST)
        time.sleep(SETTLE_SECONDS)
        (notes / BEGIN).touch()
        time.sleep(10 * LOOK_SECONDS)
        ask_streaming(client, conversation_id=conversation_id, question=SECOND)
        time.sleep(SETTLE_SECONDS)
        (notes / END).touch()
        time.sleep(SETTLE_SECONDS)


def _passed(notes: Path) -> set[Path]:
    """What the API and the tools server noted. The worker has nothing to do, and looks for work."""
    found = [json.loads(file.read_text()) for file in notes.glob("*.json")]
    return {Path(name) for each in found if "worker" not in each["argv"] for name in each["files"]}


@interrupted_by_sigterm()
def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        passed = walk(Path(folder))
    say = partial(Console(soft_wrap=True).print, highlight=False)
    for name, lines in passed.items():
        say(f"{lines:6,} {name}")
    say(f"{len(passed)} modules of {sum(passed.values()):,} lines")


if __name__ == "__main__":
    main()
