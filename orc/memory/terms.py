"""The words of questions and notes as they are compared: stems, kept since they come up again every turn."""

from collections.abc import Mapping
from functools import lru_cache

from core.search.text_ranking import QuestionTerms
from core.text.terms import detect_language, stems, words
from orc.memory.note_patterns import load_phrases

KEPT_TEXTS = 8192
NAME = "name"
"""What all stems count as that give a name or ask for one."""

Terms = frozenset[str]


class Asked:
    """What a question is about. `tells`: its words say anything of it."""

    def __init__(self, text: str) -> None:
        question = QuestionTerms(text)
        phrases = load_phrases()
        self.language = question.language
        self.terms: Terms = frozenset(
            NAME if term in phrases.naming else term for term in question.terms if term not in phrases.fillers
        )
        self.tells = question.is_specific and bool(self.terms)
        self.is_about_the_user = phrases.is_about_the_user(text)

    def share(self, weights: Mapping[str, float], text: str) -> float:
        """How much of the question's weight the words of a text make up, from 0 to 1."""
        found = self.terms & terms_in(text, self.language)
        return sum(weights[term] for term in found) / (sum(weights.values()) or 1.0)


@lru_cache(KEPT_TEXTS)
def terms_in(text: str, language: str) -> Terms:
    """The terms of a text, cut as those of a question in this language are."""
    naming = load_phrases().naming
    return frozenset(NAME if stem in naming else stem for stem in stems(words(text), language) if stem)


@lru_cache(KEPT_TEXTS)
def spelled(text: str) -> tuple[str, ...]:
    """The words of a text in order: two texts with the same ones say the same."""
    return tuple(words(text))


def gives_a_name(text: str) -> bool:
    """Whether a statement says what somebody or something is called."""
    return NAME in terms_in(text, detect_language(spelled(text)))


def ask_the_same(one: str, other: str, share: float) -> bool:
    """Whether two questions have this share of the terms of both in common."""
    these, those = Asked(one).terms, Asked(other).terms
    return len(these & those) >= share * len(these | those) > 0
