"""EPUB: chapters in reading order, named by the table of contents; books that cannot be read."""

import pytest

from devkit.shared_data import SHARED, needs_shared
from orc_core.errors import UnreadableDocument
from tests.unit.orc_core.extraction.samples import Read, archive

pytestmark = pytest.mark.slow

CONTAINER = '<container><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>'
NCX = (
    "<ncx><navMap><navPoint><navLabel><text>The  Quay</text></navLabel>"
    '<content src="text/one%20a.xhtml#top"/></navPoint></navMap></ncx>'
)
NAV = '<html><body><nav><ol><li><a href="text/two.xhtml">Tides</a></li></ol></nav></body></html>'


def chapter(body: str, *, title: str = "") -> str:
    return f"<?xml version='1.0'?><html><head><title>{title}</title></head><body>{body}</body></html>"


CHAPTERS: dict[str, str | bytes] = {
    "OPS/text/one a.xhtml": chapter("<h1>1</h1><p>The quay opens at seven.</p>"),
    "OPS/text/two.xhtml": chapter(
        "<p>High water at noon.</p><table><tr><th>Day</th><th>Hour</th><th>Metres</th></tr>"
        "<tr><td>Monday</td><td>12:10</td><td>4.2</td></tr></table>"
    ),
    "OPS/text/three.xhtml": chapter("<h2>Fees</h2><p>Forty euros.</p>", title="not used"),
    "OPS/text/four.xhtml": chapter("<p>The end.</p>", title="Colophon"),
}
ITEMS = {
    "c4": "text/four.xhtml",
    "c1": "text/one%20a.xhtml",
    "c2": "text/two.xhtml",
    "c3": "text/three.xhtml",
    "gone": "text/gone.xhtml",
}


def epub(members: dict[str, str | bytes] | None = None, *, spine: str = "c1 c2 c3 c4") -> bytes:
    manifest = "".join(
        f'<item id="{name}" href="{href}" media-type="application/xhtml+xml"/>'
        for name, href in ITEMS.items()
    )
    contents = '<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>'
    contents += '<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
    references = "".join(f'<itemref idref="{name}"/>' for name in spine.split())
    package = f"<package><manifest>{manifest}{contents}</manifest><spine>{references}</spine></package>"
    parts: dict[str, str | bytes] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": CONTAINER,
        "OPS/book.opf": package,
        "OPS/toc.ncx": NCX,
        "OPS/nav.xhtml": NAV,
        **CHAPTERS,
    }
    return archive(parts | (members or {}))


async def test_chapters_have_spine_order_and_their_titles(read: Read) -> None:
    extraction = await read("a.epub", epub())
    assert extraction.media_type == "application/epub+zip"
    assert [(page.label, page.text) for page in extraction.pages] == [
        ("The Quay", "1\nThe quay opens at seven."),
        ("Tides", "High water at noon.\nDay | Hour | Metres\nDay: Monday | Hour: 12:10 | Metres: 4.2"),
        ("Fees", "Fees\nForty euros."),
        ("Colophon", "The end."),
    ]


async def test_references_to_notes_are_raised_and_style_sheets_of_the_book_count(read: Read) -> None:
    noted = (
        '<p>28<a epub:type="noteref" href="#n">1</a> days, 30<a role="doc-noteref">2</a> days, EUR'
        ' <i class="old">85</i> 97</p>'
    )
    items = '<item id="css" href="book.css" media-type="text/css"/>'
    items += '<item id="c1" href="a.xhtml" media-type="application/xhtml+xml"/>'
    package = f'<package><manifest>{items}</manifest><spine><itemref idref="c1"/></spine></package>'
    members: dict[str, str | bytes] = {
        "OPS/book.opf": package,
        "OPS/a.xhtml": chapter(noted),
        "OPS/book.css": ".old { text-decoration: line-through }",
    }
    text = (await read("a.epub", epub(members))).pages[0].text
    assert text.split() == "28[1] days, 30[2] days, EUR 97".split()


async def test_a_long_chapter_becomes_several_pages_with_its_title(read: Read) -> None:
    long = chapter("<p>" + "A sentence of words. " * 1000 + "</p>")
    extraction = await read("a.epub", epub({"OPS/text/one a.xhtml": long}, spine="c1"))
    assert len(extraction.pages) > 3
    assert {page.label for page in extraction.pages} == {"The Quay"}


async def test_missing_and_image_chapters_are_pages_without_text(read: Read) -> None:
    cover = chapter('<img src="cover.jpg" alt=""/>')
    extraction = await read("a.epub", epub({"OPS/text/four.xhtml": cover}, spine="c4 gone c1"))
    assert [bool(page.text) for page in extraction.pages] == [False, False, True]
    assert extraction.pages_without_text == 2


async def test_a_broken_table_of_contents_is_ignored(read: Read) -> None:
    extraction = await read("a.epub", epub({"OPS/toc.ncx": "<ncx", "OPS/nav.xhtml": "<a href="}))
    assert [page.label for page in extraction.pages] == ["1", "", "Fees", "Colophon"]


async def test_copy_protected_books_are_refused_but_encrypted_fonts_are_not(read: Read) -> None:
    def locking(part: str) -> dict[str, str | bytes]:
        link = f'<EncryptedData><CipherData><CipherReference URI="{part}"/></CipherData></EncryptedData>'
        return {"META-INF/encryption.xml": f"<encryption>{link}</encryption>"}

    assert (await read("a.epub", epub(locking("OPS/fonts/a.otf")))).has_text
    with pytest.raises(UnreadableDocument) as caught:
        await read("a.epub", epub(locking("OPS/text/two.xhtml")))
    assert caught.value.code == "encrypted"


@pytest.mark.parametrize(
    ("members", "spine", "code"),
    [
        ({}, "", "empty"),
        ({"META-INF/container.xml": "<container/>"}, "c1", "corrupt"),
        ({"OPS/book.opf": "<package"}, "c1", "corrupt"),
        ({"OPS/text/one a.xhtml": "<b/>" * 15_000_000}, "c1", "too_much_memory"),
        ({"OPS/bomb.bmp": bytes(60_000_000)}, "c1", "too_much_memory"),
    ],
)
async def test_unreadable_books_are_refused(
    read: Read, members: dict[str, str | bytes], spine: str, code: str
) -> None:
    with pytest.raises(UnreadableDocument) as caught:
        await read("a.epub", epub(members, spine=spine))
    assert caught.value.code == code


async def test_links_out_of_the_book_are_ignored(read: Read) -> None:
    outside = (
        '<package><manifest><item id="x" href="../../../../etc/passwd" media-type="text/html"/></manifest>'
    )
    package = outside + '<spine><itemref idref="x"/></spine></package>'
    extraction = await read("a.epub", epub({"OPS/book.opf": package}))
    assert [page.text for page in extraction.pages] == [""]


@needs_shared
async def test_a_book_by_another_program(read: Read) -> None:
    content = (SHARED / "data" / "open" / "formats" / "test.epub").read_bytes()
    pages = (await read("test.epub", content)).pages
    assert [page.label for page in pages] == ["Test EPUB Document", "Chapter 1", "Chapter 2"]
    assert "This is a blockquote for testing." in pages[2].text
