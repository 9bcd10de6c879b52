"""Vectors at length one, as the services store them: their product is then the cosine."""

import math
from collections.abc import Sequence

DIGITS = 7
"""The digits that a number of four bytes holds."""

Unit = list[float]
"""A vector of length one."""


def unit_vector(vector: Sequence[float]) -> Unit | None:
    """The vector at length one; None if it has no direction. ValueError if it is not finite."""
    length = math.hypot(*vector)
    if not math.isfinite(length):
        raise ValueError("vectors must be finite")
    return [round(number / length, DIGITS) for number in vector] if length else None


def unit_vectors(vectors: Sequence[Sequence[float]]) -> list[Unit | None]:
    """Each vector at length one. ValueError if they differ in length or are not finite."""
    if len({len(vector) for vector in vectors}) > 1:
        raise ValueError("vectors must be of one length")
    return [unit_vector(vector) for vector in vectors]
