"""A direct answer only if the quote answers; otherwise the closest passages, labelled."""

import re

import pytest

from core.grounding.closest import closest_label
from core.grounding.sources import FencedSource
from core.offline.quotes import answer_from

REPORT = [
    "Income statement\nCost of sales 38,730 37,650 36,100\nRevenue 61,480 57,920 55,000",
    "Balance sheet\nInventories 11,360 12,940 12,020\nTrade receivables 6,850 6,310 6,200",
    "The largest risk is the supply of electric motors, which come from a single manufacturer in Taiwan.",
    "Hollin opened its second workshop in September 2024. It is in Leeds, close to the station.",
]


def sources(*texts: str) -> list[FencedSource]:
    return [
        FencedSource(number=number, blob_name="report.pdf", page=number, text=text)
        for number, text in enumerate(texts, 1)
    ]


def cited(answer: str) -> list[int]:
    return [int(number) for number in re.findall(r"\[S(\d+)\]", answer)]


@pytest.mark.parametrize(
    ("question", "page"),
    [
        ("What is the largest risk?", 3),
        ("When did Hollin open its second workshop?", 4),
        ("What were trade receivables?", 2),
    ],
)
def test_evidence_is_quoted_as_an_answer(question: str, page: int) -> None:
    answer = answer_from(question, sources(*REPORT))
    assert not answer.startswith(closest_label("en"))
    assert page in cited(answer)


@pytest.mark.parametrize(
    ("question", "page"),
    [
        ("What was the receivables turnover ratio?", 2),
        ("Calculate how many days the inventories last.", 2),
        ("Is the supply of electric motors adequate?", 3),
        ("How many people work in the second workshop that Hollin opened?", 4),
        ("Where did Hollin open its second workshop in 2019?", 4),
        ("How many visitors came to the second workshop in September?", 4),
        ("Did Siemens open a second workshop with Hollin in September?", 4),
    ],
)
def test_what_no_quote_answers_gets_the_closest_passages(question: str, page: int) -> None:
    answer = answer_from(question, sources(*REPORT))
    assert answer.startswith(f"{closest_label('en')}\n\n- ")
    assert page in cited(answer)
    assert len(set(cited(answer))) <= 3


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Are smoke machines allowed?", "Smoke machines are prohibited."),
        ("Sind Nebelmaschinen erlaubt?", "Nebelmaschinen sind verboten."),
        ("La moto est-elle autorisée ?", "La moto est interdite dans la cour."),
    ],
)
def test_what_is_forbidden_answers_whether_it_is_allowed(question: str, text: str) -> None:
    assert answer_from(question, sources(text)) == f"{text} [S1]"


@pytest.mark.parametrize(
    ("question", "text", "language"),
    [
        ("Ist die Kaution von drei Mieten angemessen?", "Die Kaution beträgt drei Mieten.", "de"),
        (
            "Le salaire de Madame Joubert est-il élevé ?",
            "Le salaire de Madame Joubert est de 2000 euros.",
            "fr",
        ),
        ("¿Es razonable el precio de la casa?", "El precio de la casa es de 9000 euros.", "es"),
        ("De vloer van het huis, hoeveel kost die?", "De vloer van het huis is nieuw.", "nl"),
    ],
)
def test_the_label_is_in_the_language_of_the_question(question: str, text: str, language: str) -> None:
    answer = answer_from(question, sources(text))
    assert answer == f"{closest_label(language)}\n\n- {text} [S1]"
    assert (closest_label(language) == closest_label("en")) == (language == "nl")
