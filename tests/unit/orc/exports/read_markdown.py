"""Reads an export back with a parser of CommonMark, for the tests."""

import re
from dataclasses import dataclass, field

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

_SOURCE = re.compile(r", (?P<place>(?:page|web page) \S+?(?: \([^:]*\))?): (?P<verdict>.*)", re.S)


@dataclass
class ReadSource:
    """A source as a reader sees it."""

    number: int
    document: str
    place: str
    verdicts: list[str]
    quotes: list[str]


@dataclass
class ReadTurn:
    """A turn as a reader sees it. `answer` is the Markdown inside its block quote."""

    heading: str
    question: str = ""
    answer: str | None = None
    note: str = ""
    sources: list[ReadSource] = field(default_factory=list)


def read_turns(text: str) -> list[ReadTurn]:
    """The turns of an export."""
    lines = text.split("\n")
    turns: list[ReadTurn] = []
    part = ""
    for node in SyntaxTreeNode(MarkdownIt("commonmark").parse(text)).children:
        if node.type == "heading" and node.tag == "h2":
            turns.append(ReadTurn(heading=_text(node)))
        elif node.type == "heading" and node.tag == "h3":
            part = _text(node)
        elif turns and part == "Question" and node.type == "blockquote":
            turns[-1].question = "\n\n".join(map(_text, node.children))
        elif turns and part == "Answer":
            assert node.type == "blockquote"
            assert node.map
            quoted = (line for line in lines[slice(*node.map)] if line.startswith(">"))
            turns[-1].answer = "\n".join(line.removeprefix(">").removeprefix(" ") for line in quoted)
        elif turns and part == "Note":
            assert node.type == "blockquote"
            turns[-1].note = _text(node)
        elif turns and part == "Sources":
            assert node.type == "ordered_list"
            first = int(node.attrs.get("start", 1))
            turns[-1].sources += [_source(first + n, item) for n, item in enumerate(node.children)]
    return turns


def _source(number: int, item: SyntaxTreeNode) -> ReadSource:
    line, *others = item.children
    strong = next(node for node in line.walk() if node.type == "strong")
    document = _text(strong)
    rest = _SOURCE.fullmatch(_text(line).removeprefix(document))
    assert rest
    quotes = [_text(each) for each in others if each.type == "blockquote"]
    verdicts = [rest["verdict"], *(_text(each) for each in others if each.type == "paragraph")]
    return ReadSource(number, document, rest["place"], verdicts, quotes)


def _text(node: SyntaxTreeNode) -> str:
    """The text that is shown, with its line breaks; nothing but text may be in it."""
    shown = ""
    for each in node.walk():
        assert each.type not in {"link", "image", "html_inline", "html_block", "code_inline", "fence", "em"}
        if each.type == "text":
            shown += each.content
        elif each.type in {"hardbreak", "softbreak"}:
            shown += "\n"
    return shown
