"""What the user said earlier that has the words of a question, as it was said."""

from collections.abc import Sequence

from orc_core.search.bm25 import QuestionTerms, coverage, floored, idf_of_terms
from orc_core.text.provenance import own_words
from orc_core.text.sentences import sentences
from orc_core.text.wording import is_statement

ENOUGH = 0.6
"""The share of the question's terms that an earlier sentence has to contain."""


def recall(question: str, earlier: Sequence[str]) -> str | None:
    """The latest of the earlier sentences that have most words of the question; None if all have few."""
    asked = QuestionTerms(question)
    own = (" ".join(own_words(text).split()) for text in earlier)
    said = [each for text in own for each in sentences(text) if is_statement(each)]
    covered = [frozenset(asked.terms).intersection(asked.terms_of(each)) for each in said]
    weights = floored(idf_of_terms(asked.terms, covered))
    shares = [coverage(weights, terms) for terms in covered]
    best = max([ENOUGH, *shares])
    found = [each for each, share in zip(said, shares, strict=True) if share == best]
    return f"Earlier in this conversation you said: “{found[-1]}”" if found else None
