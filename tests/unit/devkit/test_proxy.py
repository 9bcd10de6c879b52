"""The proxy passes on what it is given, and makes each fault so that both sides can tell which it was."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random

import httpx
import pytest

from devkit.faults.messages import Request, read_request
from devkit.faults.proxy import Proxy, proxied
from devkit.faults.rules import COSMOS, MODEL, STORAGE, Kind, Refusal, Rules

CHUNKS = 20
REFUSALS = (Refusal(429, b'{"why": "busy"}', {"retry-after": "7"}),)
Path = str


@dataclass
class Upstream:
    """A tiny server: `/whole` echoes its body, `/chunks` comes in pieces, `/never` not at all."""

    received: list[Request] = field(default_factory=list)
    connections: int = 0
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    gone: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while (request := await read_request(reader)) is not None:
                self.received.append(request)
                self.asked.set()
                await self._answer(request, writer)
        except ConnectionError:
            pass
        finally:
            self.gone.set()
            writer.close()

    async def _answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        if request.head.target == "/never":
            return
        if request.head.target == "/chunks":
            writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
            for _ in range(CHUNKS):
                writer.write(b"4\r\nnext\r\n")
                await writer.drain()
                await asyncio.sleep(0.001)
            writer.write(b"0\r\n\r\n")
            return
        body = request.body or b"whole"
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body))
        if request.head.method != "HEAD":
            writer.write(body)


@pytest.fixture
async def upstream() -> AsyncIterator[tuple[Upstream, str]]:
    """The server and its address."""
    served = Upstream()
    server = await asyncio.start_server(served.serve, "127.0.0.1", 0)
    yield served, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()


Stage = tuple[Upstream, str]


@asynccontextmanager
async def asking(proxy: Proxy) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=proxy.url, timeout=5) as client:
        yield client


def only(kind: Kind, **more: object) -> Rules:
    return Rules(REFUSALS, (kind,), **more)  # type: ignore[arg-type]


async def test_without_faults_everything_passes_over_one_connection(upstream: Stage) -> None:
    served, url = upstream
    async with proxied(url) as proxy, asking(proxy) as client:
        posted = await client.post("/whole", content=b"x" * 200_000, headers={"x-token": "t"})
        streamed = await client.get("/chunks")
        headed = await client.head("/whole")
        read = await client.get("/whole")
    assert (len(posted.content), streamed.text, headed.text, read.text) == (
        200_000,
        "next" * CHUNKS,
        "",
        "whole",
    )
    assert served.received[0].headers["x-token"] == "t"
    assert served.received[0].headers["host"] == url.removeprefix("http://")
    assert (proxy.requests, proxy.counts.total()) == (4, 0)


@pytest.mark.parametrize(
    ("kind", "received"),
    [(Kind.REFUSE, []), (Kind.RESET_BEFORE, []), (Kind.RESET_AFTER, [b"order"])],
    ids=["refused", "reset before the request", "reset after the request"],
)
async def test_a_broken_connection_loses_the_request_or_its_answer(
    kind: Kind, received: list[bytes], upstream: Stage
) -> None:
    served, url = upstream
    rules = Rules(kinds=(Kind.REFUSE, Kind.DELAY)) if kind is Kind.REFUSE else only(kind)
    async with proxied(url, rules, rate=1) as proxy, asking(proxy) as client:
        with pytest.raises(httpx.TransportError):
            await client.post("/whole", content=b"order")
    assert ([request.body for request in served.received], proxy.counts[kind]) == (received, 1)


@pytest.mark.parametrize("path", ["/whole", "/chunks"])
async def test_a_cut_response_begins_and_never_ends(path: Path, upstream: Stage) -> None:
    served, url = upstream
    rules = only(Kind.CUT, most_pieces=4)
    read = b""
    async with proxied(url, rules, rate=1) as proxy, asking(proxy) as client:
        with pytest.raises(httpx.TransportError):
            async with client.stream("GET", path) as response:
                assert response.status_code == 200
                async for piece in response.aiter_bytes():
                    read += piece
    assert len(read) < CHUNKS * len("next")
    assert (len(served.received), proxy.counts[Kind.CUT]) == (1, 1)


async def test_a_delayed_request_is_answered_all_the_same(upstream: Stage) -> None:
    _, url = upstream
    async with proxied(url, only(Kind.DELAY, longest_delay=0.01), rate=1) as proxy, asking(proxy) as client:
        assert (await client.get("/whole")).text == "whole"
    assert proxy.counts[Kind.DELAY] == 1


async def test_a_status_comes_in_the_servers_stead_and_the_connection_stays(upstream: Stage) -> None:
    served, url = upstream
    async with proxied(url, only(Kind.STATUS), rate=1) as proxy, asking(proxy) as client:
        for _ in range(2):
            refused = await client.post("/whole", content=b"order")
            assert (refused.status_code, refused.headers["retry-after"]) == (429, "7")
            assert refused.json() == {"why": "busy"}
    assert (served.received, proxy.counts[Kind.STATUS]) == ([], 2)


@pytest.mark.parametrize(
    ("rules", "shape"),
    [
        (MODEL, lambda refusal: "message" in json.loads(refusal.body)["error"]),
        (COSMOS, lambda refusal: "code" in json.loads(refusal.body)),
        (STORAGE, lambda refusal: refusal.headers["x-ms-error-code"].encode() in refusal.body),
    ],
    ids=["model", "cosmos", "storage"],
)
def test_refusals_have_the_shape_of_their_service(rules: Rules, shape: Callable[[Refusal], bool]) -> None:
    assert rules.refusals
    assert all(shape(refusal) for refusal in rules.refusals)


async def test_a_condition_fails_only_where_one_was_set(upstream: Stage) -> None:
    _, url = upstream
    unmet = Rules((Refusal(412, b"{}", only_with="if-match"),), (Kind.STATUS,), longest_delay=0)
    async with proxied(url, unmet, rate=1) as proxy, asking(proxy) as client:
        assert (await client.put("/whole", headers={"if-match": '"1"'})).status_code == 412
        assert (await client.put("/whole")).status_code == 200


async def test_a_blackout_refuses_everybody_until_it_ends(upstream: Stage) -> None:
    served, url = upstream
    async with proxied(url) as proxy, asking(proxy) as client:
        waiting = asyncio.create_task(client.get("/never"))
        await served.asked.wait()
        before = proxy.url
        await proxy.black_out()
        with pytest.raises(httpx.TransportError):
            await waiting
        with pytest.raises(httpx.ConnectError):
            await client.get("/whole")
        await proxy.come_back()
        assert proxy.url == before
        assert (await client.get("/whole")).text == "whole"


async def test_the_server_sees_a_client_go(upstream: Stage) -> None:
    served, url = upstream
    async with proxied(url) as proxy:
        async with asking(proxy) as client:
            with pytest.raises(httpx.ReadTimeout):
                await client.get("/never", timeout=0.05)
        await asyncio.wait_for(served.gone.wait(), 2)


async def test_every_request_is_seen_before_it_goes_on(upstream: Stage) -> None:
    served, url = upstream
    seen: list[tuple[bytes, int]] = []

    async def look(request: Request) -> None:
        seen.append((request.body, len(served.received)))

    async with proxied(url, on_request=look) as proxy, asking(proxy) as client:
        await client.post("/whole", content=b"a")
        await client.post("/whole", content=b"b")
    assert seen == [(b"a", 0), (b"b", 1)]


def draws(seed: int, rate: float = 0.2, number: int = 2000) -> list[Kind | None]:
    random = Random(seed)
    drawn = [MODEL.draw(random, rate, {}) for _ in range(number)]
    return [None if fault is None else fault.kind for fault in drawn]


def test_a_seed_says_which_requests_have_which_faults() -> None:
    assert draws(1) == draws(1)
    assert all(one != other for one, other in pairwise(draws(seed) for seed in range(5)))


def test_the_rate_is_met_and_every_kind_occurs() -> None:
    drawn = [kind for kind in draws(1) if kind]
    assert 0.17 < len(drawn) / 2000 < 0.23
    assert set(drawn) == set(Kind) - {Kind.REFUSE}
    assert not any(draws(1, rate=0.0))
