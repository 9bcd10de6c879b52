"""The campaign of killed APIs: the product stands it, and each planted bug is found."""

from pathlib import Path

import pytest
from rich.console import Console

from resilience.clients import ANSWERS, QUESTIONS
from resilience.kill_api import SERVING, campaign

QUIET = Console(quiet=True)


def test_what_a_killed_api_acknowledged_is_there(tmp_path: Path) -> None:
    verdict = campaign(tmp_path, 2, QUIET, lanes=1)
    # How fast it is back is no matter of a suite that shares its machine.
    assert [check for check in verdict.checks if check.findings and check.name != SERVING] == []
    assert verdict.check(QUESTIONS).of > 0


@pytest.mark.parametrize(
    ("bug", "found_by"),
    [
        ("acknowledge_without_writing", ANSWERS),
        pytest.param("store_with_the_answer", QUESTIONS, marks=pytest.mark.thorough),
    ],
)
def test_a_planted_bug_is_found(tmp_path: Path, bug: str, found_by: str) -> None:
    verdict = campaign(tmp_path, 2, QUIET, lanes=1, command=("-m", "tests.campaigns.planted", bug))
    assert verdict.check(found_by).findings
    assert not verdict.ok
