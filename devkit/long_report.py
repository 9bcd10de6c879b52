"""A PDF report of thousands of pages, always the same for the same numbers."""

import random
import zlib
from collections.abc import Iterator

WORDS_PER_LINE = 12
SYLLABLES = (
    "ar bel cor dan el far gor hal in jor kel lam mos nor os per qua ros sel tor un ver wes yor zan".split()
)
COMMON = "the of and in to a is for on with at by from as are was its that this which has been not or".split()
RARE_WORDS = 12_000
_FIRST_PAGE = 5
"""The number of the first page's object; each page is followed by its content."""


def long_report(pages: int, words: int = 200, seed: int = 1) -> bytes:
    """A report of so many pages, each with so many words, a heading and the sentence of `fact`."""
    chance = random.Random(seed)
    rare = ["".join(chance.choices(SYLLABLES, k=chance.randint(2, 4))) for _ in range(RARE_WORDS)]
    kids = " ".join(f"{_FIRST_PAGE + 2 * number} 0 R" for number in range(pages))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {pages} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold >>",
    ]
    for number in range(1, pages + 1):
        objects += _page(number, list(_lines(number, words, rare, chance)))
    return _assemble(objects)


def fact(number: int) -> str:
    """What only this page says."""
    return f"The berth fee of quay {number} is {number * 37:,} euros a year."


def _lines(number: int, words: int, rare: list[str], chance: random.Random) -> Iterator[str]:
    yield f"Quay {number} of the harbour"
    yield fact(number)
    left = words - len(fact(number).split()) - 5
    while left > 0:
        count = min(left, WORDS_PER_LINE)
        line = [
            chance.choice(COMMON) if chance.random() < 0.45 else _rare(rare, chance) for _ in range(count)
        ]
        yield " ".join(line).capitalize() + ("." if chance.random() < 0.7 else "")
        left -= count


def _rare(rare: list[str], chance: random.Random) -> str:
    """A word of the vocabulary; few are frequent, and some words are numbers."""
    if chance.random() < 0.05:
        return f"{chance.randint(1, 99_999):,}"
    return rare[int(len(rare) * chance.random() ** 3)]


def _page(number: int, lines: list[str]) -> list[bytes]:
    heading, *body = lines
    drawn = [f"BT /B 16 Tf 72 760 Td ({heading}) Tj ET", "BT /F 10 Tf 14 TL 72 730 Td"]
    drawn += [f"({line}) Tj T*" for line in body]
    packed = zlib.compress("\n".join([*drawn, "ET"]).encode())
    fonts = "/Resources << /Font << /F 3 0 R /B 4 0 R >> >>"
    content = _FIRST_PAGE + 2 * number - 1
    page = f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {content} 0 R {fonts} >>"
    stream = b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(packed), packed)
    return [page.encode(), stream]


def _assemble(objects: list[bytes]) -> bytes:
    parts, offsets, size = [b"%PDF-1.4\n"], [], 9
    for number, content in enumerate(objects, 1):
        offsets.append(size)
        parts.append(b"%d 0 obj\n%s\nendobj\n" % (number, content))
        size += len(parts[-1])
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    trailer = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, size)
    return b"".join([*parts, head, table, trailer])
