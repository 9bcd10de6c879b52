"""Turns that name no context send and show the same bytes, whether or not there are contexts."""

import json
from pathlib import Path

from tests.system.recorded_runs import RECORDED, TENANT, add_contexts, product, run


def test_turns_without_contexts_are_those_that_were_recorded(tmp_path: Path) -> None:
    with product(tmp_path / "data") as (here, double, calls):
        found = run(here, double, calls)
    assert found == json.loads(RECORDED.read_text(encoding="utf-8"))


def test_contexts_that_no_question_names_change_nothing(tmp_path: Path) -> None:
    with product(tmp_path / "data") as (here, double, calls):
        with here.client("", TENANT) as http:
            add_contexts(http)
        found = run(here, double, calls)
    assert found == json.loads(RECORDED.read_text(encoding="utf-8"))
