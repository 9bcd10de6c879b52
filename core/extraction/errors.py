"""Errors for files that cannot be read; their messages say what the user can do."""

from core.errors import UnreadableDocument, UnsupportedDocument

_REASONS = {
    "encrypted": "The file is protected by a password. Save a copy without the password and upload that.",
    "corrupt": "The file is damaged and cannot be read. Open it in the program that made it, "
    "save it again and upload the new copy.",
    "empty": "The file is empty. Check that the right file was chosen, and upload it again.",
    "too_slow": "The file took too long to read. Split it into smaller files and upload those.",
    "too_much_memory": "The file needs more memory to read than one file may have. "
    "Split it into smaller files and upload those.",
    "too_large": "The file holds more text than one document may have. "
    "Split it into smaller files and upload those.",
}


def unreadable(code: str) -> UnreadableDocument:
    """The error for one of these codes."""
    return UnreadableDocument(_REASONS[code], code=code)


def unsupported(message: str) -> UnsupportedDocument:
    """The error for an unsupported format, or for content that does not fit the name."""
    return UnsupportedDocument(message)
