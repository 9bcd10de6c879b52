"""The results of the citation checks: citations, their positions on a page, and the summary of all checks."""

from collections.abc import Sequence
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, computed_field, field_validator, model_validator

from orc_core.markdown.brackets import Status, visible_name
from orc_core.models import Record

CitationCheck = Literal["quoted", "supported", "reworded", "differs", "unsupported", "picture"]
VERIFIED: frozenset[CitationCheck] = frozenset(("quoted", "supported"))
REFUTED: frozenset[CitationCheck] = frozenset(("differs", "unsupported"))
ObjectionCode = Literal[
    "differs",
    "unsupported",
    "uncited",
    "unknown_source",
    "empty_citation",
    "too_many_brackets",
    "cut",
    "not_searched",
    "not_read",
    "not_fitting",
    "nothing_searched",
    "pages_unread",
    "no_further_attempt",
    "not_revised",
    "revision_worse",
    "other",
]

MOST_NAMED = 3
"""Numbers that the marker of a citation names."""


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


class Cited(Record):
    """A page of a document, or a web page, that an answer is written from.

    If the turn has contexts, the document is in one of them or in the session.
    """

    document_id: str
    blob_name: str
    page: int = Field(ge=1)
    url: str | None = Field(
        default=None,
        description="address of a web page, whose text is the search engine's excerpt; null for a page of a"
        " document",
    )
    document_version: str = Field(
        default="",
        description="SHA-256 of the bytes that were cited, or their ETag; another one than the document's"
        " means that the file was replaced since. Empty for web pages, and in answers of earlier versions",
    )
    media_type: str = Field(default="", description="of the document; empty for web pages")
    context_type: str | None = Field(
        default=None,
        description="the place of the document: `session`, or the type of a context; null if the turn has no"
        " contexts",
    )
    context_id: str | None = None
    context_name: str | None = Field(default=None, description="the context's name when it was cited")
    focus: bool = Field(default=True, description="the session, or a context that belongs to the focus")

    @property
    def host(self) -> str:
        """The host of a web page; empty for a document, and for a malformed address such as `https://[x`."""
        try:
            return urlsplit(self.url or "").hostname or ""
        except ValueError:
            return ""

    @property
    def place(self) -> str:
        """What a marker of an answer names: the page, or the title and host of a web page."""
        name = visible_name(self.blob_name)
        if self.url is not None:
            return f'Web page "{name}", {visible_name(self.host)}'
        is_elsewhere = self.context_type and self.context_name is not None and not self.focus
        context = f' in {self.context_type} "{visible_name(self.context_name or "")}"' if is_elsewhere else ""
        return f'Page {self.page} of Document "{name}"{context}'


class Citation(Cited):
    """A source of an answer, and what is known of the sentences before its marker.

    `quote` is the place that fits these best: characters `start` to `end` of the page's text. It is empty if
    no place shares a word or number with them, and a second reading has not named one.

    `quoted`: they use the words of the quote, or its table cells, by a check of code. `supported`: in other
    words, and a second reading says that what is cited supports them. `reworded`: in other words, and not
    judged: right or wrong. `differs`: a number, date or amount of theirs is nowhere on the cited pages.
    `unsupported`: a second reading says that what is cited does not support them. `picture`: the page has
    no text, and the model read its picture; the quote is empty.
    """

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
    by_code: bool = Field(
        default=False,
        description="code cites it: the answer names no source of these sentences; of those that the model"
        " was shown, one has their words (`quoted`), or the place that is closest to them (`reworded`)",
    )
    rectangles: list[Rectangle] = Field(
        default=[],
        description="position of each line of the quote on a PDF's page; empty for other files,"
        " and if the position is unknown",
    )
    page_label: str | None = Field(
        default=None, description="the name of the page in the file: a heading, a sheet name"
    )
    marks: list[Mark] = Field(
        default=[],
        description="where the answer cites it, in order; each marker of an answer is a mark of one citation."
        " Empty in answers that were stored before marks were",
    )

    @computed_field(  # type: ignore[prop-decorator]
        description="the check is `quoted` or `supported`"
    )
    @property
    def verified(self) -> bool:
        return self.check in VERIFIED

    @property
    def marker(self) -> str:
        """What an answer shows for it: its place, and the numbers that are not there."""
        return f"[{self.place}: {are_not_there(self.missing)}]" if self.missing else f"[{self.place}]"

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


def are_not_there(missing: Sequence[str]) -> str:
    """`1,084 is not there`, of the numbers of an answer that a page has not."""
    shown = [*missing[:MOST_NAMED]] or ["a number"]
    others = len(missing) - len(shown)
    *listed, last = [*shown, f"{others} others"] if others > 0 else shown
    return f"{', '.join(listed)} and {last} are not there" if listed else f"{last} is not there"


class Objection(Record):
    """Something that is wrong with an answer or not known about it: as a code with its values, and in words.

    A value is null if the code has none. `other` are words of a model, or of a turn that was stored before
    there were codes.
    """

    code: ObjectionCode
    text: str
    claim: str | None = Field(default=None, description="the sentence of the answer, shortened")
    name: str | None = Field(default=None, description="the document, or the title and host of the web page")
    page: int | None = Field(default=None, description="of the document; null for a web page")
    number: int | None = Field(default=None, description="of the source, or how many passages or pages")
    missing: tuple[str, ...] = Field(
        default=(), description="the numbers, dates or amounts of the answer that are not on the page"
    )

    @field_validator("code", mode="before")
    @classmethod
    def _know_code(cls, code: object) -> object:
        """A code of a newer version, in the other process or a stored turn, is `other`: the text says it."""
        return code if code in get_args(ObjectionCode) else "other"

    @classmethod
    def to(
        cls, code: ObjectionCode, cited: Cited, claim: str, why: str, missing: Sequence[str] = ()
    ) -> "Objection":
        """An objection to a claim that cites something."""
        name, page = (visible_name(cited.blob_name), cited.page) if cited.url is None else (cited.place, None)
        text = f"{cited.place}: {why}: {claim}"
        return cls(code=code, text=text, claim=claim, name=name, page=page, missing=tuple(missing))


class Objected(BaseModel):
    """The objections to an answer."""

    # Schemas of results name computed fields only so.
    model_config = ConfigDict(json_schema_mode_override="serialization")

    objections: list[Objection] = []

    @computed_field(description="the texts of the objections")  # type: ignore[prop-decorator]
    @property
    def issues(self) -> list[str]:
        return [each.text for each in self.objections]

    @model_validator(mode="before")
    @classmethod
    def _give_codes(cls, data: Any) -> Any:
        """Turns that were stored before there were codes have the texts only."""
        if not isinstance(data, dict) or "objections" in data or not isinstance(data.get("issues"), list):
            return data
        found = [{"code": "other", "text": text} for text in data["issues"]]
        return {**data, "objections": found}


class StatusMark(Record):
    """What an answer says of its sentences up to a place, from the marker before: they need no source."""

    at: int = Field(ge=0, description="code points of the answer before the place")
    status: Status = Field(description="`none`: the sources say nothing of it; `talk`: it is talk or a sum")


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
    statuses: list[StatusMark] = Field(
        default=[], description="where the answer says that the text before needs no source, in order"
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
