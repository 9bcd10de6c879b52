"""Numbers of sentences, with their signs and scales."""

import pytest

from core.grounding.figures import Statement


def values(sentence: str, language: str = "en") -> list[float]:
    return [figure.value for figure in Statement(sentence, language).figures]


@pytest.mark.parametrize(
    ("sentence", "value"),
    [
        ("Shares outstanding - 2018", 2018),
        ("Net result - 5 million", 5e6),
        ("- 30 days of leave", 30),
        ("The result was -5.", -5),
        ("The result was \u2212 5.", -5),
        ("The result was -$5.", -5),
        ("Result (- 5)", -5),
        ("Result | - 5", -5),
    ],
)
def test_a_dash_is_no_sign(sentence: str, value: float) -> None:
    assert values(sentence) == [value]


@pytest.mark.parametrize(
    ("sentence", "language", "value"),
    [
        ("Der Gewinn betrug 30 Mio. Euro.", "de", 30e6),
        ("Der Gewinn betrug 30 Millionen Euro.", "de", 30e6),
        ("Der Umsatz lag bei 2,5 Mrd. €.", "de", 2.5e9),
        ("Verkauft wurden 12 Tsd. Geräte.", "de", 12e3),
        ("Le bénéfice est de 4,5 milliards d'euros.", "fr", 4.5e9),
        ("Le bénéfice est de 4,5 Md€.", "fr", 4.5e9),
        ("El beneficio fue de 3 mil millones de euros.", "es", 3e9),
        ("L'utile è di 7 mln di euro.", "it", 7e6),
        ("De winst is 7 miljoen euro.", "nl", 7e6),
        ("The debt is 2 trillion dollars.", "en", 2e12),
    ],
)
def test_scales_of_other_languages_count(sentence: str, language: str, value: float) -> None:
    assert values(sentence, language) == [pytest.approx(value)]


def test_a_currency_behind_an_abbreviated_scale_belongs_to_the_number() -> None:
    (figure,) = Statement("Der Gewinn betrug 30 Mio. Euro.", "de").figures
    assert figure.fixed == {"EUR"}
    assert figure.units == ()
    (figure,) = Statement("Der Umsatz lag bei 2,5 Mrd. €.", "de").figures
    assert figure.fixed == {"EUR"}
