"""Responses that a browser saves as a file."""

import re
import unicodedata
from urllib.parse import quote

from orc_core.text.normal_forms import normalized

MAX_NAME_BYTES = 200
_NOT_IN_NAMES = re.compile(r'[\\/:*?"<>|\x00-\x1f\x7f]+')
_DROPPED = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def content_disposition(file_name: str) -> str:
    """The header that names a file to be saved (RFC 6266): in ASCII, and as it is in UTF-8."""
    name = safe_file_name(file_name)
    ascii_name = normalized("NFKD", name).encode("ascii", "ignore").decode()
    stem = _NOT_IN_NAMES.sub("_", ascii_name).strip(" .%") or "file"
    fallback = re.sub(r"[%;]", "_", stem)
    return f"attachment; filename=\"{fallback}\"; filename*=UTF-8''{quote(name, safe='')}"


def safe_file_name(name: str) -> str:
    """The name without what file systems refuse or people cannot see, its stem cut to a length they take."""
    visible = "".join(c for c in name if unicodedata.category(c) not in _DROPPED)
    stem, dot, extension = _NOT_IN_NAMES.sub("_", visible).rpartition(".")
    if not dot:
        stem, extension = extension, ""
    short = stem.encode()[: MAX_NAME_BYTES - len(extension.encode())].decode(errors="ignore")
    return f"{short.strip(' .') or 'file'}{dot}{extension}"
