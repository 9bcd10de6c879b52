"""Signs of numbers in claims and quotes: a claim with another sign, or without it, is not supported."""

import pytest

from core.grounding.evidence import Evidence
from core.grounding.quotes import Span, locate

AROUND = ("{}", "The harbour opens in May.\n{}\nThe ferry leaves at noon.")


def is_supported(claim: str, page: str, around: str) -> bool:
    text = around.format(page)
    return Evidence(text).find(claim, Span(0, len(text))) is not None


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize(
    ("claim", "page"),
    [
        ("Berlin 138 199", "Berlin (138) 199"),
        ("Berlin (138) 199", "Berlin 138 199"),
        ("Berlin | 138 | 199", "Berlin | (138 | ) | 199"),
        ("Net result 138 million in Berlin", "Net result (138) million in Berlin"),
        ("Net income was 1,138 thousand.", "Net income (1,138)"),
        ("Profit after tax $138 199", "Profit after tax $(138) 199"),
        ("Profit after tax of $373, $1,428 and $602", "Profit after tax of $373, $(1,428) and $602"),
        ("The limit is >5 mg per litre", "The limit is <5 mg per litre"),
        ("The limit is > 5 mg per litre", "The limit is < 5 mg per litre"),
        ("The limit is 5 mg per litre", "The limit is < 5 mg per litre"),
        ("The limit is ≤ 5 mg per litre", "The limit is ≥ 5 mg per litre"),
        ("The limit is more than 5 mg per litre", "The limit is <5 mg per litre"),
        ("The sum x = 5 units in all", "The sum x ≠ 5 units in all"),
        ("Shares in Oslo ▲ 5 points", "Shares in Oslo ▼ 5 points"),
        ("Growth in Oslo ↑5 points", "Growth in Oslo ↓5 points"),
        ("The ticket costs ₹500 per day", "The ticket costs €500 per day"),
        ("The ticket costs ₹500 per day", "The ticket costs ₩500 per day"),
        ("The ticket costs ₹500 per day", "The ticket costs 500 per day"),
        ("The ticket costs 500 per day", "The ticket costs ₹500 per day"),
        ("The tolerance is ±5 mm for pipes", "The tolerance is +5 mm for pipes"),
        ("The tolerance is 5 mm for pipes", "The tolerance is ±5 mm for pipes"),
        ("The salinity is 5% in the pool", "The salinity is 5‰ in the pool"),
        ("The salinity is 5 in the pool", "The salinity is 5‰ in the pool"),
        ("Store the fish at 18 °C in the hold", "Store the fish at -18 °C in the hold"),
        ("Store the fish at 18 °C in the hold", "Store the fish at – 18 °C in the hold"),
        ("Store the fish at 18 °C in the hold", "Store the fish at - 18 °C in the hold"),
        ("Solar panels in Oslo ✓", "Solar panels in Oslo ✗"),
        ("In 2024 growth in Oslo was 3 %.", "Growth in Oslo was –3 % in 2024."),
        ("The result of Oslo was 138 euros.", "The result of Oslo was minus 138 euros."),
        ("The result of Oslo was minus 138 euros.", "The result of Oslo was 138 euros."),
        ("The result of Oslo was – EUR 138 in May.", "The result of Oslo was EUR 138 in May."),
        ("The result of Oslo was - 138 euros in May.", "The result of Oslo was 138 euros in May."),
        ("The crew of Oslo grew to (138) in May.", "The crew of Oslo grew to 138 in May."),
        ("The water in the hold fell to 18 °C.", "The water in the hold fell to -18 °C."),
        ("The machine used in Oslo runs at 40 °C.", "The machine used in Oslo runs at -40 °C."),
        ("The result of Oslo was five euros.", "The result of Oslo was minus five euros."),
        ("The result of Oslo was minus five euros.", "The result of Oslo was five euros."),
        ("The result of Oslo was 138 euros.", "The result of Oslo was —138 euros."),
        ("The result of Oslo was EUR 138.", "The result of Oslo was -EUR 138."),
        ("The result of Oslo was EUR 138.", "The result of Oslo was −EUR 138."),
        ("The result of Oslo was EUR 138 million.", "The result of Oslo was minus EUR 138 million."),
        ("The result of Oslo was EUR 138 million.", "The result of Oslo was negative EUR 138 million."),
        ("EUR 138 million in Oslo", "minus EUR 138 million in Oslo"),
        ("EUR 138 million in Oslo", "-EUR 138 million in Oslo"),
        ("138 million in Oslo", "minus EUR 138 million in Oslo"),
        ("138 euros in Oslo", "minus 138 euros in Oslo"),
        ("The rate of Oslo was 2.5 percent.", "The rate of Oslo was negative 2.5 percent."),
        ("Le résultat était de 138 euros à Lyon.", "Le résultat était de moins 138 euros à Lyon."),
        ("The night in Oslo costs $50.", "The night in Oslo costs A$50."),
        ("The night in Oslo costs A$50.", "The night in Oslo costs $50."),
        ("$50 in Oslo", "A$50 in Oslo"),
        ("The mass is 5 × 10³ kg in all", "The mass is 5 × 10⁻³ kg in all"),
        ("The mass is 5e3 kg in all", "The mass is 5e-3 kg in all"),
        ("The flow is 5 kg m² in all", "The flow is 5 kg m⁻² in all"),
        ("The pool has 31 lanes in all", "The pool has 3½ lanes in all"),
        ("The mass is 102 kg in all", "The mass is 10² kg in all"),
        ("The night costs EUR 50 in Bern", "The night costs CHF 50 in Bern"),
    ],
)
def test_another_sign_is_not_supported(claim: str, page: str, around: str) -> None:
    assert not is_supported(claim, page, around)


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize(
    ("claim", "page"),
    [
        ("Berlin (138) 199", "Berlin (138) 199"),
        ("Berlin -138 199", "Berlin (138) 199"),
        ("Berlin | (138) | 199", "Berlin | (138 | ) | 199"),
        ("The net loss of Berlin was 138 million.", "Net loss of Berlin (138) million"),
        ("Loss after tax ($138) 199", "Loss after tax $(138) 199"),
        ("Smith 2019 found three kinds", "Smith (2019) found three kinds"),
        ("There are 10 members in total", "There are ten (10) members in total"),
        ("Oslo has 5,000 members.", "Oslo (5,000 members) and Bergen (3,000) have members."),
        ("The ports are Oslo (5,000) and Bergen (3,000).", "The ports are Oslo 5,000 and Bergen 3,000."),
        ("The limit is >5 mg per litre", "The limit is > 5 mg per litre"),
        ("The limit is below 5 mg per litre", "The limit is <5 mg per litre"),
        ("The limit is ≤ 5 mg per litre", "The limit is <= 5 mg per litre"),
        ("The tolerance is ±5 mm for pipes", "The tolerance is +/- 5 mm for pipes"),
        ("The salinity is 5‰ in the pool", "The salinity is 5 ‰ in the pool"),
        ("Store the fish at -18 °C in the hold", "Store the fish at – 18 °C in the hold"),
        ("Keep the milk at 2 °C – 8 °C in the hold", "Keep the milk at 2 °C - 8 °C in the hold"),
        ("Pages 5 - 7 describe the engine", "Pages 5–7 describe the engine"),
        ("Solar panels in Oslo ✔", "Solar panels in Oslo ✓"),
        ("Two cabins face the sea", "■ Two cabins face the sea"),
        ("Net result 5 million in Oslo", "Net result - 5 million in Oslo"),
        ("The result of Oslo was -138 euros.", "The result of Oslo was minus 138 euros."),
        ("The result of Oslo was minus EUR 138 million.", "The result of Oslo was EUR -138 million."),
        ("The result of Oslo was -EUR 138.", "The result of Oslo was EUR (138)."),
        ("- EUR 138 for the ferry to Oslo", "• EUR 138 for the ferry to Oslo"),
        ("A night in Oslo costs US$50.", "A night costs $50 in Oslo."),
        ("A night in Oslo costs AUD 50.", "A night costs A$50 in Oslo."),
        ("The mass of all is 5 × 10⁻³ kg", "The mass is 5 × 10⁻³ kg in all"),
        ("Dividends paid in Oslo 138 199", "Dividends paid in Oslo (138) (199)"),
        ("The project in Oslo ran 2018–2020.", "The project in Oslo ran 2018 –2020."),
        ("Call 030 1234567 for help", "Call (030) 1234567 for help"),
        ("The pool has 3 1/2 lanes in all", "The pool has 3½ lanes in all"),
        ("The hall has 50 m2 in all", "The hall has 50 m² in all"),
        ("The night costs 50 CHF in Bern", "The night costs CHF 50 in Bern"),
    ],
)
def test_the_same_sign_in_another_spelling_is_supported(claim: str, page: str, around: str) -> None:
    assert is_supported(claim, page, around)


@pytest.mark.parametrize(
    ("quote", "page"),
    [
        ("5 degrees", "It was -5 degrees."),
        ("$5 was lost", "-$5 was lost"),
        ("138 in Berlin", "(138) in Berlin"),
        ("5 days of rain", "3–5 days of rain"),
        ("rain for 3", "rain for 3–5 days"),
        ("it costs 500", "it costs 500€ a day"),
        ("salt of 5", "salt of 5 ‰"),
        ("5 mg per litre", "<5 mg per litre"),
    ],
)
def test_a_quote_does_not_begin_or_end_between_a_number_and_its_sign(quote: str, page: str) -> None:
    assert locate(quote, page) is None


@pytest.mark.parametrize(
    ("quote", "page", "found"),
    [
        ("Result ( 138 ) in Berlin", "The Result (138) in Berlin fell", "Result (138) in Berlin"),
        ("(138) in Berlin", "Result (138) in Berlin fell", "(138) in Berlin"),
        ("limit <5 mg", "The limit < 5 mg holds", "limit < 5 mg"),
        ("pH<5", "A pH < 5 is sour", "pH < 5"),
        ("3-5 days", "It rains 3 – 5 days", "3 – 5 days"),
        ("the form <Name> is", "Fill in the form\n<Name> is your own", "the form\n<Name> is"),
        ("Two cabins. A view.", "► Two cabins.\n► A view.", "Two cabins.\n► A view."),
    ],
)
def test_the_place_of_a_quote_with_signs(quote: str, page: str, found: str) -> None:
    span = locate(quote, page)
    assert span is not None
    assert page[span.start : span.end] == found
