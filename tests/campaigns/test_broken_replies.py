"""Broken replies of the model: every turn has one typed end, and the next one works.

A campaign gives every kind of reply in every way, the suite a third of them in one way each.
"""

from pathlib import Path

import pytest
from rich.console import Console

from orc.api import responses
from resilience.broken_replies import (
    ENDS,
    SHOWN,
    WAYS,
    every_run,
    run,
    some_runs,
)

QUIET = Console(quiet=True)

# The provider's library warns of values of a wrong type; outside of tests a warning is no error.
pytestmark = pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning")


def test_every_broken_reply_has_one_typed_end_and_the_next_turn_works(
    tmp_path: Path, full_size: bool
) -> None:
    runs = every_run() if full_size else some_runs()
    verdict = run(tmp_path, runs, QUIET, retries=2 if full_size else 0)
    assert [check for check in verdict.checks if not check.ok] == []
    assert len({kind for kind, _ in runs}) >= 33


@pytest.mark.campaign
def test_a_stream_that_loses_its_end_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = responses._encode
    lost = "event: done"
    monkeypatch.setattr(
        responses, "_encode", lambda *event: b"" if lost.encode() in whole(*event) else whole(*event)
    )
    verdict = run(tmp_path, [("an unknown role", WAYS[2])], QUIET, retries=0)
    assert verdict.check(ENDS).findings
    assert not verdict.check(SHOWN).of
