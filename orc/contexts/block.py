"""What a model is shown of the contexts of a turn: handles and quoted names, never ids."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

from orc.contexts.turn_scope import TurnScope
from orc_core.documents.places import Place
from orc_core.markdown.brackets import visible_name

MOST_TOKENS = 400
NAME_CHARACTERS = 80
SESSION = "session"
"""The key of the session's own documents in the counts."""


class DocumentCount(NamedTuple):
    """Documents of a place, and how many of them can be searched."""

    total: int
    ready: int


Counts = Mapping[Place | str, DocumentCount]
"""By place, or SESSION. One context can be two places: by itself with the focus, and with all below it."""


def context_block(scope: TurnScope, counts: Counts, count_tokens: Callable[[str], int]) -> str:
    """The block, within 400 tokens; empty without contexts. Far contexts that do not fit are a number."""
    handles = {place: f"c{number}" for number, place in enumerate(scope.places, 1)}
    if not handles:
        return ""
    near, far = list(_near_lines(scope, handles, counts)), list(_far_lines(scope, handles, counts))

    def block(shown: int) -> str:
        more = [f"and {len(far) - shown} more: documents_list shows them"] if shown < len(far) else []
        return _fenced([*near, *far[:shown], *more, *_left_out(scope)])

    def is_too_long(shown: int) -> bool:
        return count_tokens(block(shown)) > MOST_TOKENS

    if not is_too_long(len(far)):
        return block(len(far))
    shown = bisect_left(range(len(far)), True, key=is_too_long) - 1
    if shown >= 0:
        return block(shown)
    return _fenced([f"{len(handles)} contexts: documents_list shows them"])


def quoted(name: str) -> str:
    """A name of a context as quoted material: it can close neither its quotes nor the block."""
    return escape(f'"{" ".join(visible_name(name).split())[:NAME_CHARACTERS].strip()}"')


def _fenced(lines: Sequence[str]) -> str:
    return "\n".join(["<contexts>", *lines, "</contexts>"])


def _near_lines(scope: TurnScope, handles: Mapping[Place, str], counts: Counts) -> Iterator[str]:
    near = [place for place in scope.places if place.near]
    if scope.focus is None:
        yield "Focus: the documents of this conversation"
    else:
        above = ", ".join(f"{place.type} {quoted(place.name)}" for place in near[1:])
        inside = f" (in {above})" if above else ""
        yield f"Focus: {handles[near[0]]} {scope.focus.type} {quoted(scope.focus.name)}{inside}"
    documents = [f"this conversation {_counted(counts.get(SESSION))}"]
    documents += [f"{_named(place, handles)} {_counted(counts.get(place))}" for place in near]
    yield f"Documents of the focus: {' · '.join(documents)}"


def _far_lines(scope: TurnScope, handles: Mapping[Place, str], counts: Counts) -> Iterator[str]:
    active = {ref.id for ref in scope.active}
    for place in scope.places:
        if not place.near:
            kind = "Other, active" if place.id in active else "Other, used earlier"
            yield f"{kind}: {_named(place, handles)} {_counted(counts.get(place))}"


def _named(place: Place, handles: Mapping[Place, str]) -> str:
    return f"{handles[place]} {place.type} {quoted(place.name)}"


def _counted(count: DocumentCount | None) -> str:
    if count is None or count.total == count.ready:
        return str(count.total if count else 0)
    return f"{count.total} ({count.ready} ready)"


def _left_out(scope: TurnScope) -> list[str]:
    unreadable = [each for each in scope.left_out if each.reason in ("not_readable", "groups_incomplete")]
    return [f"Left out: {len(unreadable)} that cannot be read now"] if unreadable else []
