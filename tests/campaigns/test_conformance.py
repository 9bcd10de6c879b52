"""The official MCP conformance suite, and how its findings are judged."""

import pytest

from resilience.conformance import (
    MODULES,
    OPTIONAL,
    Outcome,
    examine_all,
    findings,
    left_out,
    suite,
)

REASONS = {OPTIONAL: {"prompts-list": "prompts", "logging-set-level": "logging"}}


@pytest.mark.campaign
async def test_the_tools_server_fails_no_check_of_what_it_offers() -> None:
    command = suite(MODULES)
    if command is None:
        pytest.skip("the conformance suite is not installed; `npm ci` in the repository does it")
    assert findings(await examine_all(command), left_out()) == []


@pytest.mark.parametrize(
    ("failed", "found"),
    [
        ({"prompts-list", "logging-set-level"}, []),
        ({"prompts-list", "logging-set-level", "ping"}, ["ping fails"]),
        ({"prompts-list"}, ["logging-set-level is left out and does not fail"]),
    ],
)
def test_only_named_checks_may_fail_and_a_named_one_must(failed: set[str], found: list[str]) -> None:
    assert findings([Outcome("2025-11-25", 1, frozenset(failed))], REASONS) == found


def test_a_suite_that_checks_nothing_is_a_finding() -> None:
    outcome = Outcome("2025-11-25", 0, frozenset({"prompts-list", "logging-set-level"}))
    assert findings([outcome], REASONS) == ["nothing passed for 2025-11-25"]
