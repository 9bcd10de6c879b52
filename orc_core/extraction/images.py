"""Images: pages without text, counted from their headers. OCR reads their pixels."""

from contextlib import suppress
from itertools import repeat
from pathlib import Path

from orc_core.extraction.formats import Format
from orc_core.extraction.pages import Unit, UnitStream
from orc_core.extraction.properties import count_of, sentence_of

MAX_FRAMES = 10_000
MAX_IMAGE_PIXELS = 100_000_000
"""A larger image is a decompression bomb, or a map."""
IMAGE_FORMATS = {kind.media_type: kind.name for kind in Format if kind.is_image}
"""By media type: the name of Pillow's reader."""


def read(_: Path) -> UnitStream:
    """One page."""
    return UnitStream(iter([Unit("")]), 1)


def read_tiff(source: Path) -> UnitStream:
    """One page for each frame, up to MAX_FRAMES. No pixel is decoded."""
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = None  # only headers are read; OCR checks the size before it decodes
    frames = 1
    with Image.open(source, formats=["TIFF"]) as image, suppress(EOFError, OSError, TypeError, ValueError):
        while frames < MAX_FRAMES:
            image.seek(frames)  # EOFError after the last frame; the others if its header is cut off
            frames += 1
    return UnitStream(repeat(Unit(""), frames), frames, sentence_of(counted=count_of(frames, "page")))
