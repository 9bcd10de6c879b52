"""The contract suites fail where one adapter breaks a rule of its port."""

import os
import subprocess
import sys

import pytest

from devkit.node import from_npm
from devkit.shared_data import ROOT

TURN_LOG = "tests/contract/test_turn_log.py"
QUEUE = "tests/contract/test_job_queue.py"


@pytest.mark.parametrize(
    ("bug", "suite", "adapter"),
    [
        ("ignore_etags", TURN_LOG, "cosmos"),
        pytest.param("share_partitions", TURN_LOG, "cosmos", marks=pytest.mark.campaign),
        pytest.param("forget_keys", TURN_LOG, "cosmos", marks=pytest.mark.campaign),
        pytest.param("write_over_others", QUEUE, "azurite", marks=pytest.mark.campaign),
    ],
)
def test_a_broken_rule_is_caught(bug: str, suite: str, adapter: str) -> None:
    from_npm("azurite")
    command = [sys.executable, "-m", "pytest", "-p", "devkit.planted_bugs", "-x", "-k", adapter, suite]
    environment = os.environ | {"PLANTED_BUG": bug}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == pytest.ExitCode.TESTS_FAILED, run.stdout
    assert f"[{adapter}" in run.stdout.partition("short test summary")[2]
