"""What is remembered of older turns, in a prompt: a message of its own, which quotes and never instructs."""

from collections.abc import Sequence
from xml.sax.saxutils import escape, unescape

from langchain_core.messages import BaseMessage, HumanMessage

HEADING = "Known from earlier in this conversation:"
USER_WANTS, USER_SAID = "The user wants: ", "The user said: "
NOT_FOUND_BEFORE, ANSWERED = "Asked, and not found in the documents: ", "Asked and answered: "
"""How the lines begin."""

_OPEN, _CLOSE = "<remembered>", "</remembered>"


class Remembered(HumanMessage):
    """The message that holds what is remembered. It is told by its type: no text can pass for it.

    Sentences of documents are among it, so it has the user's role and never that of the instructions.
    """


def fence_remembered(lines: Sequence[str]) -> str:
    """The lines, each an escaped one, as quoted material under its heading."""
    return "\n".join([_OPEN, HEADING, *lines, _CLOSE])


def remembered_line(label: str, text: str) -> str:
    """A line of it. `text` is a single line; whatever it holds, it cannot open or close a fence."""
    return f"- {label}{escape(text)}"


def remembered_message(block: str) -> list[BaseMessage]:
    """The message that a prompt has between its instructions and the conversation; none without a block."""
    return [Remembered(content=block)] if block else []


def read_remembered(messages: Sequence[BaseMessage], *labels: str) -> list[str]:
    """The texts of the lines with these labels in what is remembered, in order."""
    blocks = [str(message.text) for message in messages if isinstance(message, Remembered)]
    lines = [line for block in blocks for line in block.splitlines()]
    return [
        unescape(line.removeprefix(f"- {label}"))
        for line in lines
        for label in labels
        if line.startswith(f"- {label}")
    ]
