"""Asks the product questions about documents and checks its answers: refusals, citations, quotes."""

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from core.grounding.models import Citation
from devkit.reports import Target, markdown_table, verdict, write_whole
from evals.answering import Answered, ask_all, product
from evals.corpus import Half, Question, UnusableInput, console, find_documents, half_of, read_questions
from evals.page_texts import PageTexts
from evals.retrieval import UNUSABLE_INPUT
from orc.events import AnswerKind

TITLE = "Answers of the offline model"
MOST_EXAMPLES = 20
MISSED, NONE = Target(0.15), Target(0.7, ">=")
HALVES: tuple[Half, ...] = ("tuning", "held out")
KINDS: tuple[AnswerKind, ...] = ("answer", "closest_passages", "not_found")
OUTCOMES = (
    "answered, right page",
    "answered, other page",
    "closest passages with a right page",
    "closest passages without one",
    "refused",
)
"""The ends of questions that have an answer; each kind of answer with a right page, then without."""
WITHOUT_ANSWER = ("unanswerable: answered", "unanswerable: closest passages", "unanswerable: refused")


@dataclass(frozen=True)
class Share:
    """`count` of `total`, and the bound for the share."""

    name: str
    count: int
    total: int
    target: Target | None = None

    @property
    def value(self) -> float:
        """The share; 0 of nothing is 0."""
        return self.count / self.total if self.total else 0.0

    @property
    def ok(self) -> bool | None:
        """Whether the target is met; None without a target or without a total."""
        return self.target.met_by(self.value) if self.target and self.total else None


@dataclass(frozen=True)
class Checked:
    """A citation, and whether another PDF library finds its quote on the page; None if it is not a PDF."""

    answered: Answered
    citation: Citation
    found: bool | None

    @property
    def is_gold(self) -> bool:
        """Whether the cited page is one that answers the question."""
        cited = (self.citation.blob_name, self.citation.page)
        return any((gold.file, gold.page) == cited for gold in self.answered.question.gold)


@dataclass(frozen=True)
class Results:
    """The answers to questions that have one, those to questions that have none, and all citations."""

    answerable: Sequence[Answered]
    unanswerable: Sequence[Answered]
    citations: Sequence[Checked]

    def outcomes(self) -> dict[str, Counter[Half]]:
        """How many questions ended in which way, in each half of the documents."""
        counts: dict[str, Counter[Half]] = {name: Counter() for name in (*OUTCOMES, *WITHOUT_ANSWER)}
        for answered in self.answerable:
            end = min(2 * KINDS.index(answered.kind) + (not answered.has_page), len(OUTCOMES) - 1)
            counts[OUTCOMES[end]][half_of(answered.question)] += 1
        for answered in self.unanswerable:
            counts[WITHOUT_ANSWER[KINDS.index(answered.kind)]][half_of(answered.question)] += 1
        return counts

    def shares(self) -> list[Share]:
        """The figures of the report."""
        everything = [*self.answerable, *self.unanswerable]
        looked_at = [checked for checked in self.citations if checked.found is not None]
        known = [answered for answered in self.answerable if answered.question.evidence_texts]
        direct = [answered for answered in known if answered.kind == "answer"]
        of_answerable = [checked for checked in self.citations if checked.answered.question.gold]
        return [
            _share(
                "no quote and no passage of a right page", [not a.has_page for a in self.answerable], MISSED
            ),
            _share("answerable, not answered directly", [a.kind != "answer" for a in self.answerable]),
            _share(
                "unanswerable, not answered directly", [a.kind != "answer" for a in self.unanswerable], NONE
            ),
            _share("direct answers with the evidence", [a.has_evidence for a in direct]),
            _share("answerable, evidence shown", [a.has_evidence for a in known]),
            _share("citations verified", [c.citation.verified for c in self.citations], Target(1, ">=")),
            _share("quotes on the cited page", [bool(c.found) for c in looked_at], Target(0.995, ">=")),
            _share("cited page is a gold page", [c.is_gold for c in of_answerable]),
            _share("citations kept after reload", [a.kept for a in everything], Target(1, ">=")),
        ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code is 2 if questions or documents cannot be read."""
    options = _parser().parse_args(arguments)
    output = options.output.resolve()
    try:
        results = run(options.questions.resolve(), options.unanswerable and options.unanswerable.resolve())
    except UnusableInput as exc:
        print(f"error: {exc}", file=sys.stderr)
        return UNUSABLE_INPUT
    shares = results.shares()
    write_whole(output / "answers.md", markdown(results, shares))
    write_whole(output / "answers.jsonl", "".join(_line(answered) for answered in _all(results)))
    for name, *counts in _outcome_rows(results):
        print(f"{name}: {', '.join(f'{half} {count}' for half, count in zip(HALVES, counts, strict=True))}")
    for share in shares:
        print(f"{share.name}: {share.count}/{share.total} = {share.value:.3f} {verdict(share.ok)}".rstrip())
    return 0


def run(questions: Path, unanswerable: Path | None = None) -> Results:
    """Start the product, ask every question, and look up every quote."""
    asked = read_questions(questions)
    without = read_certain(unanswerable) if unanswerable else []
    documents = find_documents(questions.parent, [*asked, *without])
    widest = max(len(question.files) for question in [*asked, *without])
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with (
        tempfile.TemporaryDirectory(prefix="orc-answers-") as folder,
        Progress(*columns, console=console) as progress,
        product(Path(folder), widest) as system,
    ):
        task = progress.add_task("Asking", total=len(asked) + len(without))
        answers = ask_all(system, [*asked, *without], documents, lambda: progress.advance(task))
    pages = PageTexts(documents)
    citations = [
        Checked(answered, citation, pages.has(citation.blob_name, citation.page, citation.quote))
        for answered in answers
        for citation in answered.citations
    ]
    return Results(answers[: len(asked)], answers[len(asked) :], citations)


def read_certain(path: Path) -> list[Question]:
    """The questions of the file, without those that are marked as perhaps having an answer."""
    questions = read_questions(path)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [q for q, line in zip(questions, lines, strict=True) if line.get("certain", True)]


def markdown(results: Results, shares: Sequence[Share]) -> str:
    """The whole report."""
    rows = [
        (
            share.name,
            f"{share.count} of {share.total}",
            f"{100 * share.value:.1f} %",
            _bound(share),
            verdict(share.ok),
        )
        for share in shares
    ]
    return "\n".join(
        [
            f"# {TITLE}\n",
            "Written by `python -m evals.answers`. The questions are asked over HTTP, as a client would."
            " A quote counts as found if another PDF library has its characters on the cited page; spaces,"
            " hyphens and the forms of ligatures are ignored.\n",
            markdown_table(("figure", "count", "share", "target", "met"), rows),
            "\nThe documents are divided by the hash of their names; answers were tuned on one half.\n",
            markdown_table(("end of a question", *HALVES), _outcome_rows(results)),
            *_examples("No right page", [_asked(a) for a in results.answerable if not a.has_page]),
            *_examples(
                "Unanswerable, but answered", [_asked(a) for a in results.unanswerable if a.kind == "answer"]
            ),
            *_examples("Not verified", [_cited(c) for c in results.citations if not c.citation.verified]),
            *_examples("Not found on the page", [_cited(c) for c in results.citations if c.found is False]),
            "",
        ]
    )


def _outcome_rows(results: Results) -> list[tuple[str, str, str]]:
    outcomes = results.outcomes()
    return [(name, str(count["tuning"]), str(count["held out"])) for name, count in outcomes.items()]


def _share(name: str, truths: Sequence[bool], target: Target | None = None) -> Share:
    return Share(name, sum(truths), len(truths), target)


def _all(results: Results) -> list[Answered]:
    return [*results.answerable, *results.unanswerable]


def _line(answered: Answered) -> str:
    content = {
        "id": answered.question.id,
        "kind": answered.kind,
        "half": half_of(answered.question),
        "answer": answered.answer,
        "citations": [citation.model_dump(exclude={"rectangles"}) for citation in answered.citations],
    }
    return json.dumps(content, ensure_ascii=False) + "\n"


def _examples(title: str, lines: Sequence[str]) -> list[str]:
    if not lines:
        return []
    return [f"\n## {title}\n", *(f"- {line}" for line in lines[:MOST_EXAMPLES])]


def _asked(answered: Answered) -> str:
    return f"`{answered.question.id}` {answered.question.question}"


def _cited(checked: Checked) -> str:
    citation = checked.citation
    place = f"{citation.blob_name}, page {citation.page}"
    return f"`{checked.answered.question.id}` {place}: `{' '.join(citation.quote.split())}`"


def _bound(share: Share) -> str:
    return f"{share.target.sign} {100 * share.target.bound:g} %" if share.target else ""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m evals.answers", description=__doc__)
    parser.add_argument("questions", type=Path, help="JSON Lines with id, question, files and gold")
    parser.add_argument("--unanswerable", type=Path, help="the same, of questions without an answer")
    parser.add_argument("--output", type=Path, required=True, help="a folder for the report and the answers")
    return parser


if __name__ == "__main__":
    sys.exit(main())
