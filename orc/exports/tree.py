"""What an export shows of a conversation, whatever its format: a heading, and one entry for each turn.

All fields are plain values: the child process that writes PDF files reads them from lines of JSON.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class CitedSource:
    """One citation. `number` is unique in the export and follows its markers in the answer.

    `verdict` says in words what the check of it found. `quote` is empty if the page is a picture.
    """

    number: int
    document: str
    page: int
    quote: str
    verdict: str
    page_label: str = ""
    address: str = ""
    """Of a web page; empty for a page of a document."""
    origin: str = ""
    """The context that the document belongs to, if it is not the conversation's own."""

    @property
    def place(self) -> str:
        """Where the quote comes from, without the name of the document."""
        if self.address:
            return f"web page {self.address}"
        label = f" ({self.page_label})" if self.page_label else ""
        return f"page {self.page}{label}{self.origin}"


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
    def read(cls, values: dict[str, object]) -> "Entry":
        """The entry whose fields a line of JSON has."""
        fields: dict[str, object] = {**values}
        sources = fields.pop("sources", [])
        assert isinstance(sources, list)
        return cls(**fields, sources=[CitedSource(**source) for source in sources])  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Heading:
    """The beginning of an export."""

    title: str
    conversation_id: str
    exported_at: str
    turns: int

    @property
    def line(self) -> str:
        """What the export is of, in one sentence."""
        turns = "1 turn" if self.turns == 1 else f"{self.turns} turns"
        return f"Exported by Orc at {self.exported_at}: conversation {self.conversation_id}, {turns}."
