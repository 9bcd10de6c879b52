"""Properties of document names: uploads and references round-trip, and paths stay in the owner's folder."""

import unicodedata
from pathlib import Path
from urllib.parse import quote, unquote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orc_core.errors import OrcError, UnsafeName
from orc_core.names import Owner, name_for_upload, resolve_blob_name
from orc_core.storage.folder import FolderBlobStore

pytestmark = pytest.mark.slow

OWNER = Owner("acme", "ann", "c1")
PLAIN = "a é e\u0301 报 .. . / \\ % %2f %2e %25 \u202e \u200d acme/ann/c1/ globex/ ~ C: $HOME - .pdf CON"
PIECES = st.sampled_from([*PLAIN.split(" "), " ", "\0", "\n"])
NAMES = st.one_of(st.lists(PIECES, max_size=10).map("".join), st.text(max_size=80))


def kept(name: str) -> str | None:
    """The stored name of an upload; None if it is refused."""
    try:
        return name_for_upload(name)
    except UnsafeName:
        return None


@given(NAMES)
def test_an_accepted_name_is_a_plain_file_name_in_any_decoding(name: str) -> None:
    if (stored := kept(name)) is None:
        return
    assert unquote(stored) == stored
    assert Path(stored).name == stored
    assert unicodedata.normalize("NFC", stored) == stored
    assert resolve_blob_name(unquote(quote(stored)), OWNER).file == stored


@given(
    NAMES, st.sampled_from([Owner("acme", "bob", "c1"), Owner("acme", "ann", "c2"), Owner("b", "ann", "c1")])
)
def test_no_name_resolves_to_another_owner(name: str, other: Owner) -> None:
    for tried in (
        name,
        other.prefix + name,
        "../c2/" + name,
        OWNER.prefix + "../../../" + other.prefix + name,
    ):
        try:
            path = resolve_blob_name(tried, OWNER)
        except OrcError:
            continue
        assert path.owner == OWNER
        assert str(path).startswith(OWNER.prefix)
        assert "/" not in path.file


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(NAMES)
async def test_nothing_is_written_outside_the_owners_folder(tmp_path: Path, name: str) -> None:
    try:
        path = resolve_blob_name(name, OWNER)
    except OrcError:
        return
    source = tmp_path / "source"
    source.write_bytes(b"text")
    store = FolderBlobStore(tmp_path / "blobs")
    blob = await store.put(path, source)
    try:
        assert blob.path == path
        assert [found.path for found in await store.list_in(OWNER)] == [path]
        assert files_outside(tmp_path, "blobs") == [source]
        async with store.local_copy(path) as copy:
            assert copy.read_bytes() == b"text"
    finally:
        await store.delete(path)
    assert await store.list_in(OWNER) == []


def files_outside(folder: Path, inner: str) -> list[Path]:
    return [p for p in folder.rglob("*") if p.is_file() and inner not in p.relative_to(folder).parts]
