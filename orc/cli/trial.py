"""`orc trial`: asks questions with known answers and reports what the configured model made of them."""

import hashlib
import time
import uuid
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from orc.cli.ask import CALLER, opened, read_documents
from orc.events import Done, Failed, Token, TurnResult
from orc.judges.building import open_judge
from orc.judges.measuring import (
    LEAST_ACCURACY,
    Accuracy,
    accuracy_of,
    judge_claims,
    keep_measured,
    read_claims,
    read_measured,
)
from orc.settings import Settings
from orc.trial import outcomes as kept
from orc.trial.outcomes import Figure, Outcome, Question, by_label, figures, read_questions
from orc.trial.report import as_html, as_json
from orc_core.errors import InvalidInput, OrcError
from orc_core.models import Document

if TYPE_CHECKING:
    from orc.bootstrap import App

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
QUESTIONS = EXAMPLES / "trial.jsonl"
NO_MODEL = (
    "orc trial needs a language model: set ORC_MODEL, such as ollama:llama3.2 for a local server, or"
    " OPENAI_API_KEY, or AZURE_OPENAI_ENDPOINT."
)
MOST_FAILED = 3
"""Questions without an answer one after another, after which the trial ends."""
PICTURE_WIDTH = 800


@dataclass(frozen=True)
class Options:
    """The command line."""

    questions: Path | None
    documents: Path | None
    output: Path
    label: str | None
    named: bool
    judge: Path | None


@dataclass(frozen=True)
class Trial:
    """What is asked, about the documents of which folder, under which label, and where the results go."""

    questions: Sequence[Question]
    documents: Path
    output: Path
    label: str
    named: bool
    """Whether each question names its files, which are then read whole if they fit."""

    @property
    def results(self) -> Path:
        return self.output / "results.jsonl"

    def files(self, question: Question) -> dict[str, Path]:
        """The files of a question by name. Raises InvalidInput for one that is not in the folder."""
        there = {
            each.name: each
            for each in sorted(self.documents.iterdir())
            if each.is_file() and each.suffix != ".jsonl" and not each.name.startswith(".")
        }
        if missing := [name for name in question.files if name not in there]:
            raise InvalidInput(f"{self.documents} has no {', '.join(missing)}, which {question.id} needs.")
        return {name: there[name] for name in question.files or there}

    def picture(self, name: str, page: int) -> Path:
        """Where the picture of a page is kept."""
        return self.output / "pages" / f"{hashlib.sha256(name.encode()).hexdigest()[:16]}-{page}.webp"


@dataclass
class _Asking:
    """The conversations of a trial: one for each set of files, which are read once."""

    app: "App"
    trial: Trial
    err: Console
    read: dict[tuple[str, ...], list[Document]] = field(default_factory=dict)

    async def ask(self, question: Question) -> Outcome:
        """Ask one question; a turn that fails is an outcome, too."""
        from orc.turns.requests import TurnRequest

        files = self.trial.files(question)
        if tuple(files) not in self.read:
            owner = CALLER.owner_of(str(uuid.uuid4()))
            self.read[tuple(files)] = await read_documents(self.app, owner, files, self.err)
        documents = self.read[tuple(files)]
        begun = time.monotonic()
        first, last = None, None
        request = TurnRequest(
            question=question.question,
            conversation_id=documents[0].conversation_id,
            blob_names=[document.blob_name for document in documents] if self.trial.named else [],
            stream=True,
            trace_id=uuid.uuid4().hex,
        )
        log = await self.app.turn_service.start(request, CALLER)
        async for _, event in log.follow():
            if isinstance(event, Token) and first is None:
                first = time.monotonic() - begun
            last = event
        seconds = time.monotonic() - begun
        if isinstance(last, Done):
            return await self._outcome(question, documents, last.result, first, seconds)
        error = last.problem.detail if isinstance(last, Failed) else ""
        return Outcome(
            label=self.trial.label, asked=question, error=error or "The turn had no end.", seconds=seconds
        )

    async def _outcome(
        self,
        question: Question,
        documents: Sequence[Document],
        result: TurnResult,
        first: float | None,
        seconds: float,
    ) -> Outcome:
        by_id = {document.document_id: document for document in documents}
        standing = 0
        for citation in result.citations:
            # Whether the quote is the text of its page at its place, or empty.
            page = await self.app.library.page_of(citation.document_id, citation.page)
            quoted = page.text[citation.start : citation.end] if page else None
            standing += citation.check == "picture" or quoted == citation.quote
            await self._keep_picture(by_id.get(citation.document_id), citation.page)
        metadata, checks = result.metadata, result.metadata.critic_summary
        model = str(metadata.route.get("model") or self.trial.label)
        return Outcome.model_validate(
            {
                "label": self.trial.label,
                "asked": question,
                "answer": result.answer,
                "kind": result.answer_kind,
                "citations": result.citations,
                "standing": standing,
                "uncited": checks.get("uncited", 0),
                "coverage": checks.get("coverage", 0.0),
                "attempts": checks.get("attempts") or 1,
                "usage": metadata.usage,
                "first_token_seconds": first,
                "seconds": seconds,
                "cost_usd": self.app.model_facts.cost_usd(model, metadata.usage),
            }
        )

    async def _keep_picture(self, document: Document | None, page: int) -> None:
        if document is None or (path := self.trial.picture(document.blob_name, page)).exists():
            return
        with suppress(OrcError):
            picture = await self.app.pictures.get(document, page, PICTURE_WIDTH)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(picture)


async def run_trial(settings: Settings, given: Options, out: Console, err: Console) -> None:
    """Ask what has no answer yet, and write the report. It can be stopped and taken up again at any time.

    Raises the problem of the last question if several in a row had no answer.
    """
    if not settings.has_model:
        raise InvalidInput(NO_MODEL)
    path = given.questions or QUESTIONS
    folder = given.documents or path.parent
    if not folder.is_dir():
        raise InvalidInput(f"{folder} is no folder. Name that of the documents: --documents FOLDER")
    label = given.label or settings.chat_model
    trial = Trial(read_questions(path), folder, given.output, label, given.named)
    for question in trial.questions:
        # Before anything is started.
        trial.files(question)
    done = kept.latest(kept.read_outcomes(trial.results))
    asked = kept.to_ask(trial.questions, done, trial.label)
    trial.output.mkdir(parents=True, exist_ok=True)
    try:
        if asked:
            count = f"{len(asked)} of {len(trial.questions)}"
            out.print(f"{count} questions to ask, to {trial.label}.", markup=False)
            private = settings.model_copy(update={"history_turns": 0, "memory": "off"})
            most = max(len(trial.files(question)) for question in asked)
            async with opened(private, "orc-trial", most) as (app, tools_are_up):
                await tools_are_up()
                await _ask_all(_Asking(app, trial, err), asked, out)
        if given.judge is not None:
            await _measure_judge(settings, trial, given.judge, err)
    finally:
        # Also what was stopped has a report.
        _report(trial, out)


async def _ask_all(asking: _Asking, asked: Sequence[Question], out: Console) -> None:
    trial, failed = asking.trial, 0
    for number, question in enumerate(asked, 1):
        with asking.err.status(f"{number} of {len(asked)}: {question.question}"):
            outcome = await asking.ask(question)
        kept.append(trial.results, outcome)
        checks = ", ".join(each.check for each in outcome.citations)
        said = outcome.error or f"{outcome.kind}, {outcome.markers} markers: {checks or 'no citations'}"
        line = f"{number} of {len(asked)}  {question.id}  {outcome.seconds:.1f} s  {said}"
        out.print(line, markup=False, highlight=False, soft_wrap=True)
        failed = failed + 1 if outcome.error else 0
        if failed == MOST_FAILED:
            raise InvalidInput(f"{MOST_FAILED} questions in a row had no answer: {outcome.error}")


async def _measure_judge(settings: Settings, trial: Trial, file: Path, err: Console) -> None:
    """Ask the judge about labelled claims, and keep how often it is right: from then on it may read answers.

    Its verdicts are kept as they come. The claims are those of the half that no prompt is chosen on.
    """
    try:
        claims = [each for each in read_claims(file) if each.half == "report"]
    except (OSError, ValueError, KeyError, TypeError) as exc:
        raise InvalidInput(f"{file} has no labelled claims as docs/citations.md shows them: {exc}") from exc
    async with AsyncExitStack() as stack:
        judge = open_judge(settings, stack)
        progress = stack.enter_context(Progress(console=err))
        advance = partial(progress.advance, progress.add_task("claims judged", total=len(claims)))
        written, seconds = trial.output / "judged.jsonl", settings.critic_seconds
        judged = await judge_claims(judge, claims, written, advance, seconds=seconds)
    found = accuracy_of(judge, judged)
    keep_measured(settings.data_dir, judge.name, found)
    keep_measured(trial.output, trial.label, found)


def _judge_figures(found: Accuracy | None) -> list[Figure]:
    """How often the judge is right; nothing under a label for which it was not measured."""
    shares = (found.claims, found.right, found.wrong, found.balanced) if found else (None,) * 4
    names = (
        "labelled claims",
        "share of the right ones that it calls supported",
        "share of the wrong ones that it calls supported",
        f"balanced accuracy, of which {LEAST_ACCURACY:.2f} are needed",
    )
    return [Figure(f"judge: {name}", share) for name, share in zip(names, shares, strict=True)]


def _report(trial: Trial, out: Console) -> None:
    """Write the report, and print the table."""
    asked = [each for each in kept.latest(kept.read_outcomes(trial.results)) if each.asked in trial.questions]
    outcomes = sorted(asked, key=lambda each: (trial.questions.index(each.asked), each.label))

    def picture_of(name: str, page: int) -> bytes | None:
        path = trial.picture(name, page)
        return path.read_bytes() if path.exists() else None

    rows = {label: figures(each) for label, each in by_label(outcomes).items()}
    if judges := read_measured(trial.output):
        rows = {label: [*row, *_judge_figures(judges.get(label))] for label, row in rows.items()}
    (trial.output / "figures.json").write_text(as_json(rows), "utf-8")
    (trial.output / "report.html").write_text(as_html(outcomes, rows, picture_of), "utf-8")
    table = Table("", *rows)
    for row in zip(*rows.values(), strict=True):
        table.add_row(row[0].name, *(each.shown for each in row))
    out.print(table)
    out.print(f"{trial.output / 'report.html'}: each answer with its marks and pages.", markup=False)
