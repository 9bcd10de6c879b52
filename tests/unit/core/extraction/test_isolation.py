"""The child that reads files sees nothing of its parent and of other documents."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from core.extraction.isolation import isolate
from devkit.shared_data import ROOT

PROBE = """
import json, os, socket, sys
from pathlib import Path
from core.extraction.isolation import isolate

source, other, port = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
tries = {
    "source": source.read_text,
    "library": lambda: __import__("wave"),
    "environment of the parent": Path(f"/proc/{os.getppid()}/environ").read_bytes,
    "other document": other.read_text,
    "folder": lambda: os.listdir(other.parent),
    "writing": lambda: other.with_name("new").write_text("x"),
    "overwriting": lambda: source.write_text("x"),
    "connection": lambda: socket.create_connection(("127.0.0.1", port), 2),
    "signal": lambda: os.kill(os.getppid(), 0),
}
def works(attempt):
    try:
        attempt()
    except OSError:
        return False
    return True
free = [what for what, attempt in tries.items() if what != "overwriting" and works(attempt)]
isolated = isolate(source)
print(json.dumps([free, isolated, [what for what, attempt in tries.items() if works(attempt)]]))
"""


@pytest.mark.slow
def test_a_child_reads_its_source_and_libraries_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "source").write_text("text")
    (tmp_path / "data").mkdir()
    other = tmp_path / "data" / "other"
    other.write_text("secret")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        arguments = [str(tmp_path / "source"), str(other), str(listener.getsockname()[1])]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        probe = [sys.executable, "-c", PROBE, *arguments]
        ended = subprocess.run(probe, env=environment, capture_output=True, check=True, text=True)
    free, isolated, left = json.loads(ended.stdout)
    if not isolated:
        pytest.skip("this kernel has no Landlock")
    assert len(free) == 8
    assert left == ["source", "library"]


def test_a_system_without_landlock_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert isolate(tmp_path) is False
