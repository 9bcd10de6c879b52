"""Words that exclude each other: a claim with another one than its page is not supported."""

import pytest

from core.grounding.evidence import Evidence
from core.grounding.quotes import Span


def is_supported(claim: str, page: str) -> bool:
    return Evidence(page).find(claim, Span(0, len(page))) is not None


@pytest.mark.parametrize(
    ("said", "written", "sentence"),
    [
        ("must", "may", "Employees {} request the form at the travel desk."),
        ("must", "should", "Employees {} request the form at the travel desk."),
        ("will", "may", "Employees {} be asked for a form at the travel desk."),
        ("müssen", "können", "Mieter {} das Formular beim Verein vor Ort holen."),
        ("doivent", "peuvent", "Les locataires {} demander le formulaire de travail au bureau."),
        ("All", "Some", "{} requests need a form from the travel desk."),
        ("days", "weeks", "Requests from the travel desk are answered within 30 {} of receipt."),
        ("month", "year", "The travel desk pays an allowance of $200 per {} for bicycles."),
        ("month", "week", "The crew gets 30 euros a {} for three months in winter."),
        ("second", "first", "The {} form of the travel desk is for long journeys."),
        ("März", "April", "Im {} wird am Kai das alte Boot gestrichen."),
        ("mardi", "lundi", "Les bacs de la cuisine sont sortis le {} matin par le gardien."),
        ("after", "before", "The form is sent {} the journey from the travel desk."),
        ("until", "from", "The travel desk pays bicycles {} May on."),
        ("unpaid", "paid", "Long journeys of the travel desk are {} leave."),
        ("ineligible", "eligible", "Bicycles of the travel desk are {} for a subsidy."),
        ("part-time", "full-time", "Each {} employee requests the form at the travel desk."),
        ("in-network", "out-of-network", "The plan pays doctors that are {} in every city."),
        ("will be", "was", "The form of the travel desk {} printed on paper."),
        ("profit", "loss", "The ferry made a {} of 5 million euros in winter."),
        ("income", "loss", "Net {} of the ferry was 5 million euros in winter."),
        ("bénéfice", "perte", "Le {} du bac de la ville est de 5 millions en hiver."),
        ("raised", "reduced", "The harbour office {} the fee for a berth in winter."),
        ("lowered", "increased", "The harbour office {} the fee for a berth in winter."),
        ("antiguas obras", "obras", "Las {} del puerto están en la ciudad de Oslo."),
        ("granted", "refused", "The request for a berth was {} in winter."),
        ("refundable", "non-refundable", "The deposit for a berth is {} in winter."),
        ("5 µg", "5 mg", "Dose: {} twice daily."),
        ("older than 65", "aged 65", "Guests {} travel free on the ferry in winter."),
        ("heavier than 30 kg", "lighter than 30 kg", "Boxes {} travel free on the ferry in winter."),
        ("ml", "mg", "The dose is 5 {} twice daily."),
        ("l", "ml", "The dose is 5 {} twice daily."),
        ("mA", "A", "The pump of the ferry draws a current of 5 {} in winter."),
        ("to", "from", "In winter the price of a berth fell {} EUR 5."),
        ("by", "to", "In winter the price of a berth fell {} about 5 euros."),
        ("auf", "von", "Im Winter sanken die Preise am Kai {} 5 Euro."),
        ("à", "de", "En hiver les prix du bac ont baissé {} 5 euros."),
        ("a", "de", "En invierno los precios del barco bajaron {} 5 euros."),
        ("augmenté", "baissé", "En hiver les prix du bac ont {} de 5 euros."),
        ("subieron", "bajaron", "En invierno los precios del barco {} 5 euros."),
        ("ab", "bis", "Die Sauna am Kai darf {} 20 Uhr benutzt werden."),
        ("storage", "server", "Supervisors enter the {} area with a guard in winter."),
        ("badges", "keys", "Lost {} are reported to the desk of the harbour."),
        ("director", "founder", "Ann is the {} of the harbour of Oslo and its first captain."),
        ("secrétaire", "trésorier", "Le {} présente les comptes à l'assemblée générale."),
        ("administrador", "arrendador", "El {} paga las reparaciones de más de 150 euros."),
        ("mg", "mcg", "The dose is 5 {} twice daily."),
        ("ms", "s", "The pump of the ferry stops after 5 {} in winter."),
        ("kg", "l", "The dose for dogs is 5 mg/{} in winter."),
        ("second", "third", "The {} floor of the ferry is closed in winter."),
        ("leaves", "arrives in", "The ferry {} Oslo at 17:30."),
        ("doubled", "halved", "The population of Oslo {} to 5 million."),
        ("mean", "median", "The {} fine of Oslo is 5 euros."),
        ("agreed", "rejected", "Three days of work at home were {} in winter."),
        ("refundable", "non refundable", "The deposit for a berth is {} in winter."),
        ("president", "vice president", "The {} of Oslo is Ann."),
        ("former president", "president", "The {} of Oslo is Ann."),
        ("treats", "fails to treat", "The drug {} the flu of patients in Oslo."),
        ("treats", "is unlikely to treat", "The drug {} the flu of patients in Oslo."),
        ("treats", "may treat", "The drug {} the flu of patients in Oslo."),
        ("signed", "refused to sign", "The mayor {} the treaty in Oslo."),
        ("The", "It is false that the", "{} drug treats the flu of patients in Oslo."),
        ("The", "Ann denied that the", "{} drug treats the flu of patients in Oslo."),
        ("signed", "denied signing", "The mayor {} the treaty in Oslo."),
        ("jährlich", "monatlich", "Der Mieter zahlt {} 950 EUR an den Verein."),
        ("mensual", "anual", "El inquilino paga un alquiler {} de 950 EUR."),
        ("disminuyeron", "aumentaron", "Los ingresos {} un 12 % en 2023."),
        ("raised", "lowered", "The ferry of Oslo {} the fee to 5 euros."),
        ("died", "recovered", "In the trial, 45 of 120 patients {}."),
        ("from", "to", "Shares of Altra fell 3.5 percent {} $41.20 on Monday."),
        ("sera", "sera peut-être", "Le bâtiment de la ville {} achevé en 2026."),
        ("El", "El antiguo", "{} director de la ciudad rechazó la propuesta."),
        ("president", "ex-president", "The {} of Oslo is Ann."),
        ("has", "lacks", "The ferry of Oslo {} a permit."),
        ("for", "against", "The members voted {} the merger in Oslo."),
        ("adopted", "withdrawn", "The proposal was {} with 7 votes."),
        ("covers", "excludes", "The warranty {} damage by water."),
        ("on", "off", "The pump must be switched {} before cleaning."),
        ("died", "was born", "Ann Berg {} in 1950 in Oslo."),
        ("improved", "worsened", "The symptoms {} after 5 days."),
        ("in advance", "in arrears", "The payment for a berth is due {} in Oslo."),
        ("clockwise", "counterclockwise", "Turn the valve {} to open it."),
        ("licensor", "licensee", "The {} owns the software in Oslo."),
        ("is gluten-free", "contains gluten", "The product of Oslo {} in winter."),
        ("um", "auf", "Der Umsatz der Fähre stieg im Winter und im Sommer {} 5 Prozent."),
        ("inklusive", "zuzüglich", "Das Angebot der Fähre gilt im Winter {} der Steuer von 19 Prozent."),
        ("commence", "termine", "Le contrat du bac de la ville {} le 31 mai 2024."),
        ("or", "and", "The travel desk pays the taxi {} the hotel."),
        ("and", "or", "Show a passport {} a certificate at the travel desk."),
    ],
)
def test_a_word_that_excludes_that_of_the_page_is_not_supported(
    said: str, written: str, sentence: str
) -> None:
    page = f"The harbour is old. {sentence.format(written)} Ships come and go."
    assert not is_supported(sentence.format(said), page)
    assert is_supported(sentence.format(written), page)


@pytest.mark.parametrize(
    ("claim", "page"),
    [
        ("Employees must request the form", "The form is requested by employees."),
        ("Employees must not smoke in the cabin", "Employees may not smoke in the cabin."),
        ("Leave is 28 days a year for employees", "Leave for employees is 28 days."),
        ("The desk pays taxi and hotel", "The desk pays the taxi. It also pays the hotel."),
        ("The yearly fee must be paid in Oslo", "The yearly fee will be paid in Oslo."),
        ("Employees can swim in May", "In May employees may swim."),
        ("The income of May is taxed", "Taxes come in May. The income of May is taxed."),
        ("The fee must be paid by guests in full", "The fee is paid in full by guests in May."),
        ("Every guest gets a voucher of 12 euros", "All guests get a voucher of 12 euros."),
        ("Managers approve requests", "Only managers approve requests."),
        ("The drug does not treat the flu of patients", "The drug fails to treat the flu of patients."),
        ("The mayor denied signing the treaty", "The mayor denied that he had signed the treaty."),
        ("The yearly fee is 40 euros", "The annual fee is EUR 40 and is payable by 31 January."),
        ("The ferry of Oslo has no permit", "The ferry of Oslo lacks a permit."),
        ("The drug can treat the flu of patients", "The drug may treat the flu of patients in Oslo."),
        ("Guests of Oslo visit the ferry in May", "In May guests visit the ferry of Oslo."),
        ("Dogs are allowed on the ferry", "Dogs may travel: dogs are allowed on the ferry."),
        ("The dose for dogs is 5 mg per kg", "In winter the dose for dogs is 5 mg/kg."),
        ("The third floor of the ferry is closed", "In winter the third floor of the ferry is closed."),
        ("Members pay 5 euros for a berth", "Members and non-members pay 5 euros for a berth."),
        (
            "The sign-in-page of the law is old",
            "The mother-in-law knows the sign-in-page of the law, it is old.",
        ),
    ],
)
def test_other_words_of_one_side_and_words_left_out_are_supported(claim: str, page: str) -> None:
    assert is_supported(claim, page)


def test_only_is_not_added() -> None:
    page = "In winter the ferry to Oslo takes {}cash from passengers."
    claim = "The ferry to Oslo takes {}cash from passengers."
    assert not is_supported(claim.format("only "), page.format(""))
    assert is_supported(claim.format("only "), page.format("solely "))
    assert is_supported(claim.format(""), page.format("only "))


def test_a_question_of_the_page_supports_no_statement() -> None:
    page = "Can employees carry leave over? No. Can dogs come aboard the ferry?"
    assert not is_supported("Employees can carry leave over", page)
    assert not is_supported("employees carry leave over", page)
    assert is_supported("Can employees carry leave over?", page)


@pytest.mark.parametrize(
    ("said", "written", "sentence"),
    [
        ("usually", "typically", "The harbour office {} answers within 30 days."),
        ("needs", "requires", "The sale of fish {} the consent of the harbour office."),
        ("innerhalb", "binnen", "Beide Seiten kündigen {} eines Monats am Kai."),
        ("lorsque", "quand", "Les boutiques ferment {} le bac arrive au port."),
        ("recibe", "obtiene", "La oficina del puerto {} una copia de cada contrato."),
        ("Several", "Some", "{} windows of the harbour office are closed in winter."),
        ("solely", "only", "In winter the ferry to Oslo takes {} cash from passengers."),
    ],
)
def test_a_word_that_says_the_same_may_replace_another(said: str, written: str, sentence: str) -> None:
    assert is_supported(sentence.format(said), sentence.format(written))
    assert is_supported(sentence.format(written), sentence.format(said))


@pytest.mark.parametrize(
    ("claim", "page"),
    [
        ("In Oslo the allowance per day is 5 euros.", "The daily allowance in Oslo is 5 euros."),
        (
            "The tenant ends the lease with written notice.",
            "The tenant ends the lease if it gives written notice.",
        ),
    ],
)
def test_a_word_may_move_to_another_place(claim: str, page: str) -> None:
    assert is_supported(claim, page)


@pytest.mark.parametrize("maybe", ["Perhaps", "Peut-être", "Quizás", "Vielleicht"])
def test_what_the_page_is_sure_of_is_not_supported_as_a_possibility(maybe: str) -> None:
    page = "The ferry to Oslo takes cash from passengers in winter."
    assert is_supported(page, page)
    assert not is_supported(f"{maybe} the ferry to Oslo takes cash from passengers in winter.", page)
    assert not is_supported(f"The ferry to Oslo {maybe.lower()} takes cash from passengers in winter.", page)
