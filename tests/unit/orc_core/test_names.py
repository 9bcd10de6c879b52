"""The one module that parses and builds document names refuses whatever could leave its folder."""

import unicodedata
import uuid
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from orc_core.errors import NotFound, OrcError, UnsafeName
from orc_core.names import (
    MAX_SEGMENT_BYTES,
    BlobPath,
    Owner,
    check_segment,
    missing_document,
    name_for_upload,
    page_id,
    resolve_blob_name,
)

OWNER = Owner("acme", "ann", "c1")
ANYTHING = st.text(st.characters(codec=None, exclude_categories=()), max_size=60)
NASTY = st.lists(
    st.sampled_from([*"abé./\\%\0\n\r\t \u202e\u2066\u200b\ufeff\u2028", "..", "%2e", "e\u0301", "\ud800"]),
    max_size=12,
).map("".join)


def accepted(segment: str) -> bool:
    try:
        check_segment(segment)
    except UnsafeName:
        return False
    return True


SAFE = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=40)
SEGMENTS = SAFE.map(lambda text: unicodedata.normalize("NFC", text)).filter(accepted)


@given(ANYTHING | NASTY)
@example("..")
@example("../../../globex/bob/c2/secret.pdf")
@example("acme/ann/c1/../../../globex/bob/c2/secret.pdf")
def test_an_accepted_name_stays_in_its_folder(name: str) -> None:
    try:
        path = resolve_blob_name(name, OWNER)
    except OrcError:
        return
    root = Path("/blobs")
    assert Path(*(root / str(path)).parts).resolve().parent == root / "acme" / "ann" / "c1"
    assert PurePosixPath(str(path)).parts == ("acme", "ann", "c1", path.file)


@given(ANYTHING | NASTY)
def test_an_accepted_segment_is_one_visible_nfc_segment(segment: str) -> None:
    if not accepted(segment):
        return
    assert segment not in {"", ".", ".."}
    assert not set(segment) & set("/\\%\0")
    assert segment == segment.strip() == unicodedata.normalize("NFC", segment)
    assert 0 < len(segment.encode()) <= MAX_SEGMENT_BYTES
    assert not any(unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"} for character in segment)
    assert not any(unicodedata.bidirectional(character) in _BIDI_CONTROLS for character in segment)


_BIDI_CONTROLS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


@pytest.mark.slow
@given(SEGMENTS, SEGMENTS, SEGMENTS, SEGMENTS)
def test_a_built_path_parses_back(organization: str, user: str, conversation: str, file: str) -> None:
    path = BlobPath(Owner(organization, user, conversation), file)
    assert resolve_blob_name(str(path), path.owner) == path
    assert resolve_blob_name(f"documents/{path}", path.owner) == path, "with the container"
    assert resolve_blob_name(file, path.owner) == path


@pytest.mark.slow
@given(SEGMENTS, SEGMENTS)
def test_two_names_never_share_a_document_id(first: str, second: str) -> None:
    assume(first != second)
    assert BlobPath(OWNER, first).document_id != BlobPath(OWNER, second).document_id


@given(st.tuples(SEGMENTS, SEGMENTS, SEGMENTS), SEGMENTS)
def test_a_path_of_another_owner_looks_like_a_missing_document(
    folder: tuple[str, str, str], file: str
) -> None:
    owner = Owner(*folder)
    assume(owner != OWNER)
    name = owner.prefix + file
    with pytest.raises(NotFound) as refused:
        resolve_blob_name(name, OWNER)
    assert refused.value.message == missing_document(name).message


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("", id="empty"),
        pytest.param("   ", id="blank"),
        pytest.param(".", id="dot"),
        pytest.param("..", id="dot-dot"),
        pytest.param("../b.pdf", id="up"),
        pytest.param("acme/ann/c1/..", id="path-ends-up"),
        pytest.param("acme/ann/c1/../c2/b.pdf", id="up-and-down"),
        pytest.param("/etc/passwd", id="absolute"),
        pytest.param("acme//ann/c1/b.pdf", id="empty-part"),
        pytest.param("acme/ann/c1/", id="no-file"),
        pytest.param("c1/b.pdf", id="half-a-path"),
        pytest.param("documents/acme/ann/c1/deeper/b.pdf", id="too-deep"),
        pytest.param("%2e%2e", id="encoded"),
        pytest.param("..%2fb.pdf", id="encoded-slash"),
        pytest.param("%252e%252e%252fb.pdf", id="encoded-twice"),
        pytest.param("..\\b.pdf", id="backslash"),
        pytest.param("C:\\b.pdf", id="drive"),
        pytest.param("b\0.pdf", id="nul"),
        pytest.param("b\n.pdf", id="newline"),
        pytest.param("b\x7f.pdf", id="delete"),
        pytest.param("b\x85.pdf", id="c1-control"),
        pytest.param("fdp\u202eexe.pdf", id="bidi-override"),
        pytest.param("b\u2066.pdf", id="bidi-isolate"),
        pytest.param("b\u200b.pdf", id="zero-width-space"),
        pytest.param("\ufeffb.pdf", id="byte-order-mark"),
        pytest.param("b\u2028.pdf", id="line-separator"),
        pytest.param("b\ud800.pdf", id="lone-surrogate"),
        pytest.param("b\ue000.pdf", id="private-use"),
        pytest.param(" b.pdf", id="leading-space"),
        pytest.param("b.pdf\u00a0", id="trailing-no-break-space"),
        pytest.param("b" * 252 + ".pdf", id="256-bytes"),
        pytest.param("é" * 126 + ".pdf", id="256-bytes-in-fewer-characters"),
    ],
)
def test_unsafe_names_are_refused(name: str) -> None:
    with pytest.raises(UnsafeName):
        resolve_blob_name(name, OWNER)


@pytest.mark.parametrize(
    "name", ["a.pdf", "café.pdf", "報告書.docx", "a b (1).txt", "b" * 251 + ".pdf", "..a", "نامه\u200cها.pdf"]
)
def test_ordinary_names_are_accepted(name: str) -> None:
    assert str(resolve_blob_name(name, OWNER)) == f"acme/ann/c1/{name}"


def test_a_name_means_the_same_document_in_every_normal_form() -> None:
    assert resolve_blob_name("cafe\u0301.pdf", OWNER) == resolve_blob_name("café.pdf", OWNER)


@pytest.mark.parametrize(
    ("uploaded", "kept"),
    [
        pytest.param("100%.pdf", "100_.pdf", id="percent"),
        pytest.param("cafe\u0301.pdf", "café.pdf", id="nfd"),
        pytest.param("cafe\u200b\u0301.pdf", "café.pdf", id="nfd-around-an-invisible-one"),
        pytest.param("\u1107\u1169.pdf", "보.pdf", id="nfd-of-hangul"),
        pytest.param("gen-%2e%2e%2fetc.pdf", "gen-_2e_2e_2fetc.pdf", id="encoded-but-leading-nowhere"),
        pytest.param("b\u202efdp.pdf", "bfdp.pdf", id="bidi-override"),
    ],
)
def test_an_uploaded_name_is_corrected(uploaded: str, kept: str) -> None:
    assert name_for_upload(uploaded) == kept


@given(ANYTHING | NASTY)
def test_a_stored_name_can_be_referenced(name: str) -> None:
    try:
        kept = name_for_upload(name)
    except UnsafeName:
        return
    assert resolve_blob_name(kept, OWNER).file == kept == name_for_upload(kept)


@pytest.mark.parametrize("segment", ["", "..", "a/b", "a\\b", "a%", "a\n", "e\u0301"])
def test_owner_ids_are_validated_like_file_names(segment: str) -> None:
    for parts in ((segment, "ann", "c1"), ("acme", segment, "c1"), ("acme", "ann", segment)):
        with pytest.raises(UnsafeName):
            Owner(*parts)


def test_document_ids_are_the_same_in_every_process() -> None:
    document_id = BlobPath(OWNER, "a.pdf").document_id
    assert document_id == "139e61f7-a180-5731-8a91-c58fa966e8df"
    assert uuid.UUID(document_id).version == 5
    assert page_id(document_id, 3) == f"{document_id}.p3"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("..", id="dots"),
        pytest.param("a/b.pdf", id="slash"),
        pytest.param("a\\b.pdf", id="backslash"),
        pytest.param("b\n.pdf", id="control"),
        pytest.param("b" * 252 + ".pdf", id="over-long"),
        pytest.param("", id="empty"),
        pytest.param("%2e%2e%2fb.pdf", id="encoded-dots"),
        pytest.param("%2e\u200b%2e%2fb.pdf", id="encoded-dots-around-an-invisible-one"),
        pytest.param("..%2Fb.pdf", id="encoded-slash-after-dots"),
        pytest.param("%252e%252e%252fb.pdf", id="twice-encoded"),
        pytest.param("%2Fetc%2Fpasswd", id="encoded-absolute"),
        pytest.param("a%5Cb.pdf", id="encoded-backslash"),
        pytest.param("a%00.pdf", id="encoded-control"),
        pytest.param("%2e%2e", id="nothing-but-encoded-dots"),
    ],
)
def test_an_uploaded_name_that_cannot_be_corrected_is_refused(name: str) -> None:
    with pytest.raises(UnsafeName):
        name_for_upload(name)
