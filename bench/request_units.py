"""What exchanges with Cosmos DB would cost: an estimate from their sizes, since an emulator charges nothing.

Points on the curve, as Microsoft publishes and others have measured them: an item of 1 KB costs 1 unit to
read and 5 to write; of 64 KB 4.8 and 23; of 1 MB 146 and 625. A query costs 2.8 more than what it reads.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from bench.cosmos_proxy import Exchange

KIB = 1024
READ = ((1.0, 1.0), (64.0, 4.8), (1024.0, 146.0))
WRITE = ((1.0, 5.0), (64.0, 23.0), (1024.0, 625.0))
QUERY = 2.8


def charge(exchanges: Iterable[Exchange]) -> float:
    """Request units of all of these together."""
    return sum(_charge(exchange) for exchange in exchanges)


def _charge(exchange: Exchange) -> float:
    read = _at(READ, exchange.read / KIB) if exchange.kind in ("read", "query") else 0.0
    written = sum(_at(WRITE, size / KIB) for size in exchange.written)
    return read + written + (QUERY if exchange.kind == "query" else 0.0)


def _at(curve: Sequence[tuple[float, float]], size: float) -> float:
    """The cost at a size in KiB, interpolated between points; constant below the first point."""
    if size <= curve[0][0]:
        return curve[0][1]
    for (small, cheap), (large, dear) in pairwise(curve):
        if size <= large:
            return cheap + (dear - cheap) * (size - small) / (large - small)
    return curve[-1][1] * size / curve[-1][0]
