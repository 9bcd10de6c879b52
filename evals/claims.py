"""Checks right and wrong answers in the forms that models write: right ones that fail, wrong ones that pass.

`python -m evals.claims` makes them from the questions and documents of evals/unseen: sentences and table rows
with the answers, on the pages that have them. A wrong answer differs from a right one in one number, year or
name, in a negation, in a sign or currency, in a word such as `must`, in a comparison such as `at least`, or
in the page that it cites. Each run makes the same answers.
"""

import argparse
import asyncio
import re
import sys
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple

from core.extraction.sandbox import Extractor
from core.grounding.citations import CitationWriter
from core.grounding.models import Grounding
from core.grounding.sources import Source
from devkit.reports import markdown_table
from evals.corpus import Question, find_documents, read_questions

FOLDERS = [Path(__file__).with_name("unseen") / part for part in ("tuning", "test")]
SHORTEST, LONGEST = 25, 260
MOST_TOGETHER = 3
"""Sentences of one answer."""
_SENTENCE = re.compile(r"(?<=[.!?]) +(?=[A-ZÄÖÜÉÀ«„\"])")
_NUMBERED = re.compile(r"\w\.? \d+\.\d+ [A-ZÄÖÜÉÀ]")
_ABBREVIATED = re.compile(r"(?:\b[A-Za-z]|\bz\.B|\bca|\bNr|\bArt|\bMr|\bMs|\bDr|\d)\.$")
_NUMBER = re.compile(r"(?<![\w.,:/-])\d{1,3}(?![\w:/-]|[.,]\d)")
_YEAR = re.compile(r"(?<![\w.,/-])(?:19|20)\d\d(?![\w/-])")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-zäöüéè]{3,}\b")
_OTHER_SIGNS = (
    (re.compile(r"\((?=\d[\d.,]*\))(.*?)\)"), r"\1"),
    (re.compile(r"(?<![\w.])[-−](?=\d)"), ""),
    (re.compile("[$€£](?= ?\\d)|(?<=\\d)[$€£]"), "₹"),
    (re.compile(r"[<≤▼](?= ?\d)"), ">"),
    (re.compile(r"[-–] (?=\d+ °)"), ""),
    (re.compile(r"[>≥](?= ?\d)"), "<"),
    (re.compile(r"±(?= ?\d)"), "-"),
    (re.compile(r"(?<![\w.,:/$€£(-])(?=\d{1,3}(?![\w:/-]|[.,]\d))"), "-"),
)
"""What a sign is replaced by if a sentence has it; in other sentences a number gets a minus."""
_OTHER_WORDS = dict(
    pair.split("/")
    for pair in "may/must can/must must/may should/must darf/muss muss/kann müssen/können kann/muss doit/peut"
    " peut/doit days/weeks day/week months/years hours/days month/year Tage/Wochen Jahre/Monate"
    " jours/semaines all/some All/Some every/some each/some first/second or/and oder/und and/or before/after"
    " paid/unpaid eligible/ineligible full-time/part-time until/from".split()
)
_OTHER_WORD = re.compile(rf"(?<![\w-])(?:{'|'.join(_OTHER_WORDS)})(?![\w-]| not\b| nicht\b)")
_COMPARISON = re.compile(
    r"(?i:\b(?:at (?:least|most)|(?:more|less|fewer) than|up to|mindestens|höchstens|bis zu|plus de))\s"
    r"(?=[$€£]?\d|(?:two|three|four|five|six|eight|ten|twenty|zwei|drei|fünf|trois)\b)"
)
_VERB = re.compile(
    r"\b(is|are|must|may|can|will|was|ist|sind|darf|dürfen|muss|müssen|kann|wird|est|sont|peut|doit)\b"
)
_NEGATED = re.compile(r"\b(?:not|nicht|pas|kein\w*|no|never|nie|ne|n['’])", re.I)
NOT = {"est": "pas", "sont": "pas", "peut": "pas", "doit": "pas"} | dict.fromkeys(
    "ist sind darf dürfen muss müssen kann wird".split(), "nicht"
)


class CitedPage(NamedTuple):
    """A page and the sentences or rows of it that answer questions."""

    file: str
    number: int
    text: str
    sentences: list[str]
    rows: list[str]


_ACCOUNTS = [
    "Result before tax | (138) | 199",
    "Net change in cash | 1,214 | (856)",
    "Change in fair value | $(1,428) | $602",
    "Drinking water, chlorine | ≤ 0.3 mg/l | daily",
    "Swimming pool, pH value | > 7.2 | weekly",
    "Thickness of the glass | ±2 mm | per pane",
    "Share price in Oslo | ▼ 14 | ▲ 11",
]
_LIMITS = [
    "The deep freezer of the ferry is kept at – 18 °C during the whole voyage.",
    "A swimmer with a pulse of <50 beats reports to the doctor on board.",
    "The day ticket of the ferry costs €27 in winter and no more in summer.",
    "The fund of the harbour closed the year with (412) thousand on its books.",
]
MADE = CitedPage("accounts", 1, "\n".join(_ACCOUNTS) + "\n\n" + " ".join(_LIMITS), _LIMITS, _ACCOUNTS)
"""A page with the signs of accounts and limits, of which the documents have few."""

Shape = Callable[[Sequence[str]], str]


def _bare(sentence: str) -> str:
    return sentence.rstrip(".!?")


def _bold(sentence: str) -> str:
    first, _, rest = sentence.partition(" ")
    return f"**{first}** {rest} [S1]"


def _wrapped(parts: Sequence[str], width: int) -> str:
    return textwrap.fill(" ".join(f"{part} [S1]" for part in parts), width, break_on_hyphens=False)


SHAPES: Mapping[str, Shape] = {
    "prose in lines of 60 characters": lambda parts: _wrapped(parts, 60),
    "prose in lines of 40 characters": lambda parts: _wrapped(parts, 40),
    "prose": lambda parts: " ".join(f"{part} [S1]" for part in parts),
    "a sentence a line": lambda parts: "\n".join(f"{part} [S1]" for part in parts),
    "bold first words": lambda parts: "\n\n".join(map(_bold, parts)),
    "list, each cited": lambda parts: "\n".join(f"- {part} [S1]" for part in parts),
    "list, the last cited": lambda parts: "\n".join(f"- {part}" for part in parts) + " [S1]",
    "list after a lead": lambda parts: "The rules are:\n\n" + "\n".join(f"* {_bare(p)} [S1]" for p in parts),
    "numbered list": lambda parts: "\n".join(f"{n}. {part} [S1]" for n, part in enumerate(parts, 1)),
    "lines without full stops, the last cited": lambda parts: "\n".join(map(_bare, parts)) + " [S1]",
}
ROW_SHAPES: Mapping[str, Shape] = {
    "table, each row cited": lambda rows: "\n".join(f"| {row} [S1] |" for row in rows),
    "table, cited below": lambda rows: "\n".join(f"| {row} |" for row in rows) + "\n\n[S1]",
    "rows as lines, the last cited": lambda rows: "\n".join(rows) + " [S1]",
}


async def cited_pages() -> list[CitedPage]:
    """The pages with answers, in the order of the questions, read by the product; and the made one."""
    found: dict[tuple[str, int], CitedPage] = {}
    async with AsyncExitStack() as stack:
        extractor = Extractor()
        stack.push_async_callback(extractor.close)
        for folder in FOLDERS:
            questions = read_questions(folder / "questions.jsonl")
            texts: dict[tuple[str, int], str] = {}
            for name, path in find_documents(folder, questions).items():
                extraction = await extractor.extract(path, name)
                texts |= {(name, page.number): page.text for page in extraction.pages}
            _collect(questions, texts, found)
    return [*(page for page in found.values() if page.sentences or page.rows), MADE]


def _collect(
    questions: Sequence[Question],
    texts: Mapping[tuple[str, int], str],
    found: dict[tuple[str, int], CitedPage],
) -> None:
    for question in questions:
        for key in ((gold.file, gold.page) for gold in question.gold):
            page = found.setdefault(key, CitedPage(*key, texts[key], [], []))
            for wanted in question.evidence_texts:
                _add(page, wanted.split("|"))


def _add(page: CitedPage, wanted: Sequence[str]) -> None:
    """Add the row or the sentence with these texts, if there is a whole one."""

    def has_all(text: str) -> bool:
        return all(part.casefold() in text.casefold() for part in wanted)

    row = next((line for line in page.text.splitlines() if " | " in line and has_all(line)), None)
    if row is not None:
        page.rows.extend([row.strip(" |")] if row.strip(" |") not in page.rows else [])
        return
    sentence = next(filter(has_all, _sentences(page.text)), None)
    if sentence is not None and sentence not in page.sentences:
        page.sentences.append(sentence)


def _sentences(text: str) -> Iterator[str]:
    """Sentences by a simpler rule than the product's, without those that may be two, or a part of one."""
    for paragraph in re.split(r"\n\s*\n|\n(?=[•\-*#]|\d+[.)] )", text):
        for sentence in _SENTENCE.split(" ".join(paragraph.split()).lstrip("•-*# ")):
            is_whole = sentence[:1].isupper() and sentence.endswith((".", "!"))
            is_one = not _ABBREVIATED.search(sentence) and not _NUMBERED.search(sentence)
            if is_whole and is_one and SHORTEST <= len(sentence) <= LONGEST:
                yield sentence


def mistakes(sentence: str, page: str) -> Iterator[tuple[str, str]]:
    """The kinds of mistakes that fit a sentence, and the sentence with each; the page has no such value."""
    if (year := _YEAR.search(sentence)) and (other := str(int(year[0]) + 3)) not in page:
        yield "year", _replaced(sentence, year, other)
    if (number := _NUMBER.search(sentence)) and (other := str(int(number[0]) * 2 + 3)) not in page:
        yield "number", _replaced(sentence, number, other)
    if (name := _NAME.search(sentence)) and "Barrowby" not in page:
        yield "name", _replaced(sentence, name, "Barrowby")
    if with_sign := next(((p, other) for p, other in _OTHER_SIGNS if p.search(sentence)), None):
        yield "sign", with_sign[0].sub(with_sign[1], sentence, count=1)
    for word in [*_OTHER_WORD.finditer(sentence)][-1:]:  # the first can be of a heading before the sentence
        yield "word", _replaced(sentence, word, _OTHER_WORDS[word[0]])
    if comparison := _COMPARISON.search(sentence):
        yield "comparison", _replaced(sentence, comparison, "")
    if (verb := _VERB.search(sentence)) and not _NEGATED.search(sentence):
        yield "negation", _replaced(sentence, verb, f"{verb[0]} {NOT.get(verb[0], 'not')}")


def _replaced(sentence: str, found: re.Match[str], other: str) -> str:
    return sentence[: found.start()] + other + sentence[found.end() :]


def checked(answer: str, page: CitedPage, text: str) -> Grounding:
    """The checks of an answer that cites a page with this text as its only source."""
    source = Source(
        number=1,
        document_id=page.file,
        blob_name=page.file,
        page=page.number,
        start=0,
        text=text,
        page_text=text,
    )
    writer = CitationWriter([source])
    writer.feed(answer)
    writer.finish()
    return writer.grounding


class Tally:
    """How many answers of a kind there are, and which of them the checks took for the contrary."""

    def __init__(self) -> None:
        self.total = 0
        self.wrong: list[str] = []

    def __str__(self) -> str:
        return f"{len(self.wrong)} of {self.total}" if self.total else "-"


Tallies = dict[tuple[str, str], Tally]


def measure(pages: Sequence[CitedPage]) -> Tallies:
    """By shape and by `right` or the kind of mistake: right answers that fail, wrong ones that pass."""
    tallies: Tallies = defaultdict(Tally)
    for page in pages:
        others = [each.text for each in pages if each.file == page.file and each.number != page.number]
        for shapes, parts in ((SHAPES, page.sentences), (ROW_SHAPES, page.rows)):
            for first in range(0, len(parts), MOST_TOGETHER):
                together = parts[first : first + MOST_TOGETHER]
                for shape, write in shapes.items():
                    _check(shape, write, together, page, others, tallies)
    return tallies


def _check(
    shape: str, write: Shape, parts: Sequence[str], page: CitedPage, others: Sequence[str], tallies: Tallies
) -> None:
    def note(kind: str, answer: str, text: str) -> None:
        tally = tallies[shape, kind]
        tally.total += 1
        if checked(answer, page, text).grounded != (kind == "right"):
            tally.wrong.append(answer)

    note("right", write(parts), page.text)
    for place, part in enumerate(parts):
        for kind, mistaken in mistakes(part, page.text):
            note(kind, write([*parts[:place], mistaken, *parts[place + 1 :]]), page.text)
    for text in others[:1]:
        if not any(_bare(part) in " ".join(text.split()) for part in parts):
            note("other page", write(parts), text)


KINDS = ("right", "number", "year", "name", "negation", "sign", "word", "comparison", "other page")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; with --examples also the answers that the checks took for the contrary."""
    parser = argparse.ArgumentParser(prog="python -m evals.claims", description=__doc__)
    parser.add_argument("--examples", action="store_true", help="print the answers that were misjudged")
    given = parser.parse_args(arguments)
    tallies = measure(asyncio.run(cited_pages()))
    shapes = [*SHAPES, *ROW_SHAPES]
    rows = [[shape, *(str(tallies[shape, kind]) for kind in KINDS)] for shape in shapes]
    headings = ["shape of the answer", "right, failed", *(f"{kind}, passed" for kind in KINDS[1:])]
    sys.stdout.write(markdown_table(headings, rows) + "\n")
    if given.examples:
        for (shape, kind), tally in sorted(tallies.items()):
            for answer in tally.wrong:
                sys.stdout.write(f"\n--- {shape}: {kind}\n{answer}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
