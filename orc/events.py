"""What leaves a turn while it runs: typed events, and the result that ends it. JSON and SSE render these."""

from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from core.grounding.models import Citation
from core.mcp_contract import FileStatus
from core.models import FileRef, RetrievalStep, Usage
from orc.intents import Retriever, Step

RetrievalMode = Literal["inline", "rag", "mixed", "none"]
CriticAction = Literal["accept", "revise", "retrieve", "label_unverified"]


class Event(BaseModel):
    """Base of the events; `kind` is the SSE event name, the fields are its data."""

    model_config = ConfigDict(frozen=True)
    kind: ClassVar[str]
    ends_turn: ClassVar[bool] = False

    def data(self) -> dict[str, Any]:
        return self.model_dump(mode="json")


class Route(Event):
    """What kind of question it is, and what that brings with it: the model, its cap, and how to look."""

    kind = "route"
    intent: str
    model: str
    retriever: Retriever
    max_output_tokens: int | None = None


class Plan(Event):
    """What is done, and who decided it.

    `fallback`: why the plan is not the model's, where one was asked. `escalation`: why more is looked up
    than was planned.
    """

    kind = "plan"
    rewritten_query: str
    steps: list[Step]
    confidence: float = Field(ge=0, le=1)
    decided_by: Literal["rules", "model", "fallback"] = "rules"
    fallback: str | None = None
    escalation: str | None = None


class Context(Event):
    """What the answer is written from, in tokens where sizes are given."""

    kind = "context"
    budget: dict[str, int] = {}
    summary_selection: dict[str, JsonValue] = {}
    history_turns: int = 0


class Tool(Event):
    """A tool's work. Identifiers never appear here. `code` is the kind of failure, for programs."""

    kind = "tool"
    name: str
    status: Literal["started", "progress", "finished", "failed"]
    progress: float | None = None
    total: float | None = None
    message: str | None = None
    code: str | None = None
    duration_ms: float | None = None


class Token(Event):
    """More text of the answer."""

    kind = "token"
    text: str


class Reset(Event):
    """What was streamed so far is withdrawn."""

    kind = "reset"
    reason: str


class Citations(Event):
    """The sources of the answer."""

    kind = "citations"
    citations: list[Citation]


class Critique(Event):
    """The verdict on one attempt at the answer: that of the code checks, or of the model after them.

    The action is what becomes of the answer: it is given as accepted, given as unverified, revised with
    what was found, or revised after more is looked up. `failure`: why the model that should have judged
    did not, or why there is no revised answer though one was asked for.
    """

    kind = "critique"
    grounded: bool
    coverage: float
    issues: list[str] = []
    action: CriticAction
    attempt: int = 1
    by: Literal["code", "model"] = "code"
    failure: str | None = None


class Telemetry(Event):
    """What the turn cost: tokens, and milliseconds by stage."""

    kind = "telemetry"
    usage: Usage
    timings: dict[str, float]


class TurnMetadata(BaseModel):
    """How the answer came about."""

    trace_id: str
    route: dict[str, JsonValue] = {}
    plan: dict[str, JsonValue] = {}
    retrieval_mode: RetrievalMode = "none"
    retrieval_reason: str = ""
    retrieval_steps: list[RetrievalStep] = []
    context_budget: dict[str, int] = {}
    summary_selection: dict[str, JsonValue] = {}
    critic_summary: dict[str, JsonValue] = {}
    files: list[FileStatus] = []
    usage: Usage = Usage()
    timings_ms: dict[str, float] = {}


class TurnResult(BaseModel):
    """The answer to a turn: the JSON response, and the data of `done`."""

    conversation_id: str
    turn_id: str
    answer: str = Field(examples=['The deposit is due by 1 March. [Page 5 of Document "handbook.pdf"]'])
    citations: list[Citation] = []
    uploaded_file_refs: list[FileRef] = []
    last_mcp_tool_used: str | None = None
    metadata: TurnMetadata


class Problem(BaseModel):
    """An RFC 9457 problem document."""

    type: str = Field(
        description="what kind of problem, as a URI reference", examples=["/problems/not_found"]
    )
    title: str = Field(examples=["Not found"])
    status: int = Field(examples=[404])
    detail: str = Field(examples=['There is no document "a.pdf" in this conversation.'])
    trace_id: str
    code: str = Field(description="the kind of problem, for programs", examples=["not_found"])
    retryable: bool = False
    dependency: str | None = Field(default=None, description="what did not answer")
    errors: list["FieldProblem"] = []


class FieldProblem(BaseModel):
    """What is wrong with one field or file of a request."""

    field: str = Field(examples=["question"])
    reason: str = Field(examples=["must not be empty"])
    code: str | None = None


class Done(Event):
    """The turn is stored; this is its result."""

    kind = "done"
    ends_turn = True
    result: TurnResult

    def data(self) -> dict[str, Any]:
        return self.result.model_dump(mode="json")


class Failed(Event):
    """The turn ended without an answer."""

    kind = "error"
    ends_turn = True
    problem: Problem

    def data(self) -> dict[str, Any]:
        return self.problem.model_dump(mode="json", exclude_none=True)
