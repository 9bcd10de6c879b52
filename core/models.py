"""The nouns of the document side: document, page, passage, file reference."""

import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from core.names import BlobPath, Owner

Progress = Callable[[int, int, str], None]
"""Called with (done, total, description of the work); `total` is 0 while it is unknown."""


class Record(BaseModel):
    """Base of values that are passed around and never changed."""

    # Unknown fields are passed over: the other process, or an earlier one's rows, may be a version ahead.
    model_config = ConfigDict(frozen=True, extra="ignore")


class DocumentStatus(StrEnum):
    """How far a document's text has come. `completed` always means: there is text to search."""

    UPLOADED = "uploaded"
    PROCESSING = "processing"
    COMPLETED = "completed"
    FAILED = "failed"

    @property
    def is_final(self) -> bool:
        """Whether the document stays so until its bytes change."""
        return self in (DocumentStatus.COMPLETED, DocumentStatus.FAILED)


class BlobProperties(Record):
    """What a blob store knows of a blob. The ETag changes whenever the bytes do."""

    path: BlobPath
    etag: str
    size: int = Field(ge=0, description="bytes")


class PresignedUpload(Record):
    """Leave to store one blob directly, for a while, with one PUT of its bytes."""

    url: str = Field(repr=False, description="holds a signature: whoever has it may upload")
    headers: dict[str, str] = Field(description="to send with the PUT")
    expires_at: datetime


class Document(Record):
    """A catalog record. `reason` is for people: why it failed, or why some pages still have no text."""

    document_id: str
    organization_id: str
    user_id: str
    conversation_id: str
    blob_name: str = Field(description="the bare file name")
    etag: str
    generation: str = Field(default="", description="tells every fresh start from the one before")
    size: int = Field(ge=0, description="bytes")
    sha256: str = ""
    media_type: str = ""
    status: DocumentStatus = DocumentStatus.UPLOADED
    readable: bool = Field(default=False, description="the text of its pages is stored: it can be read whole")
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
        """Records from before there was `readable` are read once more: the search has changed since."""
        if isinstance(values, dict) and values.get("status") == "completed" and "readable" not in values:
            return {**values, "status": DocumentStatus.UPLOADED}
        return values

    @property
    def owner(self) -> Owner:
        return Owner(self.organization_id, self.user_id, self.conversation_id)

    @property
    def path(self) -> BlobPath:
        return BlobPath(self.owner, self.blob_name)

    @classmethod
    def first_seen(cls, blob: BlobProperties) -> "Document":
        """A record for a blob that nobody has read yet."""
        owner = blob.path.owner
        return cls(
            document_id=blob.path.document_id,
            organization_id=owner.organization_id,
            user_id=owner.user_id,
            conversation_id=owner.conversation_id,
            blob_name=blob.path.file,
            etag=blob.etag,
            generation=uuid.uuid4().hex,
            size=blob.size,
        )


class Page(Record):
    """The text of one page, slide, sheet or section. `number` counts from 1."""

    number: int = Field(ge=1)
    text: str
    label: str = Field(default="", description="what the file itself calls it: a heading, a sheet name")
    tokens: int = Field(default=0, ge=0)
    boxes: bytes = Field(
        default=b"",
        repr=False,
        description="where each word stands, see boxes.py; empty where unknown, and where not asked for",
    )


class JobKind(StrEnum):
    """What is to be done with a document. `embed`: what ingestion had to leave out."""

    INGEST = "ingest"
    EMBED = "embed"
    ANALYSE = "analyse"


class Job(Record):
    """Work on one version of a document, leased to one worker."""

    kind: JobKind
    path: BlobPath
    etag: str
    lease: str = Field(description="tells this lease from every other")
    leases: int = Field(
        default=1, ge=1, description="how many have begun and not given it back, this one included"
    )


class JobProgress(Record):
    """How far a job has come; `total` is 0 while it is not known."""

    done: int = 0
    total: int = 0
    what: str = ""


class Passage(Record):
    """A stretch of one page: `page.text[start:end] == text`."""

    document_id: str
    page: int = Field(ge=1)
    start: int = Field(ge=0, description="characters from the start of the page")
    end: int = Field(ge=0)
    text: str
    heading: str = Field(default="", description="the headings above it, outermost first, joined by ' > '")


class Hit(Record):
    """A passage that a search found. Scores are comparable within one search only."""

    passage: Passage
    score: float


class RetrievalStep(Record):
    """One attempt of a search to find enough, in the order in which they were made."""

    method: Literal["semantic", "hybrid", "vector", "lexical", "widened_lexical"]
    threshold: float | None = Field(default=None, description="the least score that counted as a hit")
    hits: int = Field(ge=0)
    note: str = ""


class Retrieval(Record):
    """What a search found, best first, and how."""

    hits: list[Hit] = []
    steps: list[RetrievalStep] = []


class FileRef(Record):
    """A file as the answering side knows it, kept by the conversation for reuse."""

    file_id: str
    blob_name: str


class StoredFile(FileRef):
    """A file reference with what binds it: the document, the bytes and the time until which it holds."""

    organization_id: str
    user_id: str = ""
    conversation_id: str = ""
    document_id: str
    etag: str
    sha256: str = Field(default="", description="of the bytes that were sent")
    provider: str = Field(default="", description="who holds the file; empty: nobody, the id is our own")
    expires_at: datetime


class Usage(Record):
    """Tokens that the models read and wrote. `estimated`: counted here, not reported by the provider."""

    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    estimated: bool = False

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            model_calls=self.model_calls + other.model_calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            estimated=self.estimated or other.estimated,
        )
