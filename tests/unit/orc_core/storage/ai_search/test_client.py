"""Queries of AI Search end in time, and a service that hangs counts as one that is down."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import closing, suppress

import pytest

from devkit.azure.search import connect
from devkit.azure.targets import Target
from devkit.doubles.search_double import ADMIN_KEY, SearchDouble
from orc_core.errors import DependencyDown
from orc_core.infra.resilience import FAILURES_IN_A_ROW, CircuitOpen
from orc_core.storage.ai_search import client as search_module
from orc_core.storage.ai_search.client import Search, equal, open_search
from orc_core.storage.ai_search.index import create_index

pytestmark = pytest.mark.slow

INDEX = "passages"


@pytest.fixture
async def search(target: Target) -> AsyncIterator[Search]:
    await create_index(target.url, ADMIN_KEY, INDEX)
    async with connect(target, INDEX) as search:
        yield search


async def test_what_is_asked_once_counts_when_it_takes_too_long(
    double: SearchDouble, search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_module, "READ_SECONDS", 0.1)
    double.delay = 1.0
    for _ in range(FAILURES_IN_A_ROW):
        with pytest.raises(DependencyDown):
            await search.query_once(equal("document_id", "plan"))
    with pytest.raises(CircuitOpen):
        await search.query_once(equal("document_id", "plan"))


@pytest.mark.slow
async def test_a_service_that_stays_silent_is_spared_a_moment(
    double: SearchDouble, search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_module, "READ_SECONDS", 0.3)
    monkeypatch.setattr(search_module, "QUERY_SECONDS", 0.75)
    double.delay = 1.5
    for _ in range(3):
        with pytest.raises(DependencyDown):
            await search.query(equal("document_id", "plan"))
    asked = len(double.asked)
    with pytest.raises(CircuitOpen):
        await search.query(equal("document_id", "plan"))
    assert len(double.asked) == asked


async def trickle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with closing(writer), suppress(ConnectionError):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n")
        for _ in range(1000):
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(0.02)


async def test_an_answer_that_never_ends_counts_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_module, "READ_SECONDS", 0.1)
    monkeypatch.setattr(search_module, "QUERY_SECONDS", 0.5)
    server = await asyncio.start_server(trickle, "127.0.0.1", 0)
    search = open_search(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", "key", INDEX)
    for _ in range(FAILURES_IN_A_ROW):
        with pytest.raises(DependencyDown):
            await search.query_once(equal("document_id", "plan"))
    with pytest.raises(CircuitOpen):
        await search.query_once(equal("document_id", "plan"))
    await search.close()
    server.close()


def test_two_attempts_end_before_a_query_is_cut_short() -> None:
    assert search_module.QUERY_SECONDS > 2 * search_module.READ_SECONDS + 0.2
