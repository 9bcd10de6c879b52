"""The order in which a user's conversations are listed, latest used first, and cursors into it."""

import base64
from datetime import UTC, datetime

from pydantic import TypeAdapter

from core.errors import InvalidInput
from orc.conversations.models import Head

_PLACE = TypeAdapter(tuple[str, str])
_TOP = ("~", "")
"""Sorts above every timestamp."""


def utc_now() -> datetime:
    """The wall clock."""
    return datetime.now(UTC)


def timestamp(moment: datetime) -> str:
    """The moment in UTC as text of fixed length that sorts."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def place_of(head: Head) -> tuple[str, str]:
    """Where the conversation stands: when it was used, and its id."""
    return timestamp(head.updated_at), head.conversation_id


def write_cursor(last: tuple[str, str]) -> str:
    """A cursor to what comes after this place."""
    return base64.urlsafe_b64encode(_PLACE.dump_json(last)).decode()


def read_cursor(cursor: str | None) -> tuple[str, str]:
    """The place that the cursor holds; without one, the top. Raises InvalidInput."""
    if cursor is None:
        return _TOP
    try:
        return _PLACE.validate_json(base64.urlsafe_b64decode(cursor))
    except ValueError as exc:
        raise InvalidInput("This cursor is not from an earlier page.", field="cursor") from exc
