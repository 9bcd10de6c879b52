"""Cuts texts and lists to a token budget. The only implementation: prompts, memory and tools use it."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from core.llm.tokens import TokenCounter

Item = TypeVar("Item")
ELLIPSIS = " …"


def truncate(text: str, tokens: int, counter: TokenCounter) -> str:
    """The beginning of `text` that has at most `tokens` tokens."""
    while text and (size := counter.count(text)) > tokens:
        text = text[: len(text) * max(tokens, 0) // (size + 1)]
    return text


def truncate_words(text: str, tokens: int, counter: TokenCounter) -> str:
    """As `truncate`, at the end of a word and with an ellipsis; at least the first word."""
    words = text.split(" ")
    while (size := counter.count(text)) > tokens and len(words) > 1:
        words = words[: max(1, min(len(words) - 1, len(words) * tokens // size))]
        text = " ".join(words) + ELLIPSIS
    return text


def take_first_fitting(items: Iterable[Item], tokens: int, size: Callable[[Item], int]) -> list[Item]:
    """The first items that fit together: stops at the first one that does not."""
    taken: list[Item] = []
    for item in items:
        tokens -= size(item)
        if tokens < 0:
            break
        taken.append(item)
    return taken


def take_last_fitting(items: Sequence[Item], tokens: int, size: Callable[[Item], int]) -> list[Item]:
    """The last items that fit together, in their order."""
    return take_first_fitting(reversed(items), tokens, size)[::-1]


def take_each_fitting(items: Iterable[Item], tokens: int, size: Callable[[Item], int]) -> list[Item]:
    """The items that fit together, skipping those too large for what is left."""
    taken: list[Item] = []
    for item in items:
        if (needed := size(item)) <= tokens:
            taken.append(item)
            tokens -= needed
    return taken


def longest_fitting(items: Sequence[Item], fits: Callable[[Sequence[Item]], bool], *, least: int = 0) -> int:
    """How many first items fit, for sizes that do not add up; at least `least` of them."""
    low, high = min(len(items), least), len(items)
    while low < high:
        middle = (low + high + 1) // 2
        if fits(items[:middle]):
            low = middle
        else:
            high = middle - 1
    return low
