"""The passage index in Azure AI Search: an item per passage, found by stems of our own."""

import asyncio
import uuid
from collections.abc import Sequence

from orc_core.documents.places import Accessible
from orc_core.errors import DependencyDown
from orc_core.infra.slices import slices
from orc_core.models import Hit, Passage
from orc_core.names import Owner
from orc_core.storage.ai_search import index
from orc_core.storage.ai_search.client import (
    KEY,
    PAGE,
    SCORE,
    Row,
    Search,
    among,
    both,
    changed,
    equal,
    is_plain,
    merged,
)
from orc_core.storage.ai_search.terms import (
    asked_terms,
    domains_of,
    expand,
    lexical_query,
    terms_of,
    terms_of_name,
)
from orc_core.text.terms import STOP_WORDS, detect_language, words

READINGS = 4
READING_PAUSE_SECONDS = 0.1
"""How often, and after which pause, a document that is being replaced is read again."""


class AzurePassageIndex:
    """BM25 over exactly the documents asked for; implements the PassageIndex port.

    How rare a term is, the service takes from the whole index. `save` and `delete` return when what they
    did can be found, as far as one replica shows; another may be a moment behind. Until then a document
    that is being saved counts as not indexed, and its old passages as gone.
    """

    def __init__(self, search: Search) -> None:
        self._search = search

    async def save(
        self, document_id: str, name: str, passages: Sequence[Passage], owner: Owner | None = None
    ) -> None:
        """Replace all passages of a document. Vectors of the same places in it stay.

        Raises ValueError for an id that cannot be a key and, as UnicodeEncodeError, for text that is none;
        the passages are then as they were.
        """
        language, items = await asyncio.to_thread(_items, document_id, name, passages)
        mark = index.Mark(uuid.uuid4().hex, len(items), language)
        await index.remove_marks(self._search, document_id, index.PASSAGES)
        more = {index.VERSION[index.PASSAGES]: mark.version, "places": index.keys_of(owner) if owner else []}
        await self._search.write([merged({**item, **more}) for item in items])
        # By place, not by version: a replica that is behind would show what was just written as old.
        beyond = f"ordinal ge {mark.size}"
        await self._search.remove(
            both(equal("document_id", document_id), equal("part", index.PASSAGE), beyond)
        )
        await index.set_mark(self._search, document_id, index.PASSAGES, mark, more["places"])

    async def unplaced(self) -> list[str]:
        within = both(equal("part", index.PASSAGES), "not places/any()")
        return [
            row["document_id"] for row in await self._search.query(within, select=["document_id"], top=PAGE)
        ]

    async def place(self, document_id: str, owner: Owner) -> None:
        """The mark comes last, so that an interrupted call is repeated."""
        places = {"places": index.keys_of(owner)}
        mark = (await index.read_marks(self._search, [document_id])).passages.get(document_id)
        if mark is not None:
            keys = [index.key_of(document_id, ordinal) for ordinal in range(mark.size)]
            await self._search.write([changed({KEY: key, **places}) for key in keys])
            await self._search.write([changed({KEY: index.key_of(document_id, index.PASSAGES), **places})])

    async def get(self, document_id: str, ordinals: Sequence[int] | None = None) -> list[Passage]:
        """As in the port. Raises DependencyDown while the document is being replaced."""
        for _ in range(READINGS):
            mark = (await index.read_marks(self._search, [document_id])).passages.get(document_id)
            if mark is None:
                return []
            wanted = range(mark.size) if ordinals is None else sorted(set(ordinals) & {*range(mark.size)})
            within = index.marked_as({document_id: mark}, index.PASSAGES)
            found = [
                _passage(row)
                for some in slices(wanted, PAGE)
                for row in await self._search.query(
                    both(within, among(KEY, (index.key_of(document_id, ordinal) for ordinal in some))),
                    select=index.PASSAGE_FIELDS,
                    orderby="ordinal asc",
                    top=PAGE,
                )
            ]
            if len(found) == len(wanted):
                return found
            await asyncio.sleep(READING_PAUSE_SECONDS)
        message = "The document is being replaced in the search. Try again shortly."
        raise DependencyDown(message, dependency="search")

    async def indexed(self, document_ids: Sequence[str]) -> set[str]:
        return set((await index.read_marks(self._search, document_ids)).passages)

    async def search(
        self, query: str, document_ids: Sequence[str], top_k: int, *, widened: bool = False
    ) -> list[Hit]:
        if not document_ids or top_k < 1:
            return []
        marks = (await index.read_marks(self._search, document_ids)).passages
        languages = [mark.language for mark in marks.values()]
        terms, expansions = asked_terms(query, languages), expand(query, languages)
        if not marks or not terms:
            return []
        rows = await self._search.query(
            index.marked_as(marks, index.PASSAGES),
            search=lexical_query(query, terms, expansions, widened=widened),
            queryType="full",
            select=index.PASSAGE_FIELDS,
            top=min(top_k, PAGE),
        )
        return [to_hit(row, row[SCORE]) for row in rows]

    async def search_places(
        self, query: str, accessible: Accessible, top_k: int, *, widened: bool = False
    ) -> list[Hit]:
        """The best passages of all accessible documents, whose places the service compares."""
        # The languages of very many documents are not known here.
        terms, expansions = asked_terms(query, STOP_WORDS), expand(query, ["en"])
        if not terms or top_k < 1:
            return []
        rows = await self._search.query(
            both(index.in_places(accessible), equal("part", index.PASSAGE)),
            search=lexical_query(query, terms, expansions, widened=widened),
            queryType="full",
            select=[*index.PASSAGE_FIELDS, "version"],
            top=min(index.MORE_THAN_CURRENT * top_k, PAGE),
        )
        current = await index.current_rows(self._search, rows, index.PASSAGES)
        return [to_hit(row, row[SCORE]) for row in current[:top_k]]

    async def delete(self, document_id: str) -> None:
        """Remove all passages of a document, and with them their vectors."""
        if not is_plain(document_id):
            return
        await index.remove_marks(self._search, document_id, index.PASSAGES, index.VECTORS)
        await self._search.remove(equal("document_id", document_id))


def to_hit(row: Row, score: float) -> Hit:
    """A row with PASSAGE_FIELDS as a hit."""
    return Hit(passage=_passage(row), score=score)


def _passage(row: Row) -> Passage:
    return Passage(**{field: row[field] for field in index.PASSAGE_FIELDS})


def _items(document_id: str, name: str, passages: Sequence[Passage]) -> tuple[str, list[Row]]:
    """The language of a document, and its items without a version."""
    if not is_plain(document_id):
        raise ValueError("the id of a document may have letters, digits, dashes and underscores")
    "".join((name, *(passage.text + passage.heading for passage in passages))).encode()
    language = detect_language(word for passage in passages for word in words(passage.text))
    name_terms = terms_of_name(name)
    texts = [terms_of(passage.text, language) for passage in passages]
    domains = domains_of(texts, language)
    return language, [
        {
            KEY: index.key_of(document_id, ordinal),
            **passage.model_dump(include=set(index.PASSAGE_FIELDS)),
            "document_id": document_id,
            "part": index.PASSAGE,
            "ordinal": ordinal,
            "name": name,
            "terms": text,
            "heading_terms": " ".join([terms_of(passage.heading, language), *domains]).strip(),
            "name_terms": name_terms,
        }
        for ordinal, (passage, text) in enumerate(zip(passages, texts, strict=True))
    ]
