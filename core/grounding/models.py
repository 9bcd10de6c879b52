"""The results of the citation checks: citations, their positions on a page, and the summary of all checks."""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field, computed_field

from core.grounding.objections import Objected
from core.models import Record


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
    """A claim's source.

    `verified`: code checked that the sentences in `quote`, at characters `start` to `end` of the page's text,
    support the claim before the marker: they contain it word for word and negate as often, or contain its
    names, numbers, units, opposites and negations and most of its other words. This does not prove that they
    mean the same. If it is false, `quote` is the claim itself.

    `checked`: that check ended. If it is false, so is `verified`, and nothing is known about the claim.
    """

    document_id: str
    blob_name: str
    page: int = Field(ge=1)
    page_id: str
    quote: str
    start: int = Field(ge=0, description="characters from the start of the page's text")
    end: int = Field(ge=0)
    verified: bool
    checked: bool = Field(
        default=True,
        description="false: the check of this citation did not end: it is neither verified nor refuted",
    )
    read_from: Literal["text", "picture"] = Field(
        default="text",
        description="`picture`: the page has no text, and the model read its picture; code cannot check that",
    )
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
        description="position of each line of the quote on a PDF's page; empty for other files, for"
        " unverified citations, and if the position is unknown",
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
    """Result of the code checks: the citations and the share of the answer that they cover."""

    grounded: bool = Field(description="every sentence cited, every citation verified")
    checked: bool = Field(
        default=True,
        description="false if the checks did not end in time; nothing is known about the rest of the answer",
    )
    citations: int = 0
    verified: int = 0
    coverage: float = Field(
        default=0.0, ge=0, le=1, description="share of the answer's sentences with a verified citation"
    )
    not_found: bool = Field(
        default=False, description="the answer says that the searched documents do not contain it"
    )
    closest_passages: bool = Field(
        default=False,
        description="no model has answered: the citations are the passages closest to the question",
    )
    unsupported: int = Field(
        default=0, description="sentences that were checked and have no verified citation, but need one"
    )
    unchecked: int = Field(
        default=0,
        description="sentences that were not checked, because they, or the answer, have too much to compare,"
        " or because they were read from a picture",
    )

    @computed_field(  # type: ignore[prop-decorator]
        description="those of the issues that report a number which no source contains, while a source"
        " has another number for the same thing"
    )
    @property
    def contradicted(self) -> list[str]:
        return [each.text for each in self.objections if each.code == "contradicted"]


class Revision(Record):
    """What an earlier answer to the same question got wrong, for the next attempt.

    The earlier answer is shown to the model, and never counts as a source.
    """

    answer: str = Field(max_length=100_000, description="the earlier answer, which is withdrawn")
    issues: list[str] = Field(max_length=50, description="what is wrong with it")
    read_more: bool = Field(default=False, description="look at more of the documents than before")
    query: str = Field(default="", max_length=1000, description="what to look for, if not the question alone")
