"""The models of page analysis (entity, anchor, relation, analysis, ontology) and the port of their store."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from orc_core.models import Document, Record

EXTRACTIVE = "extractive"
"""The `method` of an analysis that was made without a model."""
ABBREVIATED_AS = "abbreviated as"
DEFINED_AS = "defined as"

AnchorKind = Literal["heading", "table", "figure", "section", "page", "link"]


class Entity(Record):
    """A person or thing that a page names, in the page's own spelling."""

    name: str
    type: str = Field(
        description="person, organization, place, product, term, date, amount, percentage, email, url, other"
    )


class Anchor(Record):
    """A place that the page contains or refers to: a heading, `Table 3`, `section 4.2`."""

    kind: AnchorKind
    text: str
    target_page: int | None = Field(default=None, ge=1, description="where in this document it leads")


class Relation(Record):
    """A relation between two entities or anchors that the page states in the sentence `evidence`."""

    source: str
    type: str = Field(description="a verb or a short phrase, in lower case")
    target: str
    evidence: str = ""


class PageAnalysis(Record):
    """The analysis of one page."""

    page: int = Field(ge=1)
    method: str = Field(default="", description="`extractive`, or the name of the model")
    summary: str = ""
    topics: list[str] = []
    entities: list[Entity] = []
    anchors: list[Anchor] = []
    relations: list[Relation] = []


class AnalysisStatus(StrEnum):
    """The state of a document's analysis."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class DocumentAnalysis(Record):
    """The analysis of one version of a document, and what it cost."""

    document_id: str
    etag: str
    status: AnalysisStatus = AnalysisStatus.PENDING
    reason: str | None = None
    method: str = Field(default="", description="`extractive`, or the name of the model")
    note: str = Field(default="", description="for people: which parts were done by other means, and why")
    summary: str = Field(default="", description="one paragraph")
    detailed_summary: str = Field(default="", description="a line or more for each part of the document")
    pages: int = Field(default=0, ge=0)
    pages_done: int = Field(default=0, ge=0)
    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    estimated: bool = Field(default=False, description="tokens were counted by us, not by the models")

    @property
    def is_done(self) -> bool:
        return self.status is AnalysisStatus.DONE

    @property
    def is_by_model(self) -> bool:
        """Whether a model made it. Only such an analysis has entities, and relations that a verb states."""
        return self.method not in ("", EXTRACTIVE)

    def taken_over_by(self, document: Document) -> "DocumentAnalysis":
        """This analysis for another document with the same bytes, at no cost."""
        cost = {"model_calls": 0, "input_tokens": 0, "output_tokens": 0, "reasoning_tokens": 0}
        return self.model_copy(update={"document_id": document.document_id, "etag": document.etag, **cost})

    def failed(self, reason: str) -> "DocumentAnalysis":
        """This analysis marked as failed, with a reason for people."""
        return self.model_copy(update={"status": AnalysisStatus.FAILED, "reason": reason})


class Connection(Record):
    """A page that states a relation of an entity, or that only names the entity."""

    document_id: str
    page: int = Field(ge=1)
    relation: Relation | None = Field(default=None, description="None: the page only names it")
    named: str = Field(description="the entity, in this page's own spelling")
    target_page: int | None = Field(default=None, ge=1, description="the page of the relation's target")


class TypeUse(Record):
    """An entity or relation type, how often it occurs, and examples."""

    type: str
    count: int
    examples: list[str] = []


class Alias(Record):
    """Several spellings of one thing."""

    name: str
    aliases: list[str]


class Ontology(Record):
    """The entity types, relation types and aliases of the documents in a scope."""

    entity_types: list[TypeUse] = []
    relation_types: list[TypeUse] = []
    aliases: list[Alias] = []
