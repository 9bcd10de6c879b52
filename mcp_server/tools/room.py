"""What of the sources fits into a model's window, where that is small."""

from collections.abc import Sequence

from core.grounding.sources import Source
from core.llm.catalogue import REPLY, ROOMY
from core.llm.tokens import TokenCounter
from mcp_server.tools.reading import Reading

INSTRUCTIONS = 800
AROUND_A_SOURCE = 40
"""Tokens of the fence around a source, amply."""


def fitted(reading: Reading, question: str, window: int, counter: TokenCounter, cap: int | None) -> Reading:
    """The reading, shortened to what a window of so many tokens takes beside the question and an answer.

    The first sources are kept: the best passages, or the first pages; the reason says how many are not.
    What goes as files stays: the model cuts those up itself.
    """
    if window >= ROOMY or reading.files:
        return reading
    room = window - INSTRUCTIONS - (cap or REPLY) - counter.count(question)
    kept = _fitting(reading.sources, room, counter)
    if len(kept) == len(reading.sources):
        return reading
    left_out = f"{len(reading.sources) - len(kept)} of {len(reading.sources)} sources were left out"
    reason = f"{reading.reason} {left_out}: the model takes {window} tokens."
    return reading.model_copy(update={"sources": kept, "reason": reason})


def _fitting(sources: Sequence[Source], room: int, counter: TokenCounter) -> list[Source]:
    for at, source in enumerate(sources):
        room -= counter.count(source.text) + AROUND_A_SOURCE
        if room < 0:
            return list(sources[:at])
    return list(sources)
