"""The image has all that the product needs, and compose.yaml names nothing that does not exist."""

import re
import shlex
import subprocess
import tomllib
from datetime import date
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import yaml

from devkit.shared_data import ROOT
from orc.settings import Settings

DOCKERFILE = (ROOT / "Dockerfile").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
ALLOWED = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}


def copied(dockerfile: str) -> set[str]:
    """What an image takes from the checkout."""
    copies = [shlex.split(line)[1:-1] for line in dockerfile.splitlines() if line.startswith("COPY ")]
    return {source for sources in copies if not sources[0].startswith("--from") for source in sources}


def variables(text: str) -> set[str]:
    return set(re.findall(r"^#? ?([A-Z][A-Z_]+)=", text, re.M))


def test_the_image_has_every_package_of_the_wheel() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = {name.rstrip("*") for name in project["tool"]["setuptools"]["packages"]["find"]["include"]}
    files = {
        "pyproject.toml",
        "requirements.txt",
        project["project"]["readme"],
        *project["project"]["license-files"],
    }
    assert copied(DOCKERFILE) == packages | files


@pytest.mark.parametrize("path", ["Dockerfile", "mcp_server/Dockerfile"])
def test_docker_may_read_what_an_image_copies(path: str) -> None:
    sources = copied((ROOT / path).read_text())
    assert sources <= ALLOWED
    assert all((ROOT / source).exists() for source in sources)


def test_the_variables_of_the_image_and_of_the_example_are_settings() -> None:
    known = {f"ORC_{name.upper()}" for name in Settings.model_fields}
    for field in Settings.model_fields.values():
        known.update(map(str, getattr(field.validation_alias, "choices", [])))
    named = variables((ROOT / "compose.env.example").read_text()) | set(
        re.findall(r"\b(ORC_\w+)=", DOCKERFILE)
    )
    assert named - known == set()


def test_only_volumes_can_be_written_and_each_is_declared() -> None:
    used = {mount.split(":")[0] for service in COMPOSE["services"].values() for mount in service["volumes"]}
    assert used == set(COMPOSE["volumes"])
    for name in ("orc", "backup"):
        service = COMPOSE["services"][name]
        assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
        places = {mount.split(":")[1] for mount in service["volumes"]}
        assert {"/data", "/tmp"} <= places


def test_the_proxy_and_the_health_check_ask_where_orc_listens() -> None:
    [port] = re.findall(r"ORC_PORT=(\d+)", DOCKERFILE)
    assert f"--to orc:{port}" in COMPOSE["services"]["proxy"]["command"]
    assert f"EXPOSE {port}" in DOCKERFILE
    [address] = re.findall(r"urlopen\('http://127\.0\.0\.1:(\d+/[^']+)'", DOCKERFILE)
    assert address == f"{port}/api/health"


def test_the_image_is_run_by_a_user_without_rights_whose_data_is_a_volume() -> None:
    [user] = re.findall(r"^USER (\d+)$", DOCKERFILE, re.M)
    assert int(user) > 0
    assert f"useradd --uid {user}" in DOCKERFILE
    [data] = re.findall(r"ORC_DATA_DIR=(\S+)", DOCKERFILE)
    # In the volume, not the volume itself: a restore moves the folder aside.
    assert PurePosixPath(data).parent in {PurePosixPath(p) for p in re.findall(r'"(/\w+)"', DOCKERFILE)}


def test_what_a_backup_that_was_cut_off_left_is_deleted_and_no_backup_is(tmp_path: Path) -> None:
    *shell, loop = COMPOSE["services"]["backup"]["command"]
    left = tmp_path / ".orc-2026-01-01.zip.0a1b"
    for path in (left, left.with_name(f"{left.name}.db"), tmp_path / "orc-2026-01-01.zip"):
        path.touch()
    once = 'sleep() { test "$1" = 3600 || mkdir once; }; orc() { touch "$2"; }\n'
    script = once + loop.replace("$$", "$").replace("/backups", str(tmp_path))
    subprocess.run([*shell, script], cwd=tmp_path, check=True, timeout=30)
    kept = sorted(path.name for path in tmp_path.glob("*.zip*"))
    assert kept == ["orc-2026-01-01.zip", f"orc-{date.today()}.zip"]


def test_a_command_on_the_machine_has_the_settings_and_the_data_of_the_unit(tmp_path: Path) -> None:
    unit = (ROOT / "infra" / "orc.service").read_text()
    data, file, program = (
        re.findall(rf"^{name}=(\S+)", unit, re.M)[0]
        for name in ("Environment=ORC_DATA_DIR", "EnvironmentFile", "ExecStart")
    )
    [command] = re.findall(r"^(sh -c .*doctor')$", (ROOT / "docs" / "teams.md").read_text(), re.M)
    assert {data, file, program} <= set(re.findall(r"/[\w./]+", command))
    for here, there in ((data, tmp_path / "data"), (program, tmp_path / "orc")):
        command = command.replace(here, str(there))
    (tmp_path / "orc").write_text('#!/bin/sh\necho "$1 $ORC_DATA_DIR $ORC_AUTH_MODE $ORC_PUBLIC_URL"\n')
    (tmp_path / "orc").chmod(0o700)
    command = command.replace(file, str(ROOT / "compose.env.example"))
    said = subprocess.run(shlex.split(command), capture_output=True, text=True, check=True).stdout
    assert said.split() == ["doctor", str(tmp_path / "data"), "oidc", "https://orc.example.com"]
