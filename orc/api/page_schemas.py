"""The responses about pages of a document."""

from pydantic import BaseModel, Field

from orc_core.grounding.models import Rectangle


class WordBox(BaseModel):
    """Where a word is drawn: a rectangle for each line that it is on; none if it is not visible."""

    rectangles: list[Rectangle]


class PageView(BaseModel):
    """One page. Offsets of citations count characters of `text`."""

    page: int = Field(ge=1, examples=[5])
    label: str | None = Field(description="the name in the file: a heading, a sheet name")
    text: str = Field(examples=["Leave is 28 days a year."])
    width: int | None = Field(description="of the picture with width=1200; null without a picture")
    height: int | None
    version: str = Field(description="as `document_version` of citations")
    media_type: str = Field(examples=["application/pdf"])
    boxes: list[WordBox] | None = Field(
        default=None,
        description="for each word of the text, in order, if asked for; empty if places are unknown",
    )


class PageCard(BaseModel):
    """What a page is about."""

    page: int = Field(ge=1, examples=[5])
    label: str | None
    summary: str = Field(description="empty if the page has not been analysed yet")
    topics: list[str]
    has_image: bool = Field(description="pages of this format are drawn")


class PageCardsResponse(BaseModel):
    """The cards of the pages that were asked for, in order."""

    version: str
    total: int = Field(ge=0, description="pages of the document", examples=[16])
    pages: list[PageCard]
