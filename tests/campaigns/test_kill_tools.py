"""Kills of the tools server: the product passes, and a planted bug is found."""

import os
from pathlib import Path

import pytest
from rich.console import Console

from devkit.shared_data import ROOT
from resilience.kill_tools import PENDING, campaign
from resilience.tool_outage import UNTYPED

QUIET = Console(quiet=True)
PLANT = Path(__file__).parent / "plants" / "untyped"


def test_turns_survive_kills_of_the_tools_server(tmp_path: Path, full_size: bool) -> None:
    kills, outages = (100, 1) if full_size else (1, 0)
    verdict = campaign(tmp_path, kills, QUIET, lanes=1, absences=outages)
    assert [check for check in verdict.checks if check.findings] == []
    assert verdict.check(PENDING).of >= 2


@pytest.mark.campaign
def test_a_planted_bug_is_found(tmp_path: Path) -> None:
    settings = {"PYTHONPATH": f"{PLANT}{os.pathsep}{ROOT}"}
    verdict = campaign(tmp_path, 1, QUIET, lanes=1, absences=0, settings=settings)
    assert verdict.check(UNTYPED).findings
    assert not verdict.ok
