"""Growth of text functions: each passes for repeated units, and planted bugs are found."""

import re

import pytest

from resilience.text_calls import CALLS, PAGE
from resilience.text_growth import (
    FULL_UNITS,
    GROWS,
    LENGTHS,
    SLOW,
    TOKENS,
    campaign,
    chosen,
    shape,
    units,
)

SMALL = (1_563, 6_250)
SMALL_UNITS = ("$(+-", "...", "[=", "1 ", "界")


def quadratic(text: str) -> object:
    return re.findall(r"[.!]+x", text)


def test_four_times_the_text_takes_at_most_six_times_as_long(full_size: bool) -> None:
    sample = chosen(FULL_UNITS, seed=1) if full_size else SMALL_UNITS
    verdict = campaign(CALLS, sample, LENGTHS if full_size else SMALL)
    assert [finding for check in verdict.checks for finding in check.findings] == []
    assert verdict.check(GROWS).of == len(CALLS) * len(sample)


def test_quadratic_growth_for_one_unit_of_many_is_found() -> None:
    others = [token for token in TOKENS if token not in ".!"]
    verdict = campaign({"quadratic": quadratic}, [*others, "..."], (2_500, 10_000))
    assert [*verdict.check(GROWS).findings, *verdict.check(SLOW).findings]


@pytest.mark.parametrize("name", CALLS)
def test_every_call_reads_an_ordinary_page(name: str) -> None:
    CALLS[name](PAGE)


def test_units_that_repeat_to_the_same_text_are_measured_once() -> None:
    assert shape("ab") == shape("ba") == shape("baba") != shape("aab")
    shapes = [shape(unit) for unit in units()]
    assert len(shapes) == len(set(shapes))
