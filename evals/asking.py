"""Asks the running product questions over HTTP; collects what it shows and what it stored of that."""

import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from bench.deployment import clean_surroundings
from devkit.system import System, running, upload
from evals.corpus import Question, UnusableInput
from orc.events import AnswerKind
from orc_core.grounding.models import Citation
from orc_core.models import DocumentStatus

CONCURRENT_CONVERSATIONS = 3
QUESTIONS_PER_CONVERSATION = 40
INGESTION_SECONDS = 300
POLL_SECONDS = 0.2


@dataclass(frozen=True)
class Shown:
    """What was shown for a question. `kept`: the stored conversation has the same citations."""

    question: Question
    text: str
    kind: AnswerKind
    citations: list[Citation]
    kept: bool

    def has_page(self, depth: int) -> bool:
        """Whether one of the first `depth` pages that are cited is one that answers the question."""
        gold = {(each.file, each.page) for each in self.question.gold}
        pages = list(dict.fromkeys((each.blob_name, each.page) for each in self.citations))
        return not gold.isdisjoint(pages[:depth])

    @property
    def has_evidence(self) -> bool:
        """Whether the quotes have all that the question names as evidence."""
        quotes = [_plain(citation.quote) for citation in self.citations]
        return all(
            any(all(_plain(part) in quote for part in text.split("|")) for quote in quotes)
            for text in self.question.evidence_texts
        )


@contextmanager
def product(folder: Path, documents_at_once: int) -> Iterator[System]:
    """Run the product in a new data folder, with the offline model and no earlier turns in prompts."""
    settings = {
        "MAX_DOCUMENTS_PER_REQUEST": str(documents_at_once),
        "ORC_ADVANCED": '{"history_turns": 0}',
        "ORC_PAGE_ANALYSIS": "off",
    }
    with clean_surroundings(folder), running(folder / "product", **settings) as system:
        yield system


def ask_all(
    system: System, questions: Sequence[Question], documents: Mapping[str, Path], advance: Callable[[], None]
) -> list[Shown]:
    """Ask each question about its own files; returns what is shown in the order of the questions."""
    batches = list(_batches(questions))
    with ThreadPoolExecutor(CONCURRENT_CONVERSATIONS) as pool:
        found = pool.map(lambda batch: _converse(system, batch, documents, advance), batches)
        shown = {id(each.question): each for batch in found for each in batch}
    return [shown[id(question)] for question in questions]


def _batches(questions: Sequence[Question]) -> Iterator[list[Question]]:
    """Groups of questions about the same files, one group for each conversation."""
    by_files: dict[tuple[str, ...], list[Question]] = defaultdict(list)
    for question in questions:
        by_files[tuple(question.files)].append(question)
    for alike in by_files.values():
        for start in range(0, len(alike), QUESTIONS_PER_CONVERSATION):
            yield alike[start : start + QUESTIONS_PER_CONVERSATION]


def _converse(
    system: System, questions: Sequence[Question], documents: Mapping[str, Path], advance: Callable[[], None]
) -> list[Shown]:
    conversation_id = str(uuid.uuid4())
    with system.client() as client:
        _add(client, conversation_id, [documents[name] for name in questions[0].files])
        turns = []
        for question in questions:
            turns.append(_ask(client, conversation_id, question))
            advance()
        stored = _content(client.get(f"/conversations/{conversation_id}", params={"limit": 200}))["turns"]
    kept = {turn["turn_id"]: turn["citations"] for turn in stored}
    return [_shown(*pair, kept) for pair in zip(questions, turns, strict=True)]


def _add(client: httpx.Client, conversation_id: str, files: Sequence[Path]) -> None:
    """Upload the files and wait until they are indexed."""
    for file in files:
        _content(upload(client, conversation_id, file))
    deadline = time.monotonic() + INGESTION_SECONDS
    while time.monotonic() < deadline:
        listed = _content(client.get(f"/conversations/{conversation_id}/documents"))["documents"]
        failed = [document for document in listed if document["status"] == DocumentStatus.FAILED]
        if failed:
            raise UnusableInput(f"{failed[0]['blob_name']}: {failed[0]['reason']}")
        if all(document["status"] == DocumentStatus.COMPLETED for document in listed):
            return
        time.sleep(POLL_SECONDS)
    raise UnusableInput(f"not indexed within {INGESTION_SECONDS} s: {', '.join(f.name for f in files)}")


def _ask(client: httpx.Client, conversation_id: str, question: Question) -> dict[str, Any]:
    body = {
        "question": question.question,
        "conversation_id": conversation_id,
        "blob_names": question.files,
    }
    return _content(client.post("/orc", json=body))


def _shown(question: Question, turn: Mapping[str, Any], kept: Mapping[str, object]) -> Shown:
    return Shown(
        question=question,
        text=turn["answer"],
        kind=turn["answer_kind"],
        citations=[Citation.model_validate(citation) for citation in turn["citations"]],
        kept=kept.get(turn["turn_id"]) == turn["citations"],
    )


def _plain(text: str) -> str:
    """The letters and digits of a text."""
    return "".join(character for character in text.casefold() if character.isalnum())


def _content(response: httpx.Response) -> dict[str, Any]:
    if response.is_error:
        raise UnusableInput(f"{response.request.url.path}: {response.status_code} {response.text}")
    content: dict[str, Any] = response.json()
    return content
