"""Ranks the pages of each question's documents, through the product's own extraction and search."""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypedDict

from pydantic import BaseModel, ValidationError
from rich.console import Console
from rich.progress import track

from core.documents.extraction import Extractor
from core.documents.passages import split_pages
from core.documents.search import SCHEMA, SqlitePassageIndex, rank_pages
from core.errors import OrcError
from core.settings import CoreSettings
from core.sqlite import Database

DEPTH = 20
FIRST_HITS_PER_PAGE = 4
UNUSABLE_INPUT = 2

console = Console(stderr=True)


class Question(BaseModel):
    """One line of QUESTIONS.jsonl, as far as ranking needs it."""

    id: str
    question: str
    files: list[str]


class RankedPage(TypedDict):
    """A page in the ranking; pages count from 1."""

    file: str
    page: int


class UnusableInput(Exception):
    """The questions or their documents cannot be read."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code is 2 where the input cannot be used, and then nothing is written."""
    options = _parser().parse_args(arguments)
    try:
        questions = read_questions(options.questions)
        documents = find_documents(options.questions.parent, questions)
        lines = asyncio.run(rank_questions(questions, documents, options.depth))
    except UnusableInput as exc:
        print(f"error: {exc}", file=sys.stderr)
        return UNUSABLE_INPUT
    write_whole(options.output, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    return 0


def read_questions(path: Path) -> list[Question]:
    """The questions of a JSON Lines file."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as exc:
        raise UnusableInput(f"cannot read {path}: {exc}") from exc
    return [_parse(path, number, line) for number, line in enumerate(lines, 1) if line.strip()]


def find_documents(folder: Path, questions: Sequence[Question]) -> dict[str, Path]:
    """Where each file that a question names lies: in one of the `docs*` folders in `folder`."""
    folders = sorted(path for path in folder.glob("docs*") if path.is_dir())
    found: dict[str, Path] = {}
    missing = []
    for name in dict.fromkeys(name for question in questions for name in question.files):
        places = [place for docs in folders if (place := docs / name).is_file()]
        if places:
            found[name] = places[0]
        else:
            missing.append(name)
    if missing:
        where = ", ".join(docs.name for docs in folders) or "there is no docs* folder"
        raise UnusableInput(f"missing beside the questions ({where}): {', '.join(missing)}")
    return found


async def rank_questions(
    questions: Sequence[Question], documents: dict[str, Path], depth: int
) -> list[dict[str, object]]:
    """One line of the ranking for each question; a file's name is its document id."""
    async with _open_index() as (extractor, index):
        for name, path in track(documents.items(), "Reading the documents", console=console):
            await _ingest(extractor, index, name, path)
        return [
            {"id": question.id, "ranked": await _rank(index, question, depth)}
            for question in track(questions, "Ranking pages", console=console)
        ]


def write_whole(path: Path, text: str) -> None:
    """Write a file so that nobody ever sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


@asynccontextmanager
async def _open_index() -> AsyncIterator[tuple[Extractor, SqlitePassageIndex]]:
    with tempfile.TemporaryDirectory() as folder:
        settings = CoreSettings(data_dir=Path(folder))
        extractor = Extractor(
            seconds=settings.extraction_seconds,
            memory_bytes=settings.extraction_memory_bytes,
            processes=settings.extraction_processes,
        )
        database = Database(settings.database_path)
        try:
            await database.migrate(SCHEMA)
            yield extractor, SqlitePassageIndex(database)
        finally:
            await extractor.close()
            await database.close()


async def _ingest(extractor: Extractor, index: SqlitePassageIndex, name: str, path: Path) -> None:
    try:
        extraction = await extractor.extract(path, name)
    except OrcError as exc:
        raise UnusableInput(f"cannot read {path}: {exc.message}") from exc
    await index.save(name, name, await asyncio.to_thread(split_pages, name, extraction.pages))


async def _rank(index: SqlitePassageIndex, question: Question, depth: int) -> list[RankedPage]:
    wanted = depth * FIRST_HITS_PER_PAGE
    hits = await index.search(question.question, question.files, wanted)
    while len(hits) == wanted and len(rank_pages(hits)) < depth:
        wanted *= 4
        hits = await index.search(question.question, question.files, wanted)
    return [RankedPage(file=file, page=page) for file, page in rank_pages(hits)[:depth]]


def _parse(path: Path, number: int, line: str) -> Question:
    try:
        return Question.model_validate_json(line)
    except ValidationError as exc:
        reason = exc.errors(include_url=False)[0]
        raise UnusableInput(f"{path}, line {number}: {reason['loc']}: {reason['msg']}") from exc


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m evals.retrieval", description=__doc__)
    parser.add_argument("questions", type=Path, help="JSON Lines with id, question and files")
    parser.add_argument("--output", type=Path, required=True, help="where the ranking goes, JSON Lines")
    parser.add_argument("--depth", type=int, default=DEPTH, help="pages for each question (default: 20)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
