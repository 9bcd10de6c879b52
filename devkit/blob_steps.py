"""Steps that tests of blob stores share."""

from collections.abc import Callable
from pathlib import Path

from orc_core.documents.ports import BlobStore
from orc_core.names import BlobPath

Write = Callable[[bytes], Path]
"""Writes bytes into a file, and says where it is."""


async def content(store: BlobStore, path: BlobPath) -> bytes:
    """The bytes of a blob."""
    async with store.local_copy(path) as local:
        return local.read_bytes()


def source_in(folder: Path) -> Write:
    """Writes bytes into a file of this folder, always the same one, and says where it is."""

    def write(content: bytes) -> Path:
        path = folder / "source"
        path.write_bytes(content)
        return path

    return write
