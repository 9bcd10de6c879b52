"""Redocly and Spectral, which read OpenAPI documents as strictly as tools of clients do, find no error."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from devkit.shared_data import ROOT
from orc.api.app import create_app
from orc.settings import AuthMode, Settings

PROGRAMS = ROOT / "node_modules" / ".bin"
REDOCLY = ["redocly", "lint", "openapi.json", "--format", "json"]
SPECTRAL = ["spectral", "lint", "openapi.json", "--ruleset", "rules.json", "--format", "json", "--quiet"]
LEFT_OUT = {
    "operation-4xx-response": "health checks refuse no caller",
    "info-contact": "the operator of a server is its contact",
}
"""The warnings that are meant."""
MODES = {
    AuthMode.LOCAL: Settings(),
    AuthMode.EASYAUTH: Settings(auth_mode=AuthMode.EASYAUTH, azure_auth_enabled=True),
}


def warnings_of(folder: Path, document: object) -> set[str]:
    """The names of the rules that a document breaks, in Redocly's recommended rules and Spectral's."""
    (folder / "openapi.json").write_text(json.dumps(document))
    (folder / "rules.json").write_text('{"extends": "spectral:oas"}')
    redocly, spectral = (
        json.loads(
            subprocess.run([PROGRAMS / name, *options], cwd=folder, check=False, capture_output=True).stdout
            or "[]"
        )
        for name, *options in (REDOCLY, SPECTRAL)
    )
    return {each["ruleId"] for each in redocly["problems"]} | {each["code"] for each in spectral}


@pytest.mark.campaign
@pytest.mark.skipif(shutil.which(PROGRAMS / "redocly") is None, reason="Redocly is not installed: npm ci")
@pytest.mark.parametrize("mode", MODES)
def test_the_openapi_document_breaks_no_rule_of_redocly_and_spectral(mode: AuthMode, tmp_path: Path) -> None:
    assert warnings_of(tmp_path, create_app(MODES[mode]).openapi()) <= LEFT_OUT.keys()


@pytest.mark.campaign
@pytest.mark.skipif(shutil.which(PROGRAMS / "redocly") is None, reason="Redocly is not installed: npm ci")
def test_an_invalid_document_is_found(tmp_path: Path) -> None:
    document = create_app(MODES[AuthMode.LOCAL]).openapi()
    content = document["paths"]["/api/orc"]["post"]["responses"]["200"]["content"]
    content["text/event-stream"] = {"itemSchema": {"type": "object"}}
    assert {"struct", "oas3-schema"} <= warnings_of(tmp_path, document)
