"""Names on disk for parts of a blob's path: usable on every system, and distinct if case is ignored.

A part is stored as it is if it can be. Percent signs mark the other forms: no document name contains one.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator
from urllib.parse import unquote

MAX_BYTES = 255
_UNSAFE = re.compile(r'[<>:"|?*]|[. ]$')
_DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$) *(\.|$)", re.I)
_MARK = re.compile(r"%~[0-9a-f]{8}$")


def stored_names(name: str) -> Iterator[str]:
    """The names that `name` may have on disk: as it is, safe, and safe with a mark that its case decides."""
    yield name
    yield from (each for each in _safe_names(name) if each != name)


def original_name(stored: str) -> str | None:
    """The name that is stored as `stored`; None if no name is stored so."""
    try:
        name = unquote(_MARK.sub("", stored), errors="strict") if "%" in stored else stored
        return name if stored in [*stored_names(name)] else None
    except UnicodeError:
        return None


def new_name(name: str, present: Iterable[str]) -> str | None:
    """The name on disk for a `name` that is not stored yet, next to those that are `present`.

    None if each name that differs from those by more than case is too long.
    """
    taken = {_folded(each) for each in present}
    # A name whose safe form is too long stays as it is.
    return next((each for each in (*_safe_names(name), name) if _folded(each) not in taken), None)


def _safe_names(name: str) -> list[str]:
    safe = _UNSAFE.sub(lambda found: f"%{ord(found[0]):02X}", name)
    if _DEVICE.match(name):
        safe = f"%{ord(name[0]):02X}{safe[1:]}"
    mark = hashlib.sha256(name.encode()).hexdigest()[:8]
    return [each for each in (safe, f"{safe}%~{mark}") if len(each.encode()) <= MAX_BYTES]


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name.casefold())
