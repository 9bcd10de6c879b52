"""Azure AI Search for tests: its REST API of version 2026-04-01, with failures on demand.

Paths, fields and their spelling are those that azure-search-documents 12 sends and reads (its generated
models); limits, statuses and the grammar of keys are those of the service's REST reference and "Service
limits" (learn.microsoft.com/azure/search). What is not published there, or not written here, is refused.
"""

import asyncio
import contextlib
import json
import random
import re
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from devkit.azure.targets import Target
from devkit.doubles.search_index import Index, Json, Refused, check_definition
from devkit.doubles.search_query import search
from devkit.serving import serve_from_thread

API_VERSION = "2026-04-01"
ADMIN_KEY = "search-admin-key-of-the-tests"
MOST_ACTIONS = 1000
MOST_BYTES = 16 * 1024 * 1024

Handler = Callable[[Request], Awaitable[Response]]


@dataclass
class Failure:
    """How the next requests of an operation (`search`, `index`, or any: "") fail, after some that do not."""

    operation: str = ""
    status: int = 503
    times: int = 1
    after: int = 0
    only_reranked: bool = False
    headers: dict[str, str] = field(default_factory=dict)


class SearchDouble:
    """The service's state. `lag` is the longest time until a write can be found, in whatever order.

    `reranker` is `on`, `tired` (partial answers, without it) or `absent`. `items_to_fail` writes of the next
    batches fail by themselves. `asked` holds what was requested: the operation and its body.
    """

    def __init__(self) -> None:
        self.indexes: dict[str, Index] = {}
        self.failures: list[Failure] = []
        self.down = False
        self.delay = 0.0
        self.lag = 0.0
        self.items_to_fail = 0
        self.item_status = 503
        self.reranker = "on"
        self.asked: list[tuple[str, Json]] = []
        one = "/indexes('{index}')"
        self.app = Starlette(
            routes=[
                Route("/servicestats", self._guarded("stats", self._service_stats)),
                Route(one, self._guarded("definition", self._put), methods=["PUT"]),
                Route(one, self._guarded("definition", self._get), methods=["GET"]),
                Route(one, self._guarded("definition", self._drop), methods=["DELETE"]),
                Route(f"{one}/search.stats", self._guarded("stats", self._stats)),
                Route(f"{one}/docs/$count", self._guarded("stats", self._count)),
                Route(f"{one}/docs('{{key}}')", self._guarded("lookup", self._lookup)),
                Route(f"{one}/docs/search.index", self._guarded("index", self._index), methods=["POST"]),
                Route(
                    f"{one}/docs/search.post.search", self._guarded("search", self._search), methods=["POST"]
                ),
            ]
        )

    def searches(self) -> list[Json]:
        """The bodies of all searches so far."""
        return [body for operation, body in self.asked if operation == "search"]

    def _guarded(self, operation: str, handler: Handler) -> Handler:
        async def handle(request: Request) -> Response:
            body = await _body(request)
            self.asked.append((operation, body))
            if self.delay:
                await asyncio.sleep(self.delay)
            if failure := self._failing(operation, body):
                return _error(failure.status, "Scripted", "Scripted.", failure.headers)
            try:
                _check_request(request)
                request.state.body = body
                return await handler(request)
            except Refused as refusal:
                return _error(refusal.status, refusal.code, str(refusal))

        return handle

    def _failing(self, operation: str, body: Json) -> Failure | None:
        if self.down:
            return Failure()
        for failure in self.failures:
            fits = failure.operation in {"", operation}
            if fits and (not failure.only_reranked or body.get("queryType") == "semantic"):
                if failure.after:
                    failure.after -= 1
                    continue
                failure.times -= 1
                if failure.times == 0:
                    self.failures.remove(failure)
                return failure
        return None

    def _find(self, request: Request) -> Index:
        name = request.path_params["index"]
        if name not in self.indexes:
            raise Refused(404, "ResourceNotFound", f"No index with the name '{name}' was found.")
        index = self.indexes[name]
        index.settle(time.monotonic())
        return index

    async def _put(self, request: Request) -> Response:
        body, name = request.state.body, request.path_params["index"]
        if body.get("name") != name:
            raise Refused(400, "InvalidName", "The name in the address and in the body differ.")
        check_definition(body)
        if existing := self.indexes.get(name):
            existing.redefine(body)
            return JSONResponse(existing.definition)
        self.indexes[name] = Index(body)
        return JSONResponse(body, 201)

    async def _get(self, request: Request) -> Response:
        return JSONResponse(self._find(request).definition)

    async def _drop(self, request: Request) -> Response:
        self._find(request)
        del self.indexes[request.path_params["index"]]
        return Response(status_code=204)

    async def _service_stats(self, request: Request) -> Response:
        counters = {"indexesCount": {"usage": len(self.indexes), "quota": 50}}
        return JSONResponse({"counters": counters, "limits": {}})

    async def _stats(self, request: Request) -> Response:
        count = len(self._find(request).visible)
        return JSONResponse({"documentCount": count, "storageSize": 0, "vectorIndexSize": 0})

    async def _count(self, request: Request) -> Response:
        return Response(str(len(self._find(request).visible)), media_type="text/plain")

    async def _lookup(self, request: Request) -> Response:
        item = self._find(request).visible.get(request.path_params["key"])
        if item is None:
            raise Refused(404, "ResourceNotFound", "There is no such document.")
        return JSONResponse(item)

    async def _index(self, request: Request) -> Response:
        index, body = self._find(request), request.state.body
        actions = body.get("value")
        if set(body) != {"value"} or not isinstance(actions, list) or not 0 < len(actions) <= MOST_ACTIONS:
            raise Refused(400, "InvalidRequest", "A batch has from 1 to 1000 actions under 'value'.")
        for action in actions:
            index.check(action)
        due = time.monotonic()
        results = [self._write(index, action, due + random.uniform(0, self.lag)) for action in actions]
        index.settle(due)
        status = 200 if all(result["status"] for result in results) else 207
        return JSONResponse({"value": results}, status)

    def _write(self, index: Index, action: Json, due: float) -> Json:
        if self.items_to_fail:
            self.items_to_fail -= 1
            status = self.item_status
        else:
            status = index.write(action, due)
        succeeded = status < 400
        message = None if succeeded else "Scripted or not there."
        key = action[index.key]
        return {"key": key, "status": succeeded, "errorMessage": message, "statusCode": status}

    async def _search(self, request: Request) -> Response:
        index, body = self._find(request), request.state.body
        if body.get("queryType") == "semantic" and self.reranker == "absent":
            message = "Semantic search is not enabled for this service."
            raise Refused(400, "FeatureNotSupportedInService", message)
        answer, partial = search(index, body, tired=self.reranker == "tired")
        return JSONResponse(answer, 206 if partial else 200)


@contextlib.contextmanager
def serving(double: SearchDouble) -> Iterator[Target]:
    """Serve from a thread on a free loopback port, which ends with this process if not before."""
    with serve_from_thread(double.app) as url:
        yield Target(url, ADMIN_KEY)


@contextlib.contextmanager
def running() -> Iterator[Target]:
    """An empty service that does not fail."""
    with serving(SearchDouble()) as target:
        yield target


async def _body(request: Request) -> Json:
    content = await request.body()
    if len(content) > MOST_BYTES:
        return {}
    with contextlib.suppress(ValueError):
        body = json.loads(content or b"{}")
        if isinstance(body, dict):
            return body
    return {"": "no JSON object"}


def _check_request(request: Request) -> None:
    if request.query_params.get("api-version") != API_VERSION:
        raise Refused(400, "InvalidApiVersion", "The api-version is missing or not supported.")
    key, bearer = request.headers.get("api-key"), request.headers.get("authorization", "")
    if key is None and not re.fullmatch(r"Bearer \S+", bearer):
        raise Refused(401, "Unauthorized", "Neither an api-key nor a token.")
    if key is not None and key != ADMIN_KEY:
        raise Refused(403, "Forbidden", "Access denied due to an invalid key.")
    if int(request.headers.get("content-length", 0)) > MOST_BYTES:
        raise Refused(413, "RequestEntityTooLarge", "The request is larger than 16 MB.")


def _error(status: int, code: str, message: str, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"error": {"code": code, "message": message}}, status, headers)
