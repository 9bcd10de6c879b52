"""A Cosmos DB database for each test, and a transport that records requests and fails on demand."""

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from azure.core.pipeline.transport import AsyncHttpResponse, HttpRequest
from azure.core.pipeline.transport._aiohttp import AioHttpTransport
from azure.identity.aio import DefaultAzureCredential

from devkit.azure.targets import Target
from orc_core.storage.cosmos.client import Cosmos, open_client, open_cosmos
from orc_core.storage.cosmos.items import create_containers

ITEMS = "/docs"


class Request(NamedTuple):
    """One request for items."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: str

    @property
    def is_query(self) -> bool:
        return self.headers.get("x-ms-documentdb-isquery", "").lower() == "true"

    @property
    def is_write(self) -> bool:
        return self.method != "GET" and not self.is_query

    @property
    def partition(self) -> str | None:
        return self.headers.get("x-ms-documentdb-partitionkey")


Interruption = tuple[Callable[[Request], bool], Callable[[], Awaitable[object]]]


class Fault(NamedTuple):
    """A status that replaces the one that the service answered."""

    about_writes: bool
    status: int
    sub_status: int | None = None


class FaultyTransport(AioHttpTransport):
    """The SDK's transport. Records every request for items, and replaces the status of chosen responses.

    The request itself is always made: a write that "fails" this way has taken effect.
    """

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[Request] = []
        self._faults: list[Fault] = []
        self._interruptions: list[Interruption] = []

    def fail_after_write(self, *statuses: int) -> None:
        """Have the next writes take effect and fail with these statuses."""
        self._faults += [Fault(True, status) for status in statuses]

    def fail_reads(self, *statuses: int, sub_status: int | None = None) -> None:
        """Have the next reads and queries fail with these statuses."""
        self._faults += [Fault(False, status, sub_status) for status in statuses]

    def clear_faults(self) -> None:
        self._faults.clear()

    def interrupt(self, *, before: Callable[[Request], bool], by: Callable[[], Awaitable[object]]) -> None:
        """Have something else done first when the first such request comes."""
        self._interruptions.append((before, by))

    # The overloads are of the SDK's two kinds of requests; its Cosmos DB client sends this one.
    async def send(self, request: HttpRequest, **options: Any) -> AsyncHttpResponse:  # type: ignore[override]
        seen = Request(request.method, request.url, request.headers, str(request.data or ""))
        for interruption in [each for each in self._interruptions if each[0](seen)]:
            self._interruptions.remove(interruption)
            await interruption[1]()
        response: AsyncHttpResponse = await super().send(request, **options)
        if ITEMS not in request.url:
            return response
        self.requests.append(seen)
        if self._faults and self._faults[0].about_writes == seen.is_write:
            fault = self._faults.pop(0)
            response.status_code = fault.status
            response.headers = {"x-ms-substatus": str(fault.sub_status)} if fault.sub_status else {}
        return response


@dataclass(frozen=True)
class OpenDatabase:
    """Each call opens a new client for the database, closed when the database is removed."""

    name: str
    open: Callable[[FaultyTransport | None], Cosmos]

    def __call__(self, wire: FaultyTransport | None = None) -> Cosmos:
        return self.open(wire)


@asynccontextmanager
async def database(target: Target) -> AsyncIterator[OpenDatabase]:
    """A new database with all containers of the product, removed at the end."""
    async with AsyncExitStack() as stack:
        name = f"orc-test-{uuid.uuid4().hex}"
        credential: str | DefaultAzureCredential
        if target.key is not None:
            credential = target.key
        else:
            credential = await stack.enter_async_context(DefaultAzureCredential())
        client = open_client(target.url, credential)
        stack.push_async_callback(client.close)
        await create_containers(target.url, credential, name)
        stack.push_async_callback(client.delete_database, name)

        def open_database(wire: FaultyTransport | None) -> Cosmos:
            cosmos = open_cosmos(target.url, credential, name, transport=wire)
            stack.push_async_callback(cosmos.close)
            return cosmos

        yield OpenDatabase(name, open_database)
