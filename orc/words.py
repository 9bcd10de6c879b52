"""Sentences for people outside of the web page, in the languages that `orc/languages` has a file for."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

ENGLISH = "en"


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
