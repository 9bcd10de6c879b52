"""The order of event numbers that a reader may see."""

import pytest

from resilience.disconnects import are_in_order


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([1, 2, 3], True),
        ([1, 2, 1_000_003, 1_000_004], True),
        ([1, 2, 2_000_001, 2_000_002, 3_000_001], True),
        ([], True),
        ([1, 3], False),
        ([2, 3], False),
        ([1, 2, 2], False),
        ([1, 2_000_002], False),
        ([2_000_001, 1], False),
        ([1, 1_000_003, 1_000_005], False),
    ],
)
def test_numbers_rise_by_one_within_each_attempt(numbers: list[int], expected: bool) -> None:
    assert are_in_order(numbers) is expected
