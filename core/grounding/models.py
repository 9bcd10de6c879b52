"""The results of the citation checks: citations, their positions on a page, and the summary of all checks."""

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field, computed_field, model_validator

from core.grounding.objections import Objected
from core.models import Record

CitationCheck = Literal["quoted", "supported", "reworded", "differs", "unsupported", "picture"]
VERIFIED: frozenset[CitationCheck] = frozenset(("quoted", "supported"))
REFUTED: frozenset[CitationCheck] = frozenset(("differs", "unsupported"))


class Rectangle(Record):
    """A part of a page, as fractions of its displayed width and height, from the top left."""

    left: float = Field(ge=0, le=1)
    top: float = Field(ge=0, le=1)
    right: float = Field(ge=0, le=1)
    bottom: float = Field(ge=0, le=1)


class Mark(Record):
    """The place of a marker in an answer, its brackets included: code points from `start` up to `end`."""

    start: int = Field(ge=0, description="code points of the answer before the marker")
    end: int = Field(ge=0, description="code points of the answer up to the end of the marker")


class Citation(Record):
    """A source of an answer, and what is known of the sentences before its marker.

    `quote` is the place that fits these best: characters `start` to `end` of the page's text.

    `quoted`: they use the words of the quote, or its table cells, by a check of code. `supported`: in other
    words, and a second reading says that the quote supports them. `reworded`: in other words, and not
    judged: right or wrong. `differs`: a number, date or amount of theirs is nowhere on the cited pages.
    `unsupported`: a second reading says that the quote does not support them. `picture`: the page has no
    text, and the model read its picture; the quote is empty.
    """

    document_id: str
    blob_name: str
    page: int = Field(ge=1)
    page_id: str
    quote: str
    start: int = Field(ge=0, description="characters from the start of the page's text")
    end: int = Field(ge=0)
    check: CitationCheck = Field(description="what is known of the sentences that cite it")
    missing: list[str] = Field(
        default=[],
        description="if it differs: the numbers, dates or amounts of the sentences, as written there,"
        " that are nowhere on the cited pages",
    )
    reason: str = Field(default="", description="if it is unsupported: why, in one line")
    closest: bool = Field(
        default=False,
        description="the passage is close to the question and is not given as an answer; checked like others",
    )
    url: str | None = Field(
        default=None,
        description="address of a web page, whose text is the search engine's excerpt; null for a page of a"
        " document",
    )
    rectangles: list[Rectangle] = Field(
        default=[],
        description="position of each line of the quote on a PDF's page; empty for other files,"
        " and if the position is unknown",
    )
    document_version: str = Field(
        default="",
        description="SHA-256 of the bytes that were cited, or their ETag; another one than the document's"
        " means that the file was replaced since. Empty for web pages, and in answers of earlier versions",
    )
    media_type: str = Field(default="", description="of the document; empty for web pages")
    page_label: str | None = Field(
        default=None, description="the name of the page in the file: a heading, a sheet name"
    )
    marks: list[Mark] = Field(
        default=[],
        description="where the answer cites it, in order; each marker of an answer is a mark of one citation."
        " Empty in answers that were stored before marks were",
    )
    context_type: str | None = Field(
        default=None,
        description="the place of the document: `session`, or the type of a context; null if the turn has no"
        " contexts",
    )
    context_id: str | None = None
    context_name: str | None = Field(default=None, description="the context's name when it was cited")
    focus: bool = Field(default=True, description="the session, or a context that belongs to the focus")

    @computed_field(  # type: ignore[prop-decorator]
        description="the check is `quoted` or `supported`"
    )
    @property
    def verified(self) -> bool:
        return self.check in VERIFIED

    @model_validator(mode="before")
    @classmethod
    def _read_earlier(cls, stored: Any) -> Any:
        return with_check(stored)


def with_check(stored: Any) -> Any:
    """A stored citation with its check: earlier versions said whether it was verified, and read from what."""
    if not isinstance(stored, dict) or "check" in stored or "verified" not in stored:
        return stored
    is_picture = stored.get("read_from") == "picture"
    check = "quoted" if stored["verified"] else "picture" if is_picture else "reworded"
    return {**stored, "check": check}


class WrittenMark(Record):
    """A marker that was written into an answer, and the citation at `index` of the answer's citations.

    The only mark of `citation` is this one.
    """

    index: int = Field(ge=0)
    citation: Citation
    mark: Mark


def written_marks(citations: Sequence[Citation]) -> list[WrittenMark]:
    """The markers of an answer with these citations, in the order of its text."""
    marks = [
        WrittenMark(index=index, citation=citation.model_copy(update={"marks": [mark]}), mark=mark)
        for index, citation in enumerate(citations)
        for mark in citation.marks
    ]
    return sorted(marks, key=lambda each: each.mark.start)


class Grounding(Record, Objected):
    """The checks of an answer: how many of its citations have which check, and what its sentences cite."""

    grounded: bool = Field(
        description="there are citations, every sentence that needs a source has one, and none differs or is"
        " unsupported"
    )
    citations: int = 0
    quoted: int = 0
    supported: int = 0
    reworded: int = 0
    differs: int = 0
    unsupported: int = Field(default=0, description="citations that a second reading rejects")
    picture: int = 0
    coverage: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="share of the sentences that need a source and have one that neither differs nor is"
        " unsupported",
    )
    uncited: int = Field(default=0, description="sentences that need a source and have none")
    not_found: bool = Field(
        default=False, description="the answer says that the searched documents do not contain it"
    )
    closest_passages: bool = Field(
        default=False,
        description="no model has answered: the citations are the passages closest to the question",
    )

    @computed_field(description="citations that are quoted or supported")  # type: ignore[prop-decorator]
    @property
    def verified(self) -> int:
        return self.quoted + self.supported

    @property
    def is_talk(self) -> bool:
        """Whether nothing in the answer needs a source, and it does not say that nothing was found either."""
        return not (self.citations or self.uncited or self.not_found or self.objections)

    @property
    def refuted(self) -> int:
        """Citations that are known to be wrong."""
        return self.differs + self.unsupported

    @model_validator(mode="before")
    @classmethod
    def _read_earlier(cls, stored: Any) -> Any:
        """Verdicts of earlier versions count verified citations, and sentences as `unsupported`."""
        if not isinstance(stored, dict) or "verified" not in stored or "quoted" in stored:
            return stored
        verified = stored["verified"]
        reworded = max(0, stored.get("citations", 0) - verified)
        return {**stored, "quoted": verified, "reworded": reworded, "unsupported": 0}
