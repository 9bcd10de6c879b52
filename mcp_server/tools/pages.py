"""get_page: one page's text and analysis."""

from core.analysis.models import AnalysisStore
from core.documents.scope import Scope
from core.errors import InvalidInput, NotFound
from core.mcp_contract import GetPageResult, ReadPage
from core.models import Document, Page, Progress
from core.names import page_id
from mcp_server.tools.scope_filter import (
    Library,
    document_in_reach,
    present_analyses,
    read_document,
    whole_page,
)

NO_SUCH_PAGE = "There is no such page in this conversation."

MAX_PAGE_CHARS = 20_000
"""Text of one page that get_page returns."""


class Pages:
    """Reads single pages in scope, up to so many characters."""

    def __init__(
        self, library: Library, analyses: AnalysisStore, *, characters: int = MAX_PAGE_CHARS
    ) -> None:
        self._library = library
        self._analyses = analyses
        self._characters = characters

    async def get(self, scope: Scope, place: tuple[str, int], progress: Progress) -> GetPageResult:
        """The page at (document id, number); NotFound where it is absent, or not in `scope`."""
        document_id, number = place
        try:
            document = await document_in_reach(self._library, scope, document_id)
        except NotFound:
            raise NotFound(NO_SUCH_PAGE) from None
        document = await read_document(self._library, document, progress)
        for page in await self._library.text(document, [number]):
            return GetPageResult(pages=[await self._read(document, page)])
        raise NotFound(NO_SUCH_PAGE)

    async def _read(self, document: Document, page: Page) -> ReadPage:
        shown = page.model_copy(update={"text": page.text[: self._characters]})
        analysed = await present_analyses(self._analyses, [document])
        analyses = await self._analyses.pages(document.document_id, [page.number]) if analysed else []
        return ReadPage(
            **whole_page(document, shown).model_dump(),
            label=page.label,
            characters=len(page.text),
            truncated=len(page.text) > self._characters,
            analysis=analyses[0] if analyses else None,
        )


def named_page(page: str | None, document_id: str | None, number: int | None) -> tuple[str, int]:
    """The (document id, number) of the page that a caller names, in one of the two ways.

    Raises InvalidInput for both ways, neither, or half of one, and NotFound for what cannot be a page's id.
    """
    if page is not None and document_id is None and number is None:
        return _read_page_id(page)
    if page is None and document_id is not None and number is not None:
        return document_id, number
    raise InvalidInput("Name the page either by page_id, or by document_id and page_number.", field="page_id")


def _read_page_id(page: str) -> tuple[str, int]:
    document_id, _, digits = page.rpartition(".p")
    if digits.isdecimal() and page_id(document_id, int(digits)) == page:
        return document_id, int(digits)
    raise NotFound(NO_SUCH_PAGE)
