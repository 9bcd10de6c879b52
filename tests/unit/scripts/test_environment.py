"""When the set-up keeps a virtual environment, and when it makes a new one."""

import venv
from pathlib import Path

import pytest

from scripts import environment


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("environments") / ".venv"
    venv.create(folder, with_pip=True, symlinks=True)
    return folder


def test_a_whole_environment_of_this_python_is_kept(made: Path) -> None:
    assert environment.is_usable(made)


def test_an_environment_that_was_moved_is_made_anew(made: Path) -> None:
    """Its scripts still start with the path of the old place."""
    moved = made.rename(made.with_name("elsewhere"))
    try:
        assert not environment.is_usable(moved)
    finally:
        moved.rename(made)


def test_an_environment_without_its_interpreter_is_made_anew(made: Path) -> None:
    interpreter = made / "bin" / "python"
    target = interpreter.readlink()
    interpreter.unlink()
    interpreter.symlink_to("gone")
    try:
        assert not environment.is_usable(made)
    finally:
        interpreter.unlink()
        interpreter.symlink_to(target)


def test_an_environment_whose_making_was_interrupted_is_made_anew(tmp_path: Path) -> None:
    venv.create(tmp_path / ".venv", with_pip=False)
    assert not environment.is_usable(tmp_path / ".venv")


def test_an_absent_environment_is_made(tmp_path: Path) -> None:
    assert not environment.is_usable(tmp_path / ".venv")


def test_an_environment_is_in_step_until_a_pin_changes(tmp_path: Path) -> None:
    pins = tmp_path / "requirements.txt"
    pins.write_text("one==1.0\n")
    assert not environment.is_in_step(tmp_path, [pins])

    environment.stamp_for(tmp_path, pins).write_text(environment.expected_state([pins]))
    assert environment.is_in_step(tmp_path, [pins])

    pins.write_text("one==1.1\n")
    assert not environment.is_in_step(tmp_path, [pins])
