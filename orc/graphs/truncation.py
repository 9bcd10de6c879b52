"""Makes a tool's result fit: the best of its lists stays, then the beginnings of what is long."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from orc.graphs.sources import QUOTING

Content = dict[str, Any]
Size = Callable[[Content], int]
"""How many tokens a result takes in a prompt, the sources that it speaks of included."""

SHORTEST = 80
"""A text is cut in two until it has so many characters."""


class Shrunk(NamedTuple):
    """A result that fits, and how many items of its lists it had to leave out."""

    content: Content
    left_out: int


def shrink_lists(content: Content, tokens: int, size: Size) -> Shrunk:
    """As many of the first items of each list as fit; of one that quotes, at least the first.

    What quotes pages stays longest: lists are shortened from the others on.
    """
    left_out = 0
    for name in sorted((name for name in content if isinstance(content[name], list)), key=_worth):
        if size(content) <= tokens:
            break
        kept = _beginning(content, name, tokens, size)
        left_out += len(content[name]) - len(kept)
        content = {**content, name: kept}
    return Shrunk(content, left_out)


def shrink_texts(content: Content, tokens: int, size: Size) -> Content:
    """The content with its longest texts and lists cut in two, again and again, until it fits or is short."""
    while size(content) > tokens:
        longest = max(_cuttable(content), key=lambda part: part.length, default=None)
        if longest is None:
            break
        content = _cut(content, longest.path)
    return content


class _Part(NamedTuple):
    path: tuple[str | int, ...]
    length: int


def _worth(name: str) -> int:
    return len(QUOTING) - QUOTING.index(name) if name in QUOTING else 0


def _beginning(content: Content, name: str, tokens: int, size: Size) -> list[Any]:
    """As many first items of one list as fit, found by halving."""
    items = content[name]
    low, high = min(len(items), int(name in QUOTING)), len(items)
    while low < high:
        middle = (low + high + 1) // 2
        if size({**content, name: items[:middle]}) <= tokens:
            low = middle
        else:
            high = middle - 1
    return list(items[:low])


def _cuttable(part: Any, path: tuple[str | int, ...] = ()) -> Iterator[_Part]:
    if isinstance(part, str) and len(part) > SHORTEST:
        yield _Part(path, len(part))
    elif isinstance(part, dict):
        for name, value in part.items():
            yield from _cuttable(value, (*path, name))
    elif isinstance(part, list):
        if len(part) > 1:
            yield _Part(path, len(str(part)))
        for place, item in enumerate(part):
            yield from _cuttable(item, (*path, place))


def _cut(part: Any, path: tuple[str | int, ...]) -> Any:
    if not path:
        return part[: len(part) // 2] + ("…" if isinstance(part, str) else [])
    step, *rest = path
    if isinstance(part, dict):
        return {**part, step: _cut(part[step], tuple(rest))}
    return [_cut(item, tuple(rest)) if place == step else item for place, item in enumerate(part)]
