"""Makes orc/exports/box.ttf, a font with the one character U+25A1, for characters that no other font has.

python -m scripts.make_box_font
"""

from pathlib import Path

from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen

TARGET = Path(__file__).parents[1] / "orc/exports/box.ttf"
BOX = 0x25A1
_WIDTH, _LEFT, _RIGHT, _BOTTOM, _TOP, _STROKE = 760, 80, 680, 0, 600, 50
_MOMENT = 3_800_000_000
"""Any, so that the file is the same each time."""
_GLYPH = "box"
_GLYPHS = [".notdef", _GLYPH]


def make(target: Path, code: int) -> None:
    """Write a font that shows this character as a box, and has no other."""
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder(_GLYPHS)
    builder.setupCharacterMap({code: _GLYPH})
    builder.setupGlyf(dict.fromkeys(_GLYPHS, _outline()))
    builder.setupHorizontalMetrics(dict.fromkeys(_GLYPHS, (_WIDTH, _LEFT)))
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": "Orc Box", "styleName": "Regular", "fullName": "Orc Box"})
    builder.setupOS2()
    builder.setupPost()
    builder.updateHead(created=_MOMENT, modified=_MOMENT)
    builder.font.recalcTimestamp = False
    builder.save(target)


def _outline() -> object:
    pen = TTGlyphPen(None)
    inner = (_LEFT + _STROKE, _RIGHT - _STROKE, _BOTTOM + _STROKE, _TOP - _STROKE)
    _square(pen, (_LEFT, _BOTTOM), (_LEFT, _TOP), (_RIGHT, _TOP), (_RIGHT, _BOTTOM))
    left, right, bottom, top = inner
    _square(pen, (left, bottom), (right, bottom), (right, top), (left, top))
    return pen.glyph()


def _square(pen: TTGlyphPen, first: tuple[int, int], *others: tuple[int, int]) -> None:
    pen.moveTo(first)
    for corner in others:
        pen.lineTo(corner)
    pen.closePath()


if __name__ == "__main__":
    make(TARGET, BOX)
