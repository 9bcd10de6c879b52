"""The nouns of page analysis: entity, anchor, relation, page analysis, document analysis, ontology."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from core.models import Document, Record

AnchorKind = Literal["heading", "table", "figure", "section", "page", "link"]


class Entity(Record):
    """Somebody or something that a page names, in the page's own spelling."""

    name: str
    type: str = Field(
        description="person, organization, place, product, term, date, amount, percentage, email, url, other"
    )


class Anchor(Record):
    """A place that can be pointed to, or that the page points to: `Table 3`, `section 4.2`, a heading."""

    kind: AnchorKind
    text: str
    target_page: int | None = Field(default=None, ge=1, description="where in this document it leads")


class Relation(Record):
    """What a sentence of the page says of two entities or anchors. `evidence` stands on the page."""

    source: str
    type: str = Field(description="a verb or a short phrase, in lower case")
    target: str
    evidence: str = ""


class PageAnalysis(Record):
    """What one page speaks of."""

    page: int = Field(ge=1)
    method: str = Field(default="", description="`extractive`, or the name of the model")
    summary: str = ""
    topics: list[str] = []
    entities: list[Entity] = []
    anchors: list[Anchor] = []
    relations: list[Relation] = []


class AnalysisStatus(StrEnum):
    """How far the analysis of a document has come."""

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
    estimated: bool = Field(default=False, description="tokens were counted by us, not by the models")

    @property
    def is_done(self) -> bool:
        return self.status is AnalysisStatus.DONE

    def taken_over_by(self, document: Document) -> "DocumentAnalysis":
        """The same of a document with the same bytes, which costs nothing more."""
        cost = {"model_calls": 0, "input_tokens": 0, "output_tokens": 0}
        return self.model_copy(update={"document_id": document.document_id, "etag": document.etag, **cost})

    def failed(self, reason: str) -> "DocumentAnalysis":
        """The same, given up for a reason that people can act on."""
        return self.model_copy(update={"status": AnalysisStatus.FAILED, "reason": reason})


class Connection(Record):
    """A page that has to do with something, by a relation found on it, or for naming it only."""

    document_id: str
    page: int = Field(ge=1)
    relation: Relation | None = Field(default=None, description="None: the page only names it")
    named: str = Field(description="what was looked for, in this page's own spelling")
    target_page: int | None = Field(default=None, ge=1, description="where the relation's target stands")


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
    """The vocabulary of the documents in a scope."""

    entity_types: list[TypeUse] = []
    relation_types: list[TypeUse] = []
    aliases: list[Alias] = []
