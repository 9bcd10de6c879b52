"""Writes the data directory and what is read from it, with an old version of the product: see README.md.

python -m tests.system.old_data.make_data CHECKOUT_OF_THE_OLD_VERSION
"""

import io
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from functools import partial
from pathlib import Path

import docx
import httpx
from fpdf import FPDF

from devkit.system import System, ask_streaming, running, upload
from tests.system.old_data.data_directory import EXPECTED, pack, unpack
from tests.system.old_data.reads import (
    ANN,
    ANSWERED_KEY,
    BEN,
    CAT,
    FAILED_KEY,
    FERRY,
    LAMP_REPLACED,
    LAMPS,
    RETURN_TICKET,
    SESSION,
    STREAMED,
    Caller,
    answered,
    read_all,
)

NEVER_INDEXED = "late-notice.txt"
FERRY_PAGES = (
    (
        "Ferry manual",
        "The ferry Marguerite crosses the strait between Tarnhaven and Seal Island. She carries 140"
        " passengers and 18 cars.",
        "In summer the ferry leaves Tarnhaven every 40 minutes. In winter the ferry leaves every 90 minutes.",
        "The first crossing of the day leaves at 05:50. Dogs travel free of charge on the open deck.",
    ),
    (
        "Fares and refunds",
        "A single ticket costs EUR 7.50 and a return ticket costs EUR 12.00. Children under six travel free.",
        "A refund must be requested within 14 days at the ticket office on Quay 3."
        " The refund fee is EUR 2.00.",
        "Season tickets are valid for 90 days and cannot be transferred to another person.",
    ),
    (
        "Safety on board",
        "Life jackets are stored under the benches on the upper deck. The crew checks them every Monday.",
        "The crossing is cancelled if the wind exceeds 9 Beaufort. The captain decides about lighter winds.",
        "The muster station is the aft saloon. The evacuation drill is on the first day of each month.",
    ),
)
NIGHT_DUTY = (
    ("Night duty", "The night duty begins at 21:00 and ends at 05:30. Two officers are on duty every night."),
    ("Keys", "The night officer collects the master key from the control tower and signs the key register."),
    (
        "Allowance",
        "Officers on night duty receive an allowance of EUR 38 per shift, paid at the end of the month.",
    ),
)
HOURS = """Harbour office hours

The harbour office is open from 08:00 to 16:30 on weekdays. On Saturdays it is open from 09:00 to 12:00.

Berths are assigned by the berth planner, Ilse Brandt. Visitors pay EUR 24 per night for a berth.
\fLost property

Lost property is kept for 60 days in the harbour office. After that it is given to the seamen's mission.
"""
LAMP_LOG = (
    "# Lamp log\n\nThe lamp of the lighthouse was replaced on 3 May 2026. The new lamp has 1,000 watts.\n\n"
    "## Fog signal\n\nThe fog signal sounds every 30 seconds when visibility is below two nautical miles.\n"
)
LATE_NOTICE = "Late notice\n\nThe footbridge at Quay 5 is closed until 12 December because of repairs.\n"
SMALL_TALK = (
    "Thank you, that helps.",
    "Good, I have noted it.",
    "That is all clear now.",
    "Very well.",
    "I see, thank you.",
    "Good to know.",
)


def main() -> None:
    checkout = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        data = Path(folder) / "data"
        with _product(checkout, data) as system:
            _converse(system)
        with _product(checkout, data, ORC_TURN_DEADLINE_SECONDS="0.001") as system:
            _fail(system)
        with _product(checkout, data, ORC_INGESTION_WORKERS="0") as system:
            _leave_unindexed(system)
        pack(data)
        copy = Path(folder) / "copy"
        unpack(copy)
        with _product(checkout, copy, ORC_INGESTION_WORKERS="0") as system:
            token_of = partial(_token, data=copy, PYTHONPATH=str(checkout))
            expected = read_all(system.api, system.mcp_url, token_of)
    EXPECTED.write_text(json.dumps(expected, ensure_ascii=False) + "\n", encoding="utf-8")


@contextmanager
def _product(checkout: Path, data: Path, **settings: str) -> Iterator[System]:
    ranks = checkout / ".orc" / "cache" / "tiktoken"
    fixed = {"PYTHONPATH": str(checkout), "ORC_AUTH_MODE": "easyauth", "ORC_TOKEN_CACHE": str(ranks)}
    with running(data, **fixed, **settings) as system:
        yield system
    (data / "serve.log").unlink()


def _token(caller: Caller, conversation: str, data: Path, **environment: str) -> str:
    """A scope token over the documents of a conversation, as `orc token` prints it."""
    owner = {"ORC_LOCAL_ORGANIZATION": caller.organization, "ORC_LOCAL_USER": caller.user}
    settings = {**os.environ, "ORC_DATA_DIR": str(data), **owner, **environment}
    command = [sys.executable, "-m", "orc", "token", "--conversation", conversation]
    return subprocess.run(command, env=settings, check=True, capture_output=True, text=True).stdout.strip()


def _converse(system: System) -> None:
    with ANN.client(system.api) as ann:
        _ask_about_the_ferry(ann)
        _chat_about_nights(ann)
    with BEN.client(system.api) as ben:
        _add(ben, LAMPS, ("lamp-log.md", LAMP_LOG.encode()))
        _ask(ben, LAMPS, "What is the power of the new lamp?", "lamp-log.md")
        _ask(ben, LAMPS, "How often does the fog signal sound?")
    with CAT.client(system.api) as cat:
        cat.post("/orc", json={"question": "Good morning!"}, headers={"idempotency-key": "only-talk"})


def _ask_about_the_ferry(ann: httpx.Client) -> None:
    _add(ann, FERRY, ("ferry-manual.pdf", _ferry_manual()), ("harbour-hours.txt", HOURS.encode()))
    _ask(ann, FERRY, "My badge number is 7431-K.")
    _ask(ann, FERRY, "How often does the ferry leave in summer?", "ferry-manual.pdf")
    ask_streaming(ann, **STREAMED)
    answered(ann.post("/orc", json=RETURN_TICKET, headers={"idempotency-key": ANSWERED_KEY}))
    _ask(ann, FERRY, "Please remember that I only travel with my dog Bosun.")
    _ask(ann, FERRY, "Who assigns the berths?")
    _ask(ann, FERRY, "How long is lost property kept?", "harbour-hours.txt")
    _ask(ann, FERRY, "What is the salary of the captain?", "ferry-manual.pdf")
    for remark in SMALL_TALK:
        _ask(ann, FERRY, remark)
    _ask(ann, FERRY, "When is the crossing cancelled?", "ferry-manual.pdf", "harbour-hours.txt")
    _ask(ann, FERRY, "Where are the life jackets stored?")
    for remark in SMALL_TALK:
        _ask(ann, FERRY, remark)


def _chat_about_nights(ann: httpx.Client) -> None:
    def say(question: str, *names: str) -> httpx.Response:
        messages = [{"role": "user", "content": question}]
        body = {"session_id": SESSION, "messages": messages, "blob_names": list(names)}
        response = ann.post("/chat", json=body)
        answered(response)
        return response

    conversation = say("Good evening!").headers["x-session-id"]
    _add(ann, conversation, ("night-duty.docx", _night_duty()), ("harbour-hours.txt", HOURS.encode()))
    say("When does the night duty begin?", "night-duty.docx")
    say("And when does it end?", "night-duty.docx")
    say("What is the allowance per shift?")


def _fail(system: System) -> None:
    with BEN.client(system.api) as ben:
        response = ben.post("/orc", json=LAMP_REPLACED, headers={"idempotency-key": FAILED_KEY})
        assert response.status_code == 504, response.text


def _leave_unindexed(system: System) -> None:
    with BEN.client(system.api) as ben:
        answered(upload(ben, LAMPS, (NEVER_INDEXED, LATE_NOTICE.encode())), 201)


def _add(client: httpx.Client, conversation: str, *files: tuple[str, bytes]) -> None:
    """Upload the files, and wait until they are indexed and analysed or have failed."""
    answered(upload(client, conversation, *files), 201)
    while not all(
        document["status"] == "failed" or document["summary_available"]
        for document in answered(client.get(f"/conversations/{conversation}/documents"))["documents"]
    ):
        time.sleep(0.1)


def _ask(client: httpx.Client, conversation: str, question: str, *names: str) -> None:
    body = {"question": question, "conversation_id": conversation, "blob_names": list(names)}
    answered(client.post("/orc", json=body))


def _ferry_manual() -> bytes:
    pdf = FPDF(format="A4")
    for heading, *paragraphs in FERRY_PAGES:
        pdf.add_page()
        pdf.set_font("Helvetica", "B", 18)
        pdf.cell(0, 14, heading, new_x="LMARGIN", new_y="NEXT")
        pdf.set_font("Helvetica", "", 11)
        for paragraph in paragraphs:
            pdf.multi_cell(0, 6, paragraph, new_x="LMARGIN", new_y="NEXT")
            pdf.ln(3)
    return bytes(pdf.output())


def _night_duty() -> bytes:
    document = docx.Document()
    for heading, paragraph in NIGHT_DUTY:
        document.add_heading(heading, 1)
        document.add_paragraph(paragraph)
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


if __name__ == "__main__":
    main()
