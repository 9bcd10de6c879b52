"""Makes a long document like those that people have: an annual report of an invented harbour group.

A page has about 1,000 tokens, under a running header: two columns of prose with a footnote, or notes with a
table of figures. The outline has chapters and sections. The same number of pages always gives the same bytes.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from random import Random

from fpdf import FPDF

NAME = "annual-report.pdf"
QUESTION = "What does the deepening of the Kellmouth channel cost, who approved it, and when will it end?"
FACTS = (
    "The deepening of the Kellmouth channel will cost EUR 41.7 million, of which EUR 12.9 million was spent"
    " by 31 December 2025.",
    "The board approved the deepening of the Kellmouth channel on 14 May 2025, after the survey of the"
    " harbour master had been published.",
    "The deepening of the Kellmouth channel will end in October 2027, seven months later than the contract"
    " with the dredging company provides.",
)
"""The sentences that answer the question, each on another page; no other sentence names Kellmouth."""

COMPANY = "Tarnhaven Harbour Group plc"
TITLE = "Annual Report and Accounts 2025"
MADE_AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
LEFT, RIGHT, TOP, BOTTOM, GUTTER = 18.0, 192.0, 26.0, 272.0, 7.0
BODY, SMALL, LINE, ROW = 10.5, 8.0, 5.8, 5.4
PAGES_PER_CHAPTER, PAGES_PER_SECTION = 20, 4
TABLE_ROWS = 17
FACT_PLACES = (0.3, 0.51, 0.7)
"""Where the facts are, as shares of the pages."""

CHAPTERS = (
    "Strategic report",
    "Review of the terminals",
    "Risk report",
    "Sustainability statement",
    "Corporate governance",
    "Remuneration report",
    "Financial statements",
    "Notes to the accounts",
)
TERMINALS = "Aldersea Brackwater Corran Dunwick Estermouth Farholm Greyquay Hallow Innisport Jarlsund".split()
WORDS = {
    "cargo": "containers, bulk grain, timber, vehicles, chilled goods, steel coils, liquid fuels, fertiliser",
    "measure": "revenue, operating profit, throughput, cash flow, maintenance spending, energy use, net debt",
    "cause": "higher handling fees, a longer winter season, two new shipping lines, the strike of the pilots,"
    " lower fuel prices, the closure of the inland lock, a better mix of cargo, delayed deliveries of cranes",
    "body": "audit committee, remuneration committee, board, works council, supervisory authority, lenders,"
    " pension trustees, executive directors",
    "asset": "quay walls, gantry cranes, shore power stations, the rail yard, warehouses, pilot boats,"
    " dredging equipment, the customs hall, software, leased land",
    "risk": "currency movements, cyber attacks, flooding of the lower yard, the loss of a major customer,"
    " stricter emission rules, shortage of skilled staff, rising interest rates, delays of permits",
    "action": "a review of all contracts, quarterly stress tests, an extended insurance cover, fixed rates,"
    " further training of crews, a second data centre, monthly inspections, new framework agreements",
    "month": "January, March, April, June, July, September, October, December",
}
VOCABULARY = {name: [each.strip() for each in words.split(",")] for name, words in WORDS.items()}
SENTENCES = (
    "The {measure} of the {terminal} terminal rose by {percent} % to EUR {amount} million, mainly because of"
    " {cause}.",
    "At {terminal}, the volume of {cargo} fell from {large} to {smaller} tonnes, which reflects {cause} in"
    " {month}.",
    "The {body} considered {risk} in {month} {year} and decided on {action}.",
    "Depreciation of {asset} amounted to EUR {amount} million ({year}: EUR {other} million), over useful"
    " lives of {low} to {high} years.",
    "Management expects that {cause} will change the {measure} of {terminal} by no more than {percent} % in"
    " the coming year.",
    "If {risk} had been {percent} percentage points higher, profit before tax would have been EUR {amount}"
    " million lower.",
    "In {month}, the group agreed with its lenders that {asset} of EUR {amount} million serve as security"
    " until {future}.",
    "Customers in {cargo} account for {percent} % of receivables, and EUR {other} million of them were"
    " overdue by more than {high} days.",
    "The residual exposure to {risk} is rated as moderate, since {action} cover {terminal} and neighbouring"
    " sites.",
    "Of the provision for {asset}, EUR {other} million was used, EUR {amount} million was added, and the rest"
    " is due in {future}.",
)
NOTES = (
    "Figures for {year} were restated after the change in the accounting of {asset}; see note {low}.",
    "Excluding {cause}, which the {body} regard as one-off.",
    "Unaudited. The {body} received the figures for {terminal} in {month}.",
)
ROWS = (
    "Revenue from {cargo}",
    "{terminal} terminal",
    "Cost of {asset}",
    "Provision for {risk}",
    "Other income, {terminal}",
)


class Report(FPDF):
    """A4 pages with a running header and a page number in the footer."""

    chapter = ""

    def header(self) -> None:
        """The company and the report on the left, the chapter on the right."""
        self.set_font("Helvetica", "", SMALL)
        self.text(LEFT, 14, f"{COMPANY} | {TITLE}")
        self.text(RIGHT - self.get_string_width(self.chapter), 14, self.chapter)
        self.line(LEFT, 16, RIGHT, 16)

    def footer(self) -> None:
        """The number of the page."""
        self.set_font("Helvetica", "", SMALL)
        self.text(RIGHT - 8, 287, str(self.page_no()))


class Prose:
    """Sentences and rows of tables, drawn from a random source."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def sentence(self) -> str:
        """A sentence of about 30 tokens."""
        return self._filled(SENTENCES)

    def note(self) -> str:
        """A footnote."""
        return self._filled(NOTES)

    def row(self) -> str:
        """The label of a table's row."""
        label = self._filled(ROWS)
        return label[0].upper() + label[1:]

    def number(self) -> str:
        """A cell of a table: thousands of euros, negative ones in brackets."""
        value = self._random.randint(12, 98_000)
        return f"({value:,})" if self._random.random() < 0.2 else f"{value:,}"

    def _filled(self, templates: Sequence[str]) -> str:
        random = self._random
        large = random.randint(20_000, 900_000)
        words = {name: random.choice(choices) for name, choices in VOCABULARY.items()}
        return random.choice(templates).format(
            **words,
            terminal=random.choice(TERMINALS),
            percent=round(random.uniform(0.4, 19), 1),
            amount=round(random.uniform(20, 480), 1),
            other=round(random.uniform(0.2, 19), 1),
            large=f"{large:,}",
            smaller=f"{int(large * random.uniform(0.6, 0.97)):,}",
            low=random.randint(2, 9),
            high=random.randint(10, 60),
            year=random.randint(2021, 2024),
            future=random.randint(2027, 2039),
        )


def make_report(pages: int = 160) -> bytes:
    """The PDF. A report of fewer than ten pages has all facts too."""
    pdf = Report(format="A4")
    pdf.set_creation_date(MADE_AT)
    pdf.set_title(f"{COMPANY}: {TITLE}")
    pdf.set_auto_page_break(False)
    prose = Prose(Random(2025))
    facts = {int(pages * share): fact for share, fact in zip(FACT_PLACES, FACTS, strict=True)}
    for number in range(pages):
        _start_page(pdf, number)
        if number % 2:
            _write_notes(pdf, prose, facts.get(number))
        else:
            _write_columns(pdf, prose, facts.get(number))
    return bytes(pdf.output())


def _start_page(pdf: Report, number: int) -> None:
    chapter = CHAPTERS[number // PAGES_PER_CHAPTER % len(CHAPTERS)]
    pdf.chapter = chapter
    pdf.add_page()
    if number % PAGES_PER_CHAPTER == 0:
        pdf.start_section(chapter)
    if number % PAGES_PER_SECTION == 0:
        section = f"{TERMINALS[number // PAGES_PER_SECTION % len(TERMINALS)]} and the group"
        pdf.start_section(section, level=1)
        pdf.set_font("Helvetica", "B", 12)
        pdf.text(LEFT, TOP - 4, section)


def _write_columns(pdf: Report, prose: Prose, fact: str | None) -> None:
    """Two columns of paragraphs, and a footnote below them."""
    width = (RIGHT - LEFT - GUTTER) / 2
    for column in range(2):
        pdf.set_font("Times", "", BODY)
        x = LEFT + column * (width + GUTTER)
        _write_lines(pdf, x, TOP, BOTTOM - 8, _paragraphs(prose, fact if column else None), width)
    pdf.set_font("Times", "", SMALL)
    pdf.line(LEFT, BOTTOM - 4, LEFT + 40, BOTTOM - 4)
    pdf.text(LEFT, BOTTOM, f"{pdf.page_no()}) {prose.note()}")


def _write_notes(pdf: Report, prose: Prose, fact: str | None) -> None:
    """Paragraphs over the whole width, and a table of figures for four years."""
    pdf.set_font("Times", "", BODY)
    table = BOTTOM - (TABLE_ROWS + 2) * ROW
    _write_lines(pdf, LEFT, TOP, table - 2 * ROW, _paragraphs(prose, fact), RIGHT - LEFT)
    pdf.set_font("Helvetica", "B", SMALL)
    _write_row(pdf, table, "EUR thousand", ["2025", "2024", "2023", "2022", "Change"])
    pdf.line(LEFT, table + 1.2, RIGHT, table + 1.2)
    pdf.set_font("Helvetica", "", SMALL)
    for row in range(1, TABLE_ROWS + 1):
        cells = [*(prose.number() for _ in range(4)), f"{row * 7 % 23 - 9} %"]
        _write_row(pdf, table + row * ROW, prose.row(), cells)


def _write_row(pdf: Report, y: float, label: str, cells: Sequence[str]) -> None:
    pdf.text(LEFT, y, label)
    for at, cell in enumerate(cells):
        pdf.text(LEFT + 88 + 21 * at - pdf.get_string_width(cell), y, cell)


def _paragraphs(prose: Prose, fact: str | None) -> Iterator[str]:
    """Paragraphs without end, the first of which ends with the fact."""
    yield " ".join([prose.sentence(), *([fact] if fact else [])])
    while True:
        yield " ".join(prose.sentence() for _ in range(5))


def _write_lines(
    pdf: Report, x: float, top: float, bottom: float, paragraphs: Iterator[str], width: float
) -> None:
    """Fill the column with paragraphs; the last one is cut where the column ends."""
    y = top
    for paragraph in paragraphs:
        for line in _broken(pdf, paragraph, width):
            if y > bottom:
                return
            pdf.text(x, y, line)
            y += LINE
        y += LINE / 2


def _broken(pdf: Report, paragraph: str, width: float) -> Iterator[str]:
    line: list[str] = []
    used, space = 0.0, pdf.get_string_width(" ")
    for word in paragraph.split():
        needed = pdf.get_string_width(word)
        if line and used + needed > width:
            yield " ".join(line)
            line, used = [], 0.0
        line.append(word)
        used += needed + space
    yield " ".join(line)
