"""The questions of a trial: a JSON object a line, with the page and the fact that are expected, if known."""

import json
from pathlib import Path

from pydantic import ValidationError

from orc_core.errors import InvalidInput
from orc_core.models import Record


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
