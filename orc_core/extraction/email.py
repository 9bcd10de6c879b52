"""Mail, as EML or MSG (a mail saved by Outlook): headers, body, invitations and the names of attachments."""

import re
import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.policy import compat32
from email.utils import format_datetime
from pathlib import Path
from typing import TYPE_CHECKING

from orc_core.errors import UnsupportedDocument
from orc_core.extraction.html import to_text
from orc_core.extraction.pages import Unit, UnitStream, count_letters, fit, unreadable
from orc_core.extraction.properties import sentence_of
from orc_core.extraction.text import decode

# The libraries that only MSG needs are imported when one is read.
if TYPE_CHECKING:
    from olefile import OleFileIO

_PREFERRED = {"text/plain": 0, "text/html": 1}

_PARAMETER = r'(?:"[^"\n]*"|[^":;\n]*)'
_OF_EVENT = re.compile(
    rf"^(SUMMARY|LOCATION|DTSTART|DTEND)(?:;TZID=({_PARAMETER})|;[\w-]+={_PARAMETER})*:(.*)$", re.MULTILINE
)
_PART = re.compile("^(?:END|BEGIN):", re.MULTILINE)
_NAMES_OF_EVENT = {"SUMMARY": "Event", "LOCATION": "Place", "DTSTART": "Begins", "DTEND": "Ends"}
_ESCAPED = re.compile(r"\\(?:([nN])|(?=[,;\\]))")
_MOMENT = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)\d\d)?(Z?)")

# Properties of an MSG file, by id.
_TEXT_HEADERS = {"Subject": "0037", "From": "0C1A", "To": "0E04", "Cc": "0E03"}
_SENDER_ADDRESSES = ("5D01", "0C1F")
_BODY, _HTML, _RTF = "1000", "1013", "1009"
_FILE_NAMES = ("3707", "3704", "3001")
_SENT, _DELIVERED = 0x0039, 0x0E06
_TABLE = "__properties_version1.0"
_TIME = 0x0040
_HEAD_BYTES = 32
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)


def _stream(headers: dict[str, str], body: str, attachments: list[str]) -> UnitStream:
    """The mail in parts of a citable size, labelled with its subject. Attachments are not opened."""
    headers = {name: " ".join(value.split()) for name, value in headers.items()}
    parts = ["\n".join(f"{name}: {value}" for name, value in headers.items() if value)]
    parts.append(body.replace("\r\n", "\n").strip("\n"))
    if attachments:
        named = [" ".join(name.split()) for name in attachments]
        parts.append(f"Attachments (not read): {', '.join(filter(None, named)) or len(named)}")
    units = fit(Unit("\n\n".join(filter(None, parts)), headers["Subject"]))
    return UnitStream(units, properties=sentence_of(headers["Subject"], headers["From"]))


def read_eml(source: Path) -> UnitStream:
    """Headers and body; of alternative bodies the plain one, unless it has less than half of the text."""
    # The newer policy parses headers on access, and raises many kinds of errors for malformed ones.
    message = message_from_bytes(source.read_bytes(), policy=compat32)
    headers = {name: _header(message, name) for name in ("Subject", "From", "To", "Cc", "Date")}
    attached = list(_attachments(message))
    invitations = [part for part in attached if part.get_content_type() == "text/calendar"]
    events = dict.fromkeys("\n".join(_events(_content(part))) for part in invitations)
    texts = [*_texts(message), *events]
    body = "\n\n".join(text for text in texts if text.strip())
    return _stream(headers, body, [_name(part) for part in attached if part not in invitations])


def _events(calendar: str) -> Iterator[str]:
    """What an invitation says of its events: `Begins: 2026-03-10 14:00 Europe/Berlin`."""
    _, *events = re.sub(r"\n[ \t]", "", calendar.replace("\r\n", "\n")).split("BEGIN:VEVENT\n")
    for event in events:
        # An alarm in it has a summary, too.
        for name, zone, value in _OF_EVENT.findall(_PART.split(event, maxsplit=1)[0]):
            said = _ESCAPED.sub(lambda found: " " * bool(found[1]), value)
            if name.startswith("DT") and (moment := _MOMENT.fullmatch(value)):
                year, month, day, hour, minute, is_utc = moment.groups()
                where = "UTC" if is_utc else zone.strip('"')
                said = f"{year}-{month}-{day}" + (f" {hour}:{minute} {where}" if hour else "")
            yield f"{_NAMES_OF_EVENT[name]}: {said}".rstrip()


def _texts(part: Message) -> Iterator[str]:
    children = _children(part)
    if children and part.get_content_type() == "multipart/alternative":
        ranked = sorted(children, key=lambda child: _PREFERRED.get(child.get_content_type(), 2))
        bodies = [body for body in ("\n\n".join(_texts(child)) for child in ranked) if body.strip()]
        # A plain one can say no more than that there is another one.
        is_stub = len(bodies) > 1 and count_letters(bodies[0]) < count_letters(bodies[1]) / 2
        yield "".join(bodies[is_stub:][:1])
    elif children:
        for child in children:
            yield from _texts(child)
    elif _is_body(part):
        text = _content(part)
        yield to_text(text) if part.get_content_type() == "text/html" else text


def _content(part: Message) -> str:
    payload = part.get_payload(decode=True)
    return _with_charset(payload if isinstance(payload, bytes) else b"", part.get_content_charset() or "")


def _attachments(part: Message) -> Iterator[Message]:
    children = _children(part)
    for child in children:
        yield from _attachments(child)
    if not children and not _is_body(part) and part.get_content_maintype() != "multipart":
        yield part


def _children(part: Message) -> list[Message]:
    """The parts of a multipart message; a forwarded mail is an attachment, not a part."""
    payload = part.get_payload()
    if part.get_content_maintype() != "multipart" or not isinstance(payload, list):
        return []
    return [child for child in payload if isinstance(child, Message)]


def _is_body(part: Message) -> bool:
    is_text = part.get_content_type() in _PREFERRED
    return is_text and part.get_content_disposition() != "attachment" and not part.get_filename()


def _name(attachment: Message) -> str:
    """The attachment's file name, the subject of a forwarded mail, or the media type."""
    payload = attachment.get_payload()
    if name := attachment.get_filename():
        return _decoded(name)
    forwarded = payload[0] if isinstance(payload, list) and payload else None
    subject = _header(forwarded, "subject") if isinstance(forwarded, Message) else ""
    return subject or attachment.get_content_type()


def _with_charset(content: bytes, charset: str) -> str:
    """The text in the declared character set, or in the most likely one if that fails."""
    try:
        return content.decode(charset or "utf-8")
    except (LookupError, ValueError):
        return _guess(content)


def _guess(content: bytes) -> str:
    """The text in its most likely encoding, whatever the bytes are."""
    try:
        return decode(content)
    except UnsupportedDocument:
        return content.decode("cp1252", errors="replace")


def _header(message: Message, name: str) -> str:
    values = [value for key, value in message.raw_items() if key.lower() == name.lower()]
    return ", ".join(_decoded(str(value)) for value in values)


def _decoded(value: str) -> str:
    text = _with_charset(value.encode("utf-8", "surrogateescape"), "")
    try:
        parts = decode_header(text)
    except (HeaderParseError, ValueError):
        return text
    return "".join(part if isinstance(part, str) else _with_charset(part, code or "") for part, code in parts)


def read_msg(source: Path) -> UnitStream:
    """Headers and body, the plain one if there is one."""
    from olefile import OleFileIO

    with OleFileIO(str(source)) as file:
        if not file.exists(_TABLE):
            raise unreadable("corrupt")
        message = _Properties(file, "")
        headers = {name: message.text(number) for name, number in _TEXT_HEADERS.items()}
        name, address = headers["From"], message.first(_SENDER_ADDRESSES)
        # Within an organization the address may not be a mail address.
        is_more = "@" in address and address != name
        headers["From"] = f"{name} <{address}>".strip() if is_more else name or address
        headers["Date"] = message.sent()
        attachments = [folder.first(_FILE_NAMES) for folder in message.attachments()]
        return _stream(headers, _msg_body(message), attachments)


class _Properties:
    """The properties of a message or of an attachment, by id of four hexadecimal digits."""

    def __init__(self, file: "OleFileIO[str]", folder: str) -> None:
        self._file = file
        self._folder = folder

    def text(self, number: str) -> str:
        """A text property; in older files in an unknown code page."""
        wide = self._stream(f"__substg1.0_{number}001F")
        if wide is not None:
            return wide.decode("utf-16-le", errors="replace").rstrip("\0")
        return _guess(self._stream(f"__substg1.0_{number}001E") or b"").rstrip("\0")

    def first(self, numbers: tuple[str, ...]) -> str:
        """The first of these text properties that is not blank."""
        return next((text for number in numbers if (text := self.text(number)).strip()), "")

    def content(self, number: str) -> bytes:
        return self._stream(f"__substg1.0_{number}0102") or b""

    def sent(self) -> str:
        """The time it was sent, or delivered, in the format of a mail header, in UTC."""
        table = self._stream(_TABLE) or b""
        rows = table[_HEAD_BYTES : len(table) - (len(table) - _HEAD_BYTES) % 16]
        times = {number: value for kind, number, value in struct.iter_unpack("<HH4xQ", rows) if kind == _TIME}
        ticks = times.get(_SENT) or times.get(_DELIVERED)
        try:
            return format_datetime(_EPOCH + timedelta(microseconds=ticks // 10)) if ticks else ""
        except OverflowError:
            return ""

    def attachments(self) -> Iterator["_Properties"]:
        for path in self._file.listdir(streams=False, storages=True):
            if len(path) == 1 and path[0].startswith("__attach_version1.0_"):
                yield _Properties(self._file, path[0] + "/")

    def _stream(self, name: str) -> bytes | None:
        path = self._folder + name
        if not self._file.exists(path):
            return None
        with self._file.openstream(path) as stream:
            content = bytes(stream.read())
        if len(content) < self._file.get_size(path):
            raise unreadable("corrupt")  # the file is truncated, and olefile returns what is there
        return content


def _msg_body(message: _Properties) -> str:
    if (body := message.text(_BODY)).strip():
        return body
    if (html := message.text(_HTML) or _guess(message.content(_HTML)).rstrip("\0")).strip():
        return to_text(html)
    if not (packed := message.content(_RTF)):
        return ""
    from compressed_rtf import decompress

    from orc_core.extraction.rtf import to_text as rtf_to_text

    return rtf_to_text(decompress(packed)).replace("\f", "\n")
