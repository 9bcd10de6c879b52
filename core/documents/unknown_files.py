"""Files that a question names and that a turn cannot read, and the sentences that say so."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import PurePath

from pydantic import Field

from core.extraction.sniffing import EXTENSIONS
from core.models import Record
from core.text.terms import detect_language, words

MOST_NAMED = 5
LONGEST_NAME = 150
CLOSE = 0.7
"""How much of two names is equal, from 0 to 1, if one may be meant by the other."""

_ENDING = rf"(?:{'|'.join(re.escape(each) for each in (*EXTENSIONS, '.doc', '.ppt'))})"
_QUOTES = "\"'“”„«»‘’"
_QUOTED = rf"(?<!\w)[{_QUOTES}]\s?([^{_QUOTES}<>\[\]|*`\n]{{1,{LONGEST_NAME}}}?{_ENDING})\s?[{_QUOTES}]"
_BARE = rf"(?<![\w/@.\\:-])(\w[\w.-]{{0,{LONGEST_NAME}}}{_ENDING})(?![\w/-]|\.\w)"
_FILE = re.compile(f"{_QUOTED}|{_BARE}", re.I)
"""A name in quotation marks, which may have blanks, or a word with the ending of a file."""

_UNKNOWN = {
    "en": ("“{}” is not among the documents that I can read for this question", "; “{}” is."),
    "de": ("„{}“ gehört nicht zu den Dokumenten, die ich für diese Frage lesen kann", "; „{}“ schon."),
    "fr": (
        "« {} » ne fait pas partie des documents que je peux lire pour cette question",
        ", contrairement à « {} ».",
    ),
    "es": ("«{}» no está entre los documentos que puedo leer para esta pregunta", "; «{}» sí."),
}
"""By language: that a file is not there, and that another one is."""


class UnknownFile(Record):
    """A file that a question names and that is not among the documents of the turn."""

    name: str = Field(description="as the user wrote it")
    similar: str | None = Field(default=None, description="a document of the turn with a similar name")


def unknown_files(question: str, known: Sequence[str]) -> list[UnknownFile]:
    """The files that the question names and that are none of the documents with these names, at most a few.

    Upper and lower case are the same. A known name may have blanks without quotation marks around it; of an
    unknown one only the last word is then read.
    """
    if _FILE.search(question) is None:
        return []
    spelled = set(map(_plain, known))
    with_blanks = [f" {name}" for name in spelled if " " in name]
    missing: dict[str, str] = {}
    for found in _FILE.finditer(f" {unicodedata.normalize('NFC', question)}"):
        name, end = found[1] or found[2], found.end(found.lastindex or 0)
        before = _plain(found.string[max(0, end - LONGEST_NAME) : end])
        is_known = _plain(name) in spelled or (found[2] and before.endswith(tuple(with_blanks)))
        if not is_known:
            missing.setdefault(_plain(name), name)
        if len(missing) == MOST_NAMED:
            break
    return [UnknownFile(name=name, similar=_similar(name, known)) for name in missing.values()]


def unknown_files_note(files: Iterable[UnknownFile], question: str) -> str:
    """A sentence for each of the files, in the language of the question or in English."""
    missing, instead = _UNKNOWN.get(detect_language(words(question)), _UNKNOWN["en"])
    return " ".join(
        missing.format(file.name) + (instead.format(file.similar) if file.similar else ".") for file in files
    )


def _plain(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


def _similar(name: str, known: Sequence[str]) -> str | None:
    """The known name of which the most is as in this one, if that is enough; endings do not count."""
    by_stem = {_stem(each): each for each in known}
    return next((by_stem[stem] for stem in get_close_matches(_stem(name), by_stem, n=1, cutoff=CLOSE)), None)


def _stem(name: str) -> str:
    return "".join(filter(str.isalnum, _plain(PurePath(name).stem)))
