"""Kills of the API: the product passes, and each planted bug is found."""

from pathlib import Path

import pytest
from rich.console import Console

from resilience.clients import ANSWERS, QUESTIONS
from resilience.kill_api import SERVING, campaign

QUIET = Console(quiet=True)
KILLS, FULL_KILLS, PLANTED_KILLS = 1, 200, 2


def test_a_killed_api_keeps_what_it_acknowledged(tmp_path: Path, full_size: bool) -> None:
    verdict = campaign(tmp_path, FULL_KILLS if full_size else KILLS, QUIET, lanes=1, small=not full_size)
    # The suite shares its machine, so the time to recover is not checked here.
    assert [check for check in verdict.checks if check.findings and check.name != SERVING] == []
    assert verdict.check(QUESTIONS).of > 0


@pytest.mark.campaign
@pytest.mark.parametrize(
    ("bug", "found_by"),
    [
        ("acknowledge_without_writing", ANSWERS),
        ("store_with_the_answer", QUESTIONS),
    ],
)
def test_a_planted_bug_is_found(tmp_path: Path, bug: str, found_by: str) -> None:
    verdict = campaign(
        tmp_path, PLANTED_KILLS, QUIET, lanes=1, command=("-m", "tests.campaigns.planted", bug)
    )
    assert verdict.check(found_by).findings
    assert not verdict.ok
