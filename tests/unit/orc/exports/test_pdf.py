"""A PDF export has the text of all turns and citations; a character without a glyph is a box, and counted."""

from itertools import pairwise
from pathlib import Path

import pypdfium2
import pytest

from devkit.exported import heading_of, source_of
from orc.exports.pdf import MARGIN, PdfWriter
from orc.exports.tree import CitedSource, Entry, mark
from scripts import make_box_font

pytestmark = pytest.mark.slow

SCRIPTS = {
    "Latin": "Straße naïve façade",
    "Greek": "Η απάντηση είναι ναι",
    "Cyrillic": "Да, в порядке",
    "Arabic": "العربية",
    "Devanagari": "हिन्दी में",
    "Thai": "สวัสดี",
    "Hebrew": "שלום",
    "Chinese": "中文文本",
    "Japanese": "日本語のテキスト",
    "Korean": "한국어",
    "Armenian": "Հայերեն",
    "emoji": "😀👩\u200d👩\u200d👧",
}
RIGHT_EDGE = 595.3 - MARGIN + 3
"""In points from the left; joined letters may be a little wider than the single ones."""
KNOWN = {"Latin", "Greek", "Cyrillic", "Arabic", "Devanagari", "Thai"}
"""Scripts of the fonts that are installed with Orc."""


def entry(answer: str, *sources: CitedSource, question: str = "How long?") -> Entry:
    return Entry(1, "2026-11-23 09:12 UTC", question, ["a.pdf"], answer, "", list(sources))


def written(*entries: Entry, fonts: str = "") -> tuple[str, PdfWriter]:
    """The text of the file, and its writer."""
    writer = PdfWriter(heading_of("Leave", len(entries)), fonts)
    for each in entries:
        writer.write(each)
    with pypdfium2.PdfDocument(writer.finish()) as document:
        pages = [page.get_textpage() for page in document]
        texts = [page.get_text_range() for page in pages]
        for page in pages:
            rights = [page.get_rect(number)[2] for number in range(page.count_rects())]
            assert max(rights) <= RIGHT_EDGE
    return " ".join(" ".join(texts).split()), writer


def test_the_text_holds_every_turn_and_citation() -> None:
    first = source_of(1, "a.pdf", "page 5 (iv)", "Every employee\nhas 28 days.", "same words")
    second = source_of(2, "Leave", "web page https://a.example/leave", "Excerpt.", "in other words")
    text, writer = written(entry("# Leave\n- **28** days. [1]\n\nMore.", first, second))
    for shown in (
        "How long?",
        "About: a.pdf",
        "Leave • 28 days. [1] More.",
        "[1] a.pdf, page 5 (iv): same words Every employee has 28 days.",
        "[2] Leave, web page https://a.example/leave: in other words Excerpt.",
    ):
        assert shown in text
    assert writer.boxes == 0


def test_long_texts_keep_all_their_words() -> None:
    words = [f"word{number}" for number in range(3000)]
    text, _ = written(entry(" ".join(words)), entry("~" * 5000))
    assert [word for word in text.split() if word.startswith("word")] == words
    assert text.count("~") == 5000


def test_the_lines_of_a_question_stay_lines() -> None:
    text, writer = written(entry("Yes.", question="How long?\n\nIn days."))
    assert "How long? In days. Yes." in text
    assert writer.boxes == 0


TABLE = f"""\
As agreed:
| Name | Position | Since |
|:-----|----------|------:|
| **John** Doe | CTO {mark(1)} a \\| b<br>crane | {" ".join(f"since{n}" for n in range(60))} |
| العربية لغة جميلة | |
| {"~" * 300} | {" ".join(f"word{n}" for n in range(3000))} | {"x" * 300} |

Done.
"""


def test_a_table_has_rows_and_columns_that_do_not_meet() -> None:
    text, _ = written(entry(TABLE))
    assert "As agreed: Name Position Since John Doe CTO [1] a | b crane since0 since1 " in text
    assert "--" not in text and "| Name" not in text
    assert "العربية لغة جميلة" in text and "Done." in text
    assert (text.count("~"), text.count("x")) == (300, 301)
    assert [word for word in text.split() if word.startswith("word")] == [f"word{n}" for n in range(3000)]
    writer = PdfWriter(heading_of("Leave"), "")
    writer.write(entry(TABLE))
    with pypdfium2.PdfDocument(writer.finish()) as document:
        first = document[0].get_textpage()
        lefts, tops = zip(
            *(place_of(first, word) for word in ("Name", "John", "Position", "CTO")), strict=True
        )
        assert (lefts[0], lefts[2]) == pytest.approx((lefts[1], lefts[3]), abs=2)
        assert tops[1] == pytest.approx(tops[3], abs=1)
        assert tops[0] > tops[1] + 9
        for page in document:
            texts, cells = [
                [each.get_bounds() for each in page.get_objects([kind])]
                for kind in (pypdfium2.raw.FPDF_PAGEOBJ_TEXT, pypdfium2.raw.FPDF_PAGEOBJ_PATH)
            ]
            # Only the number of the page is below its margin.
            assert [bottom for _, bottom, _, _ in texts + cells if bottom < MARGIN] == [texts[-1][1]]
            for left, bottom, right, top in texts:
                across = [each for each in cells if each[1] < (bottom + top) / 2 < each[3]]
                assert not across or any(each[0] <= left and right <= each[2] for each in across)
                # Two borders in one place, each with its width.
                assert all(one[2] <= other[0] + 3 for one, other in pairwise(sorted(across)))


def place_of(page: pypdfium2.PdfTextPage, word: str) -> tuple[float, float]:
    """Where a word begins: points from the left, and its upper edge from the bottom."""
    found = page.search(word, match_case=True).get_next()
    assert found
    left, _, _, top = page.get_charbox(found[0])
    return left, top


@pytest.mark.parametrize(
    "answer", ["```\n| a | b |\n|---|---|\n```", "| a |" + " c |" * 30 + "\n|" + "---|" * 31 + "\n| a |"]
)
def test_a_table_in_code_or_wider_than_the_page_stays_text(answer: str) -> None:
    text, _ = written(entry(answer))
    assert "".join(answer.split()) in "".join(text.split())


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_script_is_shown_or_its_characters_are_counted(script: str) -> None:
    text, writer = written(entry(SCRIPTS[script]))
    visible = [
        character for character in SCRIPTS[script] if not character.isspace() and character != "\u200d"
    ]
    assert writer.boxes == (0 if script in KNOWN else len(visible))
    if script in KNOWN:
        assert "□" not in text
    else:
        shown = "□" * 2 if script == "Korean" else "□"
        assert shown in text
        assert f"{len(visible)} characters are shown as □" in text


@pytest.mark.parametrize(
    "sentence",
    [
        "العربية لغة جميلة 2024 في العالم",
        "السلام عليكم ورحمة الله لا إله",
        "این یک جملهٔ فارسی است، پچگژ",
        "یہ ایک جملہ ہے اور گاڑی",
        "The word العربية means Arabic (2024).",
        "हिन्दी में लिखा हुआ वाक्य",
        "สวัสดีชาวโลก น้ำใจ",
    ],
)
def test_text_is_copied_in_the_order_in_which_it_is_read(sentence: str) -> None:
    text, _ = written(entry(sentence))
    assert sentence in text


def test_one_missing_character_is_one_box() -> None:
    text, _ = written(entry("a 中 b"))
    assert "a □ b" in text
    assert text.endswith("1 character is shown as □, because no font of this server has it. 1")


def test_fonts_of_the_folder_are_used_for_what_is_missing(tmp_path: Path) -> None:
    box = Path(make_box_font.TARGET)
    (tmp_path / "damaged.ttf").write_bytes(box.read_bytes()[:300])
    make_box_font.make(tmp_path / "one.ttf", ord("中"))
    text, writer = written(entry("a 中 文"), fonts=str(tmp_path))
    assert "a 中 □" in text
    assert writer.boxes == 1


def test_the_font_of_the_box_is_what_the_script_makes(tmp_path: Path) -> None:
    make_box_font.make(tmp_path / "box.ttf", make_box_font.BOX)
    assert (tmp_path / "box.ttf").read_bytes() == make_box_font.TARGET.read_bytes()
