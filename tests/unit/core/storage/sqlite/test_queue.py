"""What looking for a job costs."""

from pathlib import Path

from core.infra.sqlite import Database, Result, Work
from core.models import BlobProperties, Document, JobKind
from core.names import BlobPath, Owner
from core.storage.sqlite.queue import SCHEMA, SqliteJobQueue


class CountedReads(Database):
    """A database that counts its reads."""

    reads = 0

    async def read(self, work: Work[Result]) -> Result:
        self.reads += 1
        return await super().read(work)


async def test_looks_for_nothing_read_nothing(tmp_path: Path) -> None:
    database = CountedReads(tmp_path / "orc.db")
    await database.migrate(SCHEMA)
    queue = SqliteJobQueue(database)
    assert await queue.lease(6.0) is None
    before = database.reads
    for _ in range(3):
        assert await queue.lease(6.0) is None
    assert database.reads == before
    path = BlobPath(Owner("acme", "ann", "c1"), "a.pdf")
    document = Document.first_seen(BlobProperties(path=path, etag="1", size=1))
    await queue.enqueue(document, JobKind.INGEST)
    assert await queue.lease(6.0, ["acme"]) is None
    assert await queue.lease(6.0) is not None
    await database.close()
