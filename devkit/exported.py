"""The heading and the labels of an export in English, for tests and measurements."""

from datetime import UTC, datetime

from devkit.remembered_turns import OWNER
from orc.conversations.transitions import first_head
from orc.exports.transcript import Transcript
from orc.exports.tree import CitedSource, Heading, Quote
from orc.words import words_of

NOW = datetime(2026, 11, 23, 9, 12, tzinfo=UTC)
TRANSCRIPT = Transcript(words_of("en"))


def heading_of(title: str, turns: int = 1) -> Heading:
    """The heading of an export of so many turns."""
    head = first_head(OWNER, NOW).model_copy(update={"title": title, "turn_count": turns})
    return TRANSCRIPT.heading(head, NOW)


def source_of(number: int, document: str, place: str, quote: str, verdict: str) -> CitedSource:
    """A source with one quote."""
    return CitedSource(number, document, place, [Quote(verdict, quote)])
