"""The ids of contexts. Only this module builds or parses them.

An id has one part for each level, joined by `-`: that of a folder begins with that of its organization. So
the ancestors of a context follow from its id, without a read.
"""

import hashlib
import json
import re
import secrets

PART_CHARACTERS = 16
MOST_LEVELS = 3
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
"""Crockford's base 32: no letter that is taken for another one."""
_PART = f"[{_ALPHABET}]{{{PART_CHARACTERS}}}"
_ID = re.compile(f"{_PART}(?:-{_PART}){{0,{MOST_LEVELS - 1}}}")


def new_id(parent_id: str | None = None) -> str:
    """A random id below `parent_id`, or of a root."""
    return _below(parent_id, "".join(secrets.choice(_ALPHABET) for _ in range(PART_CHARACTERS)))


def derived_id(parent_id: str | None, *known: str) -> str:
    """The same id for the same words each time, for requests that are repeated."""
    digest = hashlib.sha256(json.dumps(known).encode()).digest()
    return _below(parent_id, "".join(_ALPHABET[byte % 32] for byte in digest[:PART_CHARACTERS]))


def is_context_id(text: str) -> bool:
    """Whether a text has the form of a context's id; there may be no such context."""
    return _ID.fullmatch(text) is not None


def lineage(context_id: str) -> list[str]:
    """The ids from the root down to the context itself."""
    parts = context_id.split("-")
    return ["-".join(parts[:level]) for level in range(1, len(parts) + 1)]


def parent_of(context_id: str) -> str | None:
    """The id of the context above; None for a root."""
    return context_id.rpartition("-")[0] or None


def is_at_or_below(context_id: str, ancestor_id: str) -> bool:
    """Whether a context is `ancestor_id` or has it among its ancestors."""
    return ancestor_id in lineage(context_id)


def _below(parent_id: str | None, part: str) -> str:
    return part if parent_id is None else f"{parent_id}-{part}"
