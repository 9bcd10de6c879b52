"""A mail as a document: its headers, its body, the names of what is attached."""

from collections.abc import Iterator
from email import message_from_bytes
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.policy import compat32
from pathlib import Path
from typing import NamedTuple

from core.errors import UnsupportedDocument
from core.extraction.encoding import decode
from core.extraction.html import to_text
from core.extraction.pages import Reading, Unit, fit


class Letter(NamedTuple):
    """What a mail says; header values and names of attachments may be empty."""

    subject: str
    sender: str
    to: str
    copy: str
    date: str
    body: str
    attachments: list[str]


def units(letter: Letter) -> Iterator[Unit]:
    """The mail in parts of a citable size, labelled with its subject. Attachments are not opened."""
    headers = {
        "Subject": letter.subject,
        "From": letter.sender,
        "To": letter.to,
        "Cc": letter.copy,
        "Date": letter.date,
    }
    lines = [f"{name}: {' '.join(value.split())}" for name, value in headers.items() if value.strip()]
    named = [" ".join(name.split()) for name in letter.attachments]
    parts = ["\n".join(lines), letter.body.replace("\r\n", "\n").strip("\n")]
    if named:
        parts.append(f"Attachments (not read): {', '.join(filter(None, named)) or len(named)}")
    return fit(Unit("\n\n".join(filter(None, parts)), " ".join(letter.subject.split())))


_TELLING = 200
"""Bytes that the detector of encodings needs: of fewer it makes Chinese."""

_PREFERRED = ("text/plain", "text/html")


def read(source: Path) -> Reading:
    """Headers and body; of several forms of the body the plain one, unless it is empty."""
    # The newer policy parses each header on access, and raises whatever it likes for odd ones.
    message = message_from_bytes(source.read_bytes(), policy=compat32)
    attachments = [_name(part) for part in _attachments(message)]
    body = "\n\n".join(text for text in _texts(message) if text.strip())
    return Reading(
        units(
            Letter(
                subject=_header(message, "subject"),
                sender=_header(message, "from"),
                to=_header(message, "to"),
                copy=_header(message, "cc"),
                date=_header(message, "date"),
                body=body,
                attachments=attachments,
            )
        )
    )


def _texts(part: Message) -> Iterator[str]:
    """The texts of the body in their order."""
    children = _children(part)
    if children and part.get_content_type() == "multipart/alternative":
        yield _best(children)
    elif children:
        for child in children:
            yield from _texts(child)
    elif _is_body(part):
        yield _text(part)


def _best(alternatives: list[Message]) -> str:
    """The first in the order of preference that says anything."""
    ranked = sorted(alternatives, key=_preference)
    return next((text for part in ranked if (text := "\n\n".join(_texts(part))).strip()), "")


def _preference(part: Message) -> int:
    kind = part.get_content_type()
    return _PREFERRED.index(kind) if kind in _PREFERRED else len(_PREFERRED)


def _attachments(part: Message) -> Iterator[Message]:
    children = _children(part)
    for child in children:
        yield from _attachments(child)
    if not children and not _is_body(part) and part.get_content_maintype() != "multipart":
        yield part


def _children(part: Message) -> list[Message]:
    """The parts of a multipart; a forwarded mail is an attachment, not a part."""
    payload = part.get_payload()
    if part.get_content_maintype() != "multipart" or not isinstance(payload, list):
        return []
    return [child for child in payload if isinstance(child, Message)]


def _is_body(part: Message) -> bool:
    is_text = part.get_content_type() in _PREFERRED
    return is_text and part.get_content_disposition() != "attachment" and not part.get_filename()


def _name(attachment: Message) -> str:
    """What the attachment is called: its file name, a forwarded mail's subject, or else its type."""
    payload = attachment.get_payload()
    if name := attachment.get_filename():
        return _decoded(name)
    forwarded = payload[0] if isinstance(payload, list) and payload else None
    subject = _header(forwarded, "subject") if isinstance(forwarded, Message) else ""
    return subject or attachment.get_content_type()


def _text(part: Message) -> str:
    payload = part.get_payload(decode=True)
    content = payload if isinstance(payload, bytes) else b""
    text = _with_charset(content, part.get_content_charset() or "")
    return to_text(text) if part.get_content_type() == "text/html" else text


def _with_charset(content: bytes, charset: str) -> str:
    """The text in the character set that the mail claims, or in the likeliest where that cannot be."""
    try:
        return content.decode(charset or "utf-8")
    except (LookupError, ValueError):
        pass
    try:
        return content.decode("utf-8") if len(content) < _TELLING else decode(content)
    except (UnsupportedDocument, ValueError):
        return content.decode("cp1252", errors="replace")


def _header(message: Message, name: str) -> str:
    values = [value for key, value in message.raw_items() if key.lower() == name]
    return ", ".join(_decoded(str(value)) for value in values)


def _decoded(value: str) -> str:
    """A header's value with encoded words and raw bytes as text."""
    raw = value.encode("utf-8", "surrogateescape")
    text = _with_charset(raw, "")
    try:
        parts = decode_header(text)
    except (HeaderParseError, ValueError):
        return text
    return "".join(
        part if isinstance(part, str) else _with_charset(part, charset or "") for part, charset in parts
    )
