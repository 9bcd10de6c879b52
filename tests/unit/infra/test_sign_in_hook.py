"""The hooks of `azd` that register the application with which people sign in; `az` and `azd` are doubles."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from devkit.shared_data import ROOT

SCRIPT = ROOT / "infra" / "sign-in.sh"
ADDRESS = "https://func-api.azurewebsites.net/.auth/login/aad/callback"
AZ = r"""#!/usr/bin/env python3
import json, os, sys
with open(os.environ["CALLS"], "a") as calls:
    calls.write(json.dumps(sys.argv) + "\n")
if os.environ["FAILS"] in ("all", sys.argv[2]):
    sys.exit("Please run 'az login' to setup account.")
print({"create": "new-id", "show": os.environ["KNOWN"]}.get(sys.argv[3], ""))
"""


def hook(
    when: str, folder: Path, *, known: str = "", fails: str = "", **environment: str
) -> tuple[subprocess.CompletedProcess[str], list[list[str]]]:
    """The end of a hook, and the calls of both programs."""
    for name in ("az", "azd"):
        (folder / name).write_text(AZ)
        (folder / name).chmod(0o755)
    calls = folder / "calls"
    calls.write_text("")
    settings = {"PATH": f"{folder}:{os.environ['PATH']}", "CALLS": str(calls), "FAILS": fails, "KNOWN": known}
    settings |= {"AZURE_ENV_NAME": "my-orc", "AUTH_REDIRECT_URI": ADDRESS, **environment}
    done = subprocess.run(["sh", SCRIPT, when], env=settings, capture_output=True, text=True, check=False)
    return done, [[Path(each[0]).name, *each[1:]] for each in map(json.loads, calls.read_text().splitlines())]


def test_the_first_deployment_registers_an_application_with_the_role_of_administrators(
    tmp_path: Path,
) -> None:
    done, [made, principal, kept] = hook("create", tmp_path)
    assert done.returncode == 0, done.stderr
    assert made[:6] == ["az", "ad", "app", "create", "--display-name", "Orc (my-orc)"]
    assert made[made.index("--enable-id-token-issuance") + 1] == "true"
    [role] = json.loads(made[made.index("--app-roles") + 1])
    assert (role["value"], role["allowedMemberTypes"], role["isEnabled"]) == ("orc.admin", ["User"], True)
    assert kept == ["azd", "env", "set", "ORC_AUTH_CLIENT_ID", "new-id"]
    assert principal[:6] == ["az", "ad", "sp", "create", "--id", "new-id"]


def test_a_registration_that_is_not_whole_is_made_again(tmp_path: Path) -> None:
    """The CLI changes an application of the same name instead of making another one."""
    done, calls = hook("create", tmp_path, fails="sp")
    assert done.returncode != 0
    assert [call[:3] for call in calls] == [["az", "ad", "app"], ["az", "ad", "sp"]]


@pytest.mark.parametrize("settings", [{"ORC_AUTH_CLIENT_ID": "mine"}, {"ORC_AUTH_MODE": "oidc"}])
def test_a_registration_of_the_operator_or_another_sign_in_is_left_alone(
    settings: dict[str, str], tmp_path: Path
) -> None:
    assert hook("create", tmp_path, **settings)[1] == []


@pytest.mark.parametrize(
    ("known", "added"),
    [
        ("", [ADDRESS]),
        ("https://a.example/\nhttps://b.example/", ["https://a.example/", "https://b.example/", ADDRESS]),
    ],
)
def test_the_address_to_return_to_is_added_to_those_that_are_there(
    known: str, added: list[str], tmp_path: Path
) -> None:
    done, [_, changed] = hook("return", tmp_path, known=known, ORC_AUTH_CLIENT_ID="mine")
    assert done.returncode == 0, done.stderr
    assert changed == ["az", "ad", "app", "update", "--id", "mine", "--web-redirect-uris", *added]
    known = f"{known}\n{ADDRESS}"
    assert len(hook("return", tmp_path, known=known, ORC_AUTH_CLIENT_ID="mine")[1]) == 1


def test_without_the_azure_cli_the_hooks_say_what_to_do(tmp_path: Path) -> None:
    first, _ = hook("create", tmp_path, fails="all")
    assert (first.returncode, "azd env set ORC_AUTH_CLIENT_ID" in first.stderr) == (1, True)
    then, _ = hook("return", tmp_path, fails="all", ORC_AUTH_CLIENT_ID="mine")
    assert (then.returncode, ADDRESS in then.stderr) == (0, True)
