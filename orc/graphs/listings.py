"""Recognises answers that only say which documents there are."""

import re
from collections.abc import Iterable

from orc_core.grounding.citations import WITHOUT_SOURCE
from orc_core.grounding.word_lists import ALL_NEGATORS, CARDINALS
from orc_core.text.terms import STOP_WORDS

_OF_LISTS = frozenset(
    "following document documents file files pdf called named uploaded attached available one list"
    " conversation folgende folgenden dokument dokumente datei dateien namens hochgeladen verfügbar eine ein"
    " liste unterhaltung suivant suivants fichier fichiers nommé disponible un une hay documento documentos"
    " siguiente siguientes archivo archivos llamado uno lista".split()
)
_WITHOUT_CONTENT = _OF_LISTS.union(*STOP_WORDS.values()) - ALL_NEGATORS
_VALUES = {"one": 1, **CARDINALS["en"]}
_WORD = re.compile(r"[^\W\d_]+|\d+")


def only_lists(answer: str, filenames: Iterable[str]) -> bool:
    """Whether an answer names some of these documents, or their right number, and says nothing else."""
    names = sorted({name.casefold() for name in filenames}, key=len, reverse=True)
    rest = answer.removesuffix(WITHOUT_SOURCE).casefold()
    said = rest
    for name in names:
        said = said.replace(name, " ")
    return said != rest and all(_is_empty(word, len(names)) for word in _WORD.findall(said))


def _is_empty(word: str, count: int) -> bool:
    return (
        word == str(count) or _VALUES.get(word) == count or (word in _WITHOUT_CONTENT and word not in _VALUES)
    )
