"""Images: documents whose pages have no text, counted without decoding a pixel."""

import io
import struct

import pytest
from PIL import Image

from orc_core.errors import UnreadableDocument, UnsupportedDocument
from tests.unit.orc_core.extraction.samples import Read

pytestmark = pytest.mark.slow


def image(form: str, *, frames: int = 1, **options: bool) -> bytes:
    buffer = io.BytesIO()
    pictures = [Image.new("L", (40, 30), shade) for shade in range(frames)]
    if frames > 1:
        pictures[0].save(buffer, form, save_all=True, append_images=pictures[1:], **options)
    else:
        pictures[0].save(buffer, form, **options)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("file_name", "form", "media_type"),
    [
        ("a.JPEG", "JPEG", "image/jpeg"),
        ("a.png", "JPEG", "image/jpeg"),
        ("file_1_id", "PNG", "image/png"),
    ],
)
async def test_an_image_under_another_name_is_one_page_without_text(
    read: Read, file_name: str, form: str, media_type: str
) -> None:
    extraction = await read(file_name, image(form))
    assert [page.text for page in extraction.pages] == [""]
    assert extraction.media_type == media_type
    assert not extraction.has_text
    assert extraction.pages_without_text == 1


async def test_each_frame_of_a_tiff_is_a_page(read: Read) -> None:
    assert len((await read("a.tiff", image("TIFF", frames=3))).pages) == 3
    assert len((await read("a.gif", image("GIF", frames=3))).pages) == 1


def with_next_frame(content: bytes, *, of_frame: int, place: int) -> bytes:
    """A TIFF whose frame of this number, from 0, says that the next one is at `place`."""
    changed = bytearray(content)
    pointer = 4
    for _ in range(of_frame + 1):
        (directory,) = struct.unpack_from("<I", changed, pointer)
        pointer = directory + 2 + 12 * struct.unpack_from("<H", changed, directory)[0]
    struct.pack_into("<I", changed, pointer, place)
    return bytes(changed)


@pytest.mark.parametrize(
    ("content", "pages"),
    [
        (with_next_frame(image("TIFF", frames=2), of_frame=1, place=8), 2),
        (with_next_frame(image("TIFF", frames=2), of_frame=1, place=4_000_000_000), 2),
        (with_next_frame(image("TIFF", frames=2), of_frame=0, place=4_000_000_000), 1),
        (image("TIFF", frames=2)[:200], 1),
        (image("TIFF", frames=2, big_tiff=True), 2),
    ],
    ids=["loop", "beyond the end", "first beyond the end", "cut off", "BigTIFF"],
)
async def test_broken_chains_of_tiff_frames_end(read: Read, content: bytes, pages: int) -> None:
    assert len((await read("a.tiff", content)).pages) == pages


@pytest.mark.parametrize("content", [b"II*\0", b"II*\0\xff\xff\xff\xff", b"MM\0+" + b"\xff" * 30])
async def test_a_tiff_without_a_frame_is_damaged(read: Read, content: bytes) -> None:
    with pytest.raises(UnreadableDocument) as caught:
        await read("a.tiff", content)
    assert caught.value.code == "corrupt"


async def test_only_the_header_of_an_image_is_read(read: Read) -> None:
    bomb = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4s2I", 13, b"IHDR", 2**31 - 1, 2**31 - 1)
    assert (await read("a.png", bomb)).pages_without_text == 1


@pytest.mark.parametrize("content", [b"\x89PNG\r\n\x1a\n", b"GIF8", b"\x89PNG\r\n\x1a\n" + bytes(50)])
async def test_an_image_with_a_truncated_header_is_damaged(read: Read, content: bytes) -> None:
    with pytest.raises(UnreadableDocument) as caught:
        await read("a.png", content)
    assert caught.value.code == "corrupt"


@pytest.mark.parametrize(
    ("file_name", "content", "words"),
    [
        ("a.jpg", b"<svg onload='x'/>", "holds a web page or XML"),
        ("a.webp", b"RIFF\0\0\0\0WAVEfmt ", "holds an image or a recording"),
        ("a.bmp", b"BM is how this text begins.", "is not one"),
        ("a.pdf", image("PNG"), "holds an image"),
        ("a.txt", image("TIFF"), "holds an image"),
    ],
)
async def test_image_content_and_name_must_agree(
    read: Read, file_name: str, content: bytes, words: str
) -> None:
    with pytest.raises(UnsupportedDocument, match=words):
        await read(file_name, content)
