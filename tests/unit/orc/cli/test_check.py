"""`orc check` says what is missing, has a worker make it again, and compares again."""

import asyncio
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from orc.cli.check import check
from orc.conversations.turn_log import TurnLog
from orc.settings import Settings
from orc_core.bootstrap import open_documents
from orc_core.names import BlobPath, Owner

pytestmark = pytest.mark.slow

OWNER = Owner("local", "me", "c1")


async def checked(settings: Settings, *, repairs: bool = False, rebuilds: bool = False) -> tuple[bool, str]:
    """Whether nothing is missing, and what is printed, next to a process that works."""
    console = Console(file=StringIO(), width=200)
    async with open_documents(settings) as documents:
        working = asyncio.create_task(documents.worker.run())
        try:
            is_whole = await check(settings, console, repairs=repairs, rebuilds=rebuilds)
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
    assert isinstance(console.file, StringIO)
    return is_whole, console.file.getvalue()


async def test_what_is_missing_is_said_and_repaired_on_request(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data", ocr="off", page_analysis="off")
    (source := tmp_path / "fees.txt").write_text("The mooring fee is 410 euros.")
    async with open_documents(settings) as documents:
        stored = await documents.library.upload(OWNER, "fees.txt", source)
        await documents.worker.drain()
        await documents.stores.index.delete(stored.document_id)
    assert not (await checked(settings))[0]
    is_whole, said = await checked(settings, repairs=True)
    assert is_whole
    assert said.index("1 document (local/me/c1/fees.txt) not in the search index.") < said.index(
        "no damage found"
    )
    assert await checked(settings) == (True, "ok  data: no damage found\n")


async def test_a_file_without_a_session_is_shown_to_its_user_again(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data", ocr="off", page_analysis="off")
    folder = settings.blobs_dir.joinpath(*OWNER.key)
    folder.mkdir(parents=True)
    (folder / "fees.txt").write_text("The mooring fee is 410 euros.")
    is_whole, said = await checked(settings, repairs=True)
    assert is_whole and "1 document (local/me/c1/fees.txt) in the files but not in the records." in said
    async with open_documents(settings) as documents:
        head = await TurnLog(await documents.clients.items("conversations")).head(OWNER)
        document = await documents.stores.get(BlobPath(OWNER, "fees.txt"))
    assert head and head.title == "fees.txt"
    assert document and document.status == "completed"


async def test_everything_is_made_again_on_request(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data", ocr="off", page_analysis="off")
    (source := tmp_path / "fees.txt").write_text("The mooring fee is 410 euros.")
    async with open_documents(settings) as documents:
        before = await documents.library.upload(OWNER, "fees.txt", source)
        await documents.worker.drain()
    assert (await checked(settings, rebuilds=True))[0]
    async with open_documents(settings) as documents:
        after = await documents.stores.get(before.path)
    assert after and after.generation != before.generation
