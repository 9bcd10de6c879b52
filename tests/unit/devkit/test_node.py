"""Programs that need Node are found, or it is said what is missing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from devkit.errors import NotInstalled
from devkit.node import from_npm, node


@pytest.fixture(autouse=True)
def unknown() -> Iterator[None]:
    """Node is looked for again in each test, and after it."""
    node.cache_clear()
    yield
    node.cache_clear()


def node_that_says(version: str, folder: Path, patch: pytest.MonkeyPatch) -> None:
    program = folder / "node"
    program.write_text(f"#!/bin/sh\necho {version}\n")
    program.chmod(0o755)
    patch.setenv("PATH", str(folder))


def test_a_machine_without_node_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotInstalled, match="Node 20 or newer is not installed"):
        from_npm("azurite")


def test_an_old_node_is_refused_although_the_packages_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node_that_says("v18.20.4", tmp_path, monkeypatch)
    monkeypatch.setattr("devkit.node.MODULES", tmp_path)
    with pytest.raises(NotInstalled, match=r"is needed, and .*/node is 18\.20\.4"):
        from_npm("node")


def test_packages_that_are_missing_are_named_with_the_command_that_brings_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node_that_says("v20.0.0", tmp_path, monkeypatch)
    monkeypatch.setattr("devkit.node.MODULES", tmp_path / "absent")
    with pytest.raises(NotInstalled, match="make install-node"):
        from_npm("azurite")


def test_what_is_there_is_returned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node_that_says("v24.1.0", tmp_path, monkeypatch)
    monkeypatch.setattr("devkit.node.MODULES", tmp_path)
    assert from_npm("node") == tmp_path / "node"
