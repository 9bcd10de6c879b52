"""Asks the product questions without a model: whether a right page is among the passages that it shows."""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from devkit.reports import Target, markdown_table, verdict, write_whole
from devkit.shared_data import ROOT, SHARED
from evals.asking import Shown, ask_all, product
from evals.corpus import UnusableInput, console, find_documents, read_questions
from evals.page_texts import PageTexts
from evals.retrieval import UNUSABLE_INPUT
from orc_core.grounding.models import Citation

TITLE = "Passages without a model"
SETS = (
    SHARED / "data" / "open" / "questions.jsonl",
    SHARED / "data" / "open" / "questions_multilingual.jsonl",
    ROOT / "evals" / "unseen" / "tuning" / "questions.jsonl",
    ROOT / "evals" / "unseen" / "test" / "questions.jsonl",
)
DEPTHS = (1, 3, 5)
MOST_EXAMPLES = 20


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

    shown: Shown
    citation: Citation
    found: bool | None


@dataclass(frozen=True)
class Results:
    """What was shown for the questions of one set, and all citations of it."""

    name: str
    shown: Sequence[Shown]
    citations: Sequence[Checked]

    def shares(self) -> list[Share]:
        """The figures of the report."""
        known = [each for each in self.shown if each.question.evidence_texts]
        looked_up = [each for each in self.citations if each.found is not None]
        return [
            *(_share(f"recall@{depth}", [each.has_page(depth) for each in self.shown]) for depth in DEPTHS),
            _share("evidence shown", [each.has_evidence for each in known]),
            _share("nothing shown", [not each.citations for each in self.shown]),
            _share("given as answers", [each.kind == "answer" for each in self.shown], Target(0)),
            _share("citations verified", [c.citation.verified for c in self.citations], Target(1, ">=")),
            _share("quotes on the page", [bool(c.found) for c in looked_up], Target(0.97, ">=")),
            _share("kept after reload", [each.kept for each in self.shown], Target(1, ">=")),
        ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code is 2 if questions or documents cannot be read."""
    options = _parser().parse_args(arguments)
    try:
        results = [run(path.resolve()) for path in options.questions]
    except UnusableInput as exc:
        print(f"error: {exc}", file=sys.stderr)
        return UNUSABLE_INPUT
    write_whole(options.output / "passages.md", markdown(results))
    lines = [_line(each, of.name) for of in results for each in of.shown]
    write_whole(options.output / "passages.jsonl", "".join(lines))
    for of in results:
        figures = [f"{share.name} {share.value:.3f}{_failed(share)}" for share in of.shares() if share.total]
        print(f"{of.name} ({len(of.shown)}): {', '.join(figures)}")
    return 0


def run(questions: Path) -> Results:
    """Start the product, ask every question, and look up every quote."""
    asked = read_questions(questions)
    documents = find_documents(questions.parent, asked)
    widest = max(len(question.files) for question in asked)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with (
        tempfile.TemporaryDirectory(prefix="orc-passages-") as folder,
        Progress(*columns, console=console) as progress,
        product(Path(folder), widest) as system,
    ):
        task = progress.add_task("Asking", total=len(asked))
        shown = ask_all(system, asked, documents, lambda: progress.advance(task))
    pages = PageTexts(documents)
    citations = [
        Checked(each, citation, pages.has(citation.blob_name, citation.page, citation.quote))
        for each in shown
        for citation in each.citations
    ]
    return Results(f"{questions.parent.name}/{questions.stem}", shown, citations)


def markdown(results: Sequence[Results]) -> str:
    """The whole report."""
    names = [share.name for share in results[0].shares()]
    rows = [[of.name, *map(_percent, of.shares())] for of in results]
    checked = [each for of in results for each in of.citations]
    missed = [each for of in results for each in of.shown if not each.has_page(max(DEPTHS))]
    return "\n".join(
        [
            f"# {TITLE}\n",
            "Written by `python -m evals.passages`. The questions are asked over HTTP, as a client would."
            " Recall is the share of questions with a right page among the first passages. A quote is on the"
            " page if another PDF library has its characters there.\n",
            markdown_table(("set", *names), rows),
            *_examples("No right page", [f"`{s.question.id}` {s.question.question}" for s in missed]),
            *_examples("Not verified", [_cited(c) for c in checked if not c.citation.verified]),
            *_examples("Not found on the page", [_cited(c) for c in checked if c.found is False]),
            "",
        ]
    )


def _share(name: str, truths: Sequence[bool], target: Target | None = None) -> Share:
    return Share(name, sum(truths), len(truths), target)


def _percent(share: Share) -> str:
    return f"{100 * share.value:.1f} %" if share.total else ""


def _failed(share: Share) -> str:
    return f" ({verdict(share.ok)})" if share.ok is False else ""


def _line(shown: Shown, name: str) -> str:
    content = {
        "set": name,
        "id": shown.question.id,
        "text": shown.text,
        "citations": [citation.model_dump(exclude={"rectangles"}) for citation in shown.citations],
    }
    return json.dumps(content, ensure_ascii=False) + "\n"


def _examples(title: str, lines: Sequence[str]) -> list[str]:
    if not lines:
        return []
    return [f"\n## {title}\n", *(f"- {line}" for line in lines[:MOST_EXAMPLES])]


def _cited(checked: Checked) -> str:
    citation = checked.citation
    place = f"{citation.blob_name}, page {citation.page}"
    return f"`{checked.shown.question.id}` {place}: `{' '.join(citation.quote.split())}`"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m evals.passages", description=__doc__)
    parser.add_argument(
        "questions",
        type=Path,
        nargs="*",
        default=SETS,
        help="JSON Lines with id, question, files and gold (default: the open sets and evals/unseen)",
    )
    parser.add_argument("--output", type=Path, required=True, help="a folder for the report and the passages")
    return parser


if __name__ == "__main__":
    sys.exit(main())
