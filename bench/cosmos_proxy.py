"""A proxy that notes what goes to Cosmos DB and comes back: how often, how large, how far it reaches."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web

from orc.cli.ports import free_port

PARTITION = "x-ms-documentdb-partitionkey"
QUERY = "x-ms-documentdb-isquery"
BATCH = "x-ms-cosmos-is-batch-request"
MIB = 1024 * 1024
HOP = frozenset({"host", "content-length", "transfer-encoding", "connection", "content-encoding"})


@dataclass(frozen=True)
class Exchange:
    """One request for items. `written` and `read` are the sizes of items as JSON, in bytes."""

    kind: str
    written: tuple[int, ...] = ()
    read: int = 0
    over_partitions: bool = False


@dataclass
class Exchanges:
    """Everything that was exchanged since the last `take`."""

    url: str
    noted: list[Exchange] = field(default_factory=list)

    def take(self) -> list[Exchange]:
        """What was exchanged since; it is forgotten."""
        taken, self.noted = self.noted, []
        return taken


@contextmanager
def noting(upstream: str) -> Iterator[Exchanges]:
    """A proxy in front of `upstream`, in a separate thread."""
    port = free_port()
    exchanges = Exchanges(f"http://127.0.0.1:{port}")
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    opening = asyncio.run_coroutine_threadsafe(_serve(upstream, port, exchanges), loop)
    runner, client = opening.result()
    try:
        yield exchanges
    finally:
        asyncio.run_coroutine_threadsafe(_stop(runner, client), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _serve(
    upstream: str, port: int, exchanges: Exchanges
) -> tuple[web.AppRunner, aiohttp.ClientSession]:
    client = aiohttp.ClientSession(upstream, auto_decompress=True)

    async def forward(request: web.Request) -> web.Response:
        body = await request.read()
        sent = {name: value for name, value in request.headers.items() if name.lower() not in HOP}
        async with client.request(request.method, request.path_qs, data=body, headers=sent) as answer:
            content = await answer.read()
        exchange = _exchange(request, body, content)
        if exchange is not None:
            exchanges.noted.append(exchange)
        kept = {name: value for name, value in answer.headers.items() if name.lower() not in HOP}
        return web.Response(status=answer.status, body=content, headers=kept)

    app = web.Application(client_max_size=4 * MIB)
    app.router.add_route("*", "/{path:.*}", forward)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    return runner, client


async def _stop(runner: web.AppRunner, client: aiohttp.ClientSession) -> None:
    await runner.cleanup()
    await client.close()


def _exchange(request: web.Request, body: bytes, content: bytes) -> Exchange | None:
    """What of the request concerns items; None for questions about the account and its containers."""
    if "/docs" not in request.path:
        return None
    if request.headers.get(BATCH, "").lower() == "true":
        return Exchange("batch", tuple(_size(each.get("resourceBody")) for each in json.loads(body)))
    if request.headers.get(QUERY, "").lower() == "true":
        return Exchange("query", read=len(content), over_partitions=not _one_partition(request))
    if request.method == "GET":
        return Exchange("read", read=len(content))
    return Exchange("write", (len(body),))


def _one_partition(request: web.Request) -> bool:
    """Whether a query names all three parts of a conversation's partition."""
    return len(json.loads(request.headers.get(PARTITION, "[]"))) == 3


def _size(item: Any) -> int:
    return len(json.dumps(item, ensure_ascii=False).encode()) if item is not None else 0
