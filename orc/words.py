"""Sentences for people outside of the web page, in the languages that `orc/languages` has a file for.

Among them the checks of citations, for readers of exports, of the command line and of other clients.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import assert_never

from orc_core.grounding.models import MOST_NAMED, Citation, CitationCheck

ENGLISH = "en"
LONGEST_REASON = 300
_COUNTED: dict[CitationCheck, str] = {
    "quoted": "in the same words",
    "supported": "checked by a second reading",
    "reworded": "in other words",
    "differs": "with a number that is not on the page",
    "unsupported": "not supported by the page",
    "picture": "read from a picture",
}


class Words:
    """The sentences of one language. One with a number may have two forms: for one, and for any other."""

    def __init__(self, texts: Mapping[str, str | Mapping[str, str]]) -> None:
        self._texts = texts

    def say(self, key: str, *, n: int = 1, **values: object) -> str:
        """The sentence, with its values in the places of their names."""
        return self.form(key, n=n).format(n=f"{n:,}", **values)

    def form(self, key: str, *, n: int = 1) -> str:
        """The sentence for a number, with the names of its values."""
        text = self._texts[key]
        return text if isinstance(text, str) else text["one" if n == 1 else "other"]

    def name(self, key: str, otherwise: str) -> str:
        """The word for a key; `otherwise` for what has none."""
        return self.say(key) if key in self._texts else otherwise


@cache
def words_of(language: str) -> Words:
    """The words of a language; English for one without a file."""
    folder = files("orc") / "languages"
    known = {
        each.name.removesuffix(".json"): each for each in folder.iterdir() if each.name.endswith(".json")
    }
    return Words(json.loads(known.get(language, known[ENGLISH]).read_text("utf-8")))


def check_words(citation: Citation, words: Words | None = None) -> str:
    """What is known of the sentences that cite it, in one line; `reason` is a model's own text.

    In English without `words`.
    """
    words = words or words_of(ENGLISH)
    match citation.check:
        case ("quoted" | "reworded") as check:
            return words.say(f"verdict.{check}.by_code" if citation.by_code else f"verdict.{check}")
        case "differs":
            # `differs: 7, 8, 9 and 2 others are not on the page`
            shown = [*citation.missing[:MOST_NAMED]] or [words.say("verdict.number")]
            if (others := len(citation.missing) - len(shown)) > 0:
                shown.append(words.say("verdict.others", n=others))
            *listed, last = shown
            named = words.say("verdict.list", listed=", ".join(listed), last=last) if listed else last
            return words.say("verdict.differs", n=len(shown), missing=named)
        case "unsupported" if reason := " ".join(citation.reason.split())[:LONGEST_REASON]:
            return words.say("verdict.why", reason=reason)
        case "supported" | "unsupported" | "picture":
            return words.say(f"verdict.{citation.check}")
        case other:
            assert_never(other)


def summary_words(citations: Sequence[Citation]) -> str:
    """`3 sources: 2 in the same words, 1 in other words`; passages that answer nothing are counted apart."""
    cited = [each for each in citations if not each.closest]
    counts = Counter(each.check for each in cited)
    parts = [f"{counts[check]} {words}" for check, words in _COUNTED.items() if counts[check]]
    said = [f"{_count(len(cited), 'source')}: {', '.join(parts)}"] if cited else []
    if close := len(citations) - len(cited):
        said.append(f"{_count(close, 'closest passage')}, not an answer")
    return "; ".join(said) or "No sources"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
