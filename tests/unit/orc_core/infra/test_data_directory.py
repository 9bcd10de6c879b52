"""The address that a server leaves in its data directory. Locks of the directory: tests of backups."""

import errno
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from orc_core import __version__
from orc_core.errors import InvalidInput
from orc_core.infra.data_directory import SERVER, announced, announced_tools, in_use

ANNOUNCING = """
import sys, time
from pathlib import Path
from orc_core.infra.data_directory import announced

with announced(Path(sys.argv[1]), "http://127.0.0.1:7200/mcp"):
    print("announced", flush=True)
    time.sleep(60)
"""


def test_the_address_is_there_while_the_server_runs(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    assert announced_tools(folder) == ("", "")
    with announced(folder, "http://127.0.0.1:7200/mcp"):
        assert announced_tools(folder) == ("http://127.0.0.1:7200/mcp", __version__)
    assert announced_tools(folder) == ("", "")


def test_a_killed_server_is_not_found(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", ANNOUNCING, tmp_path], stdout=subprocess.PIPE)
    assert child.stdout is not None
    with child.stdout:
        assert child.stdout.readline() == b"announced\n"
        assert announced_tools(tmp_path) == ("http://127.0.0.1:7200/mcp", __version__)
        child.kill()
        child.wait()
    assert (tmp_path / SERVER).exists()
    assert announced_tools(tmp_path) == ("", "")


def test_of_two_servers_the_first_is_found_and_a_later_one_replaces_what_was_left(tmp_path: Path) -> None:
    with announced(tmp_path, "http://first/mcp"), announced(tmp_path, "http://second/mcp"):
        assert announced_tools(tmp_path) == ("http://first/mcp", __version__)
    with announced(tmp_path, "http://third/mcp"):
        assert announced_tools(tmp_path) == ("http://third/mcp", __version__)


@pytest.mark.parametrize(
    ("flag", "said"),
    [
        (os.ST_RDONLY, "its file system is read-only. Mount it for writing, or set ORC_DATA_DIR"),
        (0, "this user has no permission. Change its owner or mode, or set ORC_DATA_DIR"),
    ],
)
def test_a_folder_that_cannot_be_written_is_refused_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flag: int, said: str
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setattr(os, "fstatvfs", lambda _: SimpleNamespace(f_flag=flag))
    with pytest.raises(InvalidInput, match="cannot be written") as caught, in_use(tmp_path):
        pass
    assert said in caught.value.message


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.EROFS, "its file system is read-only. Mount it for writing, or set"),
        (errno.ENOSPC, "the disk is full. Make space, or set"),
        (errno.EDQUOT, "the disk quota of this user is used up. Make space, or set"),
        (errno.EMFILE, "this process has reached its limit of open files. Raise the limit (`ulimit -n`), or"),
        (errno.EEXIST, "it is a file. Set ORC_DATA_DIR to another folder."),
        (errno.EIO, f"{os.strerror(errno.EIO)}. Set ORC_DATA_DIR to another folder."),
    ],
)
def test_a_folder_that_cannot_be_made_is_refused_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, said: str
) -> None:
    def fail(*_words: object, **_options: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Path, "mkdir", fail)
    with pytest.raises(InvalidInput) as caught, in_use(tmp_path / "data"):
        pass
    assert said in caught.value.message
