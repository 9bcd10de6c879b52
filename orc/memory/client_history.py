"""The history that a caller sends with a question: cleaned and bounded."""

import unicodedata
from collections.abc import Iterable, Sequence

from orc.conversations.models import ChatMessage
from orc_core.mcp_contract import MAX_QUESTION_CHARACTERS
from orc_core.text.normal_forms import normalized

CUT, CUT_BEFORE = " …", "… "
_KEPT_CONTROLS = "\n\t"
_DROPPED = {"Cc", "Cs"}


def cleaned(text: str) -> str:
    """The text in NFC, stripped, without lone surrogates and control characters but newlines and tabs."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    visible = "".join(c for c in lines if c in _KEPT_CONTROLS or unicodedata.category(c) not in _DROPPED)
    return normalized("NFC", visible).strip()


def question_and_history(said: Sequence[ChatMessage]) -> tuple[str, list[ChatMessage]]:
    """The last message, and the messages before it as models see them.

    They are cleaned, and empty ones are removed. A message that repeats the one before it is removed: the
    user's if it was sent again, the assistant's also if it echoes the user. Successive messages of one side
    are joined. A message longer than the longest question is cut, with an ellipsis.
    """
    kept: list[ChatMessage] = []
    for message in said:
        text = cleaned(message.content)
        if len(text) > MAX_QUESTION_CHARACTERS:
            text = text[: MAX_QUESTION_CHARACTERS - len(CUT)] + CUT
        bounded = message.model_copy(update={"content": text})
        if text and not (kept and _repeats(bounded, kept[-1])):
            kept.append(bounded)
    turns: list[ChatMessage] = []
    for message in kept[:-1]:
        if turns and turns[-1].role == message.role:
            together = f"{turns[-1].content}\n\n{message.content}"
            if len(together) > MAX_QUESTION_CHARACTERS:
                together = CUT_BEFORE + together[len(CUT_BEFORE) - MAX_QUESTION_CHARACTERS :]
            turns[-1] = message.model_copy(update={"content": together})
        else:
            turns.append(message)
    return cleaned(said[-1].content), turns


def first_words(said: Iterable[ChatMessage]) -> str:
    """The user's first message that is not empty, cleaned; empty if there is none."""
    texts = (cleaned(message.content) for message in said if message.role == "user")
    return next(filter(None, texts), "")


def latest_turns(history: Sequence[ChatMessage], turns: int) -> list[ChatMessage]:
    """The last so many turns: messages of the user, each with its answer."""
    starts = [at for at, message in enumerate(history) if message.role == "user"]
    if not turns:
        return []
    return list(history[starts[-turns] :] if turns < len(starts) else history)


def _repeats(message: ChatMessage, before: ChatMessage) -> bool:
    """Whether a message is an echo. A user who quotes the assistant word for word does so on purpose."""
    if message.role == "user" != before.role:
        return False
    return message.content.casefold().split() == before.content.casefold().split()
