"""A search request of the search double: checked against the published shape, then answered."""

from typing import Any

from devkit.doubles.search_index import (
    VECTOR,
    Index,
    Json,
    Refused,
    check_vector,
    is_searched,
    semantic_fields,
)
from devkit.doubles.search_ranking import Scores, best_first, fused, nearest, reranked
from devkit.doubles.search_syntax import Item, Malformed, Node, parse_filter, parse_full, parse_simple

MOST_ROWS, USUAL_ROWS = 1000, 50
MOST_RERANKED = 50
SHORTEST_WAIT_MS = 700
LONGEST_SEARCH = 100_000
FIELDS: dict[str, type] = {
    "search": str,
    "searchFields": str,
    "queryType": str,
    "filter": str,
    "orderby": str,
    "select": str,
    "top": int,
    "count": bool,
    "vectorQueries": list,
    "vectorFilterMode": str,
    "semanticConfiguration": str,
    "semanticQuery": str,
    "semanticErrorHandling": str,
    "semanticMaxWaitInMilliseconds": int,
}
CHOICES = {
    "queryType": {"simple", "full", "semantic"},
    "vectorFilterMode": {"preFilter"},
    "semanticErrorHandling": {"partial", "fail"},
}
VECTOR_QUERY = {"kind", "vector", "k", "fields", "exhaustive", "weight"}
Row = tuple[str, float, float | None]


def search(index: Index, body: Json, *, tired: bool) -> tuple[Json, bool]:
    """The answer, and whether it is partial since the reranker was `tired`."""
    try:
        return _search(index, body, tired=tired)
    except Malformed as exc:
        raise Refused(400, "InvalidRequestParameter", str(exc)) from exc


def _search(index: Index, body: Json, *, tired: bool) -> tuple[Json, bool]:
    _check(index, body)
    items = index.visible
    if text := body.get("filter"):
        fits = parse_filter(text, index.syntax)
        items = {key: item for key, item in items.items() if fits(item)}
    scores = _scores(index, body, items)
    rows: list[Row] = [(key, score, None) for key, score in best_first(scores)]
    semantic = body.get("queryType") == "semantic"
    if semantic and tired and body.get("semanticErrorHandling") != "partial":
        raise Refused(503, "ServiceUnavailable", "The reranker is overloaded.")
    if semantic and not tired:
        rows = _rerank(index, body, rows)
    rows = _sorted(index, body, rows)
    answer: Json = {"value": [_row(index, body, row) for row in rows[: body.get("top", USUAL_ROWS)]]}
    if body.get("count"):
        answer["@odata.count"] = len(rows)
    if semantic and tired:
        answer["@search.semanticPartialResponseReason"] = "capacityOverloaded"
        answer["@search.semanticPartialResponseType"] = "baseResults"
    return answer, semantic and tired


def _check(index: Index, body: Json) -> None:
    for name, value in body.items():
        kind = FIELDS.get(name)
        _need(kind is not None, f"The property '{name}' does not exist, or not in the double.")
        _need(type(value) is kind, f"'{name}' does not take such a value.")
        _need(name not in CHOICES or value in CHOICES[name], f"'{name}' cannot be '{value}'.")
    _need(0 <= body.get("top", 0) <= MOST_ROWS, "At most 1000 rows are given at once.")
    _need(len(body.get("search", "")) <= LONGEST_SEARCH, "The search text is too long.")
    for name in _names(body, "searchFields"):
        _need(name in index.fields and is_searched(index.fields[name]), f"'{name}' is not searchable.")
    for name in _names(body, "select"):
        known = index.fields.get(name)
        _need(known is not None and known.get("retrievable") is not False, f"'{name}' cannot be retrieved.")
    for query in body.get("vectorQueries", []):
        _check_vector_query(index, query)
    _check_semantic(index, body)


def _check_vector_query(index: Index, query: Any) -> None:
    _need(isinstance(query, dict) and set(query) <= VECTOR_QUERY, "A vector query has other properties.")
    _need(query.get("kind") == "vector" and query.get("k", 50) in range(1, 10_001), "Vector query: kind, k.")
    field = index.fields.get(query.get("fields", ""))
    if field is None or field["type"] != VECTOR:
        raise Refused(400, "InvalidVectorQuery", f"Unknown vector field '{query.get('fields')}'.")
    check_vector(field, query.get("vector"))


def _check_semantic(index: Index, body: Json) -> None:
    given = {name for name in body if name.startswith("semantic")}
    if body.get("queryType") != "semantic":
        return _need(not given, f"{given} go with the query type semantic.")
    _need(_configuration(index, body) is not None, "There is no such semantic configuration.")
    _need(bool(body.get("semanticQuery") or body.get("search")), "Nothing to rank by was asked.")
    _need("orderby" not in body, "Semantic queries cannot be sorted.")
    wait = body.get("semanticMaxWaitInMilliseconds", SHORTEST_WAIT_MS)
    return _need(wait >= SHORTEST_WAIT_MS, "The reranker needs at least 700 ms.")


def _scores(index: Index, body: Json, items: dict[str, Item]) -> Scores:
    """By words, by vectors, or fused; without either everything that fits the filter, with a score of 1."""
    rankings: list[Scores] = []
    text = body.get("search", "").strip()
    if text and text != "*":
        fields = _names(body, "searchFields") or list(index.postings.analyzers)
        rankings.append(index.postings.search(_parse(index, body, text), fields, items))
    rankings += [
        nearest(items, query["fields"], query["vector"], query.get("k", 50))
        for query in body.get("vectorQueries", [])
    ]
    if not rankings:
        return dict.fromkeys(items, 1.0)
    return rankings[0] if len(rankings) == 1 else fused(rankings)


def _parse(index: Index, body: Json, text: str) -> Node:
    return parse_full(text, index.syntax) if body.get("queryType") == "full" else parse_simple(text)


def _rerank(index: Index, body: Json, rows: list[Row]) -> list[Row]:
    question = body.get("semanticQuery") or body["search"]
    configuration = _configuration(index, body)
    assert configuration is not None
    fields = semantic_fields(configuration)
    read = [
        (key, score, reranked(question, [index.visible[key].get(name) for name in fields]))
        for key, score, _ in rows[:MOST_RERANKED]
    ]
    return [*sorted(read, key=lambda row: -row[2]), *rows[MOST_RERANKED:]]


def _sorted(index: Index, body: Json, rows: list[Row]) -> list[Row]:
    if not (clause := body.get("orderby")):
        return rows
    name = clause.removesuffix(" asc")
    _need(name in index.fields and index.fields[name].get("sortable", True), f"Cannot sort by '{clause}'.")
    return sorted(rows, key=lambda row: index.visible[row[0]][name])


def _row(index: Index, body: Json, row: Row) -> Json:
    key, score, rerank = row
    chosen = _names(body, "select") or [
        name for name, each in index.fields.items() if each.get("retrievable") is not False
    ]
    found: Json = {"@search.score": score, **{name: index.visible[key].get(name) for name in chosen}}
    if rerank is not None:
        found["@search.rerankerScore"] = rerank
    return found


def _configuration(index: Index, body: Json) -> Json | None:
    part = index.definition.get("semantic") or {}
    name = body.get("semanticConfiguration") or part.get("defaultConfiguration")
    return next((each for each in part.get("configurations", []) if each["name"] == name), None)


def _names(body: Json, name: str) -> list[str]:
    return [each.strip() for each in body.get(name, "").split(",") if each.strip()]


def _need(holds: bool, message: str) -> None:
    if not holds:
        raise Refused(400, "InvalidRequestParameter", message)
