"""The messages between the orchestrator and the tools server."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, TypeAdapter

from orc_core.analysis.models import Ontology, PageAnalysis, Relation
from orc_core.documents.image_limits import ImageCounts
from orc_core.documents.places import DocumentOrigin, PlaceType
from orc_core.grounding.models import Citation, Grounding, WrittenMark
from orc_core.models import FileRef, Record, RetrievalStep, Usage


@dataclass(frozen=True)
class ToolFacts:
    """What is said of a tool everywhere: to models, to people, and in the settings of contexts."""

    name: str
    title: str
    about: str
    """For people. Models read the docstring of the tool."""
    reads_text: bool = False
    """Searches or reads the text of documents: only such a tool can show that the text lacks an answer."""
    kind: Literal["read", "update"] = "read"
    """One that updates has to be switched on for a message (Scope.allows). A broken call is not repeated."""
    external: bool = False
    """Sends its arguments to a service of others."""


ADD_TO_CONTEXT = "documents_add_to_context"
_LISTED = [
    ToolFacts("document_chat", "Ask documents", "Answers from documents that the question names."),
    ToolFacts(
        ADD_TO_CONTEXT, "Add a file to a context", "Proposes to add a file; you confirm.", kind="update"
    ),
    ToolFacts("documents_analyze", "Analyse a whole document", "Reads all of a document.", reads_text=True),
    ToolFacts("documents_get_content", "Read a document", "Reads the text of a document.", reads_text=True),
    ToolFacts("documents_get_summary", "Summarise a document", "Reads its summary.", reads_text=True),
    ToolFacts("documents_list", "List documents", "Lists the documents that can be read."),
    ToolFacts("follow_relation", "Follow a relation", "Finds pages by names in common.", reads_text=True),
    ToolFacts("get_ontology", "Show the vocabulary", "Lists the names and terms that the documents use."),
    ToolFacts("get_page", "Read a page", "Reads the text of one page.", reads_text=True),
    ToolFacts("search_pages", "Search pages", "Finds pages by their summaries and topics.", reads_text=True),
    ToolFacts("semantic_search", "Search passages", "Finds passages by words and meaning.", reads_text=True),
    ToolFacts("web_search", "Search the web", "Asks a search engine of the web.", external=True),
]
TOOL_FACTS = {tool.name: tool for tool in _LISTED}
"""Every tool that a tools server can have, whether it is offered at present or not, by its name."""
TOOLS = frozenset(TOOL_FACTS)
TEXT_TOOLS = frozenset(tool.name for tool in _LISTED if tool.reads_text)
MAX_QUESTION_CHARACTERS = 10_000
MAX_QUERY_CHARACTERS = 2000
STREAM_META_KEY = "orc/stream"
"""In the `_meta` of a tool call: true if text deltas are to be sent as progress messages."""
MODEL_META_KEY = "orc/model"
"""In the `_meta` of a tool call: the model for the answer, if it is not the usual one of the tools server."""
CAP_META_KEY = "orc/max_output_tokens"
"""In the `_meta` of a tool call: the maximum length of the answer in tokens."""
WISHES_META_KEY = "orc/wishes"
"""In the `_meta` of a tool call: sentences of the user about how to answer, at most `MAX_WISHES`."""
MAX_WISHES = 4
HISTORY_META_KEY = "orc/history"
"""In the `_meta` of a tool call: what was said before (Said), if the question is not understandable alone."""
WHOLE_META_KEY = "orc/whole_documents"
"""In the `_meta` of a tool call: if more documents than this are named, they are searched, not read whole."""
IMAGES_META_KEY = "orc/images"
"""In the `_meta` of a tool call: the limits of pictures of pages (ImageLimits), if the model is sent some."""

LEFT_OUT_IF_NULL = frozenset(
    {*DocumentOrigin.model_fields, "context", "total", "by_context", "next_cursor", "counts", "truncated"}
)
"""Fields that a result does not have if they are null: what a call has no contexts or further pages for."""


def without_nulls(part: Any) -> Any:
    """A result as JSON, without the nulls of LEFT_OUT_IF_NULL."""
    if isinstance(part, list):
        return [without_nulls(each) for each in part]
    if not isinstance(part, dict):
        return part
    kept = {name: value for name, value in part.items() if value is not None or name not in LEFT_OUT_IF_NULL}
    return {name: without_nulls(value) for name, value in kept.items()}


class Said(Record):
    """An earlier message of the conversation, as models see it."""

    role: Literal["user", "assistant"]
    content: str


class FileStatus(DocumentOrigin):
    """The outcome for one document. `created`: its file id was created in this call; `reused`: earlier."""

    document_id: str | None = Field(default=None, description="null in results of earlier versions")
    blob_name: str
    status: Literal["reused", "created", "failed"]
    sent_as: Literal["file", "base64", "text"] | None = Field(
        default=None,
        description="how the model got it: by file id, as base64 in the request, or as text; null if failed",
    )
    reason: str | None = None
    pages: int = 0
    pages_without_text: int = 0


class DocumentChatMetadata(Record):
    """How document_chat produced its answer."""

    mode: Literal["inline", "rag", "mixed"]
    reason: str
    pages_read: int = 0
    passages: int = 0
    left_out: int = Field(
        default=0, ge=0, description="chosen passages or pages that did not fit the context window completely"
    )
    retrieval: list[RetrievalStep] = Field(default=[], description="the steps of the search, if any")
    prompt: dict[str, int] = Field(
        default={}, description="tokens of each part of the prompt and their total, without files"
    )
    images: ImageCounts = ImageCounts()
    usage: Usage = Usage()
    files: list[FileStatus] = []
    grounding: Grounding = Grounding(grounded=False)


class DocumentChatResult(BaseModel):
    """An answer about documents, with the file references to reuse next time."""

    answer: str
    files: list[FileRef] = []
    citations: list[Citation] = []
    metadata: DocumentChatMetadata


class ListedDocument(Record):
    """A document in the result of documents_list."""

    document_id: str
    filename: str
    context_type: PlaceType = PlaceType.SESSION
    context_id: str
    context_name: str | None = None
    focus: bool | None = None
    status: str
    reason: str | None = None
    pages: int = 0
    pages_without_text: int = 0
    summary_available: bool = False


class ContextCount(DocumentOrigin):
    """How many documents a context has, or the session. `context` is its handle, for arguments of tools."""

    context: str | None = None
    total: int
    ready: int


class DocumentsListResult(BaseModel):
    """A page of the documents in scope.

    `total` and `by_context` count all that are in scope, on the first page of a scope with contexts.
    """

    documents: list[ListedDocument]
    total: int | None = None
    by_context: list[ContextCount] | None = None
    next_cursor: str | None = Field(default=None, description="for the next page; null on the last one")


class ToolFailure(BaseModel):
    """The error of a tool, sent as JSON in the text content instead of a result."""

    code: str
    message: str
    retryable: bool
    dependency: str | None = None
    retry_after: int | None = Field(default=None, description="seconds until a retry may help, if known")


class TextDelta(Record):
    """The next part of the answer."""

    kind: Literal["text"] = "text"
    text: str


class MarkDelta(WrittenMark):
    """A marker that the text so far ends in or contains."""

    kind: Literal["mark"] = "mark"


class StatusLine(Record):
    """The current work of the tool, for people; `total` is 0 while it is unknown."""

    kind: Literal["status"] = "status"
    message: str
    done: int = 0
    total: int = 0


Progress = TextDelta | MarkDelta | StatusLine
"""What a streaming call reports."""
ToolProgress = Annotated[Progress, Field(discriminator="kind")]
tool_progress: TypeAdapter[Progress] = TypeAdapter[Any](ToolProgress)
"""Parses and serialises the message of a progress notification of a streaming call."""


class QuotedPassage(DocumentOrigin):
    """A span of a document's text: characters `start` to `end` of its page."""

    document_id: str
    blob_name: str
    page: int = Field(ge=1)
    page_id: str
    text: str
    start: int = Field(ge=0, description="characters from the start of the page's text")
    end: int = Field(ge=0)
    document_version: str = Field(default="", description="SHA-256 of the document's bytes, or their ETag")
    media_type: str = ""


class FoundPassage(QuotedPassage):
    """A passage that a search found."""

    score: float = Field(description="comparable within one search only")
    heading: str = Field(default="", description="the headings above it, outermost first")


class SearchedDocument(DocumentOrigin):
    """A document in scope, and whether it was searched."""

    document_id: str
    filename: str
    status: str
    searched: bool
    reason: str | None = Field(default=None, description="why it was not searched")


class SearchCounts(Record):
    """The documents of a search over more than can be listed. `unread` ones could not be searched yet."""

    documents: int
    unread: int


OF_COUNTS = "set if a result cannot list all documents: it has those with results, and some not searched"


class SemanticSearchResult(BaseModel):
    """The passages that a search found, best first; the steps of the search and the documents in scope."""

    passages: list[FoundPassage]
    steps: list[RetrievalStep] = Field(description="the attempts of the search, in order")
    documents: list[SearchedDocument]
    counts: SearchCounts | None = Field(default=None, description=OF_COUNTS)


class PageText(DocumentOrigin):
    """A span of a page's text: characters `start` to `end`."""

    page_id: str
    document_id: str
    page_number: int = Field(ge=1)
    blob_name: str
    text: str
    start: int = Field(default=0, ge=0, description="characters from the start of the page's text")
    end: int = Field(ge=0)
    document_version: str = Field(default="", description="SHA-256 of the document's bytes, or their ETag")
    media_type: str = ""


class FoundPage(PageText):
    """A page that a search found; `text` is its best matching passage."""

    summary: str = ""
    topics: list[str] = []
    score: float = Field(description="comparable within one search only")
    matches: list[str] = Field(description="sentences of the page that match best")


class SearchPagesResult(BaseModel):
    """The pages that a search found, best first; the steps of the search and the documents in scope."""

    pages: list[FoundPage]
    steps: list[RetrievalStep] = Field(description="the attempts of the search, in order")
    documents: list[SearchedDocument]
    counts: SearchCounts | None = Field(default=None, description=OF_COUNTS)


class ReadPage(PageText):
    """The text of a page. `analysis` is null if the page has not been analysed yet."""

    label: str = Field(description="the name of the page in the file")
    characters: int = Field(description="length of the whole page")
    truncated: bool = Field(description="whether the page continues after `text`")
    analysis: PageAnalysis | None = None


class GetPageResult(BaseModel):
    """The requested page, as a list of one."""

    pages: list[ReadPage]


class ConnectedPage(PageText):
    """A page about an entity; `text` is the sentence that names it, if that sentence was found."""

    summary: str = ""
    named: str = Field(description="the entity as this page spells it")
    relation: Relation | None = Field(default=None, description="null if the page only names the entity")
    target_page: int | None = Field(default=None, description="the page that the relation refers to")


class FollowRelationResult(BaseModel):
    """The pages about an entity: first those that state a relation, then those that only name it."""

    pages: list[ConnectedPage]
    truncated: bool = Field(description="whether there are more pages")
    documents: int = Field(description="documents in scope")
    documents_analysed: int = Field(description="documents in scope that a model has analysed")


class GetOntologyResult(Ontology):
    """The vocabulary of the analysed documents in scope."""

    documents: int = Field(description="documents in scope")
    documents_analysed: int = Field(description="documents in scope that a model has analysed")
    truncated: bool | None = Field(default=None, description="true if more documents are in scope")


class FoundWebPage(Record):
    """A web page. `text` is the excerpt of the search engine; the page itself was not read."""

    title: str
    url: str = Field(description="http or https, on a public host")
    text: str


class WebSearchResult(BaseModel):
    """The web pages that a search engine found, best first."""

    provider: str = Field(description="the search engine: `google` or `brave`")
    query: str = Field(description="the query as sent: at most 50 words")
    results: list[FoundWebPage]
    left_out: int = Field(default=0, description="results without text or without a safe address")


class SummaryResult(DocumentOrigin):
    """The summary of a document in one paragraph."""

    document_id: str
    filename: str
    pages: int
    method: str = Field(description="`extractive`, or the name of the model")
    note: str = Field(default="", description="what was made without the model, and why")
    summary: str


class ContentResult(DocumentOrigin):
    """The whole text of a short document, page by page, or the detailed summary of a long one."""

    document_id: str
    filename: str
    status: str
    kind: Literal["text", "detailed_summary"]
    reason: str = Field(description="why the text or the summary was returned")
    characters: int = Field(description="length of the whole text")
    pages: list[PageText] = Field(default=[], description="the text; empty for a summary")
    detailed_summary: str = Field(default="", description="empty if `pages` has the text")


class DocumentsAnalyzeMetadata(Record):
    """How much of a document was read for an answer, and the cost."""

    status: str = Field(description="status of the document")
    reason: str = Field(description="how the document was read, and why")
    pages: int = Field(description="pages of the document that have text")
    pages_read: int
    pages_failed: list[int] = Field(
        default=[], description="numbers of the pages that the model could not read"
    )
    failures: list[str] = Field(default=[], description="distinct reasons why pages could not be read")
    truncated: bool = Field(description="whether text was left out because of the limit of model calls")
    chunks: int = Field(description="parts that were read separately; 1 if all was read at once")
    usage: Usage = Usage()
    grounding: Grounding = Grounding(grounded=False)


class DocumentsAnalyzeResult(BaseModel):
    """An answer from the whole of a document."""

    answer: str
    citations: list[Citation] = []
    passages: list[QuotedPassage] = Field(default=[], description="the passages that the answer cites")
    metadata: DocumentsAnalyzeMetadata
