"""What the tools over documents give back, beside document_chat and documents_list."""

from typing import Literal

from pydantic import BaseModel, Field

from core.contract import Citation, Grounding, Usage
from core.documents.analysis.models import Ontology, PageAnalysis, Relation
from core.documents.models import Record, RetrievalStep


class QuotedPassage(Record):
    """A stretch of a document's text: characters `start` to `end` of its page."""

    document_id: str
    blob_name: str
    page: int = Field(ge=1)
    page_id: str
    text: str
    start: int = Field(ge=0, description="characters from the start of the page's text")
    end: int = Field(ge=0)


class FoundPassage(QuotedPassage):
    """A passage that a search found."""

    score: float = Field(description="comparable within one search only")
    heading: str = Field(default="", description="the headings above it, outermost first")


class SearchedDocument(Record):
    """A document in scope, and whether a search could look into it."""

    document_id: str
    filename: str
    status: str
    searched: bool
    reason: str | None = Field(default=None, description="why it could not be searched")


class SemanticSearchResult(BaseModel):
    """What a search found, best first, how, and in which documents."""

    passages: list[FoundPassage]
    steps: list[RetrievalStep] = Field(description="what was tried, in order")
    documents: list[SearchedDocument]


class PageText(Record):
    """Text of a page: its characters `start` to `end`."""

    page_id: str
    document_id: str
    page_number: int = Field(ge=1)
    blob_name: str
    text: str
    start: int = Field(default=0, ge=0, description="characters from the start of the page's text")
    end: int = Field(ge=0)


class FoundPage(PageText):
    """A page that a search found; `text` is the passage of it that matches best."""

    summary: str = ""
    topics: list[str] = []
    score: float = Field(description="comparable within one search only")
    matches: list[str] = Field(description="sentences of the page that match best")


class SearchPagesResult(BaseModel):
    """The pages that a search found, best first, how, and in which documents."""

    pages: list[FoundPage]
    steps: list[RetrievalStep] = Field(description="what was tried, in order")
    documents: list[SearchedDocument]


class ReadPage(PageText):
    """A page to read. `analysis` is null until the page has been analysed."""

    label: str = Field(description="what the file itself calls the page")
    characters: int = Field(description="length of the whole page")
    truncated: bool = Field(description="the page goes on after `text`")
    analysis: PageAnalysis | None = None


class GetPageResult(BaseModel):
    """The page that was asked for, alone in its list."""

    pages: list[ReadPage]


class ConnectedPage(PageText):
    """A page that has to do with an entity; `text` is the sentence that says so, where it was found."""

    summary: str = ""
    named: str = Field(description="the entity, in this page's own spelling")
    relation: Relation | None = Field(default=None, description="null where the page only names the entity")
    target_page: int | None = Field(default=None, description="where in the document the relation leads")


class FollowRelationResult(BaseModel):
    """The pages that are connected with an entity: those that state a relation, then those that name it."""

    pages: list[ConnectedPage]
    truncated: bool = Field(description="there are more pages than these")
    documents: int = Field(description="documents in scope")
    documents_analysed: int = Field(description="documents among them whose pages have been analysed")


class GetOntologyResult(Ontology):
    """The vocabulary of the documents in scope, and how many of them it was taken from."""

    documents: int = Field(description="documents in scope")
    documents_analysed: int = Field(description="documents among them whose pages have been analysed")


class FoundWebPage(Record):
    """A page of the web. `text` is what the search engine quotes of it; the page itself was not read."""

    title: str
    url: str = Field(description="http or https, of a host of the public internet")
    text: str


class WebSearchResult(BaseModel):
    """The pages of the web that a search engine found, best first."""

    provider: str = Field(description="the search engine: `google` or `brave`")
    query: str = Field(description="what it was asked: the query, or its first 50 words")
    results: list[FoundWebPage]
    left_out: int = Field(default=0, description="results that have no text or no address that may be shown")


class SummaryResult(BaseModel):
    """The summary of a document in one paragraph."""

    document_id: str
    filename: str
    pages: int
    method: str = Field(description="`extractive`, or the name of the model")
    summary: str


class ContentResult(BaseModel):
    """The whole text of a short document, page by page, or the detailed summary of a long one."""

    document_id: str
    filename: str
    status: str
    kind: Literal["text", "detailed_summary"]
    reason: str = Field(description="why this kind")
    characters: int = Field(description="length of the whole text")
    pages: list[PageText] = Field(default=[], description="the text; empty for a summary")
    detailed_summary: str = Field(default="", description="empty where `pages` hold the text")


class DocumentsAnalyzeMetadata(Record):
    """How much of a document was read for an answer, and at what cost."""

    status: str = Field(description="of the document's ingestion")
    reason: str = Field(description="how it was read")
    pages: int = Field(description="pages of the document that have text")
    pages_read: int
    pages_failed: list[int] = Field(default=[], description="pages that no model could be made to read")
    failures: list[str] = Field(default=[], description="why, each reason once")
    truncated: bool = Field(description="some of the text was left out, to stay within the model calls")
    chunks: int = Field(description="parts that were read one by one; 1: all at once")
    usage: Usage = Usage()
    grounding: Grounding = Grounding(grounded=False)


class DocumentsAnalyzeResult(BaseModel):
    """An answer from the whole of a document."""

    answer: str
    citations: list[Citation] = []
    passages: list[QuotedPassage] = Field(default=[], description="what the answer cites")
    metadata: DocumentsAnalyzeMetadata
