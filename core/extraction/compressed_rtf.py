"""The compression of RTF bodies in Outlook's files (MS-OXRTFCP): back references into a ring of 4 KiB."""

import struct

from core.extraction.errors import unreadable

_PACKED, _PLAIN = b"LZFu", b"MELA"
_RING = 4096
_PRELOADED = (
    rb"{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript \fdecor MS Sans "
    rb"SerifSymbolArialTimes New RomanCourier{\colortbl\red0\green0\blue0"
    b"\r\n"
    rb"\par \pard\plain\f0\fs20\b\i\u\tab\tx"
)
"""What the ring holds at first, so that the beginnings of all files are short."""


def unpack(content: bytes) -> bytes:
    """The RTF. Raises UnreadableDocument for anything else; the checksum is not looked at."""
    if len(content) < 16:
        raise unreadable("corrupt")
    size, form = struct.unpack("<4xI4s", content[:12])
    if form == _PLAIN:
        return content[16 : 16 + size]
    if form != _PACKED:
        raise unreadable("corrupt")
    return _inflate(content[16:])


def _inflate(packed: bytes) -> bytes:
    """Groups of eight items, each group after a byte of flags; it ends where the data does, or says so."""
    ring, place = _Ring(), 0
    while place < len(packed):
        flags, place = packed[place], place + 1
        for bit in range(8):
            if not flags >> bit & 1:
                ring.put(packed[place : place + 1])
                place += 1
            elif ring.ends_at(reference := int.from_bytes(packed[place : place + 2])):
                return bytes(ring.text)
            else:
                ring.repeat(reference)
                place += 2
    return bytes(ring.text)


class _Ring:
    """The last 4 KiB, to which references point: 12 bits of place, 4 of length."""

    def __init__(self) -> None:
        self.text = bytearray()
        self._ring = bytearray(_PRELOADED.ljust(_RING, b"\0"))
        self._at = len(_PRELOADED)

    def put(self, byte: bytes) -> None:
        if byte:
            self.text += byte
            self._ring[self._at] = byte[0]
            self._at = (self._at + 1) % _RING

    def ends_at(self, reference: int) -> bool:
        """A reference to what has not been written yet is the end."""
        return reference >> 4 == self._at

    def repeat(self, reference: int) -> None:
        for step in range((reference & 15) + 2):
            place = ((reference >> 4) + step) % _RING
            self.put(bytes(self._ring[place : place + 1]))
