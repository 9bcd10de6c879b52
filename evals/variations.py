"""Question sets made from the open and the filing questions, each testing one way that users ask.

`names` and `periods` have several similar documents in scope, and the question names one of them or its
year; `places` ask about a numbered table, figure or note; `misspelled` have one typing error each;
`instructed` say how to answer. Nothing was tuned on them: they decide which ingredients stay.
"""

import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, product
from pathlib import Path

from evals.corpus import Gold, Question
from orc_core.infra.sqlite import Database
from orc_core.models import Page
from orc_core.storage.sqlite.passages import SqlitePassageIndex

REPORT = "MSFT_FY23Q4_10K.docx"
PRESS_RELEASE = "PressReleaseFY23Q4.docx"
PLANS = {
    "Northwind_Standard_Benefits_Details.pdf": "Northwind Standard",
    "Northwind_Health_Plus_Benefits_Details.pdf": "Northwind Health Plus",
}
UNVARIED = frozenset({"multilingual", "plain", "plans", "one of several", "several"})
LATEST_YEAR, EARLIER_REPORTS = 2023, 2
MEASURES = {
    "quick ratio": 56,
    "gross margin": 54,
    "research and development expense": 54,
    "capital expenditure": 57,
    "operating cash flow": 57,
    "retained earnings at the end": 56,
}
"""Measures and the page of the annual report with the statement that shows them."""
SHORTEST_MISSPELLED = 7
INSTRUCTIONS = (
    "{} Please answer in one short sentence.",
    "You are a helpful assistant. {}",
    "{} Answer in three bullet points and quote the page.",
    "Keep it under 100 words: {}",
    "{} Reply in simple language that a new colleague understands.",
    "Only use the attached files. {} Think step by step.",
    "Answer the question as an equity analyst: {} Base it on the details shown in the income statement.",
    "{} Round your answer to two decimals. If this is not a meaningful metric, say so and explain why.",
    "{} Give a response by relying on the details shown in the balance sheet and the cash flow statement.",
    "You are an investment banker and your only resource is the annual report. {}",
    "{} Please state your answer in USD millions, rounded to one decimal place.",
    "From the perspective of a credit analyst who only has access to these documents, {}",
)

_YEAR = re.compile(r"(?<!\d)20[12]\d(?!\d)")
_XML_TEXT = re.compile(r">([^<>]*)<")
_CAPTION = re.compile(r"^\s*(Table|Figure|NOTE) (\d{1,2})(?=\s?[:.]| —)", re.M)
_WORD = re.compile(rf"[a-z]{{{SHORTEST_MISSPELLED},}}")


def vary(
    sets: Mapping[str, Sequence[Question]], pages: Mapping[str, Sequence[Page]]
) -> dict[str, list[Question]]:
    """The variations of question sets over documents with these pages, by name; empty ones are left out."""
    questions = [question for name, each in sets.items() if name not in UNVARIED for question in each]
    made = {
        "names": names(questions),
        "periods": periods(questions) if PRESS_RELEASE in pages else [],
        "years": list(several_years()) if PRESS_RELEASE in pages else [],
        "places": list(places(pages)),
        "misspelled": misspelled(questions),
        "instructed": instructed(questions),
    }
    return {name: varied for name, varied in made.items() if varied}


def earlier_reports(documents: Mapping[str, Path], folder: Path) -> dict[str, Path]:
    """The press release, and copies of the annual report, in `folder`, with all years shifted back."""
    if REPORT not in documents:
        return {}
    report = documents[REPORT]
    found = {PRESS_RELEASE: report.with_name(PRESS_RELEASE)}
    for years in range(1, EARLIER_REPORTS + 1):
        found[earlier_name(years)] = _write_earlier(report, folder / earlier_name(years), years)
    return found


def earlier_name(years: int) -> str:
    """The file name of the annual report of so many years before the real one; 0 is the real one."""
    return REPORT.replace("FY23", f"FY{23 - years}")


async def read_pages(database: Database, documents: Iterable[str]) -> dict[str, list[Page]]:
    """The indexed text of the documents, by page."""
    index = SqlitePassageIndex(database)
    found = {}
    for name in documents:
        texts: dict[int, list[str]] = {}
        for passage in await index.get(name):
            texts.setdefault(passage.page, []).append(passage.text)
        found[name] = [Page(number=number, text="\n".join(parts)) for number, parts in texts.items()]
    return found


def _write_earlier(report: Path, target: Path, years: int) -> Path:
    with zipfile.ZipFile(report) as source, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as copy:
        for entry in source.infolist():
            content = source.read(entry)
            if entry.filename.startswith("word/") and entry.filename.endswith(".xml"):
                content = _shift_xml(content.decode(), years).encode()
            copy.writestr(entry.filename, content)
    return target


def names(questions: Sequence[Question]) -> list[Question]:
    """Questions about one of two similar benefit plans, which they name, over all files of the company."""
    scope = next((question.files for question in questions if len(question.files) > len(PLANS)), [])
    return [
        question.model_copy(
            update={"question": f"{question.question} I have the {plan} plan.", "files": scope}
        )
        for question in questions
        if len(question.files) == 1 and (plan := PLANS.get(question.files[0]))
    ]


def periods(questions: Sequence[Question]) -> list[Question]:
    """Questions about one year, over the annual reports of three years."""
    scope = _report_family()
    made = []
    for question in questions:
        if max(map(int, _YEAR.findall(question.question)), default=0) != LATEST_YEAR:
            continue
        for years in range(EARLIER_REPORTS + 1):
            name = earlier_name(years)
            gold = [page.model_copy(update={"file": name}) for page in question.gold]
            text = _shift(question.question, years)
            made.append(Question(id=f"{question.id}-{years}", question=text, files=scope, gold=gold))
    return made


def several_years() -> Iterator[Question]:
    """Questions that compare two years, over the annual reports of three years; a page of each is needed.

    The report of the following year shows a year's figures too.
    """
    scope = _report_family()
    for (measure, page), (one, other) in product(
        MEASURES.items(), combinations(range(EARLIER_REPORTS + 1), 2)
    ):
        late, early = LATEST_YEAR - one, LATEST_YEAR - other
        gold = [
            Gold(file=earlier_name(shown), page=page, group=years)
            for years in (one, other)
            for shown in (years, years - 1)
            if shown >= 0
        ]
        text = f"Compare the {measure} of fiscal {early} and fiscal {late}."
        yield Question(id=f"{measure}-{early}-{late}", question=text, files=scope, gold=gold)


def _report_family() -> list[str]:
    return [REPORT, PRESS_RELEASE, *(earlier_name(years) for years in range(1, EARLIER_REPORTS + 1))]


def places(documents: Mapping[str, Sequence[Page]]) -> Iterator[Question]:
    """A question for each table, figure and note whose number is captioned on exactly one page."""
    for name, pages in documents.items():
        if name in {earlier_name(years) for years in range(1, EARLIER_REPORTS + 1)}:
            continue
        captioned: dict[tuple[str, str], set[int]] = {}
        for page in pages:
            for kind, number in _CAPTION.findall(page.text):
                captioned.setdefault((kind.lower(), number), set()).add(page.number)
        for (kind, number), found in captioned.items():
            if len(found) == 1:
                gold = [Gold(file=name, page=found.pop())]
                text = f"What does {kind} {number} show?"
                yield Question(id=f"{name}-{kind}-{number}", question=text, files=[name], gold=gold)


def misspelled(questions: Sequence[Question]) -> list[Question]:
    """Questions with two neighbouring letters of their longest word in the wrong order."""
    made = []
    for question in questions:
        longest = max(_WORD.findall(question.question), key=len, default="")
        middle = len(longest) // 2
        wrong = longest[:middle] + longest[middle + 1 :][:1] + longest[middle : middle + 1]
        if longest and wrong != longest[: middle + 2]:
            text = question.question.replace(longest, wrong + longest[middle + 2 :])
            made.append(question.model_copy(update={"question": text}))
    return made


def instructed(questions: Sequence[Question]) -> list[Question]:
    """Questions with an instruction on how to answer."""
    return [
        question.model_copy(
            update={"question": INSTRUCTIONS[number % len(INSTRUCTIONS)].format(question.question)}
        )
        for number, question in enumerate(questions)
    ]


def _shift(text: str, years: int) -> str:
    return _YEAR.sub(lambda found: str(int(found[0]) - years), text)


def _shift_xml(xml: str, years: int) -> str:
    return _XML_TEXT.sub(lambda found: f">{_shift(found[1], years)}<", xml)
