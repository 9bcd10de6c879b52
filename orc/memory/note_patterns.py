"""By which phrases a user's sentence is a fact or a wish: data files by language, and their reader."""

import re
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict, Field

from orc.memory.models import NoteKind

LANGUAGES = ("en", "de", "fr", "es")
_THING_WORD = r"[\w-]+(?:'(?!s name\b)\w+)?"
_THING = rf"(?P<thing>{_THING_WORD}(?: {_THING_WORD}){{0,5}}?)"
_VALUE = r"(?P<value>\S.*)"


class _Sign(BaseModel):
    """An entry of a data file; en.toml explains the fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    pattern: str
    subject: str = ""
    on_request: bool = False


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    naming: list[str]
    fillers: list[str]
    plain: list[str]
    beside: list[str]
    own: str
    clause: str
    polite: str
    lead_in: str
    request: str
    indirect: str
    wish: list[_Sign] = Field(min_length=1)
    fact: list[_Sign] = Field(min_length=1)


class Sign:
    """A sentence in which `pattern` is found is a note of this kind.

    Its groups `thing`, `relation` and `value` say what is told of what. `subject` stands for the thing where
    the pattern has none. `plain` and `beside` are those of its language.
    """

    def __init__(self, kind: NoteKind, entry: _Sign, file: _File) -> None:
        self.kind = kind
        self.plain = frozenset(file.plain)
        self.beside = frozenset(file.beside)
        self.subject = entry.subject
        self.on_request = entry.on_request
        self.pattern = _compiled(entry.pattern.replace("{thing}", _THING).replace("{value}", _VALUE))


class Phrases:
    """The phrases of several languages, looked for together: a sentence says of itself which one it is in."""

    def __init__(self, *languages: str) -> None:
        content = [_File.model_validate(tomllib.loads(toml)) for toml in languages]
        wishes = [Sign(NoteKind.PREFERENCE, entry, file) for file in content for entry in file.wish]
        facts = [Sign(NoteKind.FACT, entry, file) for file in content for entry in file.fact]
        self.signs = (*wishes, *facts)
        self.naming = frozenset(stem for file in content for stem in file.naming)
        self.fillers = frozenset(stem for file in content for stem in file.fillers)
        self._own = _any(rf"\b(?:{file.own})\b" for file in content)
        self._polite = _any(rf"(?:{file.polite})\b" for file in content)
        self._clause = _any(rf",? {file.clause}" for file in content)
        leads = "|".join(file.lead_in for file in content)
        starts = "|".join(file.request for file in content)
        self._asking = _any([rf"(?:(?:{leads}),? )*(?:{starts})\b"])
        self._indirect = _any(rf"\b(?:{file.indirect})\b" for file in content)

    def clauses(self, sentence: str) -> list[str]:
        """A sentence cut where it goes on with something else about the user."""
        return self._clause.split(sentence)

    def is_about_the_user(self, question: str) -> bool:
        """Whether a question is about the one who asks it."""
        return self._own.search(question) is not None

    def is_polite_wish(self, sentence: str) -> bool:
        """Whether it may be a wish that is put as a question."""
        return self._polite.match(sentence) is not None

    def tells_nothing(self, sentence: str) -> bool:
        """Whether a sentence asks, orders or supposes, even if it does not look like a question."""
        return self._asking.match(sentence) is not None or self._indirect.search(sentence) is not None


@cache
def load_phrases() -> Phrases:
    """Those that ship with the code."""
    folder = files("orc.memory") / "languages"
    return Phrases(*((folder / f"{language}.toml").read_text(encoding="utf-8") for language in LANGUAGES))


def _any(patterns: Iterable[str]) -> re.Pattern[str]:
    return _compiled("|".join(patterns))


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)
