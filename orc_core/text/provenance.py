"""Tells what a user wrote in a message from what they pasted into it, or a client inserted.

Only what users write themselves is a wish or a fact of theirs: text of others is material.
"""

import re
from collections.abc import Iterator

LONGEST = 400
"""Characters of a message that a user types; a longer one is a text that was pasted."""
MOST_LINES, MOST_READ = 2, 2000
LONGEST_VALUE = 5
"""Words behind a colon that are a value of one's own: `Budget: 500 euros`. More are a text of others."""

_INSERTED = re.compile(r"</?[a-z][\w:-]*(?:\s[^<>=]{1,40}=[^<>]*|\s*/)?>|^\s{0,3}#{1,6}\s", re.I | re.M)
"""A tag or a heading, with which clients set off what they insert. Who writes a message uses none."""
_COLON = re.compile(r"[:：](?:\s+|$)")
_FENCE = re.compile(r"^\s*(?P<fence>```+|~~~+)")
_OF_OTHERS = re.compile(r"^\s*(?:>|\||[-*_]{3,}\s*$)|\t|^\s{4}")
"""A quoted line, a row of a table, a rule, or a line that is set off."""
_LABELLED = re.compile(r"!?\[(?:[^\[\]\n]{0,300})\]\([^()\n]{0,300}\)")
"""A link or a picture of Markdown, with its text."""
_PAIRS = dict(zip("“„«»‹「『‘‚\"'", ("”", "“”", "»", "«", "›", "」", "』", "’", "‘’", '"', "'"), strict=True))
_OPENS = re.compile(rf"(?<!\w)[{''.join(_PAIRS)}]")
QUOTED_NAME_WORDS = 2
"""A name in quotation marks has at most so many words; what has more is a quotation."""


def own_words(message: str, announces: re.Pattern[str] | None = None) -> str:
    """The lines of a message that its author wrote; empty if that is uncertain.

    Without what is quoted, fenced, tagged or set off, and without what a colon introduces, unless the
    sentence before the colon `announces` words of the author. Of a message that is long all the same, or has
    more lines than people type, nothing is known to be their own.
    """
    if is_inserted(message):
        return ""
    typed = _before_introduced("\n".join(_plain_lines(message[:MOST_READ])), announces)
    text = "\n".join(line for line in map(str.strip, _unquoted(typed).splitlines()) if line)
    return "" if is_pasted(text) else text


def opening_words(message: str) -> str:
    """What names a message: its author's own words, else its first line; empty for what a client inserted."""
    first = message.strip().partition("\n")[0][:LONGEST]
    return own_words(message) or ("" if is_inserted(message) else own_words(first))


def asked_words(message: str) -> str:
    """The message, with phrases in quotation marks, which users look for; of a pasted one what names it."""
    return opening_words(message) if is_pasted(message) else message


def is_pasted(message: str) -> bool:
    """Whether a message has more than people type, or what only clients write."""
    has_more = len(message.strip().splitlines()) > MOST_LINES or len(message) > LONGEST
    return has_more or is_inserted(message)


def is_inserted(message: str) -> bool:
    """Whether a client has put texts into the message, which may be those of documents."""
    return _INSERTED.search(message) is not None


def _before_introduced(text: str, announces: re.Pattern[str] | None) -> str:
    """The text up to the first colon behind which others speak."""
    for colon in _COLON.finditer(text):
        sentence = re.split(r"[.!?\n]\s*", text[: colon.start()])[-1]
        is_announced = announces is not None and announces.match(sentence + ":")
        behind = text[colon.end() :]
        if not is_announced and ("\n" in colon[0] or len(behind.split()) > LONGEST_VALUE):
            return text[: colon.end()]
    return text


def _plain_lines(message: str) -> Iterator[str]:
    fence = ""
    for line in message.splitlines():
        mark = _FENCE.match(line)
        if fence:
            fence = "" if mark and mark["fence"].startswith(fence) else fence
        elif mark:
            fence = mark["fence"]
        elif not _OF_OTHERS.search(line):
            yield _LABELLED.sub(" ", line)


def _unquoted(text: str) -> str:
    """The text without what is in quotation marks, but for names; an open mark quotes all that follows."""
    kept, at = [], 0
    while found := _OPENS.search(text, at):
        closing = re.compile(rf"[{re.escape(_PAIRS[found[0]])}](?!\w)").search(text, found.end())
        end = closing.start() if closing else len(text)
        quoted = text[found.end() : end]
        is_name = len(quoted.split()) <= QUOTED_NAME_WORDS and end < len(text)
        kept.append(text[at : end + 1] if is_name else text[at : found.start()] + " … ")
        at = end + 1
    return "".join([*kept, text[at:]])
