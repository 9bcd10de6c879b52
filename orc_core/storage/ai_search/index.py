"""The definition of the Azure AI Search index, and each document's status in it.

An item is a passage with text, a vector, or both. Two more items per document record
which versions are indexed.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from azure.core.credentials_async import AsyncTokenCredential
from azure.core.exceptions import ResourceNotFoundError
from azure.search.documents.indexes.models import (
    BM25SimilarityAlgorithm,
    ExhaustiveKnnAlgorithmConfiguration,
    ExhaustiveKnnParameters,
    SearchField,
    SearchIndex,
    SemanticConfiguration,
    SemanticField,
    SemanticPrioritizedFields,
    SemanticSearch,
    VectorSearch,
    VectorSearchProfile,
)

from orc_core.documents.places import Accessible, Area
from orc_core.infra.slices import slices
from orc_core.names import Owner
from orc_core.storage.ai_search.client import (
    KEY,
    PAGE,
    Row,
    Search,
    among,
    both,
    deleted,
    equal,
    is_plain,
    merged,
    open_index_client,
    search_breaker,
)

SEMANTIC = "passages"
VECTOR_PREFIX = "vector_"
LEXICAL_FIELDS = ["terms", "heading_terms"]
PASSAGE_FIELDS = ["document_id", "page", "start", "end", "text", "heading"]

# Terms are stems that we have made, in the language of their document: the service's analyzers know one
# language a field. So a question and the texts of several languages meet in one field, numbers and dates
# are found however they are written, and no character of a question can be an operator.
_TERMS = "whitespace"
# These two are not searched by words; the reranker reads fields only if they are searchable.
_READ_BY_THE_RERANKER = "standard.lucene"
_PROFILE = _ALGORITHM = "exact"


class Embedding(NamedTuple):
    """An embedder, and how many numbers its vectors have."""

    embedder: str
    dimension: int

    @property
    def field(self) -> str:
        """The field for vectors of this embedder. Vectors that cannot be compared have different fields."""
        return f"{VECTOR_PREFIX}{hashlib.sha256(self.embedder.encode()).hexdigest()[:12]}_{self.dimension}"


def is_of(embedder: str, field: str) -> bool:
    """Whether a field is for vectors of this embedder, of any dimension."""
    return field == Embedding(embedder, int(field.rpartition("_")[2])).field


async def create_index(
    endpoint: str, credential: str | AsyncTokenCredential, name: str, embeddings: Sequence[Embedding] = ()
) -> None:
    """Make the index, or add to it what is missing; vectors of earlier embedders stay.

    Raises DependencyMisconfigured if the identity may not, or the index there is a different one.
    """
    definition = define_index(name, embeddings)
    ours = {field.name for field in definition.fields}
    async with open_index_client(endpoint, credential) as client, search_breaker().attempt():
        with suppress(ResourceNotFoundError):
            present = (await client.get_index(name)).fields
            earlier = [field for field in present if field.name.startswith(VECTOR_PREFIX)]
            definition.fields += [field for field in earlier if field.name not in ours]
        await client.create_or_update_index(definition)


def define_index(name: str, embeddings: Sequence[Embedding] = ()) -> SearchIndex:
    """The definition for vectors of these embedders; of none, for words alone."""
    return SearchIndex(
        name=name,
        fields=[
            SearchField(name=KEY, type="Edm.String", key=True, filterable=True, searchable=False),
            *(_field(name, filterable=True) for name in ("document_id", "part", "version", "vector_version")),
            *(_field(name) for name in ("vector_field", "language")),
            _field("places", "Collection(Edm.String)", filterable=True),
            _field("count", "Edm.Int32"),
            _field("ordinal", "Edm.Int32", filterable=True, sortable=True),
            *(_field(name, "Edm.Int32") for name in ("page", "start", "end")),
            *(_searchable(name, _READ_BY_THE_RERANKER) for name in ("text", "heading", "name")),
            *(_searchable(name, _TERMS) for name in (*LEXICAL_FIELDS, "name_terms")),
            *map(_vectors, embeddings),
        ],
        similarity=BM25SimilarityAlgorithm(),
        semantic_search=SemanticSearch(
            configurations=[
                SemanticConfiguration(
                    name=SEMANTIC,
                    prioritized_fields=SemanticPrioritizedFields(
                        title_field=SemanticField(field_name="name"),
                        content_fields=[SemanticField(field_name="text")],
                        keywords_fields=[SemanticField(field_name="heading")],
                    ),
                )
            ]
        ),
        vector_search=VectorSearch(
            # A scope is a few documents: after the filter there is little to compare, so all of it is.
            algorithms=[
                ExhaustiveKnnAlgorithmConfiguration(
                    name=_ALGORITHM, parameters=ExhaustiveKnnParameters(metric="cosine")
                )
            ],
            profiles=[VectorSearchProfile(name=_PROFILE, algorithm_configuration_name=_ALGORITHM)],
        ),
    )


def _field(name: str, kind: str = "Edm.String", **options: bool | str) -> SearchField:
    """A field that is returned, and that has only the other properties in `options`."""
    off = dict.fromkeys(("searchable", "filterable", "sortable", "facetable"), False)
    return SearchField(name=name, type=kind, **{**off, **options})


def _searchable(name: str, analyzer: str) -> SearchField:
    return _field(name, searchable=True, analyzer_name=analyzer)


def _vectors(embedding: Embedding) -> SearchField:
    return SearchField(
        name=embedding.field,
        type="Collection(Edm.Single)",
        searchable=True,
        retrievable=True,  # a copy for the same bytes reads them
        vector_search_dimensions=embedding.dimension,
        vector_search_profile_name=_PROFILE,
    )


PASSAGE = "passage"
PASSAGES, VECTORS = "passages", "vectors"
VERSION = {PASSAGES: "version", VECTORS: "vector_version"}
"""The field in which a passage says of which version its text, and its vector, is."""
IDS_PER_QUERY = PAGE // 2
"""A document has at most two marks."""
_FIELDS = ["document_id", "part", "version", "vector_version", "vector_field", "count", "language"]


def keys_of(owner: Owner) -> list[str]:
    """The keys of the places that the documents of this owner are in: its own, and those with all below.

    They are hashes: the index names no organization, and a filter needs no quoting.
    """
    keys = [_key(Area(owner))]
    if owner.context_id is not None:
        parts = owner.context_id.split("-")
        above = ["-".join(parts[:count]) for count in range(1, len(parts) + 1)]
        keys += [_key(Area(Owner.of_context(owner.organization_id, each), deep=True)) for each in above]
    return keys


def in_places(accessible: Accessible) -> str:
    """The filter for passages of accessible documents; its length depends on the places alone."""
    within = _any_of(accessible.areas)
    hidden = accessible.hidden_areas
    return both(within, f"not {_any_of(hidden)}") if hidden else within


def _any_of(areas: Iterable[Area]) -> str:
    keys = ",".join(map(_key, areas)) or "none"
    return f"places/any(p: search.in(p, '{keys}', ','))"


def _key(area: Area) -> str:
    path = f"{area.owner.prefix}**" if area.deep else area.owner.prefix
    return hashlib.sha256(path.encode()).hexdigest()[:32]


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
    for some in slices(wanted, IDS_PER_QUERY):
        within = both(among("document_id", some), among("part", (PASSAGES, VECTORS)))
        for row in await search.query(within, select=_FIELDS, top=PAGE):
            of_its_kind = marks.passages if row["part"] == PASSAGES else marks.vectors
            of_its_kind[row["document_id"]] = Mark(
                row[VERSION[row["part"]]], row["count"], row["language"], row["vector_field"]
            )
    return marks


async def remove_marks(search: Search, document_id: str, *parts: str) -> None:
    """Exclude the document from searches, before its passages or vectors are changed."""
    await search.write([deleted(key_of(document_id, part)) for part in parts])


MORE_THAN_CURRENT = 3
"""Rows to ask for, for each result: some may be of versions that have been replaced."""


async def current_rows(search: Search, rows: Sequence[Row], part: str) -> list[Row]:
    """The rows of versions that are current, by the marks of their documents alone."""
    marks = await read_marks(search, (row["document_id"] for row in rows))
    of_part = marks.passages if part == PASSAGES else marks.vectors
    versions = {key: mark.version for key, mark in of_part.items()}
    return [row for row in rows if versions.get(row["document_id"]) == row[VERSION[part]]]


async def set_mark(
    search: Search, document_id: str, part: str, mark: Mark, places: Sequence[str] | None = None
) -> None:
    """Let the document be found in this version, once all of it can be."""
    await search.wait_for(marked_as({document_id: mark}, part), mark.size)
    key = key_of(document_id, part)
    content = {"count": mark.size, "language": mark.language, "vector_field": mark.vector_field}
    of_part = {"document_id": document_id, "part": part, VERSION[part]: mark.version}
    placed = {} if places is None else {"places": list(places)}
    await search.write([merged({KEY: key, **of_part, **content, **placed})])
    await search.wait_for(both(equal(KEY, key), equal(VERSION[part], mark.version)), 1)


def marked_as(marks: Mapping[str, Mark], part: str) -> str:
    """The filter for the passages of these documents in these versions; there must be some."""
    return both(
        among("document_id", marks),
        among(VERSION[part], (mark.version for mark in marks.values())),
        equal("part", PASSAGE),
    )


def key_of(document_id: str, part: str | int) -> str:
    """The key of a mark by its part, or of a passage by its place in the reading order."""
    return f"{document_id}-{part}"
