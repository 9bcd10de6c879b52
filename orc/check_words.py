"""The checks of citations in words, for readers of exports, of the command line and of other clients."""

from collections import Counter
from collections.abc import Sequence
from typing import assert_never

from orc.words import ENGLISH, Words, words_of
from orc_core.grounding.models import MOST_NAMED, Citation, CitationCheck

LONGEST_REASON = 300
_COUNTED: dict[CitationCheck, str] = {
    "quoted": "in the same words",
    "supported": "checked by a second reading",
    "reworded": "in other words",
    "differs": "with a number that is not on the page",
    "unsupported": "not supported by the page",
    "picture": "read from a picture",
}


def check_words(citation: Citation, words: Words | None = None) -> str:
    """What is known of the sentences that cite it, in one line; `reason` is a model's own text.

    In English without `words`.
    """
    words = words or words_of(ENGLISH)
    match citation.check:
        case "quoted":
            return words.say("verdict.by_code" if citation.by_code else "verdict.quoted")
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
        case "supported" | "reworded" | "unsupported" | "picture":
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
