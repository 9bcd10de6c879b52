"""Files that a question names and that a turn cannot read, and the sentences that say so."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from itertools import islice
from pathlib import PurePath

from pydantic import Field

from core.extraction.sniffing import EXTENSIONS
from core.models import Record
from core.text.terms import detect_language, words

MOST_NAMED = 5
LONGEST_NAME = 150
CLOSE = 0.7
"""How much of two names is equal, from 0 to 1, if one may be meant by the other."""
MOST_COMPARED = 200
"""Known names among which a similar one is looked for: a comparison takes up to 0.05 ms."""

_ENDING = rf"(?:{'|'.join(re.escape(each) for each in (*EXTENSIONS, '.doc', '.ppt'))})(?![\w/-]|\.\w)"
_QUOTED = (
    rf"(?<!\w)(?:[\"'“”„‘](?=\w)|[«»]\s?)([^\"“”„‘«»<>\[\]|*`\n]{{1,{LONGEST_NAME}}}?{_ENDING})\s?[\"'“”’«»]"
)
_BARE = (
    r"(?<![^\s(,;\"'“„‘«*_])(?:(?:[cdjlmnst]|qu)['’](?=\w{2}))?"
    rf"(\w[^\s/\\@:<>\[\]{{}}|*`\"“”„«»]{{0,{LONGEST_NAME}}}?{_ENDING})"
)
_FILE = re.compile(f"{_QUOTED}|{_BARE}", re.I)
"""A name in quotation marks, which may have blanks, or a word with the ending of a file."""
_TO_BE_WRITTEN = re.compile(
    r"\b(?:called|named|namens|nommée?|llamad[oa]"
    r"|(?:write|save|store|export|speicher|schreib|enregistre|écri|exporte|guarda|escrib|exporta)[^.?!]{0,60}"
    r"\b(?:as|als|comme|como))\s$"
)
"""Words before the name of a file that the user wants to have."""
_WITHOUT_BLANKS = re.compile(r"[\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff]")
"""Letters of scripts that write words without blanks between them: where a name begins is not known."""
_BEFORE_NAME = r"(?<![^\W\u2e80-\ufaff])(?<![-.&+~])"
_SAME = str.maketrans({"’": "'", "‘": "'", "\u00a0": " ", "\u202f": " "})

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

    Upper and lower case are the same, and so are the forms of blanks and apostrophes. Of an unknown name that
    has blanks and no quotation marks around it, only the last word is read.
    """
    if _FILE.search(question) is None:
        return []
    rest = _without(_plain(question), known)
    missing = dict.fromkeys(
        name
        for found in _FILE.finditer(rest)
        if (name := found[1] or found[2])
        and not _TO_BE_WRITTEN.search(rest, max(0, found.start() - LONGEST_NAME), found.start())
        and not (found[2] and _WITHOUT_BLANKS.search(name))
    )
    written = _as_written(question, missing)
    return [UnknownFile(name=name, similar=_similar(name, known)) for name in islice(written, MOST_NAMED)]


def _without(question: str, known: Sequence[str]) -> str:
    """The question without the known names in it; the longest are looked for first."""
    for name in sorted(
        {plain for each in known if (plain := _plain(each)) in question}, key=len, reverse=True
    ):
        question = re.sub(rf"{_BEFORE_NAME}{re.escape(name)}(?!\w)", " ", question)
    return question


def _as_written(question: str, names: Iterable[str]) -> Iterator[str]:
    """The names with the capitals of the question."""
    text = _without_forms(question)
    for name in names:
        found = re.search(re.escape(name), text, re.I)
        yield found[0] if found else name


def unknown_files_note(files: Iterable[UnknownFile], question: str) -> str:
    """A sentence for each of the files, in the language of the question or in English."""
    missing, instead = _UNKNOWN.get(detect_language(words(question)), _UNKNOWN["en"])
    return " ".join(
        missing.format(file.name) + (instead.format(file.similar) if file.similar else ".") for file in files
    )


def is_name_or_its_end(name: str, known: str) -> bool:
    """Whether a name in a question can be that of a known document, of which only the last word was read."""
    return _plain(known).endswith(_plain(name))


def _plain(text: str) -> str:
    return _without_forms(text).lower()


def _without_forms(text: str) -> str:
    return unicodedata.normalize("NFC", text).translate(_SAME)


def _similar(name: str, known: Sequence[str]) -> str | None:
    """The known name of which the most is as in this one, if that is enough; endings do not count."""
    by_stem = {_stem(each): each for each in known[:MOST_COMPARED]}
    return next((by_stem[stem] for stem in get_close_matches(_stem(name), by_stem, n=1, cutoff=CLOSE)), None)


def _stem(name: str) -> str:
    return "".join(filter(str.isalnum, _plain(PurePath(name).stem)))
