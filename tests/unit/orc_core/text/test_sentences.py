"""Splitting page text into sentences, items, rows and headings."""

import pytest

from orc_core.text.sentences import Piece, sentences, split_pieces


@pytest.mark.parametrize(
    "text",
    [
        "Dr. Smith of Contoso Inc. paid 3.5 percent, i.e. nothing.",
        "See Fig. 3 and Jiang et al. 2021 for J. Doe.",
        "1. Quality: we strive for it.",
        "Der Umsatz betrug 30 Mio. Euro und 2 Mrd. GBP.",
        "Der Vertrag endet am 8. Februar 2024.",
        "Habló el Sr. Costa con la Dra. Gil en EE. UU. desde 1990.",
    ],
)
def test_abbreviations_initials_and_numbering_do_not_end_a_sentence(text: str) -> None:
    assert list(sentences(text)) == [text]


@pytest.mark.parametrize(
    "found",
    [
        ["Es waren 8.", "Danach endete 2023.", "Februar war kalt."],
        ["Wasser gibt es vom 15. April bis zum 15. Oktober.", "Danach ist Schluss."],
        ["Der Aufzug hält im 2. Stock und am 3. Eingang.", "Danach ist Schluss."],
        ["There are 12.", "Bikes are extra."],
    ],
)
def test_a_number_can_end_a_sentence_and_an_ordinal_does_not(found: list[str]) -> None:
    assert list(sentences(" ".join(found))) == found


def test_chinese_and_japanese_sentences_need_no_space() -> None:
    assert list(sentences("年間2,000円です。詳細はこちら。")) == ["年間2,000円です。", "詳細はこちら。"]


PIECES = {
    "a sentence spans lines": (
        "The deductible is\n$2,000 per\nyear. It starts again\nin January.",
        ["The deductible is $2,000 per year.", "It starts again in January."],
    ),
    "wrapped lines with capitals": (
        "The lease was signed by Harbour Mill Estates and by the\nTenant in Wexley in\nMay.",
        ["The lease was signed by Harbour Mill Estates and by the Tenant in Wexley in May."],
    ),
    "lines of a slide": (
        "Who pays\nState of Norrland: 14 million\nCity of Vikhamn: 8 million\n"
        "Hallberg Foundation: 5 million, of which 2 million depend\non the visitors of the first year",
        [
            "Who pays",
            "State of Norrland: 14 million",
            "City of Vikhamn: 8 million",
            "Hallberg Foundation: 5 million, of which 2 million depend on the visitors of the first year",
        ],
    ),
    "lines that begin with a code": (
        "Faults are on the display of the machine. They go out after the next start.\n"
        "E15 Water in the base tray Close the tap and call customer service\n"
        "E24 Drain hose kinked or blocked Straighten the hose and clean the filter\n",
        [
            "Faults are on the display of the machine.",
            "They go out after the next start.",
            "E15 Water in the base tray Close the tap and call customer service",
            "E24 Drain hose kinked or blocked Straighten the hose and clean the filter",
        ],
    ),
}


@pytest.mark.parametrize(("text", "pieces"), PIECES.values(), ids=PIECES)
def test_a_text_has_these_pieces(text: str, pieces: list[str]) -> None:
    assert [piece.text for piece in split_pieces(text)] == pieces


ITEMS = "1. Book the crane\n2. Name the hall\n\n3. Paint the door"  # prose: data
KINDS = {
    "items of a numbered list": (f"Decisions\n{ITEMS}\nThe board agreed to all of it.", ["item"] * 3),
    "lines of a slide below its heading": (
        "Risks\nSoil may cost 2 million\nTimber prices have risen since the tender of June\nStaff is short",
        ["sentence"] * 3,
    ),
    "a row with one number": (
        "Equipment Paid up to How often\nDesk 350 EUR 8 years\n"
        "Office chair of good quality 400 EUR\nLamp 60 EUR 5 years",
        ["row"] * 3,
    ),
    "a sign between numbers": (
        "Cover Limit Excess\nFire 180,000 € without excess\nDamage by water 60,000 € 150 €",
        ["row"] * 2,
    ),
    "a title below a copyright": (
        "July 9-14, 2023 ©2023 Society for Quays\nA title of a paper about quays\n"
        "Quays are walls to which ships are moored, and they are built of stone or of wood in most harbours.",
        ["heading", "sentence"],
    ),
}


@pytest.mark.parametrize(("text", "kinds"), KINDS.values(), ids=KINDS)
def test_a_first_line_is_a_heading_and_the_others_have_their_kinds(text: str, kinds: list[str]) -> None:
    assert [piece.kind for piece in split_pieces(text)] == ["heading", *kinds]


def test_two_cells_are_a_row() -> None:
    assert [piece.kind for piece in split_pieces("Milestone | Date\nRoof closed | January")] == ["row", "row"]


def test_headings_are_pieces_and_apply_to_what_follows() -> None:
    text = (
        "Job Title\nOperations\n\nDuties:\n• Plan the work\n• Check the\nresults\nQualifications:\n• A degree"
    )
    assert split_pieces(text) == [
        Piece("Job Title", "heading"),
        Piece("Operations", "heading"),
        Piece("Duties:", "heading"),
        Piece("• Plan the work", "item", "Job Title Operations Duties:"),
        Piece("• Check the results", "item", "Job Title Operations Duties:"),
        Piece("Qualifications:", "heading"),
        Piece("• A degree", "item", "Job Title Operations Qualifications:"),
    ]


def test_a_sentence_with_a_colon_is_the_heading_of_its_items() -> None:
    text = "You should do the following before you schedule an appointment with anybody:\n- Call us\n- Wait"
    assert [piece.heading for piece in split_pieces(text)][1:] == [split_pieces(text)[0].text] * 2


def test_table_rows_are_separate_pieces_below_their_header() -> None:
    text = "Plan Deductible Copay\nStandard $2,000 $35\nPlus $1,500 $20\n\nAmounts are per year."
    kinds = [(piece.kind, piece.heading) for piece in split_pieces(text)]
    assert kinds[:3] == [("heading", ""), ("row", "Plan Deductible Copay"), ("row", "Plan Deductible Copay")]
    assert split_pieces(text)[3].text == "Amounts are per year."


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["A" * 300_000, "a. " * 100_000, "\n" * 100_000, "1 2 3\n" * 30_000, "a\n\n" * 30_000]
)
def test_splitting_takes_linear_time(text: str) -> None:
    assert len("".join(piece.text for piece in split_pieces(text))) <= len(text)


def test_a_numbered_heading_is_not_an_item_with_the_text_of_its_section() -> None:
    text = (
        "1. Use\nThe hall is let. Music ends at ten.\n\n2. Fees\nA day costs 90 euros.\n2.1 Power is extra."
    )
    assert [(piece.text, piece.kind, piece.heading) for piece in split_pieces(text)] == [
        ("1. Use", "heading", ""),
        ("The hall is let.", "sentence", "1. Use"),
        ("Music ends at ten.", "sentence", "1. Use"),
        ("2. Fees", "heading", ""),
        ("A day costs 90 euros.", "sentence", "2. Fees"),
        ("2.1 Power is extra.", "sentence", "2. Fees"),
    ]


def test_an_amount_can_be_below_its_currency() -> None:
    text = (
        "The court orders that the defendant pays the costs and sets\nthe bond at EUR\n60 thousand for now."
    )
    assert "the bond at EUR 60 thousand" in split_pieces(text)[0].text


def test_lines_of_a_page_without_sentences_are_separate_though_they_are_long() -> None:
    lines = [
        "We expect 85,000 visitors in the first year and 70,000 in later years",
        "Tickets cost 14 EUR for adults, 9 EUR for students, nothing under 16",
        "Open from Tuesday to Sunday, 10 a.m. to 6 p.m., on Thursdays until 9",
    ]
    assert [piece.text for piece in split_pieces("\n".join(["Visitors", *lines]))][1:] == lines


def test_a_line_with_a_label_begins_a_block() -> None:
    pieces = split_pieces(
        "Present: Ann Lee (chair), Bo Roe, Cy Moe\nApologies: Di Foe\n\nThe fair was a success."
    )
    assert [piece.text for piece in pieces][:2] == [
        "Present: Ann Lee (chair), Bo Roe, Cy Moe",
        "Apologies: Di Foe",
    ]


def test_fields_of_a_form_are_separate_lines_and_no_headings() -> None:
    text = (
        "INVOICE\nInvoice number: LA-25\nPurchase order: PF-8\nAddress for delivery: Unit 4, Truro\n"
        "Item Pieces Price\nRacks 2 10.00\nHandles 1 3.00\nPlease quote the number of the invoice."
    )
    assert [(piece.text, piece.kind, piece.heading) for piece in split_pieces(text)][:6] == [
        ("INVOICE", "heading", ""),
        ("Invoice number: LA-25", "sentence", "INVOICE"),
        ("Purchase order: PF-8", "sentence", "INVOICE"),
        ("Address for delivery: Unit 4, Truro", "sentence", "INVOICE"),
        ("Item Pieces Price", "heading", ""),
        ("Racks 2 10.00", "row", "INVOICE Item Pieces Price"),
    ]


def test_the_subject_of_an_e_mail_is_its_title_and_its_addresses_are_no_headings() -> None:
    text = (
        "Subject: Cold store racks\nFrom: Greta Holm <greta@racks.example>\nTo: Dan Oak <dan@oak.example>\n\n"
        "Dear Dan,\nwe can deliver the six racks that you asked for, all of them insulated."
    )
    assert [piece.heading for piece in split_pieces(text) if piece.kind != "heading"] == [
        "Subject: Cold store racks"
    ] * 3


@pytest.mark.parametrize("heading", ["Chapter 3: The harbour", "Annex: Fees"])
def test_a_heading_may_have_a_colon(heading: str) -> None:
    text = f"Guide\nThe guide is for all.\n{heading}\nThe harbour was built in 1911 and has two long piers."
    assert (heading, "heading") in [(piece.text, piece.kind) for piece in split_pieces(text)]


def test_a_field_is_whole_without_a_full_stop() -> None:
    assert Piece("Due date: 30 May", "sentence").is_whole
    assert not Piece("The due date of the invoice", "sentence").is_whole


def test_lines_with_a_number_in_the_same_place_are_rows_and_no_headings() -> None:
    rows = ["April 4 Ms. Adeyemi", "June 3 Mr. Horvat", "October 5 Ms. Lindqvist"]
    text = "\n".join(["Bees need the consent of both neighbours.", "Month Work hours Led by", *rows])
    pieces = [(piece.kind, piece.text, piece.heading) for piece in split_pieces(text)]
    assert pieces[1][:2] == ("heading", "Month Work hours Led by")
    assert pieces[2:] == [("row", row, "Month Work hours Led by") for row in rows]


@pytest.mark.parametrize(
    "lines",
    [
        ("Part 2", "Fees of the harbour"),
        ("Notes of 3 May", "The quay was closed."),
        ("In 2024 the quay was", "closed for 5 days and"),
    ],
)
def test_a_single_line_with_a_number_is_no_row(lines: tuple[str, str]) -> None:
    text = "\n".join([*lines, "It opens again as soon as the wall has been built, and not before that."])
    assert "row" not in [piece.kind for piece in split_pieces(text)]


def test_a_line_with_a_number_below_a_table_is_no_row_if_its_sentence_goes_on() -> None:
    table = "Fees\n1,000 54 89\n2,500 96 142\n"
    text = f"{table}The excess of the basic tariff is 75 euros. In the other one there is\nno excess."
    assert [(piece.kind, piece.text) for piece in split_pieces(text)][-2:] == [
        ("sentence", "The excess of the basic tariff is 75 euros."),
        ("sentence", "In the other one there is no excess."),
    ]


def test_times_of_a_timetable_are_cells() -> None:
    text = "Ferry\nSummer\nFrom port To island Ship\n06:45 07:30 Corran\n09:15 10:00 Skua"
    found = [(piece.kind, piece.text) for piece in split_pieces(text)]
    assert found[-3:] == [
        ("heading", "From port To island Ship"),
        ("row", "06:45 07:30 Corran"),
        ("row", "09:15 10:00 Skua"),
    ]


def test_the_header_of_a_table_below_a_heading_is_a_heading_in_a_list_too() -> None:
    text = "Fares\nTicket single return\nAdults 7.50 13.00\nDogs 2.00 4.00\n23 June: cards are printed\n"
    assert [piece.kind for piece in split_pieces(text)][:3] == ["heading", "heading", "row"]


def test_a_marked_heading_above_a_table_is_no_row() -> None:
    text = "## 5. Actions\n\n| Action | Owner |\n| --- | --- |\n| Order swings | Osei |"
    assert split_pieces(text)[0].kind == "heading"


def test_a_line_that_ends_a_sentence_and_has_a_phone_number_is_no_row() -> None:
    text = (
        "Notes\nIn a wind of force 8 the ferry does not run. For news call the office\n"
        "at 04651 55 01 20, daily from 6 to 19 hours. Vehicles have to be at the pier 20 minutes\n"
        "before they leave."
    )
    assert [piece.text for piece in split_pieces(text)[2:]] == [
        "For news call the office at 04651 55 01 20, daily from 6 to 19 hours.",
        "Vehicles have to be at the pier 20 minutes before they leave.",
    ]
