"""Messages of our own types: the question that ends a prompt, and what is remembered of older turns."""

from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import escape, unescape

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

HEADING = "Known from earlier in this conversation; of two contradicting statements the later line is valid:"
USER_WANTS, USER_SAID = "The user wants: ", "The user said: "
NOT_FOUND_BEFORE, ANSWERED = "Asked, and not found in the documents: ", "Asked and answered: "
"""How the lines of a MemoryMessage begin."""

OFFLINE_INTRODUCTION = (
    "I am Orc without a language model: a search that shows the passages of your documents closest to a "
    "question, word for word and with their page. Ask about a document that you attach. An administrator can "
    "set up a model that writes answers."
)
"""The offline model's answer if nothing is searched. It says nothing about the question."""
OFFLINE_SEARCH_OFF = {
    "en": "Your documents were not searched: the search is switched off.",
    "de": "Ihre Dokumente wurden nicht durchsucht: Die Suche ist ausgeschaltet.",
    "fr": "Vos documents n'ont pas été consultés : la recherche est désactivée.",
    "es": "No se han consultado sus documentos: la búsqueda está desactivada.",
}
"""The offline model's answer if the search is switched off, in the language of the question or in English."""

_JOINED: dict[str, type[BaseMessage]] = {"human": HumanMessage, "system": SystemMessage, "ai": AIMessage}
_OPEN, _CLOSE = "<remembered>", "</remembered>"


class QuestionMessage(HumanMessage):
    """The last message of a prompt, with the facts that its text was made of.

    Providers receive the text only. The offline model reads the fields instead of the text, so that a
    prompt's wording can change without changing what it does. A prompt with other facts has a subclass.

    `earlier` is what the user said before, oldest first, if the text has the conversation as a transcript;
    `tool_output` is the part of the text that tools returned, and `looked_up` are the names of these tools if
    the model may call them too. `is_off`: the search that should have been made is switched off.
    """

    question: str
    is_off: bool = False
    earlier: tuple[str, ...] = ()
    tool_output: str | None = None
    looked_up: tuple[str, ...] = ()


class MemoryMessage(HumanMessage):
    """What is remembered of older turns: quoted, and never an instruction.

    It is recognised by its type, which no text can imitate. It has the user's role and not that of the
    instructions, because it contains sentences of documents.
    """


class ContextsMessage(HumanMessage):
    """Which contexts the turn covers. Names in it are other people's text, so it has the user's role."""


def alternating(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The messages with neighbours of one role joined, because the templates of some models refuse two."""
    joined: list[BaseMessage] = []
    for message in messages:
        last = joined[-1] if joined else None
        if last is None or last.type != message.type or last.type not in _JOINED or _calls(last, message):
            joined.append(message)
        elif isinstance(last.content, str) and isinstance(message.content, str):
            joined[-1] = _JOINED[last.type](content=f"{last.content}\n\n{message.content}")
        else:
            joined[-1] = _JOINED[last.type](content=[*_parts(last), *_parts(message)])
    return joined


def _calls(*messages: BaseMessage) -> bool:
    return any(getattr(message, "tool_calls", None) for message in messages)


def _parts(message: BaseMessage) -> list[str | dict[str, Any]]:
    content = message.content
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def contexts_message(block: str) -> list[BaseMessage]:
    """The message of the contexts; none if the block is empty."""
    return [ContextsMessage(content=block)] if block else []


def fence_remembered(lines: Sequence[str]) -> str:
    """The text of a MemoryMessage. `lines` come from `remembered_line`."""
    return "\n".join([_OPEN, HEADING, *lines, _CLOSE])


def remembered_line(label: str, text: str) -> str:
    """One line of it. `text` is a single line; it is escaped, so it cannot open or close a fence."""
    return f"- {label}{escape(text)}"


def memory_message(block: str) -> list[BaseMessage]:
    """The message between the instructions and the conversation; none if the block is empty."""
    return [MemoryMessage(content=block)] if block else []


def read_remembered(messages: Sequence[BaseMessage], *labels: str) -> list[str]:
    """The texts of the lines with these labels in what is remembered, in order."""
    blocks = [str(message.text) for message in messages if isinstance(message, MemoryMessage)]
    lines = [line for block in blocks for line in block.splitlines()]
    return [
        unescape(line.removeprefix(f"- {label}"))
        for line in lines
        for label in labels
        if line.startswith(f"- {label}")
    ]


def has_files(messages: Sequence[BaseMessage]) -> bool:
    """Whether a prompt has files, and not only text and pictures."""
    parts = (part for message in messages if isinstance(message.content, list) for part in message.content)
    return any(isinstance(part, dict) and part.get("type") == "file" for part in parts)
