"""Documents that a search leaves out, because their text is not stored: failed, or still processed."""

from collections.abc import Sequence
from typing import Self

from pydantic import Field

from orc_core.models import Document, DocumentStatus, Record

MOST_NAMED = 20


class UnsearchedDocument(Record):
    """A document that was not searched. A failed one has a reason."""

    blob_name: str
    status: DocumentStatus
    reason_code: str | None = None
    reason: str | None = None


class NotSearched(Record):
    """The documents that were accessible and not searched."""

    documents: list[UnsearchedDocument] = Field(default=[], description=f"at most {MOST_NAMED}, by name")
    total: int = Field(default=0, ge=0, description="all of them, with those of contexts")

    @classmethod
    def among(cls, documents: Sequence[Document]) -> Self:
        """Those of the documents that cannot be searched now."""
        left_out = sorted(
            (each for each in documents if not each.readable), key=lambda each: each.blob_name.casefold()
        )
        named = [
            UnsearchedDocument(**each.model_dump(include=set(UnsearchedDocument.model_fields)))
            for each in left_out[:MOST_NAMED]
        ]
        return cls(documents=named, total=len(left_out))

    def and_more(self, number: int) -> Self:
        """With so many documents of contexts, which are not named."""
        return self.model_copy(update={"total": self.total + number})
