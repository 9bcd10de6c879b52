"""EML and MSG: headers, the body in its best form, attachments by name only."""

import struct
from datetime import UTC, datetime
from email.message import EmailMessage

import pytest

from devkit.shared_data import SHARED, needs_shared
from orc_core.errors import UnreadableDocument, UnsupportedDocument
from tests.unit.orc_core.extraction.samples import Read
from tests.unit.orc_core.extraction.samples_compound import compound

HEADERS = "Subject: Quay\nFrom: Ada <ada@example.com>\nTo: Bo <bo@example.com>, Cy <cy@example.com>"
# {\rtf1\ansi\ansicpg1252\pard hello world} as Microsoft's description of the compression packs it
PACKED = bytes.fromhex(
    "2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c090020627705b06c647d0a800fa0"
)


def mail() -> EmailMessage:
    message = EmailMessage()
    message["Subject"] = "Quay"
    message["From"] = "Ada <ada@example.com>"
    message["To"] = "Bo <bo@example.com>, Cy <cy@example.com>"
    return message


async def test_invitations_are_read(read: Read) -> None:
    """Not the beginnings of time zones; `SUMMARY` goes on in the next line."""
    message = mail()
    message.set_content("See you.")
    event = "\r\n".join(
        (
            *("BEGIN:VTIMEZONE", "DTSTART:16010101T000000", "END:VTIMEZONE", "BEGIN:VEVENT"),
            *("SUMMARY:Site\\, ", " visit", "DTSTART;TZID=Europe/Oslo:20260310T140000"),
            *("DTEND:20260310T140000Z", "LOCATION;LANGUAGE=en:Dock 9", "END:VEVENT"),
            *("BEGIN:VEVENT", 'LOCATION;ALTREP="http://a.example/":Pier\\n4', "DTSTART;VALUE=DATE:20260311"),
            *('DTEND;X=1;TZID="(GMT+01:00) Oslo":20260312T090000', "BEGIN:VALARM", "SUMMARY:Remind"),
            *("END:VALARM", "END:VEVENT"),
        )
    )
    message.add_alternative(event.encode(), maintype="text", subtype="calendar")
    message.add_attachment(event.encode(), maintype="text", subtype="calendar", filename="invite.ics")
    text = (await read("a.eml", message.as_bytes())).pages[0].text
    assert [line for line in text.partition("See you.")[2].split("\n") if line] == [
        "Event: Site, visit",
        "Begins: 2026-03-10 14:00 Europe/Oslo",
        "Ends: 2026-03-10 14:00 UTC",
        "Place: Dock 9",
        "Place: Pier 4",
        "Begins: 2026-03-11",
        "Ends: 2026-03-12 09:00 (GMT+01:00) Oslo",
    ]


async def test_headers_come_first_and_attachment_names_last(read: Read) -> None:
    message = mail()
    message["Date"] = "Fri, 01 Mar 2024 09:30:00 +0100"
    message.set_content("The quay opens at seven.\nBring the form.")
    message.add_alternative("<p>The <b>quay</b></p>", subtype="html")
    message.add_attachment(b"never read", maintype="application", subtype="pdf", filename="Größe.pdf")
    inner = mail()
    inner.replace_header("Subject", "Older news")
    inner.set_content("never read either")
    message.add_attachment(inner)
    extraction = await read("a.eml", message.as_bytes())
    assert extraction.media_type == "message/rfc822"
    assert [(page.label, page.text) for page in extraction.pages] == [
        (
            "Quay",
            f"{HEADERS}\nDate: Fri, 01 Mar 2024 09:30:00 +0100\n\n"
            "The quay opens at seven.\nBring the form.\n\n"
            "Attachments (not read): Größe.pdf, Older news",
        )
    ]


async def test_an_html_only_body_is_read_as_text(read: Read) -> None:
    message = mail()
    rows = "<tr><th>Item</th><th>Unit</th><th>Price</th></tr><tr><td>Pump</td><td>1</td><td>40</td></tr>"
    message.set_content(f"<style>p {{}}</style><p>Prices:</p><table>{rows}</table>", subtype="html")
    text = (await read("a.eml", message.as_bytes())).pages[0].text
    assert text == f"{HEADERS}\n\nPrices:\nItem | Unit | Price\nItem: Pump | Unit: 1 | Price: 40"


async def test_html_is_used_if_the_plain_body_is_empty(read: Read) -> None:
    message = mail()
    message.set_content(" \n")
    message.add_alternative("<p>Only here.</p>", subtype="html")
    assert (await read("a.eml", message.as_bytes())).pages[0].text == f"{HEADERS}\n\nOnly here."


async def test_html_is_used_if_the_plain_body_only_names_it(read: Read) -> None:
    message = mail()
    message.set_content("See the HTML part.\n")
    message.add_alternative(
        f"<p>The slipway fee is EUR <s>120</s> 135. {'It is due. ' * 3}</p>", subtype="html"
    )
    text = (await read("a.eml", message.as_bytes())).pages[0].text
    assert "EUR  135" in text
    assert "See the HTML part" not in text


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"Subject: =?iso-8859-1?Q?caf=E9?= =?utf-8?B?5paH?=\n\nx", "Subject: café文\n\nx"),
        (b"Subject: caf\xe9 cr\xe8me\n\nx", "Subject: café crème\n\nx"),
        (b"Subject: =?nonsense?Q?caf=E9?=\n\nx", "Subject: café\n\nx"),
        (b"Subject: a\n b\nContent-Type: text/plain; charset=xyz\n\ncaf\xc3\xa9", "Subject: a b\n\ncafé"),
        (b"Subject: a\nContent-Type: text/plain; charset=us-ascii\n\ncaf\xe9", "Subject: a\n\ncafé"),
        (b"Subject: a\nFrom: \"<@,;:>\nContent-Disposition: ;;=\n\nx", 'Subject: a\nFrom: "<@,;:>\n\nx'),
        (b"Received: by x\nSubject: a\nContent-Transfer-Encoding: base64\n\naGVsbG8=", "Subject: a\n\nhello"),
        (b"Subject: a\nContent-Type: multipart/mixed; boundary=b\n\nno part", "Subject: a"),
    ],
)  # fmt: skip
async def test_malformed_mails_are_read_as_far_as_possible(read: Read, raw: bytes, text: str) -> None:
    assert (await read("a.eml", raw)).pages[0].text == text


async def test_endlessly_nested_parts_are_damaged(read: Read) -> None:
    nested = "".join(f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n" for n in range(5000))
    with pytest.raises(UnreadableDocument) as caught:
        await read("a.eml", f"Subject: a\n{nested}".encode())
    assert caught.value.code == "corrupt"


async def test_a_long_mail_becomes_pages_labelled_with_its_subject(read: Read) -> None:
    message = mail()
    message.set_content("A sentence of words.\n" * 1000)
    extraction = await read("a.eml", message.as_bytes())
    assert len(extraction.pages) > 3
    assert {page.label for page in extraction.pages} == {"Quay"}


@pytest.mark.parametrize("content", [b"Dear all,\n\nno header here: none.\n", b"<html></html>"])
async def test_text_that_is_not_a_mail_is_refused(read: Read, content: bytes) -> None:
    with pytest.raises(UnsupportedDocument, match="name says EML"):
        await read("a.eml", content)


def wide(text: str) -> bytes:
    return text.encode("utf-16-le")


def msg(**changed: bytes | None) -> bytes:
    """A saved mail; `changed` replaces properties by their id, or leaves them out."""
    sent = int((datetime(2024, 3, 1, 9, 30, tzinfo=UTC) - datetime(1601, 1, 1, tzinfo=UTC)).total_seconds())
    streams: dict[str, bytes | None] = {
        "__properties_version1.0": bytes(32) + struct.pack("<HHIQ", 0x40, 0x39, 6, sent * 10_000_000),
        "__substg1.0_0037001F": wide("Quay"),
        "__substg1.0_0C1A001F": wide("Ada"),
        "__substg1.0_5D01001F": wide("ada@example.com"),
        "__substg1.0_0E04001F": wide("Bo; Cy"),
        "__substg1.0_1000001F": wide("The quay opens at seven.\r\nBring the form."),
        "__attach_version1.0_#00000000/__substg1.0_3707001F": wide("plan.pdf"),
        "__attach_version1.0_#00000000/__substg1.0_37010102": b"never read",
    }
    streams |= {f"__substg1.0_{name[1:]}": content for name, content in changed.items()}
    return compound({path: content for path, content in streams.items() if content is not None})


SAVED = "Subject: Quay\nFrom: Ada <ada@example.com>\nTo: Bo; Cy\nDate: Fri, 01 Mar 2024 09:30:00 +0000\n\n"
ATTACHED = "\n\nAttachments (not read): plan.pdf"


async def test_an_msg_file_reads_like_an_eml_file(read: Read) -> None:
    extraction = await read("a.msg", msg())
    assert extraction.media_type == "application/vnd.ms-outlook"
    assert [(page.label, page.text) for page in extraction.pages] == [
        ("Quay", f"{SAVED}The quay opens at seven.\nBring the form.{ATTACHED}")
    ]


@pytest.mark.parametrize(
    ("other_form", "text"),
    [
        ({"_1000001E": "Größe".encode("cp1252")}, "Größe"),
        ({"_10130102": b"<p>The <b>quay</b></p>"}, "The quay"),
        ({"_10090102": PACKED}, "hello world"),
        ({"_10090102": b"\0\0\0\0\x12\0\0\0MELA\0\0\0\0{\\rtf1 not packed}and more"}, "not packed"),
    ],
)
async def test_msg_bodies_are_read_in_every_format(
    read: Read, other_form: dict[str, bytes], text: str
) -> None:
    content = msg(_1000001F=None, **other_form)
    assert (await read("a.msg", content)).pages[0].text == f"{SAVED}{text}{ATTACHED}"


async def test_a_damaged_msg_body_is_an_error(read: Read) -> None:
    with pytest.raises(UnreadableDocument) as caught:
        await read("a.msg", msg(_1000001F=None, _10090102=b"no such compression"))
    assert caught.value.code == "corrupt"


async def test_a_truncated_msg_file_is_damaged(read: Read) -> None:
    content = msg()
    with pytest.raises(UnreadableDocument) as caught:
        await read("a.msg", content[: len(content) // 2])
    assert caught.value.code == "corrupt"


async def test_another_compound_file_is_not_a_mail(read: Read) -> None:
    with pytest.raises(UnsupportedDocument, match=r"type \.doc cannot be read"):
        await read("a.msg", compound({"WordDocument": b"text"}))


@needs_shared
@pytest.mark.parametrize(
    ("file_name", "words"),
    [
        ("eml_simple.eml", ["From: Alice Example <alice@example.com>", "This is a simple email body."]),
        (
            "test_outlook_msg.msg",
            ["To: test.recipient@example.com", "This is the body of the test email message"],
        ),
    ],
)
async def test_mails_by_other_programs(read: Read, file_name: str, words: list[str]) -> None:
    content = (SHARED / "data" / "open" / "formats" / file_name).read_bytes()
    text = (await read(file_name, content)).pages[0].text
    assert all(word in text for word in words)
