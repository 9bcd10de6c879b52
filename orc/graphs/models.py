"""What a turn is made of while it runs: the state that nodes update, and the dependencies they use."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, Field

from core.contract import Citation, FileStatus, Grounding, Usage
from core.documents.models import FileRef, Record, RetrievalStep
from core.grounding.highlights import ReadBoxes
from core.grounding.sources import Source
from core.llm.model import ChatModel, Meter
from core.llm.tokens import TokenCounter
from orc.events import Event, RetrievalMode
from orc.graphs.findings import PageText
from orc.tools import ToolGateway

DOCUMENT_CHAT = "document_chat"
LISTING = "documents_list"


class ChatMessage(Record):
    """One message of the history, as models see it."""

    role: Literal["user", "assistant"]
    content: str


class ToolResult(Record):
    """What a tool call gave, or why it gave nothing."""

    name: str
    content: dict[str, Any] = {}
    material: str = Field(default="", description="the content as a model is given it, with its sources")
    error: str | None = None


class QueryPlan(Record):
    """What is looked up, and how it was decided."""

    query: str
    steps: list[str]
    confidence: float = Field(ge=0, le=1)
    fallback: str | None = None


class ConversationState(BaseModel):
    """One turn. The first block comes in, the rest is worked out; nodes return only what they change."""

    question: str
    conversation_id: str
    blob_names: list[str] = []
    has_documents: bool = False
    history: list[ChatMessage] = []
    uploaded_file_refs: list[FileRef] = []
    last_mcp_tool_used: str | None = None
    code_thread_id: str | None = None

    plan: QueryPlan | None = None
    tool_results: list[ToolResult] = []
    sources: list[Source] = Field(default=[], description="what the answer may cite, if a tool loop found it")
    context_docs: list[str] = []
    context_budget: dict[str, int] = {}
    retrieval_mode: RetrievalMode = "none"
    retrieval_reason: str = "The turn names no documents."
    retrieval_steps: list[RetrievalStep] = []
    files: list[FileStatus] = []
    answer: str | None = None
    citations: list[Citation] = []
    grounding: Grounding | None = None
    tool_usage: Usage = Usage()

    @property
    def query(self) -> str:
        """The stand-alone question: the planner's, or the user's own words before there is a plan."""
        return self.plan.query if self.plan else self.question


@dataclass(frozen=True)
class Prompts:
    """The texts that models are given, with named slots."""

    rewrite: str
    converse: str
    use_tools: str
    answer_from_tools: str


@dataclass(frozen=True)
class Deps:
    """All that nodes may use in one turn. Who is asking is inside `scope_token`, nowhere else."""

    planner: ChatModel
    writer: ChatModel
    model_name: str
    tools: ToolGateway
    scope_token: str
    meter: Meter
    counter: TokenCounter
    prompts: Prompts
    page_text: PageText
    page_boxes: ReadBoxes
    emit: Callable[[Event], None]
    stream: bool
    tool_rounds: int
    tools_off: frozenset[str] = frozenset()
