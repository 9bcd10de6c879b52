"""Fuzzing with generated requests: the product passes, and each planted bug is found."""

from pathlib import Path

import pytest
from rich.console import Console

from resilience.fuzz import ACCEPTED, PROBLEMS, SERVER_ERRORS, UNDOCUMENTED, campaign

QUIET = Console(quiet=True)
CASES, FULL_CASES = 60, 10_000


def test_generated_requests_get_documented_answers(tmp_path: Path, full_size: bool) -> None:
    cases = FULL_CASES if full_size else CASES
    verdict = campaign(tmp_path, cases, QUIET, small=not full_size)
    assert [check for check in verdict.checks if not check.ok] == []
    assert verdict.check(SERVER_ERRORS).of >= cases


@pytest.mark.campaign
@pytest.mark.parametrize(
    ("bug", "found_by"),
    [
        ("accept_everything", ACCEPTED),
        ("break_down", SERVER_ERRORS),
        ("invent_a_status", UNDOCUMENTED),
        ("send_bare_errors", PROBLEMS),
    ],
)
def test_a_planted_bug_is_found(tmp_path: Path, bug: str, found_by: str) -> None:
    verdict = campaign(tmp_path, 1, QUIET, command=("-m", "tests.campaigns.careless", bug), small=True)
    assert verdict.check(found_by).findings
    assert not verdict.ok
