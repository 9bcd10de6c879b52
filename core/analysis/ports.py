"""The port of the analysis store."""

from collections.abc import Sequence
from typing import Protocol

from core.analysis.models import DocumentAnalysis, PageAnalysis


class AnalysisStore(Protocol):
    """Analyses by document and page."""

    async def save(self, analysis: DocumentAnalysis) -> None:
        """Insert or replace the document's analysis; its pages stay as they are."""

    async def save_pages(self, analysis: DocumentAnalysis, analyses: Sequence[PageAnalysis]) -> bool:
        """Insert or replace the analyses of these pages together with the document's own, in one step.

        False, and nothing is stored, where the stored analysis has gone or is of another etag or method.
        """

    async def get(self, document_ids: Sequence[str]) -> dict[str, DocumentAnalysis]:
        """The analyses of these documents, by id; those that there are."""

    async def pages(self, document_id: str, numbers: Sequence[int] | None = None) -> list[PageAnalysis]:
        """The analyses of the pages with these numbers (all: None), in order; absent ones are left out."""

    async def copy(self, source_id: str, target: DocumentAnalysis) -> None:
        """Replace the target's analysis, and its pages by those of a document with the same bytes."""

    async def delete(self, document_id: str) -> None:
        """Remove the analysis of a document and of its pages."""
