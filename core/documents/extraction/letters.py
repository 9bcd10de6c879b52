"""A mail as a document: its headers, its body, the names of what is attached."""

from collections.abc import Iterator
from typing import NamedTuple

from core.documents.extraction.units import Unit, fit


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
