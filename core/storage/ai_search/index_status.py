"""The marks of documents: items that say which version of the passages, and of the vectors, is whole.

A mark goes before its version is touched and comes back when all of it can be found. So a document is
searched as it was, as it is, or while it is written not at all; a query that has begun before may miss
some of the old version, but never mixes two, and half of one is never taken for all after a crash.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from core.storage.ai_search.client import (
    KEY,
    PAGE,
    Search,
    among,
    both,
    deleted,
    equal,
    is_plain,
    merged,
    portions,
)

PASSAGE = "passage"
PASSAGES, VECTORS = "passages", "vectors"
VERSION = {PASSAGES: "version", VECTORS: "vector_version"}
"""The field in which a passage says of which version its text, and its vector, is."""
IDS_PER_QUERY = PAGE // 2
"""A document has at most two marks."""
_FIELDS = ["document_id", "part", "version", "vector_version", "vector_field", "count", "language"]


class Mark(NamedTuple):
    """A whole version of `size` passages: the language of their text, or the field of their vectors."""

    version: str
    size: int
    language: str = ""
    vector_field: str = ""


class Marks(NamedTuple):
    """The marks of several documents, by document id."""

    passages: dict[str, Mark]
    vectors: dict[str, Mark]


async def read_marks(search: Search, document_ids: Iterable[str]) -> Marks:
    """The marks of these documents; ids may be any strings, and none is asked for twice."""
    marks = Marks({}, {})
    wanted = [document_id for document_id in dict.fromkeys(document_ids) if is_plain(document_id)]
    for some in portions(wanted, IDS_PER_QUERY):
        within = both(among("document_id", some), among("part", (PASSAGES, VECTORS)))
        for row in await search.query(within, select=_FIELDS, top=PAGE):
            of_its_kind = marks.passages if row["part"] == PASSAGES else marks.vectors
            of_its_kind[row["document_id"]] = Mark(
                row[VERSION[row["part"]]], row["count"], row["language"], row["vector_field"]
            )
    return marks


async def remove_marks(search: Search, document_id: str, *parts: str) -> None:
    """Take the document out of the search, before what its marks stand for is touched."""
    await search.write([deleted(_key(document_id, part)) for part in parts])


async def set_mark(search: Search, document_id: str, part: str, mark: Mark) -> None:
    """Let the document be found in this version, once all of it can be."""
    await search.wait_for(marked_as({document_id: mark}, part), mark.size)
    key = _key(document_id, part)
    item = {
        KEY: key,
        "document_id": document_id,
        "part": part,
        VERSION[part]: mark.version,
        "count": mark.size,
        "language": mark.language,
        "vector_field": mark.vector_field,
    }
    await search.write([merged(item)])
    await search.wait_for(both(equal(KEY, key), equal(VERSION[part], mark.version)), 1)


def marked_as(marks: Mapping[str, Mark], part: str) -> str:
    """The filter for the passages of these documents in these versions; there must be some."""
    return both(
        among("document_id", marks),
        among(VERSION[part], (mark.version for mark in marks.values())),
        equal("part", PASSAGE),
    )


def passage_key(document_id: str, ordinal: int) -> str:
    """The key of a passage by its place in the reading order; a mark has its part in place of that."""
    return f"{document_id}-{ordinal}"


def _key(document_id: str, part: str) -> str:
    return f"{document_id}-{part}"
