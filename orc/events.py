"""The typed events of a turn and the result that ends it. JSON and SSE responses render these."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from orc.contexts.models import LeftOut, ReadableRef, ToolOff, TurnContexts
from orc.described_by import DescribedBy
from orc.intents import MAX_STEPS, Retriever, Step
from orc.lookups import LookupStep
from orc.problems import Problem
from orc_core.documents.image_limits import ImageCounts
from orc_core.documents.not_searched import NotSearched
from orc_core.documents.unknown_files import UnknownFile
from orc_core.grounding.models import Citation, Grounding, Mark, Objected, WrittenMark, written_marks
from orc_core.mcp_contract import FileStatus
from orc_core.models import FileRef, Record, RetrievalStep, Usage

RetrievalMode = Literal["inline", "rag", "mixed", "web", "none"]
WebReason = Literal[
    "planned", "no_documents", "not_planned", "not_needed", "named_documents", "switched_off", "unavailable"
]
CriticAction = Literal["accept", "revise", "retrieve", "label_unverified"]
Milliseconds = Annotated[float, Field(ge=0)]


class Event(BaseModel):
    """Base of the events; `kind` is the SSE event name, the fields its data."""

    model_config = ConfigDict(frozen=True)
    kind: ClassVar[str]
    ends_turn: ClassVar[bool] = False

    def data(self) -> dict[str, Any]:
        return self.model_dump(mode="json")


class TurnBegun(Event):
    """The turn that the other events belong to; `seq` is its place in the conversation."""

    kind = "turn"
    conversation_id: str
    turn_id: str
    seq: int


class Route(Event):
    """The intent of the question, the model and the retriever that it selects, and the cap on the answer."""

    kind = "route"
    intent: str
    model: str
    retriever: Retriever
    max_output_tokens: int | None = None


class DocumentCounts(BaseModel):
    """The documents that the turn may access: of the session and the focus, and of other contexts."""

    near: int = 0
    far: int = 0


class Contexts(Event):
    """The contexts that the turn covers, and those that it does not."""

    kind = "contexts"
    focus: ReadableRef | None = None
    active: list[ReadableRef] = []
    historical: list[ReadableRef] = []
    left_out: list[LeftOut] = []
    documents: DocumentCounts = DocumentCounts()


class Plan(Event):
    """The steps of the turn and what decided them.

    `fallback`: why the plan is not the one that a model made. `escalation`: why more is looked up than was
    planned. If that turns out during the turn, the plan is emitted again; its steps stay as planned.
    `tools_off`: the tools that a context of the turn switches off. `documents`: those that alone are read, as
    the question is about them. `web`: why the web is searched, or why not.
    """

    kind = "plan"
    rewritten_query: str
    steps: list[Step] = Field(max_length=MAX_STEPS)
    confidence: float = Field(ge=0, le=1)
    decided_by: Literal["rules", "model", "fallback"] = "rules"
    fallback: str | None = None
    escalation: str | None = None
    tools_off: list[ToolOff] = []
    documents: list[str] = []
    web: WebReason = "not_needed"

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
    """The progress of a tool call, without identifiers: `code` is that of a failure, `hits` its results."""

    kind = "tool"
    name: str
    status: Literal["started", "progress", "finished", "failed"]
    progress: float | None = None
    total: float | None = None
    message: str | None = None
    code: str | None = None
    duration_ms: float | None = None
    arguments: dict[str, JsonValue] = {}
    hits: int | None = None


class Token(Event):
    """More text of the answer."""

    kind = "token"
    text: str


class Reset(Event):
    """The text that was streamed so far is withdrawn."""

    kind = "reset"
    reason: str


class Correction(Record):
    """What was wrong in an answer and what replaced it, without markers; empty if it was left out."""

    before: str
    after: str


class Revised(Event):
    """Sentences of the answer were corrected in place: this is its text from now on, with all citations.

    All else of the text is as before.
    """

    kind = "revised"
    answer: str
    citations: list[Citation]
    corrections: list[Correction] = Field(description="in the order of the answer")


class CitationMarked(Event):
    """The text so far has a marker, at `mark`, of the citation at `index` of the answer's citations.

    The checks of the text after it are still to come. The citation has no rectangles yet.
    """

    kind = "citation"
    index: int
    citation: Citation
    mark: Mark

    @classmethod
    def of(cls, written: WrittenMark) -> "CitationMarked":
        [citation] = without_rectangles([written.citation])
        return cls(index=written.index, citation=citation, mark=written.mark)


def without_rectangles(citations: Sequence[Citation]) -> list[Citation]:
    """The citations as events have them before all rectangles are known."""
    return [citation.model_copy(update={"rectangles": []}) for citation in citations]


def whole_text(answer: str, citations: Sequence[Citation]) -> list[Event]:
    """The events of an answer whose text is shown at once."""
    return [Token(text=answer), *map(CitationMarked.of, written_marks(citations))]


class Citations(Event):
    """The sources of the answer."""

    kind = "citations"
    citations: list[Citation]


class Critique(Event, Objected):
    """The verdict on one attempt at the answer, by the code checks alone or with a second reading.

    The action says how the turn goes on: the answer is accepted, labelled unverified, revised (its refuted
    sentences are written again), or written again after more is looked up. `failure`: why the second
    reading gave no verdict, which changes nothing, or why there is no revised answer.
    """

    kind = "critique"
    grounded: bool
    coverage: float
    action: CriticAction
    attempt: int = 1
    by: Literal["code", "model"] = "code"
    failure: str | None = None
    citations: list[Citation] | None = Field(
        default=None,
        description="all citations of the answer, in their order, if a second reading has judged any: their"
        " checks and reasons are valid instead of those in `citation` events. Without rectangles. Null in"
        " results",
    )


class LazyCounts(BaseModel):
    """What lazy retrieval saved: the pages that were given as summaries, the tokens of their passages in the
    prompt, the tokens of their full text, and how many of the pages were read in full in the end."""

    pages: int = 0
    summary_tokens: int = 0
    deferred_tokens: int = 0
    pages_read: int = 0


class TitleUpdated(Event):
    """The conversation has a title, which a model may give at any moment of a turn."""

    kind = "chat_session_title_updated"
    conversation_id: str
    title: str
    by: Literal["file", "words", "model", "user"]


class ClosestPassages(Event):
    """Passages close to the question, if no model can be reached: no answer, and not stored."""

    kind = "closest_passages"
    answer: str
    citations: list[Citation]


class Telemetry(Event):
    """What the turn cost and how it was answered, without content.

    `timings` are milliseconds by stage, `context_budget` tokens by part of the prompt, `summary_selection`
    how much was taken from memory.
    """

    kind = "telemetry"
    usage: Usage
    timings: dict[str, float]
    intent: str | None = None
    model: str | None = None
    retriever: Retriever | None = None
    retrieval_mode: RetrievalMode = "none"
    context_budget: dict[str, int] = {}
    summary_selection: dict[str, JsonValue] = {}
    lazy: LazyCounts = LazyCounts()
    images: ImageCounts = ImageCounts()
    attempts: int = 1


class TimelineStep(Record):
    """A span of the turn, or a moment of it; offsets are from the start of the turn."""

    kind: Literal["plan", "tool", "model", "answer", "critique", "reset", "revised", "store"]
    name: str = Field(examples=["document_chat"])
    offset_ms: Milliseconds
    duration_ms: Milliseconds = 0.0
    failed: bool = False


class ToolStep(BaseModel):
    """A call of a tool, as the `tool` events showed it. `unfinished`: the turn was stopped before its end."""

    name: str = Field(examples=["semantic_search"])
    status: Literal["finished", "failed", "unfinished"]
    duration_ms: float | None = None
    message: str | None = Field(default=None, description="why it failed")
    code: str | None = None
    arguments: dict[str, JsonValue] = Field(default={}, description="what was asked, without identifiers")
    hits: int | None = Field(default=None, description="results; null if it gives no list")


class CriticSummary(Grounding):
    """The checks of the answer that is given, and the last verdict on it, which overrides the checks.

    A stopped turn has the checks alone. `attempts` counts the verdicts, and `earlier_actions` has the actions
    of all but the last. Turns of earlier versions have other counts.
    """

    model_config = ConfigDict(extra="allow")

    action: CriticAction | None = None
    attempt: int | None = None
    by: Literal["code", "model"] | None = None
    failure: str | None = None
    attempts: int | None = None
    earlier_actions: list[CriticAction] = []


class TurnMetadata(BaseModel):
    """How the answer was made."""

    trace_id: str
    route: Annotated[dict[str, JsonValue], DescribedBy(Route)] = Field(default_factory=dict)
    plan: Annotated[dict[str, JsonValue], DescribedBy(Plan)] = Field(default_factory=dict)
    retrieval_mode: RetrievalMode = "none"
    retrieval_reason: str = ""
    retrieval_steps: list[RetrievalStep] = []
    lookups: list[LookupStep] = Field(
        default=[], description="what was looked up and how that ended, in order: retrieval_reason as data"
    )
    context_budget: dict[str, int] = {}
    summary_selection: dict[str, JsonValue] = {}
    critic_summary: Annotated[dict[str, JsonValue], DescribedBy(CriticSummary)] = Field(default_factory=dict)
    lazy: LazyCounts = LazyCounts()
    images: ImageCounts = ImageCounts()
    contexts: TurnContexts | None = Field(default=None, description="null if no context was named")
    files: list[FileStatus] = []
    not_searched: NotSearched = Field(
        default=NotSearched(), description="what a turn without named documents looked up without"
    )
    unknown_files: list[UnknownFile] = []
    usage: Usage = Usage()
    timings_ms: dict[str, float] = {}
    timeline: list[TimelineStep] = Field(default=[], description="what happened up to the answer, in order")
    tools: list[ToolStep] = Field(default=[], description="the calls of tools, in the order of their end")
    critiques: list[Critique] = Field(default=[], description="the verdicts on all attempts, in order")
    withdrawn: list[str] = Field(default=[], description="why text that was shown was withdrawn, each time")
    corrections: list[Correction] = Field(
        default=[], description="sentences that were shown and corrected after the checks, in order"
    )


AnswerKind = Literal["answer", "closest_passages", "not_found"]


class TurnResult(BaseModel):
    """The answer to a turn: the JSON response, and the data of `done`."""

    conversation_id: str
    turn_id: str
    status: Literal["committed", "stopped"] = Field(
        default="committed",
        description="`stopped`: the user stopped it; the answer is what there was, not checked as a whole",
    )
    answer: str = Field(examples=['The deposit is due by 1 March. [Page 5 of Document "handbook.pdf"]'])
    answer_kind: AnswerKind = Field(
        default="answer",
        description="`closest_passages`: no language model is set up, and the citations only come close;"
        " `not_found`: nothing answers it and nothing is shown",
    )
    citations: list[Citation] = []
    uploaded_file_refs: list[FileRef] = []
    last_mcp_tool_used: str | None = None
    metadata: TurnMetadata


class Done(Event):
    """The turn is stored; this is its result."""

    kind = "done"
    ends_turn = True
    result: TurnResult

    def data(self) -> dict[str, Any]:
        return self.result.model_dump(mode="json")


class Stopped(Event):
    """The turn was stopped by its user, and what there was of the answer is stored; it was not checked."""

    kind = "stopped"
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
