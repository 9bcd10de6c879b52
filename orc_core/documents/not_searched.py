"""Documents that a search leaves out, because their text is not stored: failed, or still processed."""

from collections.abc import Collection, Iterator, Sequence
from typing import Self

from pydantic import Field

from orc_core.models import Document, DocumentStatus, Record
from orc_core.text.terms import in_language_of

MOST_NAMED = 20
_FAILED = {
    "en": "“{}” was not searched: {}",
    "de": "„{}“ wurde nicht durchsucht: {}",
    "fr": "« {} » n'a pas été consulté : {}",
    "es": "No se ha buscado en «{}»: {}",
}
_BEING_READ = {
    "en": "“{}” is still being read and was not searched. Ask again in a moment.",
    "de": "„{}“ wird noch gelesen und wurde nicht durchsucht. Fragen Sie gleich noch einmal.",
    "fr": "« {} » est en cours de lecture et n'a pas été consulté. Reposez la question dans un instant.",
    "es": "«{}» todavía se está leyendo y no se ha buscado en él. Pregunte de nuevo en un momento.",
}


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

    def sentences(self, question: str, *, is_found: bool) -> Iterator[str]:
        """What an answer says of them: what is still being read, and, if nothing `is_found`, what failed."""
        for each in self.documents:
            if each.status is not DocumentStatus.FAILED:
                yield in_language_of(question, _BEING_READ).format(each.blob_name)
            elif not is_found:
                yield in_language_of(question, _FAILED).format(each.blob_name, each.reason)

    def without(self, names: Collection[str]) -> Self:
        """Without documents that an answer cites: they were read meanwhile."""
        return self.model_copy(
            update={"documents": [each for each in self.documents if each.blob_name not in names]}
        )

    def and_more(self, number: int) -> Self:
        """With so many documents of contexts, which are not named."""
        return self.model_copy(update={"total": self.total + number})
