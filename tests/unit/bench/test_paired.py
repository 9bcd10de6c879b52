"""The comparison of two checkouts."""

from bench.paired import summarize


def test_the_ratio_is_that_of_neighbouring_measurements() -> None:
    # Both became twice as slow in the second round: a ratio of medians would be .75.
    found = {"chat": [(10.0, 5.0), (20.0, 10.0), (40.0, 30.0)]}
    [line] = summarize(found)
    assert line.split() == ["chat", "20.00", "->", "10.00", "0.50x", "[0.50,", "0.75]"]
