"""Compares three ways in which a model can name its evidence, with a model at an address like OpenAI's.

`python -m evals.evidence_forms PROMPTS.jsonl --base-url URL --model NAME --output OUT.jsonl` asks each
question once in each form, with the same sources: numbered units (`[3.1]`), sources alone (`[S3]`, code takes
the place that is closest to the sentences), and a quote in the marker (`[S3: "28 days"]`). A line of PROMPTS
has `id`, `question`, `facts` (as evidence_texts of a question: parts between `|` belong together) and
`sources`: each with `document`, `page`, `start`, `text` and `page_text`. Replies are added to OUT, and a
second run asks only what is missing. It prints, for each form, how many replies have the fact, cite, cite the
page of the fact and cite a place that has it, and the tokens of the prompts. None of it is in the product:
the decision record 0213 has the result.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from devkit.reports import markdown_table
from orc_core.grounding.answer_rules import read_answer_rules
from orc_core.grounding.citations import CitationWriter
from orc_core.grounding.sources import Source, fence
from orc_core.grounding.units import page_units
from orc_core.text.quotes import Span, locate

FORMS = ("sources", "units", "quotes")
MARKERS = {
    "sources": "[S3]",
    "units": "[3.1]",
    "quotes": '[S3: "28 working days"]',
}
EXPLAINED = {
    "sources": "Use the number of the source.",
    "units": "Use the number of the line that says it.",
    "quotes": "Use the number of the source, and a few of its words that say it, unchanged.",
}
PROMPT = Path(__file__).parents[1] / "mcp_server" / "prompts" / "document_chat.md"
MOST_CHARACTERS = 1500
"""Of the sources of a prompt, so that a small model on a slow machine answers within a minute."""
SECONDS = 1200
LONGEST_JOINED = 300
"""Characters of several sentences or items with one number; a longer sentence has its own."""
_UNITS = re.compile(r"\[S?(\d+)\.(\d+)(?:\s*[-–]\s*(?:S?\d+\.)?(\d+))?(?:\s*[,;]\s*S?(\d+\.\d+))*\]")
_QUOTES = re.compile(r"\[S?(\d+):\s*[\"“„'](.*?)[\"”“']\s*\]", re.S)

Line = Mapping[str, Any]


class Located(NamedTuple):
    """A place that a reply cites."""

    document: str
    page: int
    quote: str


def sources_of(line: Line) -> list[Source]:
    """The sources of a prompt, numbered again: those with a fact, and as many others as fit."""
    needed = [each for each in line["sources"] if has_fact(line["facts"], [each["text"]])]
    size, kept = sum(len(each["text"]) for each in needed[:1]), needed[:1]
    for each in line["sources"]:
        if each not in kept and size + len(each["text"]) <= MOST_CHARACTERS:
            kept.append(each)
            size += len(each["text"])
    return [
        Source(
            number=number,
            document_id=each["document"],
            blob_name=each["document"],
            page=each["page"],
            start=each["start"],
            text=each["text"],
            page_text=each["page_text"],
        )
        for number, each in enumerate((each for each in line["sources"] if each in kept), 1)
    ]


def messages(line: Line, form: str) -> list[dict[str, str]]:
    """The prompt in one form: the rules of document_chat, the sources, and the question last."""
    rules = PROMPT.read_text("utf-8").format_map(read_answer_rules()._asdict())
    cited = "like this: [S1]."
    rules = rules.replace(cited, f"like this: {MARKERS[form]}. {EXPLAINED[form]}")
    shown = sources_of(line)
    if form == "units":
        shown = [each.model_copy(update={"text": _numbered(each)}) for each in shown]
    text = f"{fence(shown)}\n\n{line['question']}"
    return [{"role": "system", "content": rules}, {"role": "user", "content": text}]


def numbered_units(text: str) -> list[Span]:
    """What has a number in the prompt: a row, a heading, or short sentences or items together."""
    found: list[tuple[Span, str]] = []
    for unit in page_units(text):
        (start, _), kind = found[-1] if found else (Span(0, 0), "")
        if unit.kind == kind and kind in ("sentence", "item") and unit.end - start <= LONGEST_JOINED:
            found[-1] = Span(start, unit.end), kind
        else:
            found.append((Span(unit.start, unit.end), unit.kind))
    return [span for span, _ in found]


def _numbered(source: Source) -> str:
    lines = (
        f"[{source.number}.{number}] {source.text[unit.start : unit.end]}"
        for number, unit in enumerate(numbered_units(source.text), 1)
    )
    return "\n".join(lines)


def located(line: Line, form: str, reply: str) -> list[Located]:
    """The places that the markers of a reply name. A quote that is not there is snapped like a source."""
    sources = {each.number: each for each in sources_of(line)}
    plain, exact = reply, list[Located]()
    if form == "units":
        exact = [place for found in _UNITS.finditer(reply) for place in _units(sources, found)]
    if form == "quotes":
        exact = [place for found in _QUOTES.finditer(reply) if (place := _quoted(sources, found))]
        plain = _QUOTES.sub(r"[S\1]", reply)
    if exact or form == "units":
        return exact
    writer = CitationWriter(list(sources.values()), line["question"])
    writer.feed(plain)
    writer.finish()
    return [Located(each.blob_name, each.page, each.quote) for each in writer.citations]


def _units(sources: Mapping[int, Source], found: re.Match[str]) -> Iterator[Located]:
    source = sources.get(int(found[1]))
    if source is None:
        return
    units = numbered_units(source.text)
    for unit in units[int(found[2]) - 1 : int(found[3] or found[2])]:
        yield Located(source.blob_name, source.page, source.text[unit.start : unit.end])


def _quoted(sources: Mapping[int, Source], found: re.Match[str]) -> Located | None:
    source = sources.get(int(found[1]))
    place: Span | None = locate(found[2], source.text) if source else None
    if source is None or place is None:
        return None
    return Located(source.blob_name, source.page, source.text[place.start : place.end])


def has_fact(facts: Sequence[str], texts: Sequence[str]) -> bool:
    """Whether each fact is in one of the texts."""
    plain = [_plain(text) for text in texts]
    return all(any(all(_plain(p) in text for p in fact.split("|")) for text in plain) for fact in facts)


def _plain(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())


def table(lines: Sequence[Line], replies: Sequence[Line]) -> str:
    """One row for each form."""
    by_id = {line["id"]: line for line in lines}
    rows = []
    for form in FORMS:
        asked = [each for each in replies if each["form"] == form and each["id"] in by_id]
        found = [located(by_id[each["id"]], form, each["reply"]) for each in asked]
        right_page = right_place = 0
        for each, places in zip(asked, found, strict=True):
            line = by_id[each["id"]]
            fact_on = {
                (source.blob_name, source.page)
                for source in sources_of(line)
                if has_fact(line["facts"], [source.text])
            }
            right_page += any((place.document, place.page) in fact_on for place in places)
            right_place += has_fact(line["facts"], [place.quote for place in places])
        said = sum(has_fact(by_id[each["id"]]["facts"], [each["reply"]]) for each in asked)
        tokens = sum(each["tokens"] for each in asked) / max(1, len(asked))
        cited = sum(map(bool, found))
        rows.append([form, *map(str, (len(asked), said, cited, right_page, right_place, round(tokens)))])
    headings = [
        "form",
        "replies",
        "with the fact",
        "cite",
        "right page",
        "fact in the place",
        "prompt tokens",
    ]
    return markdown_table(headings, rows)


def ask(client: httpx.Client, model: str, line: Line, form: str) -> dict[str, Any]:
    """The reply of the model, and the tokens of the prompt."""
    body = {"model": model, "messages": messages(line, form), "temperature": 0, "max_tokens": 200}
    answered = client.post("chat/completions", json=body).raise_for_status().json()
    reply = answered["choices"][0]["message"]["content"] or ""
    return {
        "id": line["id"],
        "form": form,
        "model": model,
        "reply": reply,
        "tokens": answered["usage"]["prompt_tokens"],
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask what was not asked yet, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m evals.evidence_forms", description=__doc__)
    parser.add_argument("prompts", type=Path)
    parser.add_argument("--output", type=Path, required=True, help="replies; what it has is not asked again")
    parser.add_argument("--base-url", help="without it only the table is printed")
    parser.add_argument("--model", default="model")
    parser.add_argument("--forms", nargs="+", choices=FORMS, default=FORMS)
    given = parser.parse_args(arguments)
    lines = [line for line in _read(given.prompts) if line["facts"] and has_fact(line["facts"], _texts(line))]
    replies = _read(given.output) if given.output.exists() else []
    if given.base_url:
        have = {(each["id"], each["form"]) for each in replies}
        with httpx.Client(base_url=f"{given.base_url}/", timeout=SECONDS) as client:
            for line, form in ((line, form) for line in lines for form in given.forms):
                if (line["id"], form) not in have:
                    replies.append(ask(client, given.model, line, form))
                    with given.output.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(replies[-1], ensure_ascii=False) + "\n")
                    print(f"{len(replies)} of {len(lines) * len(FORMS)}", file=sys.stderr)
    print(table(lines, replies))
    return 0


def _texts(line: Line) -> list[str]:
    return [each["text"] for each in line["sources"]]


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


if __name__ == "__main__":
    sys.exit(main())
