"""Growth of text functions: each passes for repeated units, and planted bugs are found."""

import itertools
import re

import pytest

from resilience.text_call_list import CALLS
from resilience.text_growth import GROWS, KNOWN, LENGTHS, SLOW, campaign, units

SMALL = (1_563, 6_250)
SMALL_UNITS = ("$(+-", "...", "[=", "1 ")
FULL_UNITS = 120


def quadratic(text: str) -> object:
    return re.findall(r"[.!?]+x", text)


def test_four_times_the_text_takes_at_most_six_times_as_long(full_size: bool) -> None:
    sample = list(itertools.islice(units(), FULL_UNITS)) if full_size else SMALL_UNITS
    verdict = campaign(CALLS, sample, LENGTHS if full_size else SMALL)
    assert [finding for check in verdict.checks for finding in check.findings] == []
    assert verdict.check(GROWS).of == len(CALLS) * len(sample)


def test_quadratic_growth_is_found() -> None:
    verdict = campaign({"quadratic": quadratic}, ["..."], (3_125, 12_500))
    assert [*verdict.check(GROWS).findings, *verdict.check(SLOW).findings]


@pytest.mark.parametrize("unit", KNOWN)
def test_units_are_short(unit: str) -> None:
    assert len(unit) <= 15
