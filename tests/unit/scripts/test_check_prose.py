"""The word list is applied to names and prose, and its allow-list only shrinks."""

from pathlib import Path

import pytest

from scripts import check_prose

WORDS = "# comment\ntold | reported\nof its own | its own\n"  # prose: data


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "scripts").mkdir()
    (tmp_path / check_prose.WORDS).write_text(WORDS)
    (tmp_path / check_prose.BASELINE).write_text("# not yet\nold/\n")
    (tmp_path / "old").mkdir()
    monkeypatch.setattr(check_prose, "ROOT", tmp_path)
    monkeypatch.setattr(check_prose, "repository_files", lambda root: ["a.py", "old/b.py"])
    return tmp_path


@pytest.mark.parametrize(
    "line",
    [
        "# what was told",  # prose: data
        "def told_by_wording():",  # prose: data
        "Told = 1",  # prose: data
        "a file of its own",  # prose: data
        "of_its_own = 2",  # prose: data
    ],
)
def test_a_banned_word_is_refused_with_its_place_and_its_replacement(
    line: str, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "a.py").write_text(f"x = 1\n{line}\n")
    (root / "old/b.py").write_text("told\n")  # prose: data
    assert check_prose.main([]) == 1
    output = capsys.readouterr().out
    assert output.startswith("a.py:2: ")
    assert "write reported" in output or "write its own" in output


@pytest.mark.parametrize("line", ["untold", "toldness", "its own", 'QUOTE = "he told us"  # prose: data'])
def test_other_words_and_marked_data_pass(line: str, root: Path) -> None:
    (root / "a.py").write_text(f"{line}\n")
    (root / "old/b.py").write_text("told\n")  # prose: data
    assert check_prose.main([]) == 0


def test_an_allow_list_entry_that_excuses_nothing_is_refused_until_pruned(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "a.py").write_text("x = 1\n")
    (root / "old/b.py").write_text("y = 2\n")
    assert check_prose.main([]) == 1
    assert "old/ has no such word any more" in capsys.readouterr().out
    assert check_prose.main(["--prune"]) == 0
    assert (root / check_prose.BASELINE).read_text() == "# not yet\n"
    assert check_prose.main([]) == 0


def test_every_banned_word_has_a_replacement() -> None:
    words = check_prose.banned_words(Path(__file__).resolve().parents[3])
    assert len(words) >= 30
    assert all(words.values())
