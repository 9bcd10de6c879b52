"""An index of the search double: its definition, which is checked, and its items, seen when they are due."""

import heapq
import re
from typing import Any

from devkit.doubles.search_ranking import ANALYZERS, Postings
from devkit.doubles.search_syntax import Field, Item

Json = dict[str, Any]

PARTS = {"name", "fields", "similarity", "semantic", "vectorSearch", "@odata.etag"}
ATTRIBUTES = {
    "name",
    "type",
    "key",
    "retrievable",
    "searchable",
    "filterable",
    "sortable",
    "facetable",
    "analyzer",
    "dimensions",
    "vectorSearchProfile",
}
VECTOR = "Collection(Edm.Single)"
STRINGS = "Collection(Edm.String)"
TYPES: dict[str, type | tuple[type, ...]] = {"Edm.String": str, "Edm.Int32": int, VECTOR: list, STRINGS: list}
LONGEST_WORD = 32_766
MOST_DIMENSIONS = 4096
_NAME = re.compile(r"[A-Za-z]\w{0,127}", re.ASCII)
_INDEX_NAME = re.compile(r"[a-z0-9](?:-?[a-z0-9]){1,127}")
_KEY = re.compile(r"[A-Za-z0-9=-][\w=-]{0,1023}", re.ASCII)
_ACTIONS = {"upload", "merge", "mergeOrUpload", "delete"}


class Refused(Exception):
    """An answer other than success."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class Index:
    """`stored` is what was written, `visible` what can be found of it so far."""

    def __init__(self, definition: Json) -> None:
        self.stored: dict[str, Item] = {}
        self.visible: dict[str, Item] = {}
        self._due: list[tuple[float, str]] = []
        self._adopt(definition)

    def redefine(self, definition: Json) -> None:
        """Take a definition that keeps every field as it is."""
        new = {field["name"]: field for field in definition["fields"]}
        for name, old in self.fields.items():
            if new.get(name) != old:
                raise Refused(400, "CannotChangeExistingField", f"'{name}' cannot be changed.")
        self._adopt(definition)

    def _adopt(self, definition: Json) -> None:
        self.definition = definition
        self.fields: dict[str, Json] = {field["name"]: field for field in definition["fields"]}
        self.key = next(name for name, each in self.fields.items() if each.get("key"))
        self.syntax = {
            name: Field(each["type"], each.get("filterable", True), is_searched(each))
            for name, each in self.fields.items()
        }
        self.postings = Postings(
            {name: each["analyzer"] for name, each in self.fields.items() if is_searched(each)}
        )
        for key, item in self.visible.items():
            self.postings.put(key, item)

    def check(self, action: Json) -> None:
        """Refuse the batch of an action that no index takes."""
        if action.get("@search.action") not in _ACTIONS:
            raise Refused(400, "InvalidAction", "An action is upload, merge, mergeOrUpload or delete.")
        key = action.get(self.key)
        if not isinstance(key, str) or not _KEY.fullmatch(key):
            raise Refused(400, "InvalidDocumentKey", f"Invalid document key: '{key}'.")
        for name, value in action.items():
            if name != "@search.action":
                self._check_value(name, value)

    def _check_value(self, name: str, value: Any) -> None:
        field = self.fields.get(name)
        if field is None:
            raise Refused(400, "UnknownProperty", f"The property '{name}' does not exist.")
        if value is None:
            return
        kind = str(field["type"])
        if not isinstance(value, TYPES[kind]) or isinstance(value, bool):
            raise Refused(400, "InvalidValue", f"'{name}' does not take such a value.")
        if kind == VECTOR:
            check_vector(field, value)
        if is_searched(field) and any(
            len(word.encode(errors="replace")) > LONGEST_WORD for word in ANALYZERS[field["analyzer"]](value)
        ):
            raise Refused(400, "ImmenseTerm", f"'{name}' contains an immense term.")
        if kind == "Edm.String" and re.search("[\ud800-\udfff]", str(value)):
            raise Refused(400, "InvalidValue", f"'{name}' is no text.")

    def write(self, action: Json, due: float) -> int:
        """Do what was checked; the status of this item."""
        key, kind = action[self.key], action["@search.action"]
        values = {name: value for name, value in action.items() if name != "@search.action"}
        known = self.stored.get(key)
        heapq.heappush(self._due, (due, key))
        if kind == "delete":
            self.stored.pop(key, None)
            return 200
        if kind == "merge" and known is None:
            return 404
        self.stored[key] = {**(known or {}), **values} if kind != "upload" else values
        return 200 if known else 201

    def settle(self, now: float) -> None:
        """Show what has become due."""
        while self._due and self._due[0][0] <= now:
            _, key = heapq.heappop(self._due)
            item = self.stored.get(key)
            self.postings.put(key, item)
            if item is None:
                self.visible.pop(key, None)
            else:
                self.visible[key] = item


def is_searched(field: Json) -> bool:
    """Whether words of this field are searched."""
    return field["type"] == "Edm.String" and bool(field.get("searchable"))


def check_vector(field: Json, value: Any) -> None:
    """Refuse what cannot be compared in this field."""
    numbers = isinstance(value, list) and all(isinstance(n, int | float) for n in value)
    if not numbers or len(value) != field["dimensions"]:
        message = f"The vector field '{field['name']}' expects {field['dimensions']} numbers."
        raise Refused(400, "InvalidVectorQuery", message)
    if not any(value):
        raise Refused(400, "InvalidVectorQuery", "A vector of zeros has no cosine.")


def check_definition(body: Json) -> None:
    """Refuse a definition that does not have the published shape, or contradicts itself."""
    _need(set(body) <= PARTS, f"unknown parts {set(body) - PARTS}")
    _need(bool(_INDEX_NAME.fullmatch(body.get("name", ""))), "an index has a lower-case name")
    profiles = _vector_profiles(body.get("vectorSearch") or {})
    for field in body.get("fields", []):
        _check_field(field, profiles)
    fields = {field["name"]: field for field in body["fields"]}
    _need(len(fields) == len(body["fields"]), "the names of fields differ")
    _need(sum(bool(field.get("key")) for field in fields.values()) == 1, "there is one key")
    similarity = (body.get("similarity") or {}).get("@odata.type", "#Microsoft.Azure.Search.BM25Similarity")
    _need(similarity == "#Microsoft.Azure.Search.BM25Similarity", "similarity is BM25")
    for configuration in (body.get("semantic") or {}).get("configurations", []):
        for name in semantic_fields(configuration):
            _need(name in fields and is_searched(fields[name]), f"'{name}' is searchable")


def semantic_fields(configuration: Json) -> list[str]:
    """The fields that the reranker reads."""
    parts = configuration["prioritizedFields"]
    _need(
        set(parts) <= {"titleField", "prioritizedContentFields", "prioritizedKeywordsFields"}, "known parts"
    )
    listed = [*parts.get("prioritizedContentFields", []), *parts.get("prioritizedKeywordsFields", [])]
    title = [parts["titleField"]] if parts.get("titleField") else []
    return [each["fieldName"] for each in [*title, *listed]]


def _vector_profiles(part: Json) -> set[str]:
    _need(set(part) <= {"profiles", "algorithms"}, "vectorSearch has profiles and algorithms")
    algorithms = {each["name"]: each for each in part.get("algorithms", [])}
    for each in algorithms.values():
        _need(each.get("kind") in {"hnsw", "exhaustiveKnn"}, "an algorithm is hnsw or exhaustiveKnn")
        metric = (each.get(f"{each['kind']}Parameters") or {}).get("metric", "cosine")
        _need(metric == "cosine", "the double compares cosines")
    for profile in part.get("profiles", []):
        _need(profile.get("algorithm") in algorithms, "a profile has an algorithm")
    return {profile["name"] for profile in part.get("profiles", [])}


def _check_field(field: Json, profiles: set[str]) -> None:
    _need(set(field) <= ATTRIBUTES, f"unknown attributes {set(field) - ATTRIBUTES}")
    _need(bool(_NAME.fullmatch(field.get("name", ""))), "a field has a name")
    kind = field.get("type")
    _need(kind in TYPES, f"the double knows no {kind}")
    if kind == VECTOR:
        _need(bool(field.get("searchable")), "a vector field is searchable")
        _need(field.get("vectorSearchProfile") in profiles, "a vector field has a profile")
        _need(2 <= field.get("dimensions", 0) <= MOST_DIMENSIONS, "a vector has 2 to 4096 dimensions")
        _need(not (field.get("filterable") or field.get("sortable")), "vectors are not filtered or sorted")
    else:
        _need(not {"dimensions", "vectorSearchProfile"} & set(field), "only vectors have dimensions")
        _need(not field.get("searchable") or kind == "Edm.String", "only strings are searchable")
    if is_searched(field):
        _need(field.get("analyzer") in ANALYZERS, f"the double knows no analyzer {field.get('analyzer')}")
    if field.get("key"):
        _need(kind == "Edm.String" and field.get("retrievable", True), "a key is a retrievable string")


def _need(holds: bool, rule: str) -> None:
    if not holds:
        raise Refused(400, "InvalidIndexDefinition", f"The index definition is not valid: {rule}.")
