"""Splits sequences for services that take a limited number of items at a time."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

Each = TypeVar("Each")


def slices(items: Sequence[Each], size: int) -> Iterator[Sequence[Each]]:
    """The items, in order, in slices of at most `size`."""
    return (items[start : start + size] for start in range(0, len(items), size))
