"""The checks of citations in words, for readers of exports, of the command line and of other clients."""

from collections import Counter
from collections.abc import Sequence
from typing import assert_never

from orc_core.grounding.models import Citation, CitationCheck, are_not_there

CLOSEST = "closest passage, not an answer"
LONGEST_REASON = 300
_COUNTED: dict[CitationCheck, str] = {
    "quoted": "in the same words",
    "supported": "checked by a second reading",
    "reworded": "in other words",
    "differs": "with a number that is not on the page",
    "unsupported": "not supported by the page",
    "picture": "read from a picture",
}


def check_words(citation: Citation) -> str:
    """What is known of the sentences that cite it, in one line; `reason` is a model's own text."""
    match citation.check:
        case "quoted":
            return "same words, found by code" if citation.by_code else "same words"
        case "supported":
            return "checked by a second reading"
        case "reworded":
            return "in other words"
        case "differs":
            return f"differs: {are_not_there(citation.missing, 'on the page')}"
        case "unsupported":
            reason = " ".join(citation.reason.split())[:LONGEST_REASON]
            return f"not supported: {reason}" if reason else "not supported by the page"
        case "picture":
            return "read from the picture of the page, not checked"
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
