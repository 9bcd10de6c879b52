"""Hostile files of one organization do not stop another one."""

from pathlib import Path

from resilience.hostile_text import ROUNDS, campaign


def test_another_organization_goes_on_during_an_attack(tmp_path: Path, full_size: bool) -> None:
    questions, uploads, rounds = (100, 20, ROUNDS) if full_size else (3, 1, 1)
    verdict = campaign(tmp_path, questions, uploads, rounds=rounds, strict=full_size)
    assert [check for check in verdict.checks if not check.ok] == []
