"""The pages of a document: their pictures, texts and cards; the same for conversations and contexts."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Path, Query, Response
from pydantic import BaseModel, Field

from orc.api.dependencies import DIGITS, IN_CONTEXT, IN_CONVERSATION, AppDep, PrincipalDep, ReaderDep
from orc.api.responses import responses
from orc.bootstrap import App
from orc_core.documents.pictures import PictureKey, has_pictures, other_version, webp_size
from orc_core.errors import Conflict, InvalidInput, NotFound, OrcError
from orc_core.extraction.word_boxes import SCALE, unpack
from orc_core.grounding.models import Rectangle
from orc_core.models import Document
from orc_core.names import Owner


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


MOST_CARDS = 100
SIZE_WIDTH = 1200
"""The picture of this width tells the size of a page."""
FOREVER = "private, max-age=31536000, immutable"
ASK_AGAIN = "private, no-cache"

_WEBP: dict[str, Any] = {
    "description": "The page as it looks, at most `width` pixels wide.",
    "content": {"image/webp": {"schema": {"type": "string", "format": "binary"}, "example": "RIFF..."}},
    "headers": {"etag": {"schema": {"type": "string"}}, "cache-control": {"schema": {"type": "string"}}},
}
_HEADERS = {"x-content-type-options": "nosniff", "cross-origin-resource-policy": "same-origin"}
PageNumber = Annotated[int, Path(ge=1, le=1_000_000, description="counts from 1"), DIGITS]
Width = Annotated[Literal["160", "800", "1200", "1600"], Query(description="pixels")]
Version = Annotated[
    str | None,
    Query(max_length=200, description="`document_version` of a citation: 409 if the document has another"),
]
Numbers = Annotated[
    str | None,
    Query(
        max_length=1000,
        description="of pages, separated by commas; by default the first 100",
        examples=["1,2,9"],
    ),
]


_BELOW = "/documents/{document_id}/pages"
of_conversations = APIRouter(
    prefix="/conversations/{conversation_id}" + _BELOW, tags=["documents"], dependencies=IN_CONVERSATION
)
of_contexts = APIRouter(prefix="/contexts/{context_id}" + _BELOW, tags=["contexts"], dependencies=IN_CONTEXT)
REFUSALS = responses(400, 404, 409)
IMAGE: dict[str, Any] = {
    "response_class": Response,
    "responses": {
        **responses(400, 404, 409, 415, 429),
        200: _WEBP,
        304: {"description": "The picture is still the one with this ETag."},
    },
}


@of_contexts.get("/{number}/image", operation_id="context_page_image", **IMAGE)
@of_conversations.get("/{number}/image", **IMAGE)
async def page_image(
    document_id: str,
    number: PageNumber,
    owner: ReaderDep,
    app: AppDep,
    caller: PrincipalDep,
    width: Width = "1200",
    v: Version = None,
    if_none_match: Annotated[str | None, Header(max_length=500)] = None,
) -> Response:
    """A picture of the page, on which the rectangles of citations lie.

    With `v` it may be kept for ever. 409 `other_version`: the document was replaced since; 415
    `no_picture`: only pages of PDFs and images are drawn, and not all of those can be. 503 `unavailable`:
    it cannot be drawn now, because the file is still being read or the machine is too busy.
    """
    document = await _document(app, owner, document_id, v)
    etag = f'"{PictureKey(document_id, document.version, number, int(width)).name}"'
    headers = {**_HEADERS, "etag": etag, "cache-control": FOREVER if v else ASK_AGAIN}
    if if_none_match is not None and etag in if_none_match:
        return Response(status_code=304, headers=headers)
    async with app.drawings.of(caller):
        picture = await app.pictures.get(document, number, int(width))
    return Response(picture, media_type="image/webp", headers=headers)


@of_contexts.get("/{number}", operation_id="context_page", responses=REFUSALS)
@of_conversations.get("/{number}", responses=REFUSALS)
async def page(
    document_id: str,
    number: PageNumber,
    owner: ReaderDep,
    app: AppDep,
    boxes: Annotated[bool, Query(description="with the places of the words")] = False,
    v: Version = None,
) -> PageView:
    """The text of the page, as citations quote it, with its label and the size of its picture."""
    document = await _document(app, owner, document_id, v)
    found = await app.library.text(document, [number])
    if not found:
        raise NotFound("There is no such page in this document.")
    width, height = await _size(app, document, number)
    packed = await app.library.page_boxes(document_id, number) if boxes else b""
    words = [
        WordBox(
            rectangles=[
                {name: round(edge / SCALE, 4) for name, edge in box._asdict().items()} for box in word
            ]
        )
        for word in unpack(packed)
    ]
    return PageView(
        page=number,
        label=found[0].label or None,
        text=found[0].text,
        width=width,
        height=height,
        version=document.version,
        media_type=document.media_type,
        boxes=words if boxes else None,
    )


@of_contexts.get("", operation_id="context_page_cards", responses=responses(400, 404, 409))
@of_conversations.get("", responses=REFUSALS)
async def page_cards(
    document_id: str, owner: ReaderDep, app: AppDep, numbers: Numbers = None, v: Version = None
) -> PageCardsResponse:
    """What the pages are about, as far as they have been analysed; missing pages are left out."""
    document = await _document(app, owner, document_id, v)
    wanted = list(range(1, MOST_CARDS + 1))
    if numbers is not None:
        parts = numbers.split(",")
        if len(parts) > MOST_CARDS or not all(part.isascii() and part.isdecimal() for part in parts):
            message = f"At most {MOST_CARDS} numbers of pages, separated by commas."
            raise InvalidInput(message, field="numbers")
        wanted = sorted({min(int(part), 1_000_000) for part in parts})
    pages = await app.library.text(document, wanted)
    analysed = (await app.analyses.get([document_id])).get(document_id)
    known = {}
    if analysed is not None and analysed.etag == document.etag:
        known = {each.page: each for each in await app.analyses.pages(document_id, wanted)}
    cards = [
        PageCard(
            page=each.number,
            label=each.label or None,
            summary=known[each.number].summary if each.number in known else "",
            topics=known[each.number].topics if each.number in known else [],
            has_image=has_pictures(document),
        )
        for each in pages
    ]
    return PageCardsResponse(version=document.version, total=document.pages, pages=cards)


async def _document(app: App, owner: Owner, document_id: str, version: str | None) -> Document:
    """The document, if it has this version."""
    document = await app.library.find(owner, document_id)
    if version is not None and version != document.version:
        raise other_version()
    return document


async def _size(app: App, document: Document, number: int) -> tuple[int | None, int | None]:
    """The size of the page's picture; None without one."""
    try:
        picture = await app.pictures.get(document, number, SIZE_WIDTH)
    except Conflict:
        raise
    except OrcError:
        return None, None
    return webp_size(picture)
