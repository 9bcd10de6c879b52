"""A process that waits hears the others at once, and goes on by itself if it does not."""

import asyncio
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core.infra.doorbell import SECONDS_WITHOUT, Doorbell

pytestmark = pytest.mark.slow

LONG = 60.0
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="other systems report no changes of files")


@pytest.fixture
def bell(tmp_path: Path) -> Iterator[Doorbell]:
    made = Doorbell(tmp_path / "bell")
    yield made
    made.close()


@linux_only
async def test_another_process_rings(bell: Doorbell, tmp_path: Path) -> None:
    await bell.wait(0)
    waiting = asyncio.create_task(bell.wait(LONG))
    code = (
        "import sys, pathlib; from core.infra.doorbell import Doorbell\n"
        "Doorbell(pathlib.Path(sys.argv[1])).ring()"
    )
    await asyncio.to_thread(subprocess.run, [sys.executable, "-c", code, str(tmp_path / "bell")], check=True)
    async with asyncio.timeout(5):
        await waiting


@linux_only
async def test_all_that_wait_hear_it(bell: Doorbell, tmp_path: Path) -> None:
    others = [Doorbell(tmp_path / "bell") for _ in range(3)]
    for each in others:
        await each.wait(0)
    waiting = [asyncio.create_task(each.wait(LONG)) for each in others]
    bell.ring()
    async with asyncio.timeout(5):
        await asyncio.gather(*waiting)
    for each in others:
        each.close()


@linux_only
async def test_a_ring_before_the_wait_counts_once(bell: Doorbell) -> None:
    await bell.wait(0)
    bell.ring()
    async with asyncio.timeout(5):
        await bell.wait(LONG)
    before = time.monotonic()
    await bell.wait(0.2)
    assert time.monotonic() - before > 0.15


def remove_file(path: Path) -> None:
    path.unlink()


def replace_file(path: Path) -> None:
    (path.parent / "other").touch()
    (path.parent / "other").replace(path)


def move_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name("moved"))
    path.parent.mkdir()


@linux_only
@pytest.mark.parametrize("lose", [remove_file, replace_file, move_folder])
async def test_a_file_that_was_lost_is_made_and_watched_again(
    lose: Callable[[Path], None], tmp_path: Path
) -> None:
    path = tmp_path / "data" / "bell"
    path.parent.mkdir()
    bell, before = Doorbell(path), open_files()
    for _ in range(3):
        await bell.wait(0)
        lose(path)
        await bell.wait(0.1)  # which the loss may end
        assert path.exists()
        waiting = asyncio.create_task(bell.wait(LONG))
        await asyncio.sleep(0)
        Doorbell(path).ring()
        async with asyncio.timeout(5):
            await waiting
        shutil.rmtree(tmp_path / "moved", ignore_errors=True)
    bell.close()
    assert open_files() == before


def open_files() -> set[str]:
    return {entry.name for entry in Path("/proc/self/fd").iterdir()}


@linux_only
async def test_a_folder_that_comes_back_is_watched_again(tmp_path: Path) -> None:
    path = tmp_path / "data" / "bell"
    path.parent.mkdir()
    bell = Doorbell(path)
    await bell.wait(0)
    shutil.rmtree(path.parent)
    await bell.wait(0.1)
    async with asyncio.timeout(5):
        await bell.wait(LONG)
    path.parent.mkdir()
    await bell.wait(0)
    before = time.monotonic()
    await bell.wait(0.2)
    assert time.monotonic() - before > 0.15, "it watches instead of polling"
    bell.close()


async def test_waiting_ends_without_a_ring(bell: Doorbell) -> None:
    async with asyncio.timeout(5):
        await bell.wait(0.05)


async def test_what_cannot_be_watched_is_polled(tmp_path: Path) -> None:
    bell, before = Doorbell(tmp_path / "missing" / "bell"), time.monotonic()
    bell.ring()
    await bell.wait(LONG)
    assert SECONDS_WITHOUT / 2 < time.monotonic() - before < LONG / 2
    bell.close()
