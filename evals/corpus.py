"""Question sets and their documents: finds, extracts and indexes them with the product's own code."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from pydantic import BaseModel, ValidationError
from rich.console import Console
from rich.progress import track

from orc_core.documents.passages import split_pages
from orc_core.errors import OrcError
from orc_core.extraction.extractor import PRELOADED, Extractor
from orc_core.infra.sandbox import Sandbox
from orc_core.infra.settings import CoreSettings
from orc_core.infra.sqlite import Database
from orc_core.storage.sqlite.passages import SCHEMA, SqlitePassageIndex

console = Console(stderr=True)


class Gold(BaseModel):
    """A page that answers a question. Pages of one group are alternatives; one of each group is needed."""

    file: str
    page: int
    group: int | None = None


class Question(BaseModel):
    """The fields of a line of a question set that ranking and scoring need.

    `evidence_texts`: texts that the quotes of an answer need; parts of one, between `|`, are in one quote.
    """

    id: str
    question: str
    files: list[str]
    gold: list[Gold] = []
    evidence_texts: list[str] = []


class UnusableInput(Exception):
    """The questions or their documents cannot be read."""


def read_questions(path: Path) -> list[Question]:
    """The questions of a JSON Lines file."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as exc:
        raise UnusableInput(f"cannot read {path}: {exc}") from exc
    return [_parse(path, number, line) for number, line in enumerate(lines, 1) if line.strip()]


def find_documents(folder: Path, questions: Sequence[Question]) -> dict[str, Path]:
    """The path of each file that a question names, in one of the `docs*` folders of `folder`."""
    return locate(questions, sorted(path for path in folder.glob("docs*") if path.is_dir()))


def locate(questions: Sequence[Question], folders: Sequence[Path]) -> dict[str, Path]:
    """The path of each file that a question names, in the first of these folders that contains it."""
    found: dict[str, Path] = {}
    missing = []
    for name in dict.fromkeys(name for question in questions for name in question.files):
        paths = [path for folder in folders if (path := folder / name).is_file()]
        if paths:
            found[name] = paths[0]
        else:
            missing.append(name)
    if missing:
        where = ", ".join(folder.name for folder in folders) or "there is no docs* folder"
        raise UnusableInput(f"missing next to the questions ({where}): {', '.join(missing)}")
    return found


@asynccontextmanager
async def indexed(documents: Mapping[str, Path]) -> AsyncIterator[Database]:
    """A temporary database with the index of all documents; the file name is the document id."""
    with tempfile.TemporaryDirectory() as folder:
        settings = CoreSettings(data_dir=Path(folder))
        sandbox = Sandbox(*PRELOADED)
        extractor = Extractor(sandbox)
        database = Database(settings.database_path)
        try:
            await database.migrate(SCHEMA)
            index = SqlitePassageIndex(database)
            for name, path in track(documents.items(), "Reading the documents", console=console):
                await _ingest(extractor, index, name, path)
            yield database
        finally:
            await sandbox.close()
            await database.close()


async def _ingest(extractor: Extractor, index: SqlitePassageIndex, name: str, path: Path) -> None:
    try:
        extraction = await extractor.extract(path, name)
    except OrcError as exc:
        raise UnusableInput(f"cannot read {path}: {exc.message}") from exc
    await index.save(name, name, await asyncio.to_thread(split_pages, name, extraction.pages))


def _parse(path: Path, number: int, line: str) -> Question:
    try:
        return Question.model_validate_json(line)
    except ValidationError as exc:
        reason = exc.errors(include_url=False)[0]
        raise UnusableInput(f"{path}, line {number}: {reason['loc']}: {reason['msg']}") from exc
