"""How conversations are listed: in pages by their last use, and their messages in order."""

import base64
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar

from pydantic import JsonValue, TypeAdapter

from orc.conversations.models import Head, Turn, TurnStatus
from orc_core.errors import InvalidInput

Each = TypeVar("Each")

_PLACE = TypeAdapter(tuple[str, str])
PINNED = "~"
"""Sorts above every timestamp."""
_TOP = (PINNED * 2, "")


def history_view(turns: list[Turn]) -> list[dict[str, JsonValue]]:
    """The messages of the turns with a result by seq, as JSON objects: the seed's `history[]`.

    A partial answer has `status`: `stopped`.
    """
    view: list[dict[str, JsonValue]] = []
    for turn in sorted(turns, key=lambda turn: turn.seq):
        if turn.assistant is not None:
            stopped: dict[str, JsonValue] = (
                {} if turn.status is not TurnStatus.STOPPED else {"status": "stopped"}
            )
            own = {"role", "content", "created_at", "contexts"}
            view.append(turn.user.model_dump(mode="json", include=own))
            view.append(turn.assistant.model_dump(mode="json") | stopped)
    return view


def timestamp(moment: datetime) -> str:
    """The moment in UTC as text of fixed length that sorts."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def place_of(head: Head) -> tuple[str, str]:
    """The conversation's position in the listing: pinned or not, when it was used, and its id."""
    return (PINNED if head.is_pinned else "") + timestamp(head.updated_at), head.conversation_id


def sortable(place: tuple[str, str]) -> str:
    """A place as one string, for a store in which sorting by two fields would take an index of both."""
    return " ".join(place)


def first_page(
    found: list[Each], limit: int, place_of: Callable[[Each], tuple[str, str]]
) -> tuple[list[Each], str | None]:
    """At most `limit` of what was found, and the cursor of the next page if there is more."""
    if len(found) <= limit:
        return found, None
    page = found[:limit]
    return page, base64.urlsafe_b64encode(_PLACE.dump_json(place_of(page[-1]))).decode()


def read_cursor(cursor: str | None) -> tuple[str, str]:
    """The place in the cursor; without a cursor, the top. Raises InvalidInput."""
    if cursor is None:
        return _TOP
    try:
        return _PLACE.validate_json(base64.urlsafe_b64decode(cursor))
    except ValueError as exc:
        raise InvalidInput("This cursor is not from an earlier page.", field="cursor") from exc
