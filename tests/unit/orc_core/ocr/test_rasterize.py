"""Rendering of pages: content, size, and hostile files."""

import io
import struct
import sys
import zlib
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest
from PIL import Image

from orc_core.errors import OrcError, Unavailable, UnreadableDocument
from orc_core.infra.sandbox import Sandbox
from orc_core.ocr.rasterize import DRAW, Form, Picture, Renderer
from tests.unit.orc_core.extraction.samples import raw_pdf
from tests.unit.orc_core.ocr.scans import QUAY, image_file, picture, scan

pytestmark = pytest.mark.slow

PDF = "application/pdf"


Drawn = Callable[..., Awaitable[list[Picture]]]


@pytest.fixture
def drawn(box: Sandbox) -> Drawn:
    """Draws pages of a file."""

    async def drawn(
        source: Path,
        media_type: str,
        pages: Sequence[int] = (1,),
        form: Form = "pgm",
        memory_bytes: int = 2**30,
        function: str = DRAW,
    ) -> list[Picture]:
        renderer = Renderer(box, seconds=20, memory_bytes=memory_bytes, function=function)
        async with renderer.draw(source, media_type, pages, form) as pictures:
            return [picture async for picture in pictures]

    return drawn


def opened(content: bytes) -> Image.Image:
    return Image.open(io.BytesIO(content))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return tmp_path / "upload"


def put(source: Path, content: bytes) -> None:
    source.write_bytes(content)


async def test_pdf_pages_are_rendered_at_300_dpi(source: Path, drawn: Drawn) -> None:
    put(source, scan(QUAY, ""))
    pictures = await drawn(source, PDF, [2, 1, 7])
    assert [picture.page for picture in pictures] == [2, 1, 7]
    assert opened(pictures[0].content).getextrema() == (255, 255)
    page = opened(pictures[1].content)
    assert (page.mode, page.size) == ("L", (2481, 3508))
    darkest, _ = page.getextrema()
    assert isinstance(darkest, int)
    assert darkest < 50
    assert pictures[2].content == b""


async def test_a_poster_is_rendered_at_a_lower_resolution(source: Path, drawn: Drawn) -> None:
    put(source, raw_pdf(b"").replace(b"[0 0 600 800]", b"[0 0 9600 9999]"))
    (poster,) = await drawn(source, PDF)
    width, height = opened(poster.content).size
    assert 19_000_000 < width * height <= 20_100_000


@pytest.mark.parametrize(
    ("form", "media_type"),
    [
        ("PNG", "image/png"),
        ("JPEG", "image/jpeg"),
        ("GIF", "image/gif"),
        ("BMP", "image/bmp"),
        ("WEBP", "image/webp"),
    ],
)
async def test_images_are_rendered_in_the_requested_format(
    source: Path, form: str, media_type: str, drawn: Drawn
) -> None:
    put(source, image_file(form, QUAY))
    (page,) = await drawn(source, media_type, form="png")
    assert opened(page.content).format == "PNG"
    (page,) = await drawn(source, media_type)
    assert opened(page.content).format == "PPM"


async def test_images_are_rotated_upright_and_small_ones_enlarged(source: Path, drawn: Drawn) -> None:
    upright = picture(QUAY, dpi=72)
    turned = io.BytesIO()
    exif = Image.Exif()
    exif[0x112] = 6
    upright.rotate(90, expand=True).save(turned, "JPEG", exif=exif)
    put(source, turned.getvalue())
    (page,) = await drawn(source, "image/jpeg")
    assert opened(page.content).size == (upright.width * 2, upright.height * 2)


async def test_transparency_is_white_and_16_bits_become_8(source: Path, drawn: Drawn) -> None:
    clear = Image.new("RGBA", (1200, 1000), (0, 0, 0, 0))
    clear.putpixel((0, 0), (0, 0, 0, 255))
    clear.save(source, "PNG")
    (page,) = await drawn(source, "image/png")
    assert [opened(page.content).getpixel(place) for place in ((0, 0), (1, 0))] == [0, 255]
    deep = struct.pack("<H", 0) + struct.pack("<H", 65535) + struct.pack("<H", 32768) * (1200 * 1000 - 2)
    Image.frombytes("I;16", (1200, 1000), deep).save(source, "TIFF")
    (page,) = await drawn(source, "image/tiff")
    assert [opened(page.content).getpixel(place) for place in ((0, 0), (1, 0), (2, 0))] == [0, 255, 128]


async def test_missing_frames_have_no_image(source: Path, drawn: Drawn) -> None:
    put(source, image_file("TIFF", QUAY, QUAY))
    assert [bool(page.content) for page in await drawn(source, "image/tiff", [1, 2, 3])] == [
        True,
        True,
        False,
    ]


def png(width: int, height: int, rows: bytes) -> bytes:
    def chunk(kind: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        )

    header = struct.pack(">2I5B", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize(
    ("content", "media_type", "code"),
    [
        (png(50_000, 50_000, b"\0" * 1000), "image/png", "too_much_memory"),
        (b"\x89PNG\r\n\x1a\n" + bytes(50), "image/png", "corrupt"),
        (image_file("GIF", QUAY), "image/png", "corrupt"),
        (b"%PDF-1.4", PDF, "corrupt"),
    ],
)
async def test_files_that_cannot_be_rendered_are_refused(
    source: Path, content: bytes, media_type: str, code: str, drawn: Drawn
) -> None:
    put(source, content)
    with pytest.raises(UnreadableDocument) as caught:
        await drawn(source, media_type)
    assert caught.value.code == code


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit memory")
async def test_an_image_that_needs_too_much_memory_is_refused(source: Path, drawn: Drawn) -> None:
    put(source, png(9_000, 9_000, b"\0" * (9_001 * 9_000)))
    with pytest.raises(UnreadableDocument) as caught:
        await drawn(source, "image/png", memory_bytes=40 * 2**20)
    assert caught.value.code == "too_much_memory"


@pytest.mark.parametrize(
    ("function", "error", "error_code"),
    [
        ("aborted", UnreadableDocument, "too_much_memory"),
        ("unnumbered", UnreadableDocument, "corrupt"),
        ("killed", UnreadableDocument, "too_much_memory"),
        ("no_such_function", Unavailable, "unavailable"),
    ],
)
async def test_each_end_of_the_rendering_child_has_its_error(
    source: Path, function: str, error: type[OrcError], error_code: str, drawn: Drawn
) -> None:
    with pytest.raises(error) as caught:
        await drawn(source, PDF, function=f"tests.unit.orc_core.infra.sandboxed:{function}")
    assert caught.value.code == error_code
