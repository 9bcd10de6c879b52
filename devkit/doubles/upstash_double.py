"""Upstash Vector for tests: the REST API of a dense index that compares by cosine, with failures on demand.

Paths, fields, limits and answers are those of the reference (upstash.com/docs/vector/api). As in the
vendor's own tests, `fetch` and `range` show a write at once, and `query` some time later. What is not
published, or not written here, is refused: filters have AND, IN, and =.
"""

import contextlib
import json
import math
import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from devkit.azure.targets import Target
from devkit.serving import serve_from_thread

TOKEN = "upstash-vector-token-of-the-tests"
MOST_ITEMS = 1000

Json = Any
Metadata = dict[str, Any]
_CLAUSE = re.compile(r"(\w+) (?:IN \(('[^']*'(?:, '[^']*')*)\)|= ('[^']*'|\d+))")


class Refused(Exception):
    """A request that the service would refuse with status 400."""


@dataclass
class Stored:
    """An item; queries do not find it before the one with this number."""

    vector: list[float]
    metadata: Metadata
    found_from: int


@dataclass
class UpstashDouble:
    """The service's state: the items of each namespace.

    `behind`: how many queries come too early for a write. `filter_budget`: the nearest items that a filter is
    applied to. `ignores_filters`: as a service with a defect would. `failures`: statuses of the next answers.
    `asked` holds the command and body of each request.
    """

    dimension: int = 6
    similarity: str = "COSINE"
    behind: int = 0
    filter_budget: int | None = None
    ignores_filters: bool = False
    failures: list[int] = field(default_factory=list)
    down: bool = False
    asked: list[tuple[str, Json]] = field(default_factory=list)
    namespaces: dict[str, dict[str, Stored]] = field(default_factory=dict)
    queries: int = 0

    @property
    def app(self) -> Starlette:
        commands: dict[str, tuple[str, Callable[[dict[str, Stored], Json], Json]]] = {
            "upsert": ("POST", self._upsert),
            "query": ("POST", self._query),
            "fetch": ("POST", self._fetch),
            "range": ("POST", self._range),
            "delete": ("DELETE", self._delete),
        }
        routes = [
            Route(f"/{name}/{{namespace}}", self._answering(name, work), methods=[method])
            for name, (method, work) in commands.items()
        ]
        drop = Route("/delete-namespace/{namespace}", self._answering("drop", self._drop), methods=["DELETE"])
        return Starlette(routes=[*routes, drop, Route("/info", self._answering("info", self._info))])

    def _answering(
        self, command: str, work: Callable[[dict[str, Stored], Json], Json]
    ) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            body = json.loads(await request.body() or "null")
            self.asked.append((command, body))
            if self.down or self.failures:
                status = 503 if self.down else self.failures.pop(0)
                return JSONResponse({"error": "Scripted.", "status": status}, status)
            if request.headers.get("authorization") != f"Bearer {TOKEN}":
                return JSONResponse({"error": "Unauthorized: Invalid auth token", "status": 401}, 401)
            items = self.namespaces.setdefault(request.path_params.get("namespace", ""), {})
            try:
                return JSONResponse({"result": work(items, body)})
            except Refused as exc:
                return JSONResponse({"error": str(exc), "status": 400}, 400)

        return answer

    def _upsert(self, items: dict[str, Stored], body: Json) -> str:
        many = body if isinstance(body, list) else [body]
        _check_count(many)
        for each in many:
            self._check_vector(each["vector"])
            if not any(each["vector"]):
                raise Refused("a vector of zeros has no cosine")
        for each in many:
            metadata = each.get("metadata", {})
            items[each["id"]] = Stored(each["vector"], metadata, self.queries + self.behind)
        return "Success"

    def _query(self, items: dict[str, Stored], body: Json) -> Json:
        if isinstance(body, list):
            _check_count(body)
            return [self._nearest(items, each) for each in body]
        return self._nearest(items, body)

    def _nearest(self, items: dict[str, Stored], asked: Json) -> list[Json]:
        self._check_vector(asked["vector"])
        if not 1 <= asked["topK"] <= MOST_ITEMS:
            raise Refused("topK must be from 1 to 1000")
        fits = _parse_filter(asked["filter"]) if asked.get("filter") else lambda _: True
        ready = {key: item for key, item in items.items() if item.found_from <= self.queries}
        self.queries += 1
        ranked = sorted(((_score(asked["vector"], item), key) for key, item in ready.items()), reverse=True)
        candidates = ranked[: self.filter_budget] if asked.get("filter") else ranked
        found = [
            (score, key) for score, key in candidates if self.ignores_filters or fits(items[key].metadata)
        ]
        return [{**_shown(key, items[key], asked), "score": score} for score, key in found[: asked["topK"]]]

    def _fetch(self, items: dict[str, Stored], body: Json) -> list[Json]:
        _check_count(body["ids"])
        return [_shown(key, items[key], body) if key in items else None for key in body["ids"]]

    def _range(self, items: dict[str, Stored], body: Json) -> Json:
        if not 1 <= body["limit"] <= MOST_ITEMS:
            raise Refused("limit must be from 1 to 1000")
        keys = [key for key in items if key.startswith(body.get("prefix", ""))]
        start = int(body["cursor"])
        end = start + body["limit"]
        shown = [_shown(key, items[key], body) for key in keys[start:end]]
        return {"nextCursor": str(end) if end < len(keys) else "", "vectors": shown}

    def _delete(self, items: dict[str, Stored], body: Json) -> Json:
        if len({"ids", "prefix"} & body.keys()) != 1:
            raise Refused("one of ids and prefix is needed")
        prefix = body.get("prefix")
        removed = [key for key in items if key in body.get("ids", ()) or (prefix and key.startswith(prefix))]
        for key in removed:
            del items[key]
        return {"deleted": len(removed)}

    def _drop(self, items: dict[str, Stored], _: Json) -> str:
        items.clear()
        return "Success"

    def _info(self, _: dict[str, Stored], __: Json) -> Json:
        counts = {name: {"vectorCount": len(items)} for name, items in self.namespaces.items()}
        return {"dimension": self.dimension, "similarityFunction": self.similarity, "namespaces": counts}

    def _check_vector(self, vector: list[float]) -> None:
        if len(vector) != self.dimension:
            raise Refused(f"Invalid vector dimension: {len(vector)}, expected: {self.dimension}")


@contextlib.contextmanager
def serving(double: UpstashDouble) -> Iterator[Target]:
    """Serve from a thread on a free loopback port."""
    with serve_from_thread(double.app) as url:
        yield Target(url, TOKEN)


def _check_count(items: list[Json]) -> None:
    if len(items) > MOST_ITEMS:
        raise Refused(f"at most {MOST_ITEMS} items are allowed in one request")


def _parse_filter(text: str) -> Callable[[Metadata], bool]:
    """The test that metadata must pass."""
    wanted: list[tuple[str, set[str]]] = []
    for clause in text.split(" AND "):
        match = _CLAUSE.fullmatch(clause)
        if match is None:
            raise Refused(f"unexpected filter {text!r}")
        wanted.append((match[1], set((match[2] or match[3]).split(", "))))
    return lambda metadata: all(repr(metadata.get(name)) in values for name, values in wanted)


def _score(vector: list[float], item: Stored) -> float:
    product = sum(a * b for a, b in zip(vector, item.vector, strict=True))
    return (1 + product / (math.hypot(*vector) * math.hypot(*item.vector))) / 2


def _shown(key: str, item: Stored, asked: Json) -> Json:
    shown: dict[str, Any] = {"id": key}
    if asked.get("includeMetadata"):
        shown["metadata"] = item.metadata
    if asked.get("includeVectors"):
        shown["vector"] = item.vector
    return shown
