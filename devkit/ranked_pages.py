"""The ranking of pages that the hits of a search amount to."""

from collections.abc import Iterable

from orc_core.models import Hit


def rank_pages(hits: Iterable[Hit]) -> list[tuple[str, int]]:
    """The distinct (document id, page) of hits, best first."""
    return list(dict.fromkeys((hit.passage.document_id, hit.passage.page) for hit in hits))
