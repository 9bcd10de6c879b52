"""Rule A in many languages: the words of the units are quoted, and one more or less that matters is not."""

import pytest

from orc_core.grounding.wording import Words, language_of, wording_of

# A sentence of a page, and the same with a negation.
NEGATED = {
    "en": ("Tenants may keep a dog in the flat.", "Tenants may not keep a dog in the flat."),
    "de": (
        "Die Mieter dürfen einen Hund in der Wohnung halten.",
        "Die Mieter dürfen keinen Hund in der Wohnung halten.",
    ),
    "fr": ("Les locataires peuvent garder un chien.", "Les locataires ne peuvent pas garder un chien."),
    "es": (
        "Los inquilinos pueden tener un perro en el piso.",
        "Los inquilinos no pueden tener un perro en el piso.",
    ),
    "it": (
        "Gli inquilini possono tenere un cane in casa.",
        "Gli inquilini non possono tenere un cane in casa.",
    ),
    "pt": ("Os inquilinos podem ter um cão em casa.", "Os inquilinos não podem ter um cão em casa."),
    "nl": (
        "De huurders mogen een hond in de woning houden.",
        "De huurders mogen niet een hond in de woning houden.",
    ),
    "sv": ("Hyresgästerna får ha en hund i lägenheten.", "Hyresgästerna får inte ha en hund i lägenheten."),
    "da": ("Lejerne må have en hund i lejligheden.", "Lejerne må ikke have en hund i lejligheden."),
    "no": ("Leietakerne kan ha en hund i leiligheten.", "Leietakerne kan ikke ha en hund i leiligheten."),
    "fi": ("Vuokralaiset saavat pitää koiran asunnossa.", "Vuokralaiset eivät saa pitää koiran asunnossa."),
    "pl": ("Najemcy mogą trzymać psa w mieszkaniu.", "Najemcy nie mogą trzymać psa w mieszkaniu."),
    "cs": ("Nájemci mohou mít v bytě psa.", "Nájemci nemohou mít v bytě psa."),
    "sk": ("Nájomcovia môžu mať v byte psa.", "Nájomcovia nie môžu mať v byte psa."),
    "ro": ("Chiriașii pot ține un câine în apartament.", "Chiriașii nu pot ține un câine în apartament."),
    "hu": ("A bérlők tarthatnak kutyát a lakásban.", "A bérlők nem tarthatnak kutyát a lakásban."),
    "tr": ("Kiracılar dairede köpek besleyebilir.", "Kiracılar dairede köpek besleyemez."),
    "el": ("Οι ενοικιαστές μπορούν να έχουν σκύλο.", "Οι ενοικιαστές δεν μπορούν να έχουν σκύλο."),
    "ru": ("Арендаторы могут держать собаку в квартире.", "Арендаторы не могут держать собаку в квартире."),
    "uk": ("Орендарі можуть тримати собаку в квартирі.", "Орендарі не можуть тримати собаку в квартирі."),
    "bg": ("Наемателите могат да държат куче.", "Наемателите не могат да държат куче."),
    "sr": ("Станари могу да држе пса у стану.", "Станари не могу да држе пса у стану."),
    "ar": ("يجوز للمستأجر أن يحتفظ بكلب في الشقة.", "لا يجوز للمستأجر أن يحتفظ بكلب في الشقة."),
    "fa": ("مستأجران می‌توانند سگ نگه دارند.", "مستأجران نمی‌توانند سگ نگه دارند."),
    "he": ("הדיירים רשאים להחזיק כלב בדירה.", "הדיירים לא רשאים להחזיק כלב בדירה."),
    "hi": ("किरायेदार घर में कुत्ता रख सकते हैं।", "किरायेदार घर में कुत्ता नहीं रख सकते हैं।"),
    "bn": ("ভাড়াটেরা বাড়িতে কুকুর রাখতে পারেন।", "ভাড়াটেরা বাড়িতে কুকুর রাখতে পারেন না।"),
    "ta": ("குத்தகைதாரர்கள் நாய் வளர்க்கலாம்.", "குத்தகைதாரர்கள் நாய் வளர்க்க கூடாது."),
    "ja": ("借主は部屋で犬を飼うことができます。", "借主は部屋で犬を飼うことができません。"),
    "zh": ("租户可以在公寓里养狗。", "租户不可以在公寓里养狗。"),
    "ko": ("세입자는 집에서 개를 키울 수 있습니다.", "세입자는 집에서 개를 키울 수 없습니다."),
    "th": ("ผู้เช่าเลี้ยงสุนัขในห้องได้", "ผู้เช่าเลี้ยงสุนัขในห้องไม่ได้"),
    "vi": ("Người thuê nhà được nuôi chó.", "Người thuê nhà không được nuôi chó."),
    "id": ("Penyewa boleh memelihara anjing.", "Penyewa tidak boleh memelihara anjing."),
    "sw": ("Wapangaji wanaweza kufuga mbwa.", "Wapangaji hawawezi kufuga mbwa."),
    "et": ("Üürnikud võivad korteris koera pidada.", "Üürnikud ei või korteris koera pidada."),
}
# Each of these makes a page longer, so that its language is known if it can be.
LANGUAGES = pytest.mark.parametrize("language", NEGATED)
PAGE = (
    "The tenant pays the rent to the landlord by the third of each month, without a reminder. "
    "The landlord may terminate the lease with a notice of three months, if the tenant does not pay. "
    "The annual result of the group was a loss of $1,200,000 in 2023, after a profit of 5 % in 2022."
)


def _is_quoted(sentence: str, page: str = PAGE, parts: list[str] | None = None) -> bool:
    texts = parts or [f"{part.strip('. ')}." for part in page.split(". ")]
    language = language_of(page)
    said = Words([sentence], language).wording(0)
    return Words(texts, language).have(said)


@LANGUAGES
def test_a_sentence_is_quoted_and_with_a_negation_it_is_not(language: str) -> None:
    sentence, negated = NEGATED[language]
    assert _is_quoted(sentence, sentence, [sentence])
    assert not _is_quoted(negated, sentence, [sentence])
    assert not _is_quoted(sentence, negated, [negated])


@LANGUAGES
def test_a_negation_is_found_on_a_page_of_many_sentences(language: str) -> None:
    sentence, negated = NEGATED[language]
    parts = [other for pair in NEGATED.values() for other in pair if other != negated]
    assert _is_quoted(sentence, " ".join(parts), parts)
    assert not _is_quoted(negated, " ".join(parts), parts)


@pytest.mark.parametrize(
    "sentence",
    [
        "The tenant pays the rent to the landlord by the third of each month, without a reminder.",
        "The tenant pays rent to the landlord by the 3rd of each month without a reminder.",
        "Tenants pay their rent to the landlord by the third of each month, without reminders.",
        "Annual result of the group: a loss of USD 1.2 million in 2023 after a profit of 5 percent in 2022.",
    ],
)
def test_stop_words_endings_and_the_writing_of_numbers_may_differ(sentence: str) -> None:
    assert _is_quoted(sentence.replace("3rd", "third"))


@pytest.mark.parametrize(
    "sentence",
    [
        "The landlord pays the rent to the tenant by the third of each month, without a reminder.",
        "The tenant pays the rent to the landlord by the third of each month.",
        "The tenant pays the rent to the landlord by the fourth of each month, without a reminder.",
        "The tenant always pays the rent to the landlord by the third of each month, without a reminder.",
        "The landlord may terminate the lease with a notice of three months.",
        "The landlord may terminate the lease.",
        "The annual result of the group was a loss of €1,200,000 in 2023, after a profit of 5 % in 2022.",
        "The annual result of the group was a loss of $1,200,000 in 2023, after a profit of -5 % in 2022.",
        "The annual result of the group was a loss of $1,200,000 in 2022, after a profit of 5 % in 2023.",
        "The annual result of the group was a loss of $1,200,000 in 2023, after a profit of 5 % in 2021.",
        "The tenant pays the landlord a loss of $1,200,000.",
        "Rent.",
        "",
    ],
)
def test_other_words_another_order_or_a_part_are_not_quoted(sentence: str) -> None:
    assert not _is_quoted(sentence)


@pytest.mark.parametrize(
    "other", ["It cost 900 crowns.", "It cost 1,200 crowns.", "It cost 2 million crowns."]
)
def test_a_span_of_numbers_is_read_alike_whatever_else_is_on_its_page(other: str) -> None:
    """A number with marks elsewhere made the second number of the span a negative one, on the page alone."""
    part = "The mole of the old harbour was built in 1933-1956 by the town."
    assert _is_quoted(part, parts=[part, other])
    assert not _is_quoted(part.replace("1933-1956", "1933, -1956"), parts=[part, other])


def test_a_sentence_of_two_lines_is_quoted_in_all_its_words() -> None:
    parts = ["The boat leaves the old harbour of the town", "at noon on each day of the week."]
    sentence = " ".join(parts)
    assert _is_quoted(sentence, sentence, parts)
    assert not _is_quoted(sentence.replace("the town", "this town"), sentence, parts)


def test_a_sentence_that_stops_before_a_comma_is_not_quoted() -> None:
    part = "The boat leaves the harbour at noon if the weather is good."
    assert _is_quoted("The boat leaves the harbour at noon.", part, [part])
    conditional = part.replace(" if", ", if")
    assert not _is_quoted("The boat leaves the harbour at noon.", conditional, [conditional])


def test_a_stop_word_in_the_place_of_another_word_is_not_quoted() -> None:
    part = (
        "The competent authority of each member state must inform the public about a serious incident"
        " after it has consulted the operator in writing."
    )
    assert _is_quoted(part.replace("must ", ""), part, [part])
    assert not _is_quoted(part.replace("must ", "may "), part, [part])


def test_one_new_word_in_a_long_sentence_is_not_quoted() -> None:
    part = (
        "The competent authority of each member state must inform the public of that state about a serious"
        " incident after it has consulted the operator in writing."
    )
    assert _is_quoted(part.replace("each", "a"), part, [part])
    assert not _is_quoted(part.replace("writing", "person"), part, [part])
    # It has as many words of the part as the part itself has.
    assert not _is_quoted(part.replace("writing", "state"), part, [part])
    part = part.replace("operator", "operator of the operator")
    assert not _is_quoted(
        part.replace("operator of the operator in writing", "operator in person"), part, [part]
    )


@pytest.mark.parametrize(("one", "other"), [("1,084", "2,150"), ("Oslo", "Bergen"), ("May", "March")])
def test_two_exchanged_words_of_a_long_sentence_are_not_quoted(one: str, other: str) -> None:
    """At most a tenth of its pairs of neighbours are others then."""
    page = (
        "The board reported that sales in Oslo were 1,084 boats by the end of May last year, while shops"
        " along the coast, owing to a long strike of harbour pilots, a wet summer, higher prices for steel,"
        " wood and paint, three closed yards and weak demand for small rowing boats, sold in Bergen only"
        " 2,150 sails between March and autumn."
    )
    exchanged = page.replace(one, "~").replace(other, one).replace("~", other)
    assert exchanged != page
    words = Words([page], "en")
    assert words.have(wording_of(page, "en"))
    assert not words.have(wording_of(exchanged, "en"))


def test_only_cited_parts_count() -> None:
    parts = ["The boat leaves the harbour at noon.", "The boat arrives in the town at night."]
    said = Words([parts[0]], "en").wording(0)
    assert Words(parts[:1], "en").have(said)
    assert not Words(parts[1:], "en").have(said)


def test_a_language_is_known_by_its_stop_words() -> None:
    assert language_of(PAGE) == "en"
    assert language_of("租户可以在公寓里养狗。") == ""
    assert language_of("Section 28 Section 30 Section 31") == ""
