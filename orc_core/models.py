"""The types that all layers share: documents, pages, passages, jobs, search results, file references."""

import uuid
from collections.abc import Callable, Iterable
from dataclasses import asdict
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from orc_core.names import BlobPath, Owner

Progress = Callable[[int, int, str], None]
"""Called with (done, total, description of the work); `total` is 0 while it is unknown."""


class Record(BaseModel):
    """Base class of immutable values."""

    # Unknown fields are ignored: the other process, or a stored row, may be of a newer version.
    model_config = ConfigDict(frozen=True, extra="ignore")


class DocumentStatus(StrEnum):
    """Processing status of a document. `completed` means that its text can be searched."""

    UPLOADED = "uploaded"
    PROCESSING = "processing"
    COMPLETED = "completed"
    FAILED = "failed"

    @property
    def is_final(self) -> bool:
        """Whether the status stays the same until the document's bytes change."""
        return self in (DocumentStatus.COMPLETED, DocumentStatus.FAILED)


class BlobProperties(Record):
    """Properties of a stored blob. The ETag changes whenever the bytes change."""

    path: BlobPath
    etag: str
    size: int = Field(ge=0, description="bytes")


class PresignedUpload(Record):
    """Permission to upload one blob directly to the store, with one PUT request, for a limited time."""

    url: str = Field(repr=False, description="contains a signature: anyone who has it may upload")
    headers: dict[str, str] = Field(description="to send with the PUT")
    expires_at: datetime


class Document(Record):
    """A catalog record. `reason` tells people why it failed, or why some pages have no text."""

    document_id: str
    organization_id: str
    user_id: str
    conversation_id: str
    blob_name: str = Field(description="the bare file name")
    etag: str
    generation: str = Field(default="", description="a new value whenever processing restarts")
    size: int = Field(ge=0, description="bytes")
    sha256: str = ""
    media_type: str = ""
    status: DocumentStatus = DocumentStatus.UPLOADED
    readable: bool = Field(default=False, description="the text of all its pages is stored")
    reason_code: str | None = None
    reason: str | None = None
    pages: int = Field(default=0, ge=0)
    pages_without_text: int = Field(default=0, ge=0)
    pages_by_ocr: int = Field(default=0, ge=0, description="pages whose text was recognised in an image")
    tokens: int = Field(default=0, ge=0, description="tokens of the whole text")
    created_at: datetime = Field(default_factory=lambda: datetime.now(UTC))
    updated_at: datetime = Field(default_factory=lambda: datetime.now(UTC))

    @model_validator(mode="before")
    @classmethod
    def _from_an_earlier_version(cls, values: Any) -> Any:
        """Process records without `readable` again: the search index has changed since they were written."""
        if isinstance(values, dict) and values.get("status") == "completed" and "readable" not in values:
            return {**values, "status": DocumentStatus.UPLOADED}
        return values

    @property
    def owner(self) -> Owner:
        return Owner(self.organization_id, self.user_id, self.conversation_id)

    @property
    def path(self) -> BlobPath:
        return BlobPath(self.owner, self.blob_name)

    @property
    def version(self) -> str:
        """What changes with the bytes: their SHA-256, or the ETag while that is unknown."""
        return self.sha256 or self.etag

    @classmethod
    def first_seen(cls, blob: BlobProperties, at: datetime | None = None) -> "Document":
        """A record for a blob that has not been processed yet."""
        return cls(
            **asdict(blob.path.owner),
            created_at=at or datetime.now(UTC),
            document_id=blob.path.document_id,
            blob_name=blob.path.file,
            etag=blob.etag,
            generation=uuid.uuid4().hex,
            size=blob.size,
        )


def in_order_of(document_ids: Iterable[str], documents: Iterable[Document]) -> list[Document]:
    """The documents with these ids, each once, in the order of the ids; unknown ids are left out."""
    by_id = {document.document_id: document for document in documents}
    return [by_id[wanted] for wanted in dict.fromkeys(document_ids) if wanted in by_id]


PROPERTIES = "Properties of the file"
"""The label of what a file says of itself: its title, its author and the number of its pages."""


class Page(Record):
    """The text of one page, slide, sheet or section. `number` counts from 1."""

    number: int = Field(ge=1)
    text: str
    label: str = Field(default="", description="the name in the file: a heading, a sheet name")
    tokens: int = Field(default=0, ge=0)
    boxes: bytes = Field(
        default=b"", repr=False, description="word positions, see word_boxes.py; b'' if unknown"
    )

    @property
    def is_of_file(self) -> bool:
        """Whether it is no page of the file: it has what the file says of itself, behind the last page."""
        return self.label == PROPERTIES


class JobKind(StrEnum):
    """Kinds of work on a document. `embed`: embedding that ingestion had to postpone."""

    INGEST = "ingest"
    EMBED = "embed"
    ANALYSE = "analyse"


class Job(Record):
    """Work on one version of a document, leased to one worker."""

    kind: JobKind
    path: BlobPath
    etag: str
    lease: str = Field(description="unique id of this lease")
    leases: int = Field(default=1, ge=1, description="leases that were not released, including this one")


class JobProgress(Record):
    """Progress of a job; `total` is 0 while it is unknown."""

    done: int = 0
    total: int = 0
    what: str = ""


class Passage(Record):
    """A span of one page: `page.text[start:end] == text`."""

    document_id: str
    page: int = Field(ge=1)
    start: int = Field(ge=0, description="characters from the start of the page")
    end: int = Field(ge=0)
    text: str
    heading: str = Field(default="", description="the headings above it, outermost first, joined by ' > '")


class Hit(Record):
    """A search result. Scores are comparable only within one search."""

    passage: Passage
    score: float


class RetrievalStep(Record):
    """One attempt of a search to find enough results."""

    method: Literal["semantic", "hybrid", "vector", "lexical", "widened_lexical"]
    threshold: float | None = Field(default=None, description="the lowest score that counted as a hit")
    hits: int = Field(ge=0)
    served: bool = Field(default=False, description="the results have the hits of this step")
    note: str = ""


class Retrieval(Record):
    """The results of a search, best first, and the steps that found them."""

    hits: list[Hit] = []
    steps: list[RetrievalStep] = []


class FileRef(Record):
    """Reference to a file that was sent to the model; the conversation stores it for reuse."""

    file_id: str
    blob_name: str


class StoredFile(FileRef):
    """A file reference with the document and bytes that it is for, and when it expires."""

    organization_id: str
    user_id: str = ""
    conversation_id: str = ""
    document_id: str
    etag: str
    sha256: str = Field(default="", description="hash of the bytes that were sent")
    provider: str = Field(default="", description="host that stores the file; empty if the id is our own")
    expires_at: datetime


class UnwantedFile(Record):
    """A file that is still to be deleted at its provider. It says nothing about whose it was."""

    file_id: str
    provider: str
    expires_at: datetime

    @classmethod
    def of(cls, file: StoredFile) -> "UnwantedFile":
        return cls(file_id=file.file_id, provider=file.provider, expires_at=file.expires_at)


class Usage(Record):
    """Tokens that the models read and wrote. `estimated`: counted here, not reported by the provider.

    `reasoning_tokens` are those of the output in which a model thought before it answered.
    """

    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    estimated: bool = False

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            model_calls=self.model_calls + other.model_calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            estimated=self.estimated or other.estimated,
        )
