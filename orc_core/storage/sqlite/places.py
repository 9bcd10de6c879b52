"""Where the documents of the passage index are stored, and the first stage of a search over very many."""

import heapq
import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from orc_core.documents.places import Accessible, Area
from orc_core.infra.sqlite import IN_LIST
from orc_core.names import Owner
from orc_core.search.bm25 import idf, saturation
from orc_core.search.document_match import joined_words, name_parts, reported_periods
from orc_core.search.query import Period, Question
from orc_core.text.terms import stems

BATCH = 16
"""Documents whose counts are stored together. With more, a save writes to more pages of the database; with
fewer, a search reads more.
"""
# The first two tables are of a development version: its documents are placed, and counted, again.
# The trigger also fires for an earlier version, which does not know these tables: a document that it indexes
# again has no place, and is placed when this version starts.
SCHEMA = f"""
DROP TABLE IF EXISTS search_counts;
DROP TABLE IF EXISTS search_places;
CREATE TABLE IF NOT EXISTS search_owners (
    organization_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    document_id TEXT NOT NULL,
    PRIMARY KEY (organization_id, user_id, conversation_id, document_id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS search_batches (
    batch INTEGER NOT NULL,
    term TEXT NOT NULL,
    document_key INTEGER NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (batch, term, document_key)
) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS search_document_deleted AFTER DELETE ON search_documents BEGIN
    DELETE FROM search_batches WHERE batch = old.document_key / {BATCH} AND document_key = old.document_key;
    DELETE FROM search_owners WHERE document_id = old.document_id;
END
"""
_OWNED = "organization_id = ? AND user_id = ? AND conversation_id = ?"
_KEY = "(SELECT document_key FROM search_documents WHERE document_id = ?)"
_OF_DOCUMENT = f"DELETE FROM search_terms WHERE document_key = {_KEY} AND term GLOB char(1) || '*'"
_ADD = "INSERT INTO search_terms VALUES (?, ?, x'', x'')"
_NAMED = "SELECT document_key, name, year, quarter FROM search_documents WHERE document_id = ?"
# A number takes four bytes; a term of a heading or of the document as a whole has no positions.
_COUNT = f"""
INSERT OR REPLACE INTO search_batches
SELECT document_key / {BATCH}, term, document_key, max(1, length(positions) / 4)
FROM search_terms WHERE document_key = {_KEY}
"""
_PLACE = "INSERT OR IGNORE INTO search_owners VALUES (?, ?, ?, ?)"
_UNPLACED = """
SELECT document_id FROM search_documents
WHERE document_id NOT IN (SELECT document_id FROM search_owners) ORDER BY document_id
"""
_IN_PLACES = "SELECT document_id FROM search_owners WHERE {within}"
_DOCUMENTS = (
    "SELECT document_key, document_id, language FROM search_documents WHERE document_id IN ({places})"
)
# With "+" the counts are read by batch and term: by all columns there would be a seek for every document.
_COUNTS = f"""
SELECT term, document_key, count FROM search_batches
WHERE batch {IN_LIST} AND term {IN_LIST} AND +document_key {IN_LIST}
"""
WIDE = 200
"""The most documents of which all passages are ranked. Of more documents, this many candidates are ranked."""
NAME, PERIOD = "\x01name:", "\x01period:"
"""The prefixes of terms for a document's name and for the periods it reports on; no word has one."""
OF_DOCUMENT = 2.0
"""The weight of a term about the document as a whole, a word of its text being 1."""

Asked = Mapping[str, float]
"""The terms of a question with their weights."""


def place_document(connection: sqlite3.Connection, document_id: str, owner: Owner | None) -> None:
    """Add the terms of the document as a whole, its counts, and where it is stored if that is known."""
    key, name, year, quarter = connection.execute(_NAMED, (document_id,)).fetchone()
    cover = None if year is None else Period(year, quarter)
    connection.execute(_OF_DOCUMENT, (document_id,))
    connection.executemany(_ADD, ((key, term) for term in document_terms(name, cover)))
    connection.execute(_COUNT, (document_id,))
    if owner is not None:
        connection.execute(_PLACE, (*owner.key, document_id))


def unplaced(connection: sqlite3.Connection) -> list[str]:
    """The indexed documents whose place is not known."""
    return [document_id for (document_id,) in connection.execute(_UNPLACED)]


def candidates(
    connection: sqlite3.Connection, question: Question, accessible: Accessible, most: int
) -> list[str]:
    """The ids of the accessible documents to rank: all of up to `most`, else the best by the question."""
    # The id and the language of each accessible document by its key.
    documents: dict[int, tuple[str, str]] = {}
    for portion in accessible.portions:
        # The condition that a document is in a portion, and has one of these ids if there are any.
        condition, values = _in_area(portion.area)
        for area in portion.outside:
            other, more = _in_area(area)
            condition += f" AND NOT ({other})"
            values += more
        if accessible.document_ids is not None:
            condition += f" AND document_id {IN_LIST}"
            values.append(json.dumps(sorted(accessible.document_ids)))
        query = _DOCUMENTS.format(places=_IN_PLACES.format(within=condition))
        rows: Sequence[tuple[int, str, str]] = connection.execute(query, values).fetchall()
        documents |= {key: (document_id, language) for key, document_id, language in rows}
    if len(documents) <= most:
        return sorted(document_id for document_id, _ in documents.values())
    asked = question_terms(question, {language for _, language in documents.values()})
    batches = {key // BATCH for key in documents}
    found = connection.execute(_COUNTS, [json.dumps(list(each)) for each in (batches, asked, documents)])
    best = best_documents(found, asked, len(documents), most)
    # If no document has a word of the question, it may be misspelled, which the ranking of passages repairs.
    return sorted(documents[key][0] for key in best or sorted(documents)[:most])


def _in_area(area: Area) -> tuple[str, list[object]]:
    """The condition that a row with the columns of an owner is in an area, and its values."""
    organization_id, user_id, conversation_id = area.owner.key
    if not area.deep:
        return _OWNED, [organization_id, user_id, conversation_id]
    # "." follows "-": the ids from `parent-` up to `parent.` are those below it.
    below = "(conversation_id = ? OR (conversation_id > ? AND conversation_id < ?))"
    ids = [conversation_id, f"{conversation_id}-", f"{conversation_id}."]
    return f"organization_id = ? AND user_id = ? AND {below}", [organization_id, user_id, *ids]


def document_terms(name: str, cover: Period | None) -> list[str]:
    """The terms of a document as a whole, which are stored with those of its text."""
    periods = reported_periods(name, cover)
    named = [PERIOD + _spelled(each) for period in periods for each in {period, Period(period.year)}]
    return sorted({*(NAME + part for part in name_parts(name)), *named})


def question_terms(question: Question, languages: Iterable[str]) -> Asked:
    """The weighted terms of a question, as documents in these languages have them."""
    asked = {NAME + part: OF_DOCUMENT for part in joined_words(question.text)}
    asked |= {PERIOD + _spelled(period): OF_DOCUMENT for period in question.periods}
    for word, weight in _words(question):
        for language in languages:
            for stem in stems([word], language):
                if stem:
                    asked[stem] = max(weight, asked.get(stem, 0.0))
    return asked


# Why there are two stages, and what they miss: docs/decisions/many-documents.md.
def best_documents(found: Iterable[tuple[str, int, int]], asked: Asked, total: int, most: int) -> list[int]:
    """The keys of the best of `total` documents by BM25, at most `most`; of equally good ones, the first.

    `found`: term, key of a document, and how often the document has the term.
    """
    occurrences: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for term, key, count in found:
        occurrences[term].append((key, count))
    scores: dict[int, float] = defaultdict(float)
    for term, documents in occurrences.items():
        weight = asked[term] * idf(len(documents), total)
        for key, count in documents:
            scores[key] += weight * saturation(count, 1.0)
    return heapq.nsmallest(most, scores, key=lambda key: (-scores[key], key))


def _words(question: Question) -> Iterator[tuple[str, float]]:
    """The words of the question, and those of the concepts that stand for them."""
    yield from ((word, 1.0) for word in question.words)
    for expansion in question.expansions:
        yield from ((word, EXPANDED) for phrase in expansion.phrases() for word in phrase)


EXPANDED = 0.3
"""The weight of a word that only an expansion of the question has."""


def _spelled(period: Period) -> str:
    return f"{period.year}Q{period.quarter}" if period.quarter else str(period.year)
