"""Why a file was not read, in words that tell its owner what to do."""

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
    """The error for one of the codes above."""
    return UnreadableDocument(_REASONS[code], code=code)


def unsupported(message: str) -> UnsupportedDocument:
    """The error for a format, or a mismatch of name and content, that `message` explains."""
    return UnsupportedDocument(message)
