"""What a turn is made of while it runs: the state that nodes update, and the dependencies they use."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, Field

from core.grounding.citations import ReadBoxes
from core.grounding.models import Citation, Grounding, Revision
from core.grounding.sources import Source
from core.llm.chat_model import Meter
from core.llm.factory import ChatModels
from core.llm.tokens import TokenCounter
from core.mcp_contract import FileStatus
from core.models import FileRef, Record, RetrievalStep
from orc.conversations.models import ChatMessage
from orc.events import Critique, Event, RetrievalMode
from orc.graphs.sources import PageText
from orc.intents import MAX_STEPS, Retriever, Step
from orc.memory.models import Memory, Recalled
from orc.settings import TurnSettings
from orc.tools.ports import ToolGateway


class ToolResult(Record):
    """What a tool call gave, or why it gave nothing."""

    name: str
    content: dict[str, Any] = {}
    material: str = Field(default="", description="the content as a model is given it, with its sources")
    error: str | None = None


class RouteChoice(Record):
    """What the kind of question brings with it. `model` writes the answer, within `max_output_tokens`."""

    intent: str
    model: str
    retriever: Retriever
    max_output_tokens: int | None = None


class QueryPlan(Record):
    """What is done, and how it was decided; the fields are those of the event."""

    query: str
    steps: list[Step] = Field(max_length=MAX_STEPS)
    confidence: float = Field(ge=0, le=1)
    decided_by: Literal["rules", "model", "fallback"] = "rules"
    fallback: str | None = None
    escalation: str | None = None

    @property
    def looks_up(self) -> bool:
        """Whether anything is to be looked up."""
        return any(step != "answer" for step in self.steps)

    @property
    def names_web(self) -> bool:
        """Whether the web is to be looked into."""
        return not {"web_search", "both"}.isdisjoint(self.steps)


class PageReference(Record):
    """A page that is known by its summary so far, and can be read in full."""

    document_id: str
    page: int = Field(ge=1)


class Attempt(Record):
    """An answer that was withdrawn to be revised, with all that it takes to stand again."""

    answer: str
    citations: list[Citation]
    grounding: Grounding
    sources: list[Source]
    context_docs: list[str]


class ConversationState(BaseModel):
    """One turn. The first block comes in, the rest is worked out; nodes return only what they change."""

    question: str
    conversation_id: str
    blob_names: list[str] = []
    has_documents: bool = False
    history: list[ChatMessage] = []
    memory: Memory = Memory()
    uploaded_file_refs: list[FileRef] = []
    last_mcp_tool_used: str | None = None
    code_thread_id: str | None = None

    recalled: Recalled = Recalled()
    route: RouteChoice | None = None
    plan: QueryPlan | None = None
    tool_results: list[ToolResult] = []
    sources: list[Source] = Field(default=[], description="what the answer may cite, if a tool found it")
    references: list[PageReference] = Field(default=[], description="pages that were found but not yet read")
    context_docs: list[str] = []
    context_budget: dict[str, int] = {}
    retrieval_mode: RetrievalMode = "none"
    retrieval_reason: str = "The turn names no documents."
    retrieval_steps: list[RetrievalStep] = []
    files: list[FileStatus] = []
    left_out: int = Field(default=0, description="passages or pages that document_chat had no room for")
    answer: str | None = None
    citations: list[Citation] = []
    grounding: Grounding | None = None
    verdicts: list[Critique] = Field(default=[], description="one for each attempt, in order")
    revision: Revision | None = Field(default=None, description="what the next attempt has to mend")
    earlier: Attempt | None = Field(default=None, description="the answer that is being revised")
    revision_failure: str | None = Field(default=None, description="why there is no revised answer")

    @property
    def query(self) -> str:
        """The stand-alone question: the planner's, or the user's own words before there is a plan."""
        return self.plan.query if self.plan else self.question

    @property
    def attempt(self) -> int:
        """Which attempt at the answer this is, from 1."""
        return len(self.verdicts) + 1


@dataclass(frozen=True)
class Prompts:
    """The texts that models are given, with named slots."""

    plan: str
    converse: str
    use_tools: str
    answer_from_tools: str
    critic: str
    revise: str


@dataclass(frozen=True)
class Deps:
    """All that nodes may use in one turn. Who is asking is inside `scope_token`, nowhere else.

    `asked_model` is what the request names, which goes before what the kind of question brings. What only
    improves on an answer that is there ends by `ends_at`, in the running loop's time.
    """

    models: ChatModels
    tools: ToolGateway
    scope_token: str
    meter: Meter
    counter: TokenCounter
    prompts: Prompts
    policy: TurnSettings
    recall: Callable[[str, Memory], Awaitable[Recalled]]
    page_text: PageText
    page_boxes: ReadBoxes
    emit: Callable[[Event], None]
    stream: bool
    ends_at: float | None = None
    asked_model: str | None = None
    tools_off: frozenset[str] = frozenset()
