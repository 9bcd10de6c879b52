"""What the folder store does besides what every blob store does."""

import asyncio
import fcntl
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from devkit.blob_steps import Write, content
from orc_core.errors import DependencyDown, NotFound, UnsafeName
from orc_core.names import BlobPath, Owner
from orc_core.storage.folder import ABANDONED_SECONDS, INCOMING, FolderBlobStore, Look

OWNER = Owner("acme", "ann", "c1")
PATH = BlobPath(OWNER, "a.txt")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "blobs"


@pytest.fixture
def folder(root: Path) -> FolderBlobStore:
    return FolderBlobStore(root)


async def test_a_put_that_fails_in_mid_copy_leaves_what_was_there(
    folder: FolderBlobStore, root: Path, write: Write
) -> None:
    before = await folder.put(PATH, write(b"before"))
    large = write(b"x" * 1_000_000)
    with files_limited_to(500_000), pytest.raises(DependencyDown) as failed:
        await folder.put(PATH, large)
    assert failed.value.dependency == "blobs"
    assert await folder.head(PATH) == before
    assert files_below(root) == [root / str(PATH)]


@pytest.mark.slow
async def test_a_process_killed_in_mid_copy_leaves_what_was_there(
    folder: FolderBlobStore, root: Path, tmp_path: Path, write: Write
) -> None:
    before = await folder.put(PATH, write(b"before"))
    kill_a_put_in_mid_copy(root, tmp_path / "pipe")
    assert len(names_in(root / INCOMING)) == 1
    assert await folder.head(PATH) == before
    assert await folder.list_in(OWNER) == [before]


async def test_ping_and_put_say_that_the_store_is_down(
    root: Path, folder: FolderBlobStore, write: Write
) -> None:
    write(b"a file where the folder should be").rename(root)
    with pytest.raises(DependencyDown):
        await folder.ping()
    with pytest.raises(DependencyDown):
        await folder.put(PATH, write(b"hello"))


async def test_a_put_of_a_file_that_is_not_there_stores_nothing(
    folder: FolderBlobStore, tmp_path: Path
) -> None:
    with pytest.raises(DependencyDown):
        await folder.put(PATH, tmp_path / "missing")
    assert await folder.head(PATH) is None


async def test_files_that_others_put_there_are_blobs(folder: FolderBlobStore, root: Path) -> None:
    target = root / str(PATH)
    target.parent.mkdir(parents=True)
    target.write_bytes(b"by hand")
    first = await folder.head(PATH)
    assert first is not None
    assert await folder.list_in(OWNER) == [first]
    target.write_bytes(b"by hand, and again")
    second = await folder.head(PATH)
    assert second is not None
    assert second.etag != first.etag


async def test_a_listing_leaves_out_folders_and_names_that_no_document_may_have(
    folder: FolderBlobStore, root: Path, write: Write
) -> None:
    await folder.put(PATH, write(b"hello"))
    put_oddities_into(root / OWNER.prefix)
    assert [blob.path for blob in await folder.list_in(OWNER)] == [PATH]
    assert await folder.head(BlobPath(OWNER, "folder")) is None


async def test_a_look_at_a_blob_says_that_the_store_is_down(root: Path, write: Write) -> None:
    fails = False

    def look(path: Path) -> os.stat_result | None:
        if fails:
            raise PermissionError(path)
        return path.lstat() if path.exists() else None

    folder = FolderBlobStore(root, look=look)
    await folder.put(PATH, write(b"hello"))
    fails = True
    with pytest.raises(DependencyDown):
        await folder.head(PATH)


async def test_a_symbolic_link_is_an_absent_blob(folder: FolderBlobStore, root: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    link = root / str(PATH)
    link.parent.mkdir(parents=True)
    link.symlink_to(secret)
    assert await folder.head(PATH) is None
    assert await folder.list_in(OWNER) == []
    with pytest.raises(NotFound):
        await content(folder, PATH)
    await folder.delete(PATH)
    assert secret.read_text() == "secret"


async def test_a_put_replaces_a_symbolic_link_and_not_its_target(
    folder: FolderBlobStore, root: Path, tmp_path: Path, write: Write
) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    (root / OWNER.prefix).mkdir(parents=True)
    (root / str(PATH)).symlink_to(secret)
    await folder.put(PATH, write(b"mine"))
    assert await content(folder, PATH) == b"mine"
    assert secret.read_text() == "secret"


@pytest.mark.parametrize("linked", ["acme", "acme/ann", "acme/ann/c1"])
async def test_a_folder_that_is_a_symbolic_link_is_absent(
    folder: FolderBlobStore, root: Path, tmp_path: Path, write: Write, linked: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    inside = elsewhere / Path(str(PATH)).relative_to(linked)
    inside.parent.mkdir(parents=True)
    inside.write_text("secret")
    (root / linked).parent.mkdir(parents=True)
    (root / linked).symlink_to(elsewhere, target_is_directory=True)
    assert await folder.head(PATH) is None
    assert await folder.list_in(OWNER) == []
    await folder.delete(PATH)
    with pytest.raises(DependencyDown):
        await folder.put(PATH, write(b"mine"))
    assert inside.read_text() == "secret"
    assert files_below(elsewhere) == [inside]


async def test_a_delete_takes_emptied_folders_with_it(
    folder: FolderBlobStore, root: Path, write: Write
) -> None:
    neighbour = BlobPath(Owner("acme", "ann", "c2"), "b.txt")
    await folder.put(PATH, write(b"a"))
    await folder.put(neighbour, write(b"b"))
    await folder.delete(PATH)
    assert names_in(root / "acme/ann") == ["c2"]
    await folder.delete(neighbour)
    assert names_in(root) == [INCOMING]


async def test_a_put_clears_what_a_killed_process_left_long_ago(
    folder: FolderBlobStore, root: Path, write: Write
) -> None:
    await folder.ping()
    old, recent = root / INCOMING / "old", root / INCOMING / "recent"
    for left in (old, recent):
        left.write_text("half of a fi")
    long_ago = time.time() - ABANDONED_SECONDS - 60
    os.utime(old, (long_ago, long_ago))
    await folder.put(PATH, write(b"hello"))
    assert names_in(root / INCOMING) == ["recent"]


async def test_a_put_is_stamped_more_finely_than_the_system_does(
    folder: FolderBlobStore, root: Path, write: Write
) -> None:
    """Two puts within one tick of the kernel's clock could otherwise have the same ETag."""
    source = write(b"hello")
    for _ in range(20):
        before = time.time_ns()
        await folder.put(PATH, source)
        assert before <= (root / str(PATH)).stat().st_mtime_ns <= time.time_ns()


def blind_to_case(path: Path) -> os.stat_result | None:
    """The `lstat` of a disk that ignores case, for the last part of a path."""
    if not path.parent.is_dir():
        return None
    same = (each for each in path.parent.iterdir() if each.name.casefold() == path.name.casefold())
    return next((each.lstat() for each in same), None)


def distinct_if_case_is_ignored(folder: Path) -> bool:
    names = [name.casefold() for name in names_in(folder)]
    return len(set(names)) == len(names)


@pytest.mark.parametrize("look", [None, blind_to_case], ids=["this disk", "a disk that ignores case"])
async def test_names_that_differ_by_case_alone_are_two_documents_and_two_files(
    root: Path, write: Write, look: Look | None
) -> None:
    folder = FolderBlobStore(root, look=look)
    names = ["Report.pdf", "report.pdf", "REPORT.PDF", "straße.txt", "STRASSE.txt"]
    for name in names:
        assert await folder.head(BlobPath(OWNER, name)) is None
        await folder.put(BlobPath(OWNER, name), write(name.encode()))
    assert distinct_if_case_is_ignored(root / OWNER.prefix)
    assert names_in(root / OWNER.prefix)[1] == "Report.pdf"
    assert [blob.path.file for blob in await folder.list_in(OWNER)] == sorted(names)
    for name in names:
        assert await content(folder, BlobPath(OWNER, name)) == name.encode()
        await folder.put(BlobPath(OWNER, name), write(b"again " + name.encode()))
    assert len(names_in(root / OWNER.prefix)) == len(names)
    await folder.delete(BlobPath(OWNER, "report.pdf"))
    assert await folder.head(BlobPath(OWNER, "report.pdf")) is None
    assert await content(folder, BlobPath(OWNER, "Report.pdf")) == b"again Report.pdf"


@pytest.mark.parametrize("look", [None, blind_to_case], ids=["this disk", "a disk that ignores case"])
async def test_users_whose_ids_differ_by_case_alone_do_not_share_a_folder(
    root: Path, write: Write, look: Look | None
) -> None:
    folder = FolderBlobStore(root, look=look)
    mine, theirs = BlobPath(Owner("acme", "Ann", "c1"), "a.txt"), BlobPath(OWNER, "b.txt")
    await folder.put(mine, write(b"mine"))
    assert await folder.list_in(OWNER) == []
    await folder.put(theirs, write(b"theirs"))
    assert distinct_if_case_is_ignored(root / "acme")
    assert [blob.path for blob in await folder.list_in(mine.owner)] == [mine]
    assert [blob.path for blob in await folder.list_in(OWNER)] == [theirs]


async def test_puts_at_the_same_time_under_names_that_differ_by_case_take_two_files(
    root: Path, write: Write
) -> None:
    names = [f"{'ab'[n // 8]}{'xX'[n % 2]}{'yY'[n // 2 % 2]}{'zZ'[n // 4 % 2]}.txt" for n in range(16)]
    sources = {name: write(name.encode()) for name in names}
    stores = [FolderBlobStore(root) for _ in range(4)]
    puts = (stores[n % 4].put(BlobPath(OWNER, name), sources[name]) for n, name in enumerate(names))
    await asyncio.gather(*puts)
    assert distinct_if_case_is_ignored(root / OWNER.prefix)
    assert [blob.path.file for blob in await stores[0].list_in(OWNER)] == sorted(names)


UNSAFE = [
    "a:b.pdf",
    "CON.pdf",
    "nul",
    "com1.txt",
    "what?.pdf",
    "ends in a dot.",
    'x"y*z<1>|2.txt',
    ".incoming",
]
STORABLE_ANYWHERE = re.compile(r'(?!(con|nul|com\d)(\.|$))[^<>:"/\\|?*]*[^<>:"/\\|?*. ]', re.I)


async def test_names_that_some_system_cannot_store_are_stored_under_others(
    folder: FolderBlobStore, root: Path, write: Write
) -> None:
    for name in UNSAFE:
        await folder.put(BlobPath(OWNER, name), write(name.encode()))
    assert [name for name in names_in(root / OWNER.prefix) if not STORABLE_ANYWHERE.fullmatch(name)] == []
    assert [blob.path.file for blob in await folder.list_in(OWNER)] == sorted(UNSAFE)
    for name in UNSAFE:
        assert await content(folder, BlobPath(OWNER, name)) == name.encode()


async def test_an_organization_that_is_called_as_our_own_folder_gets_another_one(
    folder: FolderBlobStore, root: Path, write: Write
) -> None:
    path = BlobPath(Owner(INCOMING, "ann", "c1"), "a.txt")
    await folder.put(path, write(b"mine"))
    assert names_in(root / INCOMING) == []
    assert [blob.path for blob in await folder.list_in(path.owner)] == [path]


@pytest.mark.parametrize("name", [*UNSAFE, "Report.pdf"])
async def test_a_file_that_others_or_earlier_versions_stored_as_it_is_called_stays_there(
    folder: FolderBlobStore, root: Path, write: Write, name: str
) -> None:
    path = BlobPath(OWNER, name)
    (root / OWNER.prefix).mkdir(parents=True)
    (root / str(path)).write_bytes(b"theirs")
    (root / OWNER.prefix / name.swapcase()).write_bytes(b"another")
    assert await content(folder, path) == b"theirs"
    assert len(await folder.list_in(OWNER)) == len({name, name.swapcase()})
    await folder.put(path, write(b"mine"))
    assert (root / str(path)).read_bytes() == b"mine"
    await folder.delete(path)
    assert await folder.head(path) is None


async def test_a_deletion_removes_every_file_of_the_name(
    folder: FolderBlobStore, root: Path, write: Write
) -> None:
    path = BlobPath(OWNER, "a:b.txt")
    await folder.put(path, write(b"mine"))
    (root / str(path)).write_bytes(b"put there by another process")
    await folder.delete(path)
    assert await folder.head(path) is None
    assert names_in(root) == [INCOMING]


async def test_no_put_comes_between_the_comparison_and_the_deletion(
    folder: FolderBlobStore, root: Path, write: Write
) -> None:
    before = await folder.put(PATH, write(b"before"))
    (staged := root / INCOMING / "staged").write_bytes(b"after")

    def look(path: Path) -> os.stat_result | None:
        found = path.lstat() if path.exists() else None
        if path.name == PATH.file:
            descriptor = os.open(root / INCOMING, os.O_RDONLY)
            # As a put of another process, which waits for the lock.
            with suppress(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                staged.replace(path)
            os.close(descriptor)
        return found

    await FolderBlobStore(root, look=look).delete(PATH, before.etag)
    assert staged.exists()


@pytest.mark.parametrize("name", ["50%.txt", "a%3ab.txt", "a%3A%3Ab.txt%~00000000", "%ff.txt", "%41.txt"])
async def test_a_file_of_others_with_a_percent_sign_is_no_document(
    folder: FolderBlobStore, root: Path, name: str
) -> None:
    (root / OWNER.prefix).mkdir(parents=True)
    (root / OWNER.prefix / name).write_bytes(b"theirs")
    assert await folder.list_in(OWNER) == []


async def test_a_name_too_long_for_a_second_form_is_refused_only_next_to_its_like(
    folder: FolderBlobStore, write: Write
) -> None:
    name = "x" * 251 + ".pdf"
    await folder.put(BlobPath(OWNER, name), write(b"first"))
    with pytest.raises(UnsafeName, match="differs by case alone"):
        await folder.put(BlobPath(OWNER, name.upper()), write(b"second"))
    await folder.put(BlobPath(OWNER, "y:" + "y" * 249 + ".pdf"), write(b"long"))
    assert len(await folder.list_in(OWNER)) == 2
    assert await content(folder, BlobPath(OWNER, name)) == b"first"


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def put_oddities_into(folder: Path) -> None:
    (folder / "folder").mkdir()
    for name in (
        b"50%.txt",
        b"cafe\xcc\x81.txt",
        b"bidi\xe2\x80\xae.txt",
        b"not-utf-8-\xff.txt",
        b" space.txt",
    ):
        (folder / os.fsdecode(name)).write_text("x")


@contextmanager
def files_limited_to(size: int) -> Iterator[None]:
    """Make every write beyond `size` bytes of a file fail, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


PUT_FROM_PIPE = """
import asyncio, pathlib, sys
from orc_core.storage.folder import FolderBlobStore
from orc_core.names import BlobPath, Owner
root, pipe = map(pathlib.Path, sys.argv[1:])
asyncio.run(FolderBlobStore(root).put(BlobPath(Owner("acme", "ann", "c1"), "a.txt"), pipe))
"""


def kill_a_put_in_mid_copy(root: Path, pipe: Path) -> None:
    os.mkfifo(pipe)
    with subprocess.Popen([sys.executable, "-c", PUT_FROM_PIPE, str(root), str(pipe)]) as putting:
        with pipe.open("wb", buffering=0) as writer:
            # More than a pipe holds: when this returns, the other side has read the first part.
            writer.write(b"x" * 500_000)
            putting.kill()
        putting.wait()
