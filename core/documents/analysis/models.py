"""The nouns of page analysis: entity, anchor, relation, page analysis, document analysis, ontology."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from core.documents.models import Record

AnchorKind = Literal["heading", "table", "figure", "section", "page", "link"]


class Entity(Record):
    """Somebody or something that a page names, in the page's own spelling."""

    name: str
    type: str = Field(description="person, organization, place, date, amount, product, term or other")


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
    summary: str = Field(default="", description="one paragraph")
    detailed_summary: str = Field(default="", description="a line or more for each part of the document")
    pages: int = Field(default=0, ge=0)
    pages_done: int = Field(default=0, ge=0)
    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


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
