"""Random questions over random contexts find what they may, and no prompt or response has anything else."""

import logging
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from orc.turns import contexts, runner
from orc.turns.results import result_of
from resilience.context_leaks import (
    COSMOS,
    FOUND,
    FULL,
    NEVER_READ,
    NO_LEAK,
    NO_TRACE,
    REFUSED,
    Size,
    cosmos_stores,
    run,
)

QUIET = Console(quiet=True)


def test_no_secret_of_an_unreadable_document_leaks_and_all_others_are_found(
    tmp_path: Path, full_size: bool
) -> None:
    verdict = run(tmp_path, FULL if full_size else Size(), QUIET)
    assert [check for check in verdict.checks if not check.ok] == []
    assert verdict.check(FOUND).of > (3000 if full_size else 3)
    assert min(verdict.check(NEVER_READ).of, verdict.check(NO_TRACE).of) > 0
    assert verdict.check(REFUSED).of > (1000 if full_size else 2)


@pytest.mark.campaign
def test_no_secret_leaks_if_records_are_in_cosmos_db(tmp_path: Path) -> None:
    with cosmos_stores() as stores:
        verdict = run(tmp_path, COSMOS, QUIET, stores=stores)
    assert [check for check in verdict.checks if not check.ok] == []
    assert verdict.check(FOUND).of > 300


@pytest.mark.campaign
def test_an_answer_that_is_shown_in_spite_of_a_withdrawal_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = contexts.shown_history
    monkeypatch.setattr(contexts, "shown_history", lambda turns, _blocked: whole(turns, ()))
    verdict = run(tmp_path, Size(probes=200), QUIET)
    assert verdict.check(NO_LEAK).findings


@pytest.mark.campaign
def test_an_answer_in_a_log_line_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    def logged(*arguments: Any, **options: Any) -> Any:
        result = result_of(*arguments, **options)
        logging.getLogger(runner.__name__).info("answered %s", result.answer)
        return result

    monkeypatch.setattr(runner, "result_of", logged)
    verdict = run(tmp_path, Size(probes=60), QUIET)
    assert verdict.check(NO_TRACE).findings
