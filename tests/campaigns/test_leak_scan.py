"""The leak scan: the product leaks no secret and no text, and a planted leak is found."""

from pathlib import Path

import pytest
from rich.console import Console

from resilience.leak_scan import LOGGED_SECRETS, LOGGED_TEXTS, campaign, sightings
from resilience.leak_scenarios import ACTS

QUIET = Console(quiet=True)
PLANTS = Path(__file__).parent / "plants"


FIRST_ACTS = 5


def test_no_secret_and_no_text_leaks(tmp_path: Path, full_size: bool) -> None:
    verdict = campaign(tmp_path, QUIET, first=None if full_size else FIRST_ACTS)
    assert [check for check in verdict.checks if not check.ok] == []
    assert verdict.check(ACTS).of > (30 if full_size else 15)


@pytest.mark.campaign
def test_a_planted_leak_is_found(tmp_path: Path) -> None:
    verdict = campaign(tmp_path, QUIET, first=1, plant=PLANTS / "telling")
    assert verdict.check(ACTS).ok
    assert verdict.check(LOGGED_TEXTS).findings
    assert verdict.check(LOGGED_SECRETS).findings


@pytest.mark.campaign
def test_verbose_vendor_logs_are_found(tmp_path: Path) -> None:
    verdict = campaign(tmp_path, QUIET, first=1, plant=PLANTS / "chatty")
    assert verdict.check(LOGGED_TEXTS).findings


def test_a_canary_is_found_anywhere_in_the_output() -> None:
    assert sightings(b"before quokka1 after quokka1", ["quokka1", "quokka2"]) == [
        "before quokka1 after quokka1",
        "before quokka1 after quokka1",
    ]
