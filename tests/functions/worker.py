"""Azure's own Python worker runtime over a function app, in a thread with its own event loop."""

import asyncio
import json
import socket
import threading
import uuid
from collections.abc import Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

import azure_functions_runtime as runtime
import pytest
import uvicorn

from tests.functions.messages import Message, Protos, StatusResult

START_SECONDS = 90.0
STOP_SECONDS = 5
T = TypeVar("T")


@dataclass(frozen=True)
class Function:
    """A function, as the worker reports it to the host: its trigger's binding says what calls it."""

    name: str
    function_id: str
    trigger: dict[str, Any]

    @classmethod
    def of(cls, metadata: Message) -> Self:
        bindings = [json.loads(binding) for binding in metadata.raw_bindings]
        trigger = next(binding for binding in bindings if binding["type"].endswith("Trigger"))
        return cls(metadata.name, metadata.function_id, trigger)

    @property
    def is_http(self) -> bool:
        return bool(self.trigger["type"] == "httpTrigger")

    @property
    def route(self) -> str:
        return str(self.trigger["route"])

    @property
    def methods(self) -> frozenset[str]:
        return frozenset(self.trigger["methods"])


class WorkerServer(uvicorn.Server):
    """The worker's HTTP server, accessible to the test, which has to watch and stop it."""

    def __init__(self, listening: "asyncio.Future[WorkerServer]", config: uvicorn.Config) -> None:
        super().__init__(config)
        self._listening = listening
        self.ended = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._listening.set_result(self)

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().serve(sockets)
        finally:
            self.ended.set()


class Worker:
    """A worker whose functions are indexed and loaded. Only one can live in a process."""

    def __init__(self, http_uri: str, functions: list[Function], server: WorkerServer) -> None:
        self.http_uri = http_uri
        self.functions = functions
        self._server = server
        self._loop = asyncio.get_running_loop()
        self._stopped = asyncio.Event()

    def start(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Have `work` done in the worker's loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def requests_in_flight(self) -> int:
        """How many requests are being answered at this moment, streams included."""
        return len(self._server.server_state.tasks)

    async def forward(
        self, function: Function, invocation_id: str, traceparent: str, route_values: dict[str, str]
    ) -> None:
        """Call a function for a request that is forwarded separately. Raises WorkerError if it fails."""
        http = Message(method="", url="", headers={}, query={}, params=route_values, body=Message(bytes=b""))
        trace = Message(trace_parent=traceparent, trace_state="", attributes={})
        await self._invoke(function, invocation_id, Message(http=http), trace_context=trace)

    def call(self, name: str, **data: str) -> None:
        """Call a function with its trigger's data, and wait for it. Raises WorkerError if it fails."""
        function = next(function for function in self.functions if function.name == name)
        self.start(self._invoke(function, str(uuid.uuid4()), Message(**data))).result()

    async def _invoke(
        self, function: Function, invocation_id: str, data: Message, **context: Message
    ) -> None:
        invocation = Message(
            invocation_id=invocation_id,
            function_id=function.function_id,
            retry_context=Message(retry_count=0, max_retry_count=0),
            trigger_metadata={"DequeueCount": Message(json="1")},
            input_data=[Message(name=function.trigger["name"], data=data)],
            **{"trace_context": Message(trace_parent="", trace_state="", attributes={}), **context},
        )
        _check(await runtime.invocation_request(_request(invocation_request=invocation)))

    async def live(self) -> None:
        """Serve until asked to stop, then end the remaining requests."""
        await self._stopped.wait()
        self._server.config.timeout_graceful_shutdown = STOP_SECONDS
        self._server.should_exit = True
        await self._server.ended.wait()

    def stop(self) -> None:
        """End `live`."""
        self._loop.call_soon_threadsafe(self._stopped.set)


class WorkerError(Exception):
    """The worker answered the host that it failed."""


@contextmanager
def running_worker(folder: Path) -> Iterator[Worker]:
    """A worker over the function app in `folder`, which has to be on the import path."""
    started: Future[Worker] = Future()
    thread = threading.Thread(target=asyncio.run, args=[_live(folder, started)], name="worker", daemon=True)
    thread.start()
    worker = started.result(START_SECONDS)
    try:
        yield worker
    finally:
        worker.stop()
        thread.join()


async def _live(folder: Path, started: "Future[Worker]") -> None:
    try:
        worker = await _start(folder)
    except BaseException as exc:
        started.set_exception(exc)
        return
    started.set_result(worker)
    await worker.live()


async def _start(folder: Path) -> Worker:
    """What the host asks of a new worker: index the app, name its functions, load each."""
    runtime.start_threadpool_executor()
    init = Message(function_app_directory=str(folder), capabilities={}, host_version="4.0")
    listening: asyncio.Future[WorkerServer] = asyncio.get_running_loop().create_future()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uvicorn, "Server", partial(WorkerServer, listening))
        ready = _check(await runtime.worker_init_request(_request(worker_init_request=init)))
        server = await listening
    metadata = _check(await runtime.functions_metadata_request(_request()))
    for function in metadata.function_metadata_results:
        load = Message(function_id=function.function_id, metadata=function)
        _check(await runtime.function_load_request(_request(function_load_request=load)))
    functions = [Function.of(function) for function in metadata.function_metadata_results]
    return Worker(ready.capabilities["HttpUri"], functions, server)


def _request(**content: Message) -> Message:
    properties = {"host": "127.0.0.1", "protos": Protos()}
    return Message(request=Message(**content), properties=properties)


def _check(response: Any) -> Any:
    """The response, if it says that the worker succeeded."""
    if response.result.status != StatusResult.Success:
        raise WorkerError(f"{response.result.exception.message}\n{response.result.exception.stack_trace}")
    return response
