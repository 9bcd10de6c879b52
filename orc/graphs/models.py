"""The state of a turn, whose fields are the channels of its graph, and what nodes use besides."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, Field

from orc.contexts.turn_scope import TurnScope
from orc.conversations.models import ChatMessage
from orc.events import Critique, DocumentCounts, Event, Plan, RetrievalMode, Route
from orc.graphs.origins import Origins
from orc.judges.ports import SupportJudge
from orc.lookups import LookupStep
from orc.memory.models import ConversationMemory, Memory, Recalled
from orc.settings import TurnSettings
from orc.tools.ports import ToolGateway
from orc_core.documents.image_limits import ImageCounts
from orc_core.documents.not_searched import NotSearched
from orc_core.documents.page_images import PageImage
from orc_core.documents.pictures import PagePictures
from orc_core.documents.places import Accessible
from orc_core.documents.service import DocumentService
from orc_core.documents.unknown_files import UnknownFile
from orc_core.grounding.models import Citation, Grounding
from orc_core.grounding.sources import Source
from orc_core.llm.chat_model import CallBudget
from orc_core.llm.factory import ChatModels
from orc_core.llm.model_catalog import ModelCatalogue
from orc_core.llm.tokens import TokenCounter
from orc_core.mcp_contract import DocumentChatResult, FileStatus
from orc_core.models import Document, FileRef, Record, RetrievalStep

Update = dict[str, Any]
"""What a node changes of the state."""


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
