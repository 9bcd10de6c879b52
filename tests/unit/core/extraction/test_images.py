"""Images: documents whose pages have no text, counted without decoding a pixel."""

import io
import struct

import pytest
from PIL import Image

from core.errors import UnreadableDocument, UnsupportedDocument
from tests.unit.core.extraction.samples import Read, pdf


def image(form: str, *, frames: int = 1) -> bytes:
    buffer = io.BytesIO()
    pictures = [Image.new("L", (40, 30), shade) for shade in range(frames)]
    pictures[0].save(
        buffer, form, **({"save_all": True, "append_images": pictures[1:]} if frames > 1 else {})
    )
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("file_name", "form", "media_type"),
    [
        ("a.png", "PNG", "image/png"),
        ("a.jpg", "JPEG", "image/jpeg"),
        ("a.JPEG", "JPEG", "image/jpeg"),
        ("a.tif", "TIFF", "image/tiff"),
        ("a.gif", "GIF", "image/gif"),
        ("a.bmp", "BMP", "image/bmp"),
        ("a.webp", "WEBP", "image/webp"),
        ("a.png", "JPEG", "image/jpeg"),
    ],
)
async def test_an_image_is_one_page_without_text(
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


def tiff(*directories: tuple[int, int]) -> bytes:
    """A TIFF of empty directories: where each is, and where it says that the next one is."""
    content = bytearray(b"II*\0" + struct.pack("<I", directories[0][0]) + bytes(200))
    for where, following in directories:
        struct.pack_into("<H12xI", content, where, 1, following)
    return bytes(content)


@pytest.mark.parametrize(
    ("content", "pages"),
    [
        (tiff((8, 0)), 1),
        (tiff((8, 40), (40, 8)), 2),
        (tiff((8, 4_000_000_000)), 1),
        (b"MM\0+" + struct.pack(">2HQQ20xQ", 8, 0, 16, 1, 0), 1),
    ],
)
async def test_chains_of_frames_that_lead_nowhere_end(read: Read, content: bytes, pages: int) -> None:
    assert len((await read("a.tiff", content)).pages) == pages


@pytest.mark.parametrize("content", [b"II*\0", b"II*\0\xff\xff\xff\xff", b"MM\0+" + b"\xff" * 30])
async def test_a_tiff_without_a_frame_is_damaged(read: Read, content: bytes) -> None:
    with pytest.raises(UnreadableDocument) as caught:
        await read("a.tiff", content)
    assert caught.value.code == "corrupt"


async def test_what_is_behind_the_header_does_not_matter_yet(read: Read) -> None:
    bomb = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4s2I", 13, b"IHDR", 2**31 - 1, 2**31 - 1)
    assert (await read("a.png", bomb)).pages_without_text == 1


@pytest.mark.parametrize("content", [b"\x89PNG\r\n\x1a\n", b"GIF8", b"\x89PNG\r\n\x1a\n" + bytes(50)])
async def test_less_than_a_header_is_damaged(read: Read, content: bytes) -> None:
    with pytest.raises(UnreadableDocument) as caught:
        await read("a.png", content)
    assert caught.value.code == "corrupt"


@pytest.mark.parametrize(
    ("file_name", "content", "words"),
    [
        ("a.png", pdf("text"), "holds a PDF"),
        ("a.jpg", b"<svg onload='x'/>", "holds a web page or XML"),
        ("a.webp", b"RIFF\0\0\0\0WAVEfmt ", "holds an image or a recording"),
        ("a.bmp", b"BM is how this text begins.", "is none"),
        ("a.pdf", image("PNG"), "holds an image"),
        ("a.txt", image("TIFF"), "holds an image"),
    ],
)
async def test_images_and_their_names_must_agree(
    read: Read, file_name: str, content: bytes, words: str
) -> None:
    with pytest.raises(UnsupportedDocument, match=words):
        await read(file_name, content)
