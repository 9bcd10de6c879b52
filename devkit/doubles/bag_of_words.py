"""Vectors without a model: texts that share words are near each other. For doubles of embedders."""

import math
import re
import zlib

DIMENSIONS = 64
_WORD = re.compile(r"\w+")


def bag_of_words(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """A vector of length one (all zeros for a text without words), the same in every process."""
    counts = [0.0] * dimensions
    for word in _WORD.findall(text.casefold()):
        counts[zlib.crc32(word.encode()) % dimensions] += 1
    length = math.sqrt(sum(count * count for count in counts)) or 1.0
    return [count / length for count in counts]
