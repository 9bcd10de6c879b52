"""Text of fonts with a wrong character map is not taken for text."""

import os
import string
import subprocess
import sys

import pypdfium2
import pytest

from devkit.long_report import long_report
from orc_core.extraction.pdf import is_mapped_wrongly
from tests.unit.orc_core.extraction.samples import Read, pdf

TEXTS = {
    "en": "The guarantee for the compressor runs for seven years. Repairs are carried out within two "
    "working days. The customer pays for the travel of the engineer, and for parts that wear.",
    "de": "Der Mieter zahlt die Miete bis zum dritten Werktag des Monats. Schäden meldet er sofort "
    "dem Vermieter. Größere Umbauten sind ohne schriftliche Zustimmung nicht erlaubt.",
    "pl": "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw. Są oni "
    "obdarzeni rozumem i sumieniem i powinni postępować wobec innych w duchu braterstwa.",
    "cs": "Všichni lidé rodí se svobodní a sobě rovní co do důstojnosti a práv. Jsou nadáni rozumem "
    "a svědomím a mají spolu jednat v duchu bratrství. Smrt, krk, vlk, prst, čtvrt.",
    "fi": "Kaikki ihmiset syntyvät vapaina ja tasavertaisina arvoltaan ja oikeuksiltaan. Heille on "
    "annettu järki ja omatunto, ja heidän on toimittava toisiaan kohtaan veljeyden hengessä.",
    "cy": "Genir pawb yn rhydd ac yn gydradd â'i gilydd mewn urddas a hawliau. Fe'u cynysgaeddir â "
    "rheswm a chydwybod, a dylai pawb ymddwyn y naill at y llall mewn ysbryd cymodlon.",
}
LOWER = string.ascii_lowercase


def moved(text: str, by: int) -> str:
    return text.translate(
        str.maketrans(LOWER + LOWER.upper(), LOWER[by:] + LOWER[:by] + (LOWER[by:] + LOWER[:by]).upper())
    )


@pytest.mark.parametrize("language", TEXTS)
def test_letters_of_any_language_alternate_with_vowels(language: str) -> None:
    assert not is_mapped_wrongly(TEXTS[language])


@pytest.mark.parametrize(("language", "by"), [("en", 3), ("de", 3), ("pl", 5)])
def test_letters_that_do_not_alternate_are_of_a_wrong_map(language: str, by: int) -> None:
    assert is_mapped_wrongly(moved(TEXTS[language], by))


def test_codes_names_and_other_scripts_are_no_sign_of_a_wrong_map() -> None:
    assert not is_mapped_wrongly("BXT-100 QRS HKL GRTX 4411 KLM PNR WTF XKCD")
    assert not is_mapped_wrongly(
        "Найниматель платит за аренду склада каждый месяц и сообщает о повреждениях " * 9
    )
    assert not is_mapped_wrongly("")


@pytest.mark.slow
def test_a_page_is_judged_alike_by_every_process() -> None:
    """Processes order sets differently; letters that are equally often next to others depended on that."""
    page = pypdfium2.PdfDocument(long_report(125))[124]
    code = "import sys; from orc_core.extraction.pdf import is_mapped_wrongly"
    code += "; print(is_mapped_wrongly(sys.stdin.read()))"
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            input=page.get_textpage().get_text_bounded(),
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in "01"
    }
    assert len(found) == 1


async def test_a_page_of_such_text_needs_ocr(read: Read) -> None:
    extraction = await read("a.pdf", pdf(TEXTS["en"], moved(TEXTS["en"], 3)))
    assert [bool(page.text) for page in extraction.pages] == [True, False]
    assert extraction.pages_without_text == 1
