"""MSG: a mail that Outlook saved, in a compound file with a stream for each property."""

import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

from olefile import OleFileIO

from core.errors import UnsupportedDocument
from core.extraction import compressed_rtf, rtf
from core.extraction.email import Letter, units
from core.extraction.encoding import decode
from core.extraction.errors import unreadable
from core.extraction.html import to_text
from core.extraction.pages import Reading

_SUBJECT, _TO, _COPY = "0037", "0E04", "0E03"
_SENDER_NAME, _SENDER_ADDRESSES = "0C1A", ("5D01", "0C1F")
_BODY, _HTML, _RTF = "1000", "1013", "1009"
_FILE_NAMES = ("3707", "3704", "3001")
_SENT, _DELIVERED = 0x0039, 0x0E06
_TABLE = "__properties_version1.0"
_TIME = 0x0040
_HEAD_BYTES = 32
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)


def read(source: Path) -> Reading:
    """Headers and body, the plain one if there is one."""
    with OleFileIO(str(source)) as file:
        if not file.exists(_TABLE):
            raise unreadable("corrupt")
        message = _Properties(file, "")
        letter = Letter(
            subject=message.text(_SUBJECT),
            sender=_sender(message),
            to=message.text(_TO),
            copy=message.text(_COPY),
            date=message.sent(),
            body=_body(message),
            attachments=[_first(folder, _FILE_NAMES) for folder in message.attachments()],
        )
    return Reading(units(letter))


class _Properties:
    """The properties of a message or of one of its attachments, by id as four hexadecimal digits."""

    def __init__(self, file: "OleFileIO[str]", folder: str) -> None:
        self._file = file
        self._folder = folder

    def text(self, number: str) -> str:
        """A text property; older files have it in some code page."""
        wide = self._stream(f"__substg1.0_{number}001F")
        if wide is not None:
            return wide.decode("utf-16-le", errors="replace").rstrip("\0")
        return _decode(self._stream(f"__substg1.0_{number}001E") or b"")

    def content(self, number: str) -> bytes:
        """A property of bytes."""
        return self._stream(f"__substg1.0_{number}0102") or b""

    def sent(self) -> str:
        """When it was sent, or else delivered, in the form of a mail's header; UTC."""
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
            raise unreadable("corrupt")  # the file was cut off, and olefile makes do with what is there
        return content


def _sender(message: _Properties) -> str:
    """Name and address; inside one organization the address may be no mail address."""
    name, address = message.text(_SENDER_NAME), _first(message, _SENDER_ADDRESSES)
    if "@" not in address or address == name:
        return name or address
    return f"{name} <{address}>".strip()


def _body(message: _Properties) -> str:
    if (body := message.text(_BODY)).strip():
        return body
    if (html := message.text(_HTML) or _decode(message.content(_HTML))).strip():
        return to_text(html)
    packed = message.content(_RTF)
    return rtf.to_text(compressed_rtf.unpack(packed)).replace("\f", "\n") if packed else ""


def _first(properties: _Properties, numbers: tuple[str, ...]) -> str:
    return next((text for number in numbers if (text := properties.text(number)).strip()), "")


def _decode(content: bytes) -> str:
    try:
        return decode(content).rstrip("\0")
    except UnsupportedDocument:
        return content.decode("latin-1")
