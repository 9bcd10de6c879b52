"""What every vector index must do, and what the SQLite one does besides."""

import asyncio
import logging
import math
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devkit.azure.targets import Target
from devkit.shared_data import ROOT
from orc_core.documents.ports import Neighbour, VectorIndex
from orc_core.infra.sqlite import Database
from orc_core.storage.sqlite.vectors import SCHEMA, SqliteVectorIndex

pytestmark = [pytest.mark.contract("vector index"), pytest.mark.slow]

Open = Callable[[str], AbstractAsyncContextManager[VectorIndex]]
"""Opens an index for the vectors of an embedder, as a separate process, over what others have stored."""
Vector = list[float]
DIMENSIONS = (2, 3, 4, 6)
EMBEDDERS = ("test-vectors", "old", "new")

EAST, NORTH, WEST = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]


@asynccontextmanager
async def open_sqlite(folder: Path, embedder: str) -> AsyncIterator[VectorIndex]:
    database = Database(folder / "orc.db")
    await database.migrate(SCHEMA)
    yield SqliteVectorIndex(database, embedder)
    await database.close()


@asynccontextmanager
async def open_azure(target: Target, name: str, embedder: str) -> AsyncIterator[VectorIndex]:
    from devkit.azure.search import connect
    from orc_core.storage.ai_search.vectors import AzureVectorIndex

    async with connect(target, name) as search:
        yield AzureVectorIndex(search, embedder)


@asynccontextmanager
async def open_upstash(target: Target, namespace: str, embedder: str) -> AsyncIterator[VectorIndex]:
    from orc_core.storage.upstash.client import UpstashVector
    from orc_core.storage.upstash.vectors import UpstashVectorIndex

    async with httpx2.AsyncClient() as http:
        yield UpstashVectorIndex(UpstashVector(http, target.url, target.key or "", namespace), embedder)


@pytest.fixture(params=["sqlite", "azure", "upstash"])
def adapter(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def opened(adapter: str, request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Open]:
    if adapter == "sqlite":
        yield lambda embedder: open_sqlite(tmp_path, embedder)
        return
    if adapter == "upstash":
        target: Target = request.getfixturevalue("upstash_target")
        namespace = f"test-{uuid.uuid4().hex}"
        yield lambda embedder: open_upstash(target, namespace, embedder)
        httpx2.delete(
            f"{target.url}/delete-namespace/{namespace}", headers={"Authorization": f"Bearer {target.key}"}
        ).raise_for_status()
        return
    from devkit.azure.search import open_index
    from orc_core.storage.ai_search.index import Embedding

    target = request.getfixturevalue("search_target")
    embeddings = [Embedding(embedder, dimension) for embedder in EMBEDDERS for dimension in DIMENSIONS]
    async with open_index(target, embeddings) as name:
        yield lambda embedder: open_azure(target, name, embedder)


@pytest.fixture
async def pair(opened: Open) -> AsyncIterator[tuple[VectorIndex, VectorIndex]]:
    """Two indexes over the same vectors, as two processes hold them."""
    async with opened("test-vectors") as first, opened("test-vectors") as second:
        yield first, second


@pytest.fixture
def index(pair: tuple[VectorIndex, VectorIndex]) -> VectorIndex:
    return pair[0]


def places(found: list[Neighbour]) -> list[tuple[str, int]]:
    return [(neighbour.document_id, neighbour.ordinal) for neighbour in found]


async def test_the_nearest_come_first_with_their_cosine(pair: tuple[VectorIndex, VectorIndex]) -> None:
    await pair[0].save("d1", [WEST, [3.0, 3.0, 0.0], NORTH, [20.0, 0.0, 0.0]])
    found = await pair[1].nearest([0.5, 0.0, 0.0], ["d1"], 10)
    assert places(found) == [("d1", 3), ("d1", 1), ("d1", 2), ("d1", 0)]
    assert [n.similarity for n in found] == pytest.approx([1, math.sqrt(0.5), 0, -1], abs=1e-6)


async def test_equal_vectors_come_in_reading_order(index: VectorIndex) -> None:
    await index.save("d1", [EAST] * 3)
    assert places(await index.nearest(EAST, ["d1"], 5)) == [("d1", 0), ("d1", 1), ("d1", 2)]


async def test_a_document_out_of_scope_is_never_found_however_near(index: VectorIndex) -> None:
    await index.save("mine", [WEST])
    await index.save("theirs", [EAST, WEST])
    await index.copy("theirs", "theirs-too")
    assert places(await index.nearest(EAST, ["mine"], 10)) == [("mine", 0)]
    assert await index.nearest(EAST, [], 10) == []
    assert await index.nearest(EAST, ["unknown", "the", '"]', "%", "mine,theirs", "' or 1 eq 1"], 10) == []


async def test_a_scope_that_names_a_document_twice_finds_it_once(index: VectorIndex) -> None:
    await index.save("d1", [EAST])
    assert places(await index.nearest(EAST, ["d1", "d1"], 10)) == [("d1", 0)]


@pytest.mark.parametrize("vectors", [[EAST, [1.0]], [[math.nan, 0.0, 0.0]], [EAST, [math.inf, 0.0, 0.0]]])
async def test_a_save_that_fails_leaves_the_vectors_as_they_were(
    index: VectorIndex, vectors: list[Vector]
) -> None:
    await index.save("d1", [NORTH, EAST])
    with pytest.raises(ValueError):
        await index.save("d1", vectors)
    assert places(await index.nearest(EAST, ["d1"], 10)) == [("d1", 1), ("d1", 0)]


async def test_a_vector_without_direction_is_near_to_nothing(index: VectorIndex) -> None:
    await index.save("d1", [[0.0, 0.0, 0.0], EAST])
    first, *others = await index.nearest(EAST, ["d1"], 2)
    assert places([first]) == [("d1", 1)]
    assert first.similarity == pytest.approx(1)
    assert [near.similarity for near in others] in ([], [0.0])
    assert {n.similarity for n in await index.nearest([0.0, 0.0, 0.0], ["d1"], 2)} <= {0.0}


async def test_a_copy_lives_on_without_its_source(index: VectorIndex) -> None:
    await index.save("source", [NORTH, EAST])
    await index.save("target", [WEST, WEST, WEST])
    assert await index.copy("source", "target")
    await index.delete("source")
    assert places(await index.nearest(EAST, ["source", "target"], 10)) == [("target", 1), ("target", 0)]


async def test_a_copy_is_of_every_vector_of_a_long_document(index: VectorIndex) -> None:
    await index.save("source", [[1.0, number / 100, 0.0] for number in range(450)])
    await index.copy("source", "target")
    found = await index.nearest(EAST, ["target"], 1000)
    assert places(found) == [("target", number) for number in range(450)]


async def test_a_copy_of_nothing_is_nothing(index: VectorIndex) -> None:
    await index.save("target", [EAST])
    assert not await index.copy("never there", "target")
    assert await index.nearest(EAST, ["target"], 10) == []


async def test_a_copy_onto_itself_changes_nothing(index: VectorIndex) -> None:
    await index.save("d1", [EAST])
    assert await index.copy("d1", "d1")
    assert places(await index.nearest(EAST, ["d1"], 10)) == [("d1", 0)]


async def test_deleting_a_document_touches_no_other(index: VectorIndex) -> None:
    await index.save("d1", [EAST])
    await index.save("d2", [EAST])
    await index.delete("d1")
    await index.delete("never there")
    assert places(await index.nearest(EAST, ["d1", "d2"], 10)) == [("d2", 0)]


async def test_a_query_of_another_dimension_is_compared_with_nothing(index: VectorIndex) -> None:
    await index.save("d1", [EAST])
    await index.save("d2", [[1.0, 0.0]])
    assert places(await index.nearest([1.0, 0.0], ["d1", "d2"], 10)) == [("d2", 0)]
    assert await index.nearest([1.0, 0.0, 0.0, 0.0, 0.0, 0.0], ["d1", "d2"], 10) == []


async def test_a_reader_never_sees_two_versions_at_once(
    adapter: str, pair: tuple[VectorIndex, VectorIndex]
) -> None:
    await pair[0].save("d1", [EAST] * 40)

    async def replace() -> None:
        for version in range(12):
            await pair[0].save("d1", [(EAST, WEST)[version % 2]] * 40)

    replacing = asyncio.create_task(replace())
    while not replacing.done():
        found = await pair[1].nearest(EAST, ["d1"], 50)
        assert len({round(near.similarity) for near in found}) <= 1
        assert adapter != "sqlite" or len(found) == 40
    await replacing


NUMBERS = st.floats(-100, 100, width=32).map(lambda x: round(x, 2))
VECTORS = st.lists(NUMBERS, min_size=4, max_size=4).filter(any)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=25)
@given(
    documents=st.dictionaries(st.sampled_from("abcd"), st.lists(VECTORS, min_size=1, max_size=6), min_size=1),
    query=VECTORS,
    scope=st.sets(st.sampled_from("abcd")),
    top_k=st.integers(0, 12),
)
async def test_the_ranking_is_that_of_the_definition(
    index: VectorIndex, documents: dict[str, list[Vector]], query: Vector, scope: set[str], top_k: int
) -> None:
    for name in "abcd":
        await index.save(name, documents.get(name, []))
    expected = {(n, i): cosine(v, query) for n in scope for i, v in enumerate(documents.get(n, []))}
    found = await index.nearest(query, sorted(scope), top_k)
    assert len(set(places(found))) == len(found) == min(top_k, len(expected))
    best = sorted(expected.values(), reverse=True)[:top_k]
    assert [n.similarity for n in found] == pytest.approx(best, abs=1e-5)
    assert [n.similarity for n in found] == pytest.approx([expected[p] for p in places(found)], abs=1e-5)


def cosine(one: Vector, other: Vector) -> float:
    lengths = math.hypot(*one) * math.hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=True)) / lengths if lengths else 0.0


async def test_vectors_of_another_embedder_are_skipped_and_reported(
    opened: Open, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened("old") as old, opened("new") as new:
        await old.save("d1", [EAST])
        assert not await new.copy("d1", "copy")
        assert await old.copy("d1", "copy")
        await new.save("d2", [EAST])
        with caplog.at_level(logging.WARNING):
            assert places(await new.nearest(EAST, ["d1", "copy", "d2"], 10)) == [("d2", 0)]
        assert "documents=2" in caplog.text
        assert places(await old.nearest(EAST, ["d1", "copy", "d2"], 10)) == [("copy", 0), ("d1", 0)]
        await new.delete("d1")
        assert places(await old.nearest(EAST, ["d1", "copy", "d2"], 10)) == [("copy", 0)]


async def test_vectors_replace_those_of_another_embedder(opened: Open) -> None:
    async with opened("old") as old, opened("new") as new:
        await old.save("d1", [EAST])
        await new.save("d1", [NORTH])
        assert await old.nearest(EAST, ["d1"], 10) == []
        assert places(await new.nearest(EAST, ["d1"], 10)) == [("d1", 0)]


async def test_of_equal_vectors_sqlite_gives_those_that_come_first(tmp_path: Path) -> None:
    async with open_sqlite(tmp_path, "test-vectors") as index:
        await index.save("d1", [EAST] * 5)
        assert places(await index.nearest(EAST, ["d1"], 3)) == [("d1", 0), ("d1", 1), ("d1", 2)]


PROGRAM = """
import asyncio, sys
from pathlib import Path
from orc_core.storage.sqlite import passages as passage_table, vectors as vector_table
from orc_core.models import Page
from orc_core.documents.passages import split_pages
from orc_core.search.hybrid import HybridRetriever
from orc_core.storage.sqlite.passages import SqlitePassageIndex
from orc_core.storage.sqlite.vectors import SqliteVectorIndex
from orc_core.llm.embeddings import build_embedder
from orc_core.llm.provider import open_provider
from orc_core.llm.tokens import TokenCounter
from orc_core.infra.settings import CoreSettings
from orc_core.infra.sqlite import Database

async def main():
    database = Database(Path(sys.argv[1]))
    await database.migrate(passage_table.SCHEMA, vector_table.SCHEMA)
    index, vectors = SqlitePassageIndex(database), SqliteVectorIndex(database)
    settings = CoreSettings(_env_file=None)
    embedder = build_embedder(settings, TokenCounter(), open_provider(settings))
    await index.save("d1", "a.pdf", split_pages("d1", [Page(number=1, text="The harbour is open.")]))
    retrieval = await HybridRetriever(index, vectors, embedder).search("When is the harbor open?", ["d1"], 5)
    await vectors.copy("d1", "d2")
    await vectors.delete("d1")
    await database.close()
    assert retrieval.hits

asyncio.run(main())
heavy = {"numpy", "openai", "langchain_openai"} & set(sys.modules)
sys.exit(f"imported: {heavy}" if heavy else 0)
"""


@pytest.mark.slow
def test_a_process_without_an_embedder_never_imports_numpy(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "orc.db")]
    environment = {"PYTHONPATH": str(ROOT)}
    run = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
