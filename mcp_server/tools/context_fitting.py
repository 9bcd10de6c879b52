"""What of the documents fits into a model's window, where that is small."""

from collections.abc import Sequence

from core.grounding.sources import Source
from core.llm.model_catalog import REPLY
from core.llm.token_budget import take_first_fitting, truncate
from core.llm.tokens import TokenCounter
from mcp_server.tools.document_context import Reading, pages_of

INSTRUCTIONS = 800
AROUND_A_SOURCE = 40
"""Tokens of the fence around a source, amply."""
SHARE_OF_TEXT = 0.8
"""Of the room, for documents that are read whole: the rest is for fences and the question."""
MOST_BYTES = 4
"""Of a character: no text has more tokens than bytes."""


def room_for_text(window: int) -> int:
    """Tokens of text that may be read whole, so that what does not fit into the window is searched."""
    return max(0, int((window - INSTRUCTIONS - REPLY) * SHARE_OF_TEXT))


def fitted(reading: Reading, question: str, window: int, counter: TokenCounter, cap: int | None) -> Reading:
    """The reading, shortened to what a window of so many tokens takes beside the question and an answer.

    The first sources are kept: the best passages, or the first pages, and of the very first one at least the
    beginning; `left_out` and the reason say how many are not there in full. What goes as files stays: the
    model cuts those up itself.
    """
    room = window - INSTRUCTIONS - (cap or REPLY)
    most = sum(MOST_BYTES * len(source.text) + AROUND_A_SOURCE for source in reading.sources)
    if reading.files or most + MOST_BYTES * len(question) <= room:
        return reading
    kept = _fitting(reading.sources, room - counter.count(question), counter)
    left_out = sum(source not in kept for source in reading.sources)
    if not left_out:
        return reading
    told = f"{left_out} of {len(reading.sources)} sources were left out or cut"
    reason = f"{reading.reason} {told}: the model takes {window} tokens."
    update = {"sources": kept, "pages": pages_of(kept), "left_out": left_out, "reason": reason}
    return reading.model_copy(update=update)


def _fitting(sources: Sequence[Source], room: int, counter: TokenCounter) -> list[Source]:
    """The first sources that fit; of the very first one at least its beginning."""

    def size(source: Source) -> int:
        return AROUND_A_SOURCE + counter.count(source.text)

    if (kept := take_first_fitting(sources, room, size)) or not sources:
        return kept
    text = truncate(sources[0].text, room - AROUND_A_SOURCE, counter)
    return [sources[0].model_copy(update={"text": text})] if text else []
