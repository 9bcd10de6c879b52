"""Files that a question names and that a turn cannot read, and the sentences that say so."""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import islice
from pathlib import PurePath

from pydantic import Field

from orc_core.extraction.formats import EXTENSIONS
from orc_core.models import Record
from orc_core.text.file_names import comparable, without_names
from orc_core.text.terms import in_language_of

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
    rf"(\w[^\s/\\@:<>\[\]{{}}|*`\"“”„«»]{{0,{LONGEST_NAME}}}?(?:\s\(\d{{1,3}}\))?{_ENDING})"
)
_FILE = re.compile(f"{_QUOTED}|{_BARE}", re.I)
"""A name in quotation marks, which may have blanks, or a word with the ending of a file: `plan (2).pdf`."""
_TO_BE_WRITTEN = re.compile(
    r"\b(?:called|named|namens|nommée?|llamad[oa]"
    r"|(?:write|save|store|export|speicher|schreib|enregistre|écri|exporte|guarda|escrib|exporta)[^.?!]{0,60}"
    r"\b(?:as|als|comme|como))\s$",
    re.I,
)
"""Words before the name of a file that the user wants to have."""
_WITHOUT_BLANKS = re.compile(r"[\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff]")
"""Letters of scripts that write words without blanks between them: where a name begins is not known."""

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


# Why code says this and not a model: docs/decisions/what-is-missing.md.
def unknown_files(question: str, known: Sequence[str]) -> list[UnknownFile]:
    """The files that the question names and that are none of the documents with these names, at most a few.

    Upper and lower case are the same, and so are the forms of blanks and apostrophes. Of an unknown name that
    has blanks and no quotation marks around it, only the last word is read.
    """
    if _FILE.search(question) is None:
        return []
    rest, _ = without_names(question, known)
    missing: dict[str, str] = {}
    for found in _FILE.finditer(rest):
        name, start = found[1] or found[2], found.start()
        is_cut = name.count("(") != name.count(")")  # `(old).pdf`, of which a word is read
        has_beginning = bool(found[1]) or not (is_cut or _WITHOUT_BLANKS.search(name))
        if has_beginning and not _TO_BE_WRITTEN.search(rest, max(0, start - LONGEST_NAME), start):
            missing.setdefault(comparable(name), name)
    named = islice(missing.values(), MOST_NAMED)
    return [UnknownFile(name=name, similar=similar_name(name, known)) for name in named]


def without_files(text: str) -> str:
    """The text without what looks like the name of a file."""
    return _FILE.sub(" ", text)


def unknown_files_note(files: Iterable[UnknownFile], question: str) -> str:
    """A sentence for each of the files, in the language of the question or in English."""
    missing, instead = in_language_of(question, _UNKNOWN)
    return " ".join(
        missing.format(file.name) + (instead.format(file.similar) if file.similar else ".") for file in files
    )


def is_name_or_its_end(name: str, known: str) -> bool:
    """Whether a name in a question can be that of a known document, of which only the last word was read."""
    return comparable(known).endswith(comparable(name))


def similar_name(name: str, known: Sequence[str]) -> str | None:
    """The known name of which the most is as in this one, if that is enough; endings do not count."""
    by_stem = {_stem(each): each for each in known[:MOST_COMPARED]}
    return next((by_stem[stem] for stem in get_close_matches(_stem(name), by_stem, n=1, cutoff=CLOSE)), None)


def _stem(name: str) -> str:
    return "".join(filter(str.isalnum, comparable(PurePath(name).stem)))
