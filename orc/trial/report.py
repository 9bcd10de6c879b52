"""The report of a trial: one file of HTML without anything from elsewhere, and the figures as JSON."""

import base64
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape

from orc.trial.outcomes import CHECKS, Figure, Outcome, by_label
from orc.words import check_words
from orc_core.grounding.models import Citation, CitationCheck

COLOURS: Mapping[CitationCheck, str] = {
    "quoted": "#2e7d4f",
    "supported": "#7fb899",
    "reworded": "#c9cdd3",
    "differs": "#c0392b",
    "unsupported": "#e59866",
    "picture": "#8e7cc3",
}
WIDTH, BAR, GAP, LABEL = 720, 18, 8, 250
SHARES = (0, 2, 3, 4, 5, 6)
"""The figures that are drawn as shares."""
_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;color:#1d2127}
table{border-collapse:collapse}td,th{padding:.2rem .8rem;text-align:left;border-bottom:1px solid #ddd}
td+td{font-variant-numeric:tabular-nums}section{border-top:1px solid #ccc;margin-top:2rem}
.answer{white-space:pre-wrap}mark{background:none;border-bottom:3px solid}.no{color:#c0392b}
.page{position:relative;display:inline-block;width:46%;margin:.5rem 1%;border:1px solid #bbb}
.page img{width:100%;display:block}
.page i{position:absolute;background:#ffd54a66;border-bottom:2px solid #c77700}
q{color:#444}h3{margin-bottom:.2rem}
"""

PictureOf = Callable[[str, int], bytes | None]
"""The WebP picture of a page of a file, if there is one."""


Rows = Mapping[str, Sequence[Figure]]
"""The figures of each label, the same ones in the same order."""


def as_json(rows: Rows) -> str:
    """The figures by label."""
    content = {
        label: [{**each._asdict(), "shown": each.shown} for each in row] for label, row in rows.items()
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def as_html(outcomes: Sequence[Outcome], rows: Rows, picture_of: PictureOf) -> str:
    """The table, the plots, and each answer with its marks and the pages that it cites."""
    marks = "".join(f"mark.{check}{{border-color:{colour}}}" for check, colour in COLOURS.items())
    heads = "".join(f"<th>{escape(label)}" for label in rows)
    lines = (
        f"<tr><td>{escape(each[0].name)}" + "".join(f"<td>{escape(figure.shown)}" for figure in each)
        for each in zip(*rows.values(), strict=True)
    )
    table = f"<table><tr><th>{heads}{''.join(lines)}</table>"
    answers = "".join(_answer(each, picture_of) for each in outcomes)
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>orc trial</title>'
        f"<style>{_STYLE}{marks}</style><h1>Trial</h1>{table}"
        f"<h2>What is known of the citations</h2>{_checks(by_label(outcomes))}"
        f"<h2>Shares</h2>{_shares(rows)}"
        f"<h2>Answers</h2>{answers}</html>\n"
    )


def _checks(labels: Mapping[str, Sequence[Outcome]]) -> str:
    """A bar for each label, of its citations by check."""
    parts, y = [], GAP
    for label, outcomes in labels.items():
        citations = [citation for each in outcomes for citation in each.citations]
        parts.append(_text(0, y, label))
        x = float(LABEL)
        for check in CHECKS:
            count = sum(citation.check == check for citation in citations)
            width = (WIDTH - LABEL) * count / max(1, len(citations))
            parts.append(_bar(x, y, width, COLOURS[check], f"{check}: {count}"))
            x += width
        y += BAR + GAP
    legend = [
        _bar(LABEL + 95 * at, y, 12, COLOURS[check], check) + _text(LABEL + 95 * at + 16, y, check)
        for at, check in enumerate(CHECKS)
    ]
    return _svg(y + BAR + GAP, "".join([*parts, *legend]), WIDTH + 120)


def _shares(rows: Rows) -> str:
    """A group of bars for each figure that is a share, one for each label."""
    parts, y = [], GAP
    for at in SHARES:
        for label, row in rows.items():
            figure = row[at]
            parts.append(_text(0, y, figure.name if label == next(iter(rows)) else ""))
            parts.append(_bar(LABEL + 90, y, 300 * figure.share, "#39608f", f"{label}: {figure.shown}"))
            parts.append(_text(LABEL + 96 + 300 * figure.share, y, f"{figure.shown}, {label}"))
            y += BAR
        y += GAP
    return _svg(y, "".join(parts), WIDTH + 200)


def _svg(height: float, content: str, width: int) -> str:
    return f'<svg width="{width}" height="{height}" font-size="13" role="img">{content}</svg>'


def _bar(x: float, y: float, width: float, colour: str, title: str) -> str:
    place = f'x="{x:.1f}" y="{y}" width="{width:.1f}" height="{BAR - 4}"'
    return f'<rect {place} fill="{colour}"><title>{escape(title)}</title></rect>'


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x:.1f}" y="{y + 11}">{escape(text)}</text>'


def _answer(outcome: Outcome, picture_of: PictureOf) -> str:
    asked = outcome.asked
    expected = ", ".join(f"{each.file}, page {each.page}" for each in asked.gold)
    facts = "; ".join(asked.evidence_texts)
    said = f'<b class="no">{escape(outcome.error)}</b>'
    if not outcome.error:
        # The answer, its markers underlined in the colour of their check.
        marked = ((mark, each.check) for each in outcome.citations for mark in each.marks)
        said, at = "", 0
        for start, end, check in sorted((mark.start, mark.end, check) for mark, check in marked):
            said += f'{escape(outcome.answer[at:start])}<mark class="{check}">'
            said, at = f"{said}{escape(outcome.answer[start:end])}</mark>", end
        said += escape(outcome.answer[at:])
    unread = f'<p class="no">Not read: {escape(" ".join(outcome.unread))}' if outcome.unread else ""
    return (
        f"<section><h3>{escape(asked.question)}</h3>{escape(outcome.label)}, {outcome.seconds:.1f} s, "
        f"{outcome.usage.input_tokens} tokens read, {outcome.usage.output_tokens} written"
        f'<p class="answer">{said}</p>{unread}'
        f"<p>{_judged('expected page', expected, outcome.on_page)} "
        f"{_judged('expected fact', facts, outcome.in_place)}"
        f"<ol>{''.join(map(_citation, outcome.citations))}</ol>"
        f"{''.join(_pages(outcome, picture_of))}</section>"
    )


def _judged(what: str, wanted: str, found: bool | None) -> str:
    if found is None:
        return ""
    mark = "cited" if found else '<b class="no">not cited</b>'
    return f"{what}: {escape(wanted)} ({mark})."


def _citation(citation: Citation) -> str:
    quote = escape(" ".join(citation.quote.split()))
    place = escape(f"{citation.blob_name}, page {citation.page}")
    return f'<li><mark class="{citation.check}">{escape(check_words(citation))}</mark> {place}' + (
        f": <q>{quote}</q>" if quote else ""
    )


def _pages(outcome: Outcome, picture_of: PictureOf) -> Iterator[str]:
    """The cited pages with what is cited marked, as far as there are pictures."""
    pages = dict.fromkeys((each.blob_name, each.page) for each in outcome.citations)
    for name, page in pages:
        if picture := picture_of(name, page):
            marks = "".join(
                f'<i style="left:{r.left:.2%};top:{r.top:.2%};width:{r.right - r.left:.2%};'
                f'height:{r.bottom - r.top:.2%}"></i>'
                for each in outcome.citations
                if (each.blob_name, each.page) == (name, page)
                for r in each.rectangles
            )
            title = escape(f"{name}, page {page}", quote=True)
            data = base64.b64encode(picture).decode()
            yield (
                f'<div class="page"><img loading="lazy" alt="{title}" title="{title}"'
                f' src="data:image/webp;base64,{data}">{marks}</div>'
            )
