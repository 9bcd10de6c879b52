"""The address that a server leaves in its data directory. Locks of the directory: tests of backups."""

import subprocess
import sys
from pathlib import Path

from core.infra.data_directory import SERVER, announced, announced_tools

ANNOUNCING = """
import sys, time
from pathlib import Path
from core.infra.data_directory import announced

with announced(Path(sys.argv[1]), "http://127.0.0.1:7200/mcp"):
    print("announced", flush=True)
    time.sleep(60)
"""


def test_the_address_is_there_while_the_server_runs(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    assert announced_tools(folder) == ""
    with announced(folder, "http://127.0.0.1:7200/mcp"):
        assert announced_tools(folder) == "http://127.0.0.1:7200/mcp"
    assert announced_tools(folder) == ""


def test_a_killed_server_is_not_found(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", ANNOUNCING, tmp_path], stdout=subprocess.PIPE)
    assert child.stdout is not None
    with child.stdout:
        assert child.stdout.readline() == b"announced\n"
        assert announced_tools(tmp_path) == "http://127.0.0.1:7200/mcp"
        child.kill()
        child.wait()
    assert (tmp_path / SERVER).exists()
    assert announced_tools(tmp_path) == ""


def test_of_two_servers_the_first_is_found_and_a_later_one_replaces_what_was_left(tmp_path: Path) -> None:
    with announced(tmp_path, "http://first/mcp"), announced(tmp_path, "http://second/mcp"):
        assert announced_tools(tmp_path) == "http://first/mcp"
    with announced(tmp_path, "http://third/mcp"):
        assert announced_tools(tmp_path) == "http://third/mcp"
