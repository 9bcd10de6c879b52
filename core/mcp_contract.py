"""The shapes that cross between the orchestrator and the tools server."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, TypeAdapter

from core.analysis.models import Ontology, PageAnalysis, Relation
from core.grounding.models import Citation, Grounding
from core.models import FileRef, Record, RetrievalStep, Usage

TEXT_TOOLS = frozenset(
    {
        "semantic_search",
        "search_pages",
        "get_page",
        "follow_relation",
        "documents_get_summary",
        "documents_get_content",
        "documents_analyze",
    }
)
"""The tools that search or read the text of documents: only they can show that the text lacks an answer."""
TOOLS = TEXT_TOOLS | {"document_chat", "get_ontology", "documents_list", "web_search"}
"""Every tool that a tools server can have, offered at present or not."""
MAX_QUESTION_CHARACTERS = 10_000
MAX_QUERY_CHARACTERS = 2000
"""Of what a search is given."""
STREAM_META_KEY = "orc/stream"
"""Set to true in a tool call's `_meta`: text deltas then travel as progress messages."""
MODEL_META_KEY = "orc/model"
"""In a call's `_meta`: the model that writes the answer, where it is not the tools server's usual one."""
CAP_META_KEY = "orc/max_output_tokens"
"""In a call's `_meta`: how long the answer may become, in tokens."""


class FileStatus(Record):
    """What became of one of the documents that a call asked for. `reused`: under the id that it brought."""

    blob_name: str
    status: Literal["reused", "created", "failed"]
    sent_as: Literal["file", "base64", "text"] | None = Field(
        default=None,
        description="how the model got it: by a file id of its provider, as a file within the request, or as"
        " text of its pages; null where it failed",
    )
    reason: str | None = None
    pages: int = 0
    pages_without_text: int = 0


class DocumentChatMetadata(Record):
    """How a document_chat answer came about."""

    mode: Literal["inline", "rag", "mixed"]
    reason: str
    pages_read: int = 0
    passages: int = 0
    left_out: int = Field(
        default=0,
        ge=0,
        description="passages or pages that were chosen, and that the model's window could not take, or only"
        " in part",
    )
    retrieval: list[RetrievalStep] = Field(
        default=[], description="the steps of the search, if there was one"
    )
    prompt: dict[str, int] = Field(
        default={},
        description="tokens of the parts of the prompt and their total, but for what went as files",
    )
    usage: Usage = Usage()
    files: list[FileStatus] = []
    grounding: Grounding = Grounding(grounded=False)


class DocumentChatResult(BaseModel):
    """An answer over documents, with the references to reuse next time."""

    answer: str
    files: list[FileRef] = []
    citations: list[Citation] = []
    metadata: DocumentChatMetadata


class ListedDocument(Record):
    """One document as documents_list shows it."""

    document_id: str
    filename: str
    context_type: Literal["session"] = "session"
    context_id: str
    status: str
    reason: str | None = None
    pages: int = 0
    pages_without_text: int = 0
    summary_available: bool = False


class DocumentsListResult(BaseModel):
    """The documents in scope."""

    documents: list[ListedDocument]


class ToolFailure(BaseModel):
    """What a tool that fails returns instead of its result, as JSON in its text content."""

    code: str
    message: str
    retryable: bool
    dependency: str | None = None


class TextDelta(Record):
    """Text that the answer goes on with."""

    kind: Literal["text"] = "text"
    text: str


class StatusLine(Record):
    """What the tool is doing, for people."""

    kind: Literal["status"] = "status"
    message: str


ToolProgress = Annotated[TextDelta | StatusLine, Field(discriminator="kind")]
tool_progress: TypeAdapter[TextDelta | StatusLine] = TypeAdapter[Any](ToolProgress)
"""Reads and writes the message of a progress notification of a streaming call."""


class QuotedPassage(Record):
    """A span of a document's text: characters `start` to `end` of its page."""

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
    documents_analysed: int = Field(description="documents among them that a model has analysed")


class GetOntologyResult(Ontology):
    """The vocabulary of the documents in scope, and how many of them it was taken from."""

    documents: int = Field(description="documents in scope")
    documents_analysed: int = Field(description="documents among them that a model has analysed")


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
