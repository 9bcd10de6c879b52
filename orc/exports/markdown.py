"""Writes an export as Markdown: no text in it imitates a turn or a source. See docs/decisions/exports.md."""

import re

from orc.exports.tree import CitedSource, Entry, Heading, Labels, with_numbers

_SPECIAL = re.compile(r"[\\`*_\[\]<>&~|$!^{}=#]|:(?=//)|(?<=www)\.|@")
_LINE_START = re.compile(r"^([-+]|\d{1,9}(?=[.)]))")
_INDENT = re.compile(r"^[ \t]+")
_LINE_END = re.compile(r"\r\n|\r|\n")
_TAB = 4


def write_heading(heading: Heading) -> str:
    """The beginning of the file."""
    return f"# {escaped(heading.title)}\n\n{escaped(heading.line)}\n"


def write_entry(entry: Entry, labels: Labels) -> str:
    """One turn: its question, its answer or why there is none, and its sources."""
    question = [f"### {labels.question}", quoted(_plain_lines(entry.question))]
    blocks = [f"## {entry.number}. {entry.asked_at}", *question]
    if entry.documents:
        named = (f"**{escaped(_one_line(name))}**" for name in entry.documents)
        blocks.append(f"{labels.about}: {', '.join(named)}")
    if entry.answer is not None:
        blocks += [f"### {labels.answer}", quoted(_LINE_END.split(with_numbers(entry.answer, r"\\[\1\\]")))]
    if entry.note:
        blocks += [f"### {labels.note}", quoted(_plain_lines(entry.note))]
    if entry.sources:
        blocks += [f"### {labels.sources}", *map(_source, entry.sources)]
    return "".join(f"\n{block}\n" for block in blocks)


def _source(source: CitedSource) -> str:
    """An item of a list: the page with its first verdict, then its quotes, each behind its verdict."""
    number = f"{source.number}. "
    document, place = escaped(_one_line(source.document)), escaped(_one_line(source.place))
    lines = []
    for quote in source.quotes:
        lines.append(_escaped_line(_one_line(quote.verdict)))
        if text := _escaped_line(_one_line(quote.text)):
            lines.append(f"> {text}")
    return f"{number}**{document}**, {place}: " + f"\n\n{' ' * len(number)}".join(lines)


def quoted(lines: list[str]) -> str:
    """Lines as a block quote."""
    return "\n".join(f"> {line}".rstrip(" ") if line else ">" for line in lines)


def _plain_lines(text: str) -> list[str]:
    """The escaped lines of a plain text, each of which stays a line."""
    lines = _LINE_END.split(text)
    shown = [_escaped_line(line) for line in lines]
    return [
        f"{line}\\" if line and after else line for line, after in zip(shown, [*shown[1:], ""], strict=True)
    ]


def _escaped_line(line: str) -> str:
    if line.isspace():
        return ""
    indent = _INDENT.match(line)
    spaces = indent[0].replace("\t", " " * _TAB) if indent else ""
    rest = line[indent.end() :] if indent else line
    return "&nbsp;" * len(spaces) + _LINE_START.sub(_defused, escaped(rest.rstrip(" \t")))


def _defused(start: re.Match[str]) -> str:
    """The start of a line that would begin a list: a dash with a backslash before it, a number behind it."""
    return f"{start[1]}\\" if start[1].isdecimal() else f"\\{start[1]}"


def escaped(text: str) -> str:
    """Plain text of one line as Markdown that shows it, and links to nothing."""
    return _SPECIAL.sub(r"\\\g<0>", text)


def _one_line(text: str) -> str:
    return " ".join(text.split())
