"""The state of a turn, whose fields are the channels of its graph, and what nodes use besides."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, Field

from orc.contexts.turn_scope import TurnScope
from orc.conversations.models import ChatMessage
from orc.events import Critique, DocumentCounts, Event, Plan, RetrievalMode, Route
from orc.judges.ports import SupportJudge
from orc.lookups import LookupStep
from orc.memory.models import ConversationMemory, Memory, Recalled
from orc.settings import TurnSettings
from orc.tools.ports import WEB_SEARCH, ToolGateway, ToolSchema
from orc_core.documents.image_limits import ImageCounts
from orc_core.documents.not_searched import NotSearched
from orc_core.documents.page_images import PageImage
from orc_core.documents.pictures import PagePictures
from orc_core.documents.places import Accessible
from orc_core.documents.service import DocumentService
from orc_core.documents.unknown_files import UnknownFile
from orc_core.grounding.models import Citation, Grounding
from orc_core.grounding.sources import Source
from orc_core.llm.chat_model import CallBudget, ChatModel
from orc_core.llm.factory import ChatModels
from orc_core.llm.model_catalog import ModelCatalogue
from orc_core.llm.tokens import TokenCounter
from orc_core.mcp_contract import DocumentChatResult, FileStatus
from orc_core.models import Document, FileRef, Record, RetrievalStep

Update = dict[str, Any]
"""What a node changes of the state."""
MATERIAL = ("documents", "passages", "pages", "results", "citations")
"""The lists of a tool result that hold material of documents; a listing of contexts is none."""

ABOUT_ITSELF = ("steps", "counts", "by_context", "next_cursor")
"""What else a listing or a search returns: how it searched, and numbers."""


class ToolResult(Record):
    """A tool call with its result, or the error that it ended with."""

    name: str
    arguments: dict[str, Any] = {}
    content: dict[str, Any] = {}
    rendered: str = Field(default="", description="the content as a model reads it, with its sources")
    error: str | None = None
    hits: int = Field(default=0, description="results of the call, whatever of them is in the content")


class PageReference(Record):
    """A page of which only the summary is known so far."""

    document_id: str
    page: int = Field(ge=1)


class Attempt(Record):
    """One attempt at the answer: the first, one with corrected sentences, or one after more was looked up.

    `wanted`: what more to look up, if not the question alone. `sources` are what its answer can cite.
    `failure` is the reason why it is no better than the one before.
    """

    number: int = Field(default=1, ge=1)
    wanted: str = ""
    sources: list[Source] = []
    answer: str | None = None
    citations: list[Citation] = []
    grounding: Grounding | None = None
    verdict: Critique | None = None
    failure: str | None = None


class ConversationState(BaseModel):
    """One turn: each field is a channel of the graph. Nodes return only the fields that they change, and
    never mutate the state.

    No two nodes run at the same time, so that the last value of a field is its value.
    """

    # Set before the graph starts.
    question: str
    conversation_id: str = ""
    blob_names: list[str] = []
    has_documents: bool = False
    documents: list[tuple[str, str]] = Field(default=[], description="ids and names of the first ones")
    shelf: dict[str, Document] = Field(default={}, description="those that a question can name, by path")
    reads_whole: bool = Field(default=False, description="the named documents fit a prompt as a whole")
    not_searched: NotSearched = NotSearched()
    unknown_files: list[UnknownFile] = []
    history: list[ChatMessage] = []
    memory: Memory = Field(default_factory=Memory)
    uploaded_file_refs: list[FileRef] = []
    last_mcp_tool_used: str | None = None
    scope: TurnScope | None = Field(default=None, description="None if no context is named")
    counts: DocumentCounts = DocumentCounts()
    context_block: str = Field(default="", description="what models are shown of the contexts")

    # plan_query
    recalled: Recalled = Field(default_factory=Recalled)
    route: Route | None = None
    plan: Plan | None = None

    # call_tools
    document_reply: DocumentChatResult | None = None
    lookups: list[ToolResult] = Field(
        default=[], description="made by code for the current attempt; sources have no numbers yet"
    )
    tools: list[dict[str, Any]] = Field(default=[], description="definitions of those the writer may call")
    references: list[PageReference] = Field(default=[], description="pages that were found but not yet read")
    lookup_steps: list[LookupStep] = []

    # build_context
    tool_results: list[ToolResult] = Field(default=[], description="with numbered sources, within the budget")
    handles: list[str] = Field(default=[], description="document ids in the order of their handles, from d1")
    context_budget: dict[str, int] = {}
    retrieval_mode: RetrievalMode = "none"
    retrieval_steps: list[RetrievalStep] = []
    images: list[PageImage] = Field(default=[], description="pages that the model is sent as pictures")
    image_counts: ImageCounts = ImageCounts()

    # write_answer, critique
    attempt: Attempt = Field(default_factory=Attempt)
    earlier: list[Attempt] = Field(default=[], description="the attempts before it, in order")

    @property
    def query(self) -> str:
        """The stand-alone question of the plan; the user's own words before there is a plan."""
        return self.plan.rewritten_query if self.plan else self.question

    @property
    def answer(self) -> str | None:
        """The answer of the current attempt."""
        return self.attempt.answer

    @property
    def is_second_retrieval(self) -> bool:
        """Whether the current attempt was made because more had to be looked up."""
        before = self.earlier[-1].verdict if self.earlier else None
        return before is not None and before.action == "retrieve"

    @property
    def verdicts(self) -> list[Critique]:
        """The verdicts on all attempts, in order."""
        return [each.verdict for each in (*self.earlier, self.attempt) if each.verdict is not None]

    @property
    def files(self) -> list[FileStatus]:
        """The status of each named document."""
        return self.document_reply.metadata.files if self.document_reply else []


@dataclass(frozen=True)
class Prompts:
    """The prompt texts, with named slots. `answer` has the parts of which those of answers are made.

    `plan` is `full`, or `short` for models on this machine.
    """

    plan: Mapping[str, str]
    answer: Mapping[str, str]
    revise: str


@dataclass(frozen=True, kw_only=True)
class Resources:
    """What the nodes of every turn of a process use; the graph is built with it.

    `pictures` is None if no pages can be drawn, `judge` if nothing is read a second time.
    """

    library: DocumentService
    memory: ConversationMemory
    tools: ToolGateway
    models: ChatModels
    catalogue: ModelCatalogue
    counter: TokenCounter
    prompts: Prompts
    pictures: PagePictures | None = None
    judge: SupportJudge | None = None


@dataclass
class Origins:
    """The documents that tools have returned in one turn, with the place that each was reached through.

    A place is the id of a context, "" for the session, and whether it belongs to the focus.
    `unnamed`: a tool returned material without saying of which documents it is.
    """

    places: dict[str, tuple[str, bool]] = field(default_factory=dict)
    unnamed: bool = False
    results: Counter[tuple[str, bool]] = field(default_factory=Counter)

    def note(self, tool: str, content: dict[str, Any]) -> None:
        """Add what a tool returned."""
        if tool == WEB_SEARCH:
            return
        documents = content.get("documents")
        if "steps" in content and isinstance(documents, list):
            # No prompt has the documents that a search went through.
            content = {**content, "documents": [each for each in documents if not each.get("searched")]}
        found = list(_documents_in(content))
        self.places.update(found)
        self.results.update(place for _, place in found)
        self.unnamed = self.unnamed or (not found and _has_material(content))


def _has_material(content: dict[str, Any]) -> bool:
    """Whether the result may hold material: only one of empty lists and of what a search says of itself is
    known to hold none."""
    if not any(isinstance(content.get(name), list) for name in MATERIAL):
        return bool(content)
    return any(_has_text(value) for name, value in content.items() if name not in ABOUT_ITSELF)


def _has_text(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_text, value.values()))
    return any(map(_has_text, value)) if isinstance(value, list) else isinstance(value, str) and bool(value)


def _documents_in(part: Any) -> Iterator[tuple[str, tuple[str, bool]]]:
    """The ids of documents with the places that they were reached through."""
    if isinstance(part, list):
        for item in part:
            yield from _documents_in(item)
    elif isinstance(part, dict):
        if isinstance(document_id := part.get("document_id"), str):
            is_context = part.get("context_type") not in (None, "session")
            context_id = str(part.get("context_id") or "") if is_context else ""
            yield document_id, (context_id, part.get("focus") is not False)
        for name, value in part.items():
            if name != "by_context":
                yield from _documents_in(value)


@dataclass(frozen=True)
class RunContext:
    """The values of one run of the graph. The caller's identity is only in `scope_token`.

    `asked_model` is the model that the request names; it has priority over that of the intent. Improving an
    answer that exists ends at `ends_at`, in the running loop's time. `off_by` says who has switched
    a tool off. The run notes in `budget` and `origins` what it used: both can be read even if it is
    cancelled.
    """

    scope_token: str = ""
    settings: TurnSettings = field(default_factory=TurnSettings)
    stream: bool = True
    asked_model: str | None = None
    ends_at: float | None = None
    accessible: Accessible | None = None
    tools_off: frozenset[str] = frozenset()
    off_by: Mapping[str, str] = field(default_factory=dict)
    update_tools: frozenset[str] = frozenset()
    budget: CallBudget = field(default_factory=CallBudget)
    origins: Origins = field(default_factory=Origins)


@dataclass(frozen=True)
class Run:
    """What a node uses: the resources of the process, the values of its run, and the stream of events."""

    resources: Resources
    context: RunContext
    emit: Callable[[Event], None]

    async def page_text(self, document_id: str, number: int) -> str:
        """The full text of a page; empty if the page no longer exists."""
        page = await self.resources.library.page_of(document_id, number)
        return page.text if page else ""

    def writer_of(self, state: ConversationState) -> tuple[ChatModel, int | None]:
        """The model that writes the answer of this turn, and the cap on its tokens."""
        if state.route is None:
            return self.resources.models.writer, None
        return self.resources.models.named(state.route.model), state.route.max_output_tokens

    def takes_tools(self, model: ChatModel) -> bool:
        """Whether a model of this turn can be offered tools: it takes them, and its window has space."""
        return model.abilities.takes_tools and self.context.settings.max_tool_rounds > 0

    async def available_tools(self) -> list[ToolSchema]:
        """The tools of the server that this turn may call; DependencyDown if it does not answer.

        Tools that change something are left out unless `context.update_tools` has them.
        """
        return [
            tool
            for tool in await self.resources.tools.list_tools(self.context.scope_token)
            if tool.name not in self.context.tools_off
            and (tool.only_reads or tool.name in self.context.update_tools)
        ]
