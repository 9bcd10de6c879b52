"""Makes families of similar documents, and questions that need one of them or a page of several.

The files have names that say nothing about them, as scans do; their first page says what they are. Figures
on them show how well the ranking tells documents apart, and whether it finds a page of each one asked about.
"""

import tomllib
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from evals.corpus import Gold, Question

SOURCE = Path(__file__).with_name("made.toml")
PAGE_BREAK = "\f"

Asked = tuple[str, int]
"""A question with slots, and the page that answers it."""

Values = dict[str, str]


class Family(BaseModel):
    """Documents with the same pages, of which only the values differ; made.toml explains the fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    pages: list[str]
    one: list[Asked]
    several: list[Asked]
    all: list[Asked]
    document: list[Values]

    def files(self) -> list[str]:
        """The names of the documents."""
        return [values["file"] for values in self.document]

    def questions_about_one(self) -> Iterator[Question]:
        """Questions that name one of the documents."""
        for values in self.document:
            for text, page in self.one:
                yield self._question(text.format(**values), page, [values])

    def questions_about_several(self) -> Iterator[Question]:
        """Questions that name two of the documents, or ask about all of them."""
        for one, other in combinations(self.document, 2):
            second = {f"other_{key}": value for key, value in other.items()}
            for text, page in self.several:
                yield self._question(text.format(**one, **second, other=other["name"]), page, [one, other])
        for text, page in self.all:
            yield self._question(text, page, self.document)

    def _question(self, text: str, page: int, about: Sequence[Values]) -> Question:
        gold = [Gold(file=values["file"], page=page) for values in about]
        name = "+".join(values["file"].removesuffix(".txt") for values in about)
        return Question(id=f"{name}: {text}", question=text, files=self.files(), gold=gold)


def read_families() -> list[Family]:
    """The families of made.toml."""
    content = tomllib.loads(SOURCE.read_text(encoding="utf-8"))
    return [Family.model_validate(each) for each in content["family"]]


def write_documents(folder: Path) -> dict[str, Path]:
    """The paths of all documents by name, written to `folder`."""
    found = {}
    for family in read_families():
        for values in family.document:
            found[values["file"]] = folder / values["file"]
            text = PAGE_BREAK.join(page.format(**values) for page in family.pages)
            found[values["file"]].write_text(text, encoding="utf-8")
    return found


def made_sets() -> dict[str, list[Question]]:
    """The questions about one of several similar documents, and those about several of them."""
    families = read_families()
    return {
        "one of several": [q for family in families for q in family.questions_about_one()],
        "several": [q for family in families for q in family.questions_about_several()],
    }
