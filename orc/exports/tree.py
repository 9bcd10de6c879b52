"""What an export shows of a conversation, whatever its format: a heading, and one entry for each turn.

All fields are plain values: the child process that writes PDF and Word files reads them from JSON. Texts are
in the reader's language.
"""

import re
from dataclasses import dataclass, field
from typing import Any

_OPEN, _CLOSE = "\ue000", "\ue001"
_MARK = re.compile(f"\u2e28{_OPEN}(\\d+){_CLOSE}\u2e29")


def mark(number: int) -> str:
    """The number of a citation, which no Markdown reads as a link. Punctuation around it can end emphasis."""
    return f"\u2e28{_OPEN}{number}{_CLOSE}\u2e29"


def without_marks(text: str) -> str:
    """The text without characters that would make a mark of it."""
    return text.replace(_OPEN, "").replace(_CLOSE, "")


def with_numbers(text: str, form: str = r"[\1]") -> str:
    """The text with each mark as a number in brackets, or in another form."""
    return _MARK.sub(form, text)


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
    """With marks of its citations."""
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
