"""What an export shows of a conversation, whatever its format: a heading, and one entry for each turn.

All fields are plain values: the child process that writes PDF and Word files reads them from JSON. Texts are
in the reader's language.
"""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Quote:
    """One citation: what its check found, and its text, which is empty if the page is a picture."""

    verdict: str
    text: str


@dataclass(frozen=True, slots=True)
class CitedSource:
    """A page with its quotes. `number` is that of its markers in the answer, as the web page shows it."""

    number: int
    document: str
    place: str
    """Of the page, without the name of the document."""
    quotes: list[Quote]


@dataclass(frozen=True, slots=True)
class Entry:
    """One turn. Without an answer, `note` says why; with one, what a reader has to know about it."""

    number: int
    asked_at: str
    question: str
    documents: list[str] = field(default_factory=list)
    """The documents and contexts that the question named."""
    answer: str | None = None
    note: str = ""
    sources: list[CitedSource] = field(default_factory=list)

    @classmethod
    def read(cls, values: dict[str, Any]) -> "Entry":
        """The entry whose fields a line of JSON has."""
        sources = [
            CitedSource(**{**source, "quotes": [Quote(**quote) for quote in source["quotes"]]})
            for source in values["sources"]
        ]
        return cls(**{**values, "sources": sources})


@dataclass(frozen=True, slots=True)
class Labels:
    """The words of an export that are the same in every entry. `boxes` has a form for one and for several."""

    about: str
    question: str
    answer: str
    note: str
    sources: str
    box: str
    boxes: str


@dataclass(frozen=True, slots=True)
class Heading:
    """The beginning of an export; `line` says what it is of."""

    title: str
    line: str
    labels: Labels

    @classmethod
    def read(cls, values: dict[str, Any]) -> "Heading":
        """The heading whose fields a line of JSON has."""
        return cls(**{**values, "labels": Labels(**values["labels"])})
