"""The typed events of a turn and the result that ends it. JSON and SSE responses render these."""

from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from core.grounding.models import Citation
from core.mcp_contract import FileStatus
from core.models import FileRef, RetrievalStep, Usage
from orc.intents import MAX_STEPS, Retriever, Step

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
    """The intent of the question, the model and the retriever that it selects, and the cap on the answer."""

    kind = "route"
    intent: str
    model: str
    retriever: Retriever
    max_output_tokens: int | None = None


class Plan(Event):
    """The steps of the turn and what decided them.

    `fallback`: why the plan is not the one that a model made. `escalation`: why more is looked up than was
    planned.
    """

    kind = "plan"
    rewritten_query: str
    steps: list[Step] = Field(max_length=MAX_STEPS)
    confidence: float = Field(ge=0, le=1)
    decided_by: Literal["rules", "model", "fallback"] = "rules"
    fallback: str | None = None
    escalation: str | None = None

    @property
    def looks_up(self) -> bool:
        """Whether a step looks something up."""
        return any(step != "answer" for step in self.steps)

    @property
    def names_web(self) -> bool:
        """Whether a step searches the web."""
        return not {"web_search", "both"}.isdisjoint(self.steps)


class Context(Event):
    """The context of the answer: tokens by part of the prompt, and what was taken from memory and history."""

    kind = "context"
    budget: dict[str, int] = {}
    summary_selection: dict[str, JsonValue] = {}
    history_turns: int = 0


class Tool(Event):
    """The progress of a tool call, without identifiers. `code` is the error code of a failure."""

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
    """The text that was streamed so far is withdrawn."""

    kind = "reset"
    reason: str


class Citations(Event):
    """The sources of the answer."""

    kind = "citations"
    citations: list[Citation]


class Critique(Event):
    """The verdict on one attempt at the answer, by the code checks or by the model after them.

    The action says how the turn goes on: the answer is accepted, labelled unverified, revised from the same
    sources, or revised after more is looked up. `failure`: why the critic's model gave no verdict, or why
    there is no revised answer.
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
    """How the answer was made."""

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
