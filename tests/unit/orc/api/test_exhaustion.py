"""Full and read-only disks, too many open files: what is named; nothing is half stored; one log line."""

import errno
import logging
import os
import shutil
import tempfile
import uuid
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from devkit.fakes import FakeTools
from devkit.graph_turns import says
from devkit.traced_turns import api

pytestmark = pytest.mark.slow

CONVERSATION = str(uuid.uuid4())
DOCUMENTS = f"/conversations/{CONVERSATION}/documents"
FILE = ("file", ("a.txt", b"The mooring fee is 410 euros a day."))
SPOOLED = ("file", ("b.txt", b"The mooring fee is 410 euros a day.\n" * 40_000))

Break = Callable[[pytest.MonkeyPatch], None]


def raising(number: int) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail


def fill_temporary_folder(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(shutil, "copyfileobj", raising(errno.ENOSPC))


def fill_temporary_folder_before_the_route(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(tempfile.SpooledTemporaryFile, "rollover", raising(errno.EDQUOT))


def fill_disk_of_documents(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(os, "fsync", raising(errno.ENOSPC))


def forbid_writing_documents(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(os, "fsync", raising(errno.EROFS))


def forbid_writing_temporary_files(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(shutil, "copyfileobj", raising(errno.EROFS))


def open_too_many_files(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(tempfile, "mkdtemp", raising(errno.EMFILE))


def open_too_many_files_of_the_system(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(os, "utime", raising(errno.ENFILE))


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with api(tmp_path, None, says("Hello."), FakeTools()) as opened:
        # Starts the child that reads files, which needs descriptors too.
        assert (await upload(opened, "warm.txt")).status_code == 201
        yield opened


async def upload(client: httpx.AsyncClient, name: str) -> httpx.Response:
    file = ("file", (name, FILE[1][1]))
    return await client.post(f"/conversations/{uuid.uuid4()}/documents", files=[file])


@pytest.mark.parametrize(
    ("break_it", "file", "status", "code", "words"),
    [
        (fill_temporary_folder, FILE, 507, "disk_full", "The disk of the temporary folder is full."),
        (
            fill_temporary_folder_before_the_route,
            SPOOLED,
            507,
            "disk_full",
            "The disk of the temporary folder is full.",
        ),
        (fill_disk_of_documents, FILE, 507, "disk_full", "The disk of the documents is full."),
        (
            forbid_writing_documents,
            FILE,
            503,
            "disk_read_only",
            "The disk of the documents cannot be written, because its file system is read-only.",
        ),
        (
            forbid_writing_temporary_files,
            FILE,
            503,
            "disk_read_only",
            "The disk of the temporary folder cannot be written, because its file system is read-only.",
        ),
        (open_too_many_files, FILE, 503, "too_many_open_files", "Orc has reached its limit of open files."),
        (
            open_too_many_files_of_the_system,
            FILE,
            503,
            "too_many_open_files",
            "The server has too many open files.",
        ),
    ],
)
async def test_an_upload_names_what_is_exhausted_and_leaves_nothing(
    client: httpx.AsyncClient,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    break_it: Break,
    file: Any,
    status: int,
    code: str,
    words: str,
) -> None:
    with pytest.MonkeyPatch.context() as patch, caplog.at_level(logging.INFO):
        break_it(patch)
        refused = await client.post(DOCUMENTS, files=[file])
    problem = refused.json()
    assert (refused.status_code, problem["code"], problem["retryable"]) == (status, code, True)
    assert words in problem["detail"]
    assert refused.headers["retry-after"]
    assert str(tmp_path) not in refused.text
    [record] = [each for each in caplog.records if each.levelno >= logging.WARNING]
    assert record.getMessage().startswith(code)
    assert record.exc_info is None
    assert (await client.get(DOCUMENTS)).status_code == 404
    assert not (tmp_path / "blobs" / "local" / "me" / CONVERSATION).exists()
    assert list((tmp_path / "blobs" / ".incoming").iterdir()) == []
    assert (await client.post(DOCUMENTS, files=[file])).status_code == 201
