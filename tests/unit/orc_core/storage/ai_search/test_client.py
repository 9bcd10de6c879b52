"""Queries of AI Search end in time, and a service that hangs counts as one that is down."""

import asyncio
from contextlib import closing, suppress

import pytest

from devkit.doubles.search_double import SearchDouble
from orc_core.errors import DependencyDown
from orc_core.infra.resilience import FAILURES_IN_A_ROW, CircuitOpen
from orc_core.storage.ai_search import client as search_module
from orc_core.storage.ai_search.client import Search, equal, open_search

pytestmark = pytest.mark.slow

INDEX = "passages"


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
