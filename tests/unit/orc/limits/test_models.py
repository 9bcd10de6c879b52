"""A sliding window never lets more through than its limit, and says truly when it lets more through."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orc.limits.models import Counts, Window, give_back, take

HOUR = Window(20, 3600)
pauses = st.lists(
    st.one_of(st.floats(0, 5), st.floats(0, 600), st.sampled_from([0.0, 59.9, 60.0, 3540.0, 3600.0])),
    min_size=1,
    max_size=120,
)


@given(pauses, st.floats(0, 1e9))
def test_no_hour_has_more_than_the_limit(waits: list[float], begin: float) -> None:
    counts: Counts = {}
    now, accepted = begin, []
    for wait in waits:
        now += wait
        taken, counts = take(counts, 1, HOUR, now)
        if taken.is_allowed:
            accepted.append(now)
    for at in accepted:
        assert sum(at <= other < at + HOUR.seconds for other in accepted) <= HOUR.limit


@given(pauses, st.floats(0, 1e9))
def test_the_time_to_wait_is_true(waits: list[float], begin: float) -> None:
    counts: Counts = {}
    now = begin
    for wait in waits:
        now += wait
        taken, counts = take(counts, 1, HOUR, now)
        if not taken.is_allowed:
            assert take(counts, 1, HOUR, now + taken.retry_after)[0].is_allowed
            earlier = now + taken.retry_after - 1
            assert earlier <= now or not take(counts, 1, HOUR, earlier)[0].is_allowed


@pytest.mark.parametrize("begin", [0.0, 0.5, 30.0, 59.0, 59.999])
def test_a_burst_counts_for_the_whole_window(begin: float) -> None:
    counts: Counts = {}
    for _ in range(20):
        taken, counts = take(counts, 1, HOUR, begin)
        assert taken.is_allowed
    assert not take(counts, 1, HOUR, begin + 3599.9)[0].is_allowed
    assert take(counts, 1, HOUR, begin + 3660)[0].is_allowed


def test_a_burst_is_let_through_up_to_the_limit() -> None:
    counts: Counts = {}
    left = []
    for _ in range(25):
        taken, counts = take(counts, 1, HOUR, 1000.0)
        left.append((taken.is_allowed, taken.remaining))
    assert left == [*((True, 19 - number) for number in range(20)), *[(False, 0)] * 5]


def test_amounts_of_any_size_are_counted() -> None:
    window = Window(1000, 86400)
    taken, counts = take({}, 700, window, 0.0)
    assert (taken.is_allowed, taken.remaining) == (True, 300)
    taken, counts = take(counts, 301, window, 10.0)
    assert (taken.is_allowed, taken.remaining) == (False, 300)
    assert take(counts, 300, window, 10.0)[0].is_allowed
    assert take(counts, 1001, window, 10.0)[0].retry_after == window.seconds


def test_what_is_given_back_can_be_taken_again() -> None:
    counts: Counts = {}
    for number in range(20):
        _, counts = take(counts, 1, HOUR, 60.0 * number)
    assert not take(counts, 1, HOUR, 1200.0)[0].is_allowed
    counts = give_back(counts, 2, HOUR, 1200.0)
    assert take(counts, 2, HOUR, 1200.0)[0].is_allowed
    assert not take(counts, 3, HOUR, 1200.0)[0].is_allowed
    assert give_back(counts, 99, HOUR, 1200.0) == {}


def test_only_slots_of_the_window_are_kept() -> None:
    counts: Counts = {}
    for number in range(500):
        _, counts = take(counts, 1, Window(10_000, 3600), 60.0 * number)
    assert len(counts) <= 61


@given(st.floats(120, 1e8), st.floats(0, 1e9))
def test_what_a_clock_that_was_ahead_has_counted_locks_no_user_out(ahead: float, now: float) -> None:
    counts: Counts = {}
    for _ in range(20):
        _, counts = take(counts, 1, HOUR, now + ahead)
    taken, kept = take(counts, 1, HOUR, now)
    assert (taken.is_allowed, taken.remaining, sum(kept.values())) == (True, 19, 1)
    assert give_back(counts, 1, HOUR, now) == {}


def test_the_clock_of_another_machine_may_be_a_little_ahead() -> None:
    counts: Counts = {}
    for _ in range(20):
        _, counts = take(counts, 1, HOUR, 1000.0 + HOUR.slot_seconds)
    assert not take(counts, 1, HOUR, 1000.0)[0].is_allowed
