"""The numbers that the product may not exceed."""

from devkit.size import RECORD, _deviations


def test_more_and_much_less_than_the_number_is_reported() -> None:
    most = {"modules": 300, "lines": 40_000}
    assert [*_deviations({"modules": 300, "lines": 39_700}, most)] == []
    [more, less] = _deviations({"modules": 301, "lines": 39_000}, most)
    assert more.startswith("modules: 301, at most 300.")
    assert less == f"lines: 39000, at most 40000. Lower the number in {RECORD.name}."
