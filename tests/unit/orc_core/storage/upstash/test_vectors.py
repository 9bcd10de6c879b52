"""Vectors in Upstash Vector: its delay, its approximation and its failures stay inside the adapter."""

import logging
from collections.abc import AsyncIterator

import httpx2
import pytest

from devkit.doubles.upstash_double import TOKEN, UpstashDouble
from orc_core.documents.ports import Neighbour
from orc_core.errors import DependencyDown
from orc_core.infra.azure import DependencyMisconfigured
from orc_core.storage.upstash import client, vectors
from orc_core.storage.upstash.client import UpstashVector, among
from orc_core.storage.upstash.vectors import UpstashVectorIndex

EAST, NORTH, WEST = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]
NEAR_EAST = [1.0, 0.1, 0.0]


@pytest.fixture
def double() -> UpstashDouble:
    return UpstashDouble()


@pytest.fixture
async def service(double: UpstashDouble) -> AsyncIterator[UpstashVector]:
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=double.app)) as http:
        yield UpstashVector(http, "http://upstash.test/", TOKEN)


@pytest.fixture
def index(service: UpstashVector) -> UpstashVectorIndex:
    return UpstashVectorIndex(service, "test-vectors")


def places(found: list[Neighbour]) -> list[tuple[str, int]]:
    return [(near.document_id, near.ordinal) for near in found]


async def test_a_query_filters_by_the_ids_of_the_documents(
    index: UpstashVectorIndex, double: UpstashDouble
) -> None:
    await index.save("d1", [EAST])
    await index.save("d2", [EAST])
    double.asked.clear()
    await index.nearest(EAST, ["d2", "d1"], 5)
    [(command, _), (_, [query])] = double.asked
    assert command == "fetch"
    assert query["filter"].startswith("file_id IN ('d1', 'd2') AND version IN (")


async def test_a_service_that_ignores_filters_shows_nothing_out_of_scope(
    index: UpstashVectorIndex, double: UpstashDouble
) -> None:
    await index.save("theirs", [EAST, EAST, EAST])
    await index.save("mine", [WEST])
    double.ignores_filters = True
    assert places(await index.nearest(EAST, ["mine"], 3)) == [("mine", 0)]


@pytest.mark.parametrize("id_", ["x') OR HAS FIELD file_id", "a'b", 'a"b', "", "a b", "x%", "ä"])
def test_a_filter_takes_no_text_that_could_change_it(id_: str) -> None:
    with pytest.raises(ValueError, match="an id may have"):
        among("file_id", ["d1", id_])


async def test_a_save_returns_when_queries_find_it(index: UpstashVectorIndex, double: UpstashDouble) -> None:
    await index.save("d1", [WEST])
    double.behind = 3
    await index.save("d1", [EAST, NORTH])
    double.asked.clear()
    assert places(await index.nearest(EAST, ["d1"], 2)) == [("d1", 0), ("d1", 1)]
    assert [command for command, _ in double.asked] == ["fetch", "query"]


async def test_vectors_that_queries_never_find_do_not_replace_others(
    index: UpstashVectorIndex, double: UpstashDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    await index.save("d1", [WEST])
    monkeypatch.setattr(client, "VISIBLE_SECONDS", 0.0)
    double.behind = 1000
    with pytest.raises(DependencyDown, match="behind"):
        await index.save("d1", [EAST, NORTH])
    assert places(await index.nearest(WEST, ["d1"], 5)) == [("d1", 0)]
    assert (await index.nearest(WEST, ["d1"], 5))[0].similarity == pytest.approx(1)


async def test_what_a_filter_with_a_budget_leaves_out_is_compared_here(
    index: UpstashVectorIndex, double: UpstashDouble
) -> None:
    await index.save("theirs", [EAST] * 30)
    await index.save("mine", [NORTH, NEAR_EAST, WEST])
    double.filter_budget = 20
    found = await index.nearest(EAST, ["mine"], 2)
    assert places(found) == [("mine", 1), ("mine", 0)]
    assert [near.similarity for near in found] == pytest.approx([0.995, 0], abs=1e-3)


async def test_a_scope_that_is_too_wide_to_compare_is_never_reported_as_empty(
    index: UpstashVectorIndex,
    double: UpstashDouble,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(vectors, "MOST_COMPARED", 2)
    await index.save("theirs", [EAST] * 30)
    await index.save("mine", [NORTH, NEAR_EAST, WEST])
    double.filter_budget = 20
    with pytest.raises(DependencyDown), caplog.at_level(logging.WARNING):
        await index.nearest(EAST, ["mine"], 2)
    assert "found=0 stored=3" in caplog.text
    double.filter_budget = 33  # two marks are items too
    assert places(await index.nearest(EAST, ["mine"], 2)) == [("mine", 1)]


async def test_a_scope_of_many_documents_is_divided_and_ranked_as_one(index: UpstashVectorIndex) -> None:
    scope = [f"d{number:03}" for number in range(vectors.DOCUMENTS_PER_QUERY + 5)]
    await index.save(scope[0], [NEAR_EAST])
    await index.save(scope[-1], [NORTH, EAST])
    assert places(await index.nearest(EAST, scope, 2)) == [(scope[-1], 1), (scope[0], 0)]


async def test_a_deleted_document_leaves_nothing_behind(
    index: UpstashVectorIndex, double: UpstashDouble
) -> None:
    await index.save("d1", [EAST, NORTH])
    await index.save("d11", [EAST])
    await index.delete("d1")
    assert {key[:3] for key in double.namespaces[client.NAMESPACE]} == {"d11"}
    await index.save("mark", [EAST])
    await index.delete("mark")
    assert places(await index.nearest(EAST, ["d11"], 5)) == [("d11", 0)]


async def test_a_replaced_version_is_removed(index: UpstashVectorIndex, double: UpstashDouble) -> None:
    await index.save("d1", [EAST] * 5)
    await index.save("d1", [NORTH])
    assert len(double.namespaces[client.NAMESPACE]) == 2


async def test_an_index_for_shorter_vectors_is_named(
    index: UpstashVectorIndex, double: UpstashDouble
) -> None:
    double.dimension = 2
    with pytest.raises(DependencyMisconfigured, match="takes vectors of 2 numbers, not 3"):
        await index.save("d1", [EAST])


@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        (401, DependencyMisconfigured, "dependency_misconfigured"),
        (403, DependencyMisconfigured, "dependency_misconfigured"),
        (400, DependencyMisconfigured, "dependency_refused"),
        (429, DependencyDown, "dependency_down"),
        (500, DependencyDown, "dependency_down"),
    ],
)
async def test_statuses_become_our_errors_without_the_services_words(
    service: UpstashVector, double: UpstashDouble, status: int, kind: type[DependencyDown], code: str
) -> None:
    double.failures = [status]
    with pytest.raises(DependencyDown) as caught:
        await service.ping()
    assert (type(caught.value), caught.value.code, caught.value.dependency) == (kind, code, "vectors")
    assert "Scripted" not in caught.value.message
    assert TOKEN not in caught.value.message


async def test_a_brief_failure_is_repeated(index: UpstashVectorIndex, double: UpstashDouble) -> None:
    await index.save("d1", [EAST])
    double.failures = [503]
    assert places(await index.nearest(EAST, ["d1"], 1)) == [("d1", 0)]


async def test_a_wrong_token_is_named(double: UpstashDouble) -> None:
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=double.app)) as http:
        with pytest.raises(DependencyMisconfigured, match="UPSTASH_VECTOR_REST_TOKEN"):
            await UpstashVector(http, "http://upstash.test", "wrong").ping()


async def test_an_index_that_does_not_compare_by_cosine_is_not_ready(
    service: UpstashVector, double: UpstashDouble
) -> None:
    await service.ping()
    double.similarity = "EUCLIDEAN"
    with pytest.raises(DependencyMisconfigured, match="COSINE"):
        await service.ping()


async def test_an_answer_that_is_no_json_is_an_outage() -> None:
    html = httpx2.MockTransport(lambda _: httpx2.Response(200, text="<html>"))
    async with httpx2.AsyncClient(transport=html) as http:
        with pytest.raises(DependencyDown, match="cannot be read"):
            await UpstashVector(http, "http://upstash.test", TOKEN).ping()
