"""The bill of materials, and the notices of files of others."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from devkit.shared_data import ROOT
from scripts import sbom

NOTICE = (ROOT / "NOTICE.md").read_text()
MADE_HERE = {"orc/exports/box.ttf", "orc/web/harbour-handbook.pdf"}


@pytest.mark.slow
def test_the_bill_of_materials_has_what_is_installed_and_what_is_bundled(tmp_path: Path) -> None:
    commands = (ROOT / "Makefile").read_text().split("\nsbom:")[1].split("\n\n")[0]
    [exported] = re.findall(r"\$\(UV\) (export .*?) -o ", commands)
    file = tmp_path / "orc.cdx.json"
    uv = [str(Path(sys.executable).with_name("uv")), *exported.split(), "--offline", "-o", str(file)]
    subprocess.run(uv, cwd=ROOT, capture_output=True, check=True)
    sbom.main(file)
    bill = json.loads(file.read_text())
    assert bill["bomFormat"] == "CycloneDX"
    found = {(each["name"], each["version"]) for each in bill["components"]}
    pinned = set(re.findall(r"^([\w.-]+)==([\w.]+)", (ROOT / "requirements.txt").read_text(), re.MULTILINE))
    assert len(pinned) > 100
    assert pinned <= found
    assert set(sbom.vendored().items()) <= found
    assert "pkg:npm/%40preact/signals-core@" in file.read_text()


def test_each_bundled_library_has_its_licence_and_the_version_of_the_lock() -> None:
    libraries = sbom.vendored()
    assert len(libraries) >= 5
    locked = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    assert libraries == {name: locked[f"node_modules/{name}"]["version"] for name in libraries}
    parts = sbom.LICENCES.read_text().split(f"\n{'-' * 78}\n")
    assert len(parts) == len(libraries)
    assert all("Permission is hereby granted" in part and "WARRANT" in part for part in parts)
    assert [name for name in libraries if f"`{name}`" not in NOTICE] == []


def test_each_file_of_others_is_in_the_notices_with_a_text_of_its_licence() -> None:
    """Those in folders of others, and those that are no text, unless a script makes them."""
    command = ["git", "ls-files", "-z", "orc", "orc_core", "mcp_server"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    files = {name for name in filter(None, names) if "/vendor/" in name or not is_text(ROOT / name)}
    assert len(files) >= 4
    listed = set(re.findall(r"`([\w./-]+/[\w.-]+)`", NOTICE))
    assert {name for name in files - MADE_HERE if not re.search(r"\.d\.ts$", name)} <= listed
    assert [name for name in listed if not name.startswith("@") and not (ROOT / name).is_file()] == []


def is_text(file: Path) -> bool:
    try:
        file.read_bytes().decode()
    except UnicodeDecodeError:
        return False
    return True
