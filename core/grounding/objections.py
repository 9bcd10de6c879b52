"""Objections to an answer: each has a code for programs and a sentence for readers."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict, Field, computed_field, field_validator, model_validator

from core.models import Record

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


class Place(NamedTuple):
    """What is cited, in words and by its parts; a web page has no number."""

    text: str
    name: str
    page: int | None


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


def differs(cited: Place, claim: str, missing: Sequence[str]) -> Objection:
    """A number of a claim is not on the page that it cites."""
    text = f"{cited.text}: {are_not_there(missing)}: {claim}"
    found = tuple(missing)
    return Objection(code="differs", text=text, claim=claim, name=cited.name, page=cited.page, missing=found)


def unsupported(cited: Place, claim: str, reason: str) -> Objection:
    """A second reading found that a page does not support a claim."""
    text = f"{cited.text}: {reason or 'it does not support this.'}: {claim}"
    return Objection(code="unsupported", text=text, claim=claim, name=cited.name, page=cited.page)


def are_not_there(missing: Sequence[str], where: str = "there") -> str:
    """`1,084 is not there`, of the numbers of an answer that a page has not."""
    shown = [*missing[:MOST_NAMED]] or ["a number"]
    others = len(missing) - len(shown)
    *listed, last = [*shown, f"{others} others"] if others > 0 else shown
    return f"{', '.join(listed)} and {last} are not {where}" if listed else f"{last} is not {where}"


def uncited(claim: str) -> Objection:
    """A claim needs a source and cites none."""
    return Objection(code="uncited", text=f"Nothing is cited for: {claim}", claim=claim)


def unknown_source(number: int) -> Objection:
    """The model cites a source that it was not given."""
    text = f"The answer cites source {number}, which it was not given."
    return Objection(code="unknown_source", text=text, number=number)


def empty_citation(number: int) -> Objection:
    """A marker has no claim before it."""
    return Objection(
        code="empty_citation", text=f"The answer cites source {number} for nothing.", number=number
    )


def cut(limit: str) -> Objection:
    """The answer reached a length limit."""
    return Objection(code="cut", text=f"The answer was cut at {limit}.")


def too_many_brackets(most: int) -> Objection:
    """Brackets after the first `most` are not read."""
    text = f"Not read: brackets after the first {most:,} of the answer."
    return Objection(code="too_many_brackets", text=text, number=most)
