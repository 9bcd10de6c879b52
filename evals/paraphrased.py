"""Checks sentences as models write them about a page: right ones that fail, wrong ones that pass.

`python -m evals.paraphrased` reads evals/paraphrases: a page a file, with right and wrong sentences about it
that were written by hand, and with templates for sentences about the rows of its tables. A wrong sentence
differs from a right one in one fact. One from a template has the last value of another row instead.
"""

import argparse
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from core.grounding.citations import CitationWriter
from core.grounding.models import Grounding
from core.grounding.sources import Source
from devkit.reports import markdown_table
from evals.splits import Half

FOLDER = Path(__file__).with_name("paraphrases")
RIGHT, RIGHT_BY_TEMPLATE, WRONG_BY_TEMPLATE = "right", "right, by template", "row, by template"
WITHOUT_VALUE = ("", "none")
_FIELD = re.compile(r"\{(.+?)\}")

Row = Mapping[str, str]


class CitedPage(NamedTuple):
    """A page that sentences are about."""

    file: str
    number: int
    text: str


class Sentence(NamedTuple):
    """A sentence about a page; `kind` is one of RIGHT and RIGHT_BY_TEMPLATE, or the fact that is wrong."""

    text: str
    kind: str
    page: CitedPage
    language: str

    @property
    def is_right(self) -> bool:
        """Whether the page says it."""
        return self.kind in (RIGHT, RIGHT_BY_TEMPLATE)

    @property
    def is_misjudged(self) -> bool:
        """Whether the check of citations takes it for the contrary."""
        return checked(f"{self.text} [S1]", self.page, self.page.text).grounded != self.is_right


def read(half: Half) -> Iterator[Sentence]:
    """The sentences of one half: those written by hand, then those by template, file by file."""
    for path in sorted((FOLDER / half).glob("*.toml")):
        found = tomllib.loads(path.read_text("utf-8"))
        page = CitedPage(path.name, 1, found["page"].strip())
        written = [(text, RIGHT) for text in found["right"]]
        written += [(text, kind) for kind, texts in found["wrong"].items() for text in texts]
        for text, kind in (*written, *_by_template(found, page.text)):
            yield Sentence(text, kind, page, found["language"])


def _by_template(found: Mapping[str, Any], page: str) -> Iterator[tuple[str, str]]:
    for template in found.get("templates", ()):
        fields = _FIELD.findall(template)
        rows = [
            row for row in rows_of(page) if all(row.get(field, "") not in WITHOUT_VALUE for field in fields)
        ]
        right = [template.format_map(row) for row in rows]
        yield from ((text, RIGHT_BY_TEMPLATE) for text in right)
        for number, row in enumerate(rows):
            others = (other[fields[-1]] for other in (*rows[number + 1 :], *rows[:number]))
            mistaken = (template.format_map({**row, fields[-1]: other}) for other in others)
            yield from ((text, WRONG_BY_TEMPLATE) for text in mistaken if text not in right)


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


def rows_of(page: str) -> list[Row]:
    """The rows of the tables of a page as the product reads them: `Article: B-200 | Price: 7`."""
    lines = (line.split(" | ") for line in page.splitlines())
    return [
        dict(cell.split(": ", 1) for cell in cells)
        for cells in lines
        if len(cells) > 1 and all(": " in cell for cell in cells)
    ]


class Counts(NamedTuple):
    """How many sentences there are of each kind, and which of them the check misjudges."""

    total: Counter[str]
    misjudged: list[Sentence]

    def written(self, kind: str) -> str:
        """`3 of 40`, for the report."""
        return f"{sum(each.kind == kind for each in self.misjudged)} of {self.total[kind]}"


def measure(sentences: Iterable[Sentence]) -> Counts:
    """Check each sentence against its page."""
    every = list(sentences)
    return Counts(Counter(each.kind for each in every), [each for each in every if each.is_misjudged])


def _report(counts: Sequence[Counts]) -> str:
    kinds = list(dict.fromkeys(kind for each in counts for kind in each.total))
    rows = [
        [
            f"{kind}, failed" if kind.startswith(RIGHT) else f"{kind}, passed",
            *(each.written(kind) for each in counts),
        ]
        for kind in kinds
    ]
    for label, is_right in (("all right ones, failed", True), ("all wrong ones, passed", False)):
        cells = []
        for each in counts:
            total = sum(n for kind, n in each.total.items() if kind.startswith(RIGHT) == is_right)
            cells.append(f"{sum(s.is_right == is_right for s in each.misjudged)} of {total}")
        rows.append([label, *cells])
    return markdown_table(["sentences", "tuning", "test"], rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; with --examples also the sentences of the tuning half that were misjudged."""
    parser = argparse.ArgumentParser(prog="python -m evals.paraphrased", description=__doc__)
    parser.add_argument("--examples", action="store_true", help="print those of the tuning half")
    given = parser.parse_args(arguments)
    counts = [measure(read("tuning")), measure(read("test"))]
    sys.stdout.write(_report(counts) + "\n")
    if given.examples:
        for (name, kind), found in groupby(counts[0].misjudged, key=lambda each: (each.page.file, each.kind)):
            sys.stdout.write(f"\n--- {name}: {kind}\n" + "".join(f"{each.text}\n" for each in found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
