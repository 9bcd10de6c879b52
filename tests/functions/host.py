"""The part of Azure's host in front of a worker, as an HTTPX transport.

For each request it picks the function by its route, sends the worker an invocation, and forwards the raw
request to the worker's own HTTP server, with the headers that Azure's host sets: which invocation the
request belongs to, who called, and the trace.
"""

import json
import secrets
import uuid
from pathlib import Path

import httpx

from tests.functions.worker import Function, Worker

LOCAL = "127.0.0.1"


class HostTransport(httpx.BaseTransport):
    """Sends requests through the functions of a worker, as a caller at the address `caller`.

    A response names the function that answered in its extension `function`.
    """

    def __init__(self, worker: Worker, folder: Path, caller: str = LOCAL) -> None:
        self._worker = worker
        self._caller = caller
        self._to_worker = httpx.HTTPTransport()
        host = json.loads((folder / "host.json").read_text())
        self._prefix = f"/{host['extensions']['http']['routePrefix']}".rstrip("/")

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Raises WorkerError if the function fails before it has a response."""
        path = request.url.path.removeprefix(self._prefix + "/")
        function = self._function_for(request.method, path)
        if function is None or path == request.url.path:
            return httpx.Response(404, text="The host has no function for this.")
        traceparent = request.headers.setdefault("traceparent", new_traceparent())
        invocation_id = str(uuid.uuid4())
        call = self._worker.forward(function, invocation_id, traceparent, route_values(function, path))
        invocation = self._worker.start(call)
        response = self._to_worker.handle_request(self._forwarded(request, invocation_id))
        invocation.result()
        response.extensions["function"] = function.name
        return response

    def close(self) -> None:
        self._to_worker.close()

    def _function_for(self, method: str, path: str) -> Function | None:
        """The function with the longest literal route among those that fit."""
        fitting = [
            function
            for function in self._worker.functions
            if function.is_http
            and method in function.methods
            and f"{path}/".startswith(literal_part(function))
        ]
        return max(fitting, key=lambda function: len(function.route.split("/")), default=None)

    def _forwarded(self, request: httpx.Request, invocation_id: str) -> httpx.Request:
        target = httpx.URL(self._worker.http_uri).copy_with(raw_path=request.url.raw_path)
        headers = request.headers.copy()
        headers["x-ms-invocation-id"] = invocation_id
        headers["x-forwarded-for"] = self._caller
        headers["x-forwarded-host"] = request.headers["host"]
        headers["x-forwarded-proto"] = request.url.scheme
        headers["host"] = target.netloc.decode()
        return httpx.Request(
            request.method, target, headers=headers, stream=request.stream, extensions=request.extensions
        )


def literal_part(function: Function) -> str:
    """A route up to its catch-all: `orc/{*rest}` -> `orc/`."""
    return function.route.partition("{*")[0]


def route_values(function: Function, path: str) -> dict[str, str]:
    """What the catch-all of the function's route takes of a path."""
    name = function.route.partition("{*")[2].rstrip("}")
    return {name: path.removeprefix(literal_part(function).rstrip("/")).lstrip("/")}


def new_traceparent() -> str:
    """The trace that the host begins where a caller brings none."""
    return f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-01"
