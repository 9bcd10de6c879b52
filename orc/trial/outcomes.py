"""The questions of a trial and what became of them: answer, citations, cost and time, each a line of JSON."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple, get_args

from pydantic import ValidationError

from orc.events import AnswerKind
from orc_core.errors import InvalidInput
from orc_core.grounding.citations import NO_SUCH_SOURCE
from orc_core.grounding.models import Citation, CitationCheck
from orc_core.models import Record, Usage

_LIKE_A_CITATION = re.compile(
    r"[\[【［〔]\s*(?:[^\W\d_]+\.?\s*)?\d[^\[\]【】]{0,60}[\]】］〕](?!\()|\((?:source|s|quelle|fuente)\s*\d[^()]{0,20}\)",
    re.I,
)
"""Square brackets with a number, or round ones that name a source."""
CHECKS: tuple[CitationCheck, ...] = get_args(CitationCheck)


class ExpectedPage(Record):
    """A page that answers a question; pages count from 1."""

    file: str
    page: int


class Question(Record):
    """A question about some files; no files means all of the folder.

    `gold` are the pages of which one has to be cited. Each of the `evidence_texts` has to be in what is
    cited, its parts between `|` in one place. Both may be empty: then that is not measured.
    """

    id: str
    question: str
    files: list[str] = []
    gold: list[ExpectedPage] = []
    evidence_texts: list[str] = []


class Outcome(Record):
    """The end of one question, asked under a `label`, such as the name of the model.

    `error` is the problem of a turn without an answer. `standing` counts the citations whose quote is the
    text of their page at their place. `seconds` are those of the whole turn; `first_token_seconds` is None
    without text. `cost_usd` is None if the prices of the model are not known.
    """

    label: str
    asked: Question
    error: str = ""
    answer: str = ""
    kind: AnswerKind = "answer"
    citations: list[Citation] = []
    standing: int = 0
    uncited: int = 0
    coverage: float = 0.0
    attempts: int = 1
    usage: Usage = Usage()
    first_token_seconds: float | None = None
    seconds: float = 0.0
    cost_usd: float | None = None

    @property
    def markers(self) -> int:
        """Markers of the model that were read."""
        return sum(len(citation.marks) for citation in self.citations if not citation.by_code)

    @property
    def unread(self) -> list[str]:
        """What looks like a citation and is none: other brackets than asked for, and unknown sources."""
        unknown = self.answer.count(NO_SUCH_SOURCE)
        return [*_LIKE_A_CITATION.findall(self._without_marks), *[NO_SUCH_SOURCE] * unknown]

    @property
    def on_page(self) -> bool | None:
        """Whether an expected page is cited; None if none is known."""
        if not self.asked.gold:
            return None
        expected = {(each.file, each.page) for each in self.asked.gold}
        return any((each.blob_name, each.page) in expected for each in self.citations)

    @property
    def in_place(self) -> bool | None:
        """Whether what is cited has the expected texts; None if there are none."""
        wanted = self.asked.evidence_texts
        return has_texts(wanted, [each.quote for each in self.citations]) if wanted else None

    @property
    def _without_marks(self) -> str:
        marks = sorted((mark.start, mark.end) for each in self.citations for mark in each.marks)
        text, at = "", 0
        for start, end in marks:
            text, at = text + self.answer[at:start], max(at, end)
        return (text + self.answer[at:]).replace(NO_SUCH_SOURCE, "")


def read_outcomes(path: Path) -> list[Outcome]:
    """The outcomes of earlier runs; a last line that was not written whole is left out."""
    if not path.exists():
        return []
    found = []
    for line in path.read_text("utf-8").split("\n"):
        try:
            found.append(Outcome.model_validate_json(line))
        except ValidationError:
            continue
    return found


def latest(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The last outcome of each question under each label."""
    return list({(each.label, each.asked.id): each for each in outcomes}.values())


def to_ask(questions: Sequence[Question], outcomes: Sequence[Outcome], label: str) -> list[Question]:
    """The questions that have no answer yet under this label, as they are now written."""
    done = [each.asked for each in latest(outcomes) if each.label == label and not each.error]
    return [question for question in questions if question not in done]


def append(path: Path, outcome: Outcome) -> None:
    """Add an outcome to the file."""
    text = path.read_text("utf-8") if path.exists() else ""
    begins = "\n" if text and not text.endswith("\n") else ""
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{begins}{outcome.model_dump_json()}\n")


def read_questions(path: Path) -> list[Question]:
    """The questions of a file. Raises InvalidInput with the line of what is wrong."""
    try:
        lines = path.read_text("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as exc:
        raise InvalidInput(f"{path} cannot be read as UTF-8 text: {exc}") from exc
    questions: dict[str, Question] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            question = Question.model_validate(json.loads(line))
        except (json.JSONDecodeError, ValidationError) as exc:
            example = '{"id": "1", "question": "...", "gold": [{"file": "a.pdf", "page": 3}]}'
            raise InvalidInput(f"{path}, line {number} is no question. One is written: {example}") from exc
        if question.id in questions:
            raise InvalidInput(f"{path}, line {number}: the id {question.id} is used twice.")
        questions[question.id] = question
    if not questions:
        raise InvalidInput(f"{path} has no questions.")
    return list(questions.values())


def has_texts(wanted: list[str], texts: list[str]) -> bool:
    """Whether each of the wanted texts is in one of the texts, by letters and digits."""
    plain = [_plain(text) for text in texts]
    return all(
        any(all(_plain(part) in text for part in each.split("|")) for text in plain) for each in wanted
    )


def _plain(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())


class Figure(NamedTuple):
    """A number, a share (`value` of `of`), or nothing that could be measured."""

    name: str
    value: float | None
    of: int | None = None
    unit: str = ""

    @property
    def share(self) -> float:
        """From 0 to 1; 0 if it is no share."""
        return (self.value or 0) / self.of if self.of else 0.0

    @property
    def shown(self) -> str:
        """For people."""
        if self.value is None or self.of == 0:
            return "-"
        if self.of is not None:
            return f"{self.value:.0f} of {self.of} ({self.share:.0%})"
        is_whole = self.value == round(self.value) or self.value >= 100
        number = f"{self.value:,.0f}" if is_whole else f"{self.value:.3g}"
        return f"{number} {self.unit}".strip()


def figures(outcomes: Sequence[Outcome]) -> list[Figure]:
    """The figures of outcomes under one label."""
    ended = [each for each in outcomes if not each.error]
    citations = [citation for each in ended for citation in each.citations]
    checks = Counter(citation.check for citation in citations)
    markers, unread = sum(each.markers for each in ended), sum(len(each.unread) for each in ended)
    costs = [each.cost_usd for each in ended]
    whole_cost = sum(cost for cost in costs if cost is not None)
    return [
        Figure("turns with an answer", len(ended), len(outcomes)),
        _share("answers that say nothing was found", (each.kind == "not_found" for each in ended)),
        _share("answers with a citation", (bool(each.citations) for each in ended)),
        Figure("format kept: markers read, of what looks like one", markers, markers + unread),
        _share("the expected page is cited", (each.on_page for each in ended)),
        _share("what is cited has the expected fact", (each.in_place for each in ended)),
        Figure("citations whose quote is on its page", sum(e.standing for e in ended), len(citations)),
        *(Figure(f"citations: {name}", checks[name], len(citations)) for name in CHECKS),
        Figure("sentences without a source, an answer", _mean(each.uncited for each in ended)),
        Figure("answers corrected, or looked up again", sum(each.attempts > 1 for each in ended), len(ended)),
        Figure("model calls, a turn", _mean(each.usage.model_calls for each in ended)),
        Figure("tokens read, a turn", _mean(each.usage.input_tokens for each in ended)),
        Figure("tokens written, a turn", _mean(each.usage.output_tokens for each in ended)),
        Figure("first token, median", _median(each.first_token_seconds for each in ended), unit="s"),
        Figure("whole turn, median", _median(each.seconds for each in ended), unit="s"),
        Figure("cost of all turns", None if None in costs or not costs else whole_cost, unit="USD"),
    ]


def by_label(outcomes: Iterable[Outcome]) -> dict[str, list[Outcome]]:
    """The outcomes under each label, in the order of the labels' first question."""
    found: dict[str, list[Outcome]] = {}
    for each in outcomes:
        found.setdefault(each.label, []).append(each)
    return found


def _share(name: str, found: Iterable[bool | None]) -> Figure:
    known = [each for each in found if each is not None]
    return Figure(name, sum(known), len(known))


def _mean(values: Iterable[float]) -> float | None:
    known = list(values)
    return sum(known) / len(known) if known else None


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None
