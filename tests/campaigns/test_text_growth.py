"""Growth of text functions: each passes for repeated units, and planted bugs are found."""

import re

import pytest

from resilience.text_call_list import CALLS
from resilience.text_growth import (
    FASTEST_GROWING,
    FULL_UNITS,
    GROWS,
    KNOWN,
    LENGTHS,
    SLOW,
    SLOWEST,
    TOKENS,
    campaign,
    chosen,
    shape,
    units,
)

SMALL = (1_563, 6_250)
SMALL_UNITS = ("$(+-", "...", "[=", "1 ", "界")


def quadratic(text: str) -> object:
    return re.findall(r"[.!?]+x", text)


def test_four_times_the_text_takes_at_most_six_times_as_long(full_size: bool) -> None:
    sample = chosen(FULL_UNITS, seed=1) if full_size else SMALL_UNITS
    verdict = campaign(CALLS, sample, LENGTHS if full_size else SMALL)
    assert [finding for check in verdict.checks for finding in check.findings] == []
    assert verdict.check(GROWS).of == len(CALLS) * len(sample)


def test_quadratic_growth_is_found() -> None:
    verdict = campaign({"quadratic": quadratic}, ["..."], (3_125, 12_500))
    assert [*verdict.check(GROWS).findings, *verdict.check(SLOW).findings]


def test_quadratic_growth_for_one_unit_of_many_is_found() -> None:
    verdict = campaign({"quadratic": quadratic}, [*TOKENS, "..."], (1_000, 4_000, 16_000))
    assert [*verdict.check(GROWS).findings, *verdict.check(SLOW).findings]


@pytest.mark.parametrize("at", [1_600, 6_400])
def test_a_step_is_no_growth(at: int) -> None:
    def call(text: str) -> object:
        return [quadratic("." * 10_000), text * 10] if len(text) >= at else text

    verdict = campaign({"stepped": call}, ["ab"], (100, 400, 1_600, 6_400))
    assert verdict.check(GROWS).findings == ()


def test_the_longest_texts_are_for_the_slowest_and_the_fastest_growing_units() -> None:
    read: list[int] = []
    campaign({"length": lambda text: read.append(len(text))}, TOKENS, (100, 400))
    assert 0 < read.count(400) <= SLOWEST + FASTEST_GROWING < read.count(100) == len(TOKENS)


def test_units_that_repeat_to_the_same_text_are_measured_once() -> None:
    assert shape("ab") == shape("ba") == shape("baba") != shape("aab")
    shapes = [shape(unit) for unit in units()]
    assert len(shapes) == len(set(shapes))


def test_a_sample_has_the_known_units_and_others() -> None:
    sample = chosen(FULL_UNITS, seed=1)
    assert len(sample) == FULL_UNITS == len(set(sample))
    assert {shape(unit) for unit in KNOWN} < {shape(unit) for unit in sample}


@pytest.mark.parametrize("unit", KNOWN)
def test_units_are_short(unit: str) -> None:
    assert len(unit) <= 15
