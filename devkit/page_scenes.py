"""The states of the web page that a person can meet, made by the product itself, for pictures and checks.

A scene gets a visit whose page is empty, and brings it to one state.
"""

import io
import json
import uuid
from collections.abc import Callable

import docx
from PIL import Image

from devkit import sign_in_scenes
from devkit.doubles.openai_double import ChatRequest, Failure, Reply, Script
from devkit.doubles.openai_talk import default_reply
from devkit.page_stage import (
    LARGEST_BYTES,
    OFFLINE,
    SCENES,
    another_version,
    enter_as,
    indexed,
    saved,
    scene,
)
from devkit.shared_data import HANDBOOK
from devkit.system import principal_headers, upload
from devkit.visits import ADMINISTRATOR, Visit
from devkit.wider_scenes import LONG_NAME

__all__ = ["HOTEL", "LEAVE", "SCENES", "another_version", "sign_in_scenes"]

LEAVE = "How many days of annual leave does a new employee get?"
HOTEL = "What is the hotel limit in Hamburg during the harbour fair?"
FALSE = "Every employee also gets 99 free submarines on Mondays. [S1]"
WRONG_NUMBER = "Every full-time employee has 943 working days of annual leave. [S1]"
CHECKED = [
    ("quoted", "Every full-time employee has 28 working days of annual leave.", {}),
    ("supported", "People who work full time are away for 28 working days a year.", {}),
    ("reworded", "Leave comes to 28 days for all who work the whole week.", {}),
    ("differs", "Together, that is 1,084 days.", {"missing": ["1,084"]}),
    ("unsupported", "The days expire in June.", {"reason": "The page says nothing about June."}),
    ("picture", "The drawing shows a calendar.", {"quote": "", "start": 0, "end": 0, "rectangles": []}),
]
"""Sentences of an answer with each check, and what else their citations have."""
_CHECKED = """(async () => {
  const { turns, change } = await import(document.documentElement.dataset.base + "session.js");
  const [turn] = turns.value;
  const [first] = turn.value.citations;
  let text = "";
  const citations = CHECKED.map(([check, sentence, more]) => {
    text += `${sentence} `;
    const marks = [{ start: text.length, end: text.length + 3 }];
    text += "[x] ";
    return { ...first, check, missing: [], reason: "", ...more, marks };
  });
  change(turn, { text, citations });
})()"""
# The page reads once what it has missed, and would set the stored checks again.
_CAUGHT_UP = "performance.getEntriesByType('resource').some((each) => each.name.endsWith('?limit=10'))"
LONG = "## The story of the quay\n\n" + "The quay opens at seven, and the first ship is made fast. " * 60
SLOW_MS = 20_000.0
_STREAMING = "document.querySelector('.turn.is-streaming .text')?.textContent.length > 300"


@scene("empty")
async def play_empty(visit: Visit) -> None:
    await visit.sees(".empty .drop")


@scene("empty-with-files", OFFLINE)
async def play_empty_with_files(visit: Visit) -> None:
    await visit.attach(HANDBOOK)
    await indexed(visit)
    await visit.page.reload()
    await visit.sees(".file.is-ready")


@scene("files")
async def play_files(visit: Visit) -> None:
    await visit.attach(HANDBOOK)
    await indexed(visit)
    await visit.attach(saved(visit, LONG_NAME.format(1), b"Quay. " * 99))
    await visit.page.attach("#picker", saved(visit, "damaged.pdf", b"%PDF-1.7 and nothing else"))
    await visit.sees(".file.is-failed")
    slow = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 30_000}
    await visit.page.call("Network.emulateNetworkConditions", **slow)
    large = [saved(visit, f"large-{n}.txt", b"A line of text.\n" * 20_000) for n in range(4)]
    await visit.page.attach("#picker", *large)
    await visit.sees(".file progress")


@scene("needs-ocr")
async def play_needs_ocr(visit: Visit) -> None:
    scan = io.BytesIO()
    Image.new("L", (400, 600), 255).save(scan, "PDF")
    await visit.page.attach("#picker", saved(visit, "scan.pdf", scan.getvalue()))
    await visit.sees(".file")


@scene("over-limits", "limited")
async def play_over_limits(visit: Visit) -> None:
    await visit.page.attach("#picker", saved(visit, "huge.txt", b"x" * (LARGEST_BYTES + 1)))
    await visit.page.attach("#picker", saved(visit, "program.exe", b"MZ\x90\x00" * 99))
    await visit.page.until("document.querySelectorAll('.file.is-failed').length === 2")
    await visit.write("Why? " * 2010)


@scene("waiting")
async def play_waiting(visit: Visit) -> None:
    visit.model.responder = lambda asked: Reply(text="Late.", delay_ms=SLOW_MS)
    await visit.write(LEAVE)
    await visit.page.press("Enter")
    await visit.sees(".turn .working")


@scene("streaming")
async def play_streaming(visit: Visit) -> None:
    visit.model.script = Script(text=LONG, tokens=200, delay_ms=50)
    await visit.write("Tell me the story of the quay")
    await visit.page.press("Enter")
    await visit.page.until(_STREAMING)


@scene("stopped")
async def play_stopped(visit: Visit) -> None:
    await play_streaming(visit)
    await visit.page.until(f"{_STREAMING} && !document.getElementById('stop').disabled")
    await visit.click("#stop")
    await visit.sees(".turn.is-stopped .note")


@scene("elsewhere", "second")
async def play_elsewhere(visit: Visit) -> None:
    visit.model.script = Script(text=LONG, tokens=400, delay_ms=50)
    await visit.write("Tell me the story of the quay")
    await visit.page.press("Enter")
    await visit.page.until(_STREAMING)
    fragment = await visit.page.value("location.hash")
    visit.variant = "page"
    await visit.page.open("about:blank")
    await visit.open(fragment)
    await visit.sees(".turn.is-elsewhere .working")


@scene("answered", OFFLINE)
async def play_answered(visit: Visit) -> None:
    await visit.attach(HANDBOOK)
    await indexed(visit)
    await visit.ask(LEAVE)
    await visit.ask(HOTEL, answers=2)


@scene("page", OFFLINE)
async def play_page(visit: Visit) -> None:
    await visit.attach(HANDBOOK)
    await visit.ask(HOTEL)
    await visit.click("button.marker")
    await visit.sees(".marks rect")


@scene("page-large", OFFLINE)
async def play_page_large(visit: Visit) -> None:
    await play_page(visit)
    for zoom in (150, 200, 300):
        await visit.click(".zoom button:last-child")
        await visit.sees(f".sheet.zoom-{zoom}")


@scene("page-text", OFFLINE)
async def play_page_text(visit: Visit) -> None:
    document = docx.Document()
    document.add_heading("Rules of the quay", 1)
    for hour in range(7, 19):
        document.add_paragraph(f"At {hour} the crane number {hour * 3} is checked by the mate on duty.")
    content = io.BytesIO()
    document.save(content)
    await visit.attach(saved(visit, "rules.docx", content.getvalue()))
    await visit.ask("Who checks crane 36?")
    await visit.click("button.marker")
    await visit.sees(".page-text mark")


@scene("sources", OFFLINE)
async def play_sources(visit: Visit) -> None:
    await visit.attach(HANDBOOK)
    await indexed(visit)
    await visit.ask(HOTEL)
    await visit.click(".sources-line")
    await visit.sees(".card img")


@scene("closest", OFFLINE)
async def play_closest(visit: Visit) -> None:
    await visit.attach(HANDBOOK)
    await visit.ask("What do three nights in Lisbon cost in total?")
    await visit.why()


@scene("not-found", OFFLINE)
async def play_not_found(visit: Visit) -> None:
    await visit.attach(HANDBOOK)
    await visit.ask("Xylophone zebra quasar?")


def quoting(text: str) -> Callable[[ChatRequest], Reply]:
    """A model that says this about sources, and is obliging otherwise."""

    def reply(asked: ChatRequest) -> Reply:
        return Reply(text=text) if asked.sources and not asked.schema_asked else default_reply(asked)

    return reply


@scene("partly")
async def play_partly(visit: Visit) -> None:
    await visit.attach(HANDBOOK)
    visit.model.responder = lambda asked: quoting(f"{default_reply(asked).text} {FALSE}")(asked)
    await visit.ask(LEAVE)


async def show_checks(visit: Visit) -> None:
    """Have an answer whose citations have all CHECKED, also those that need a judge."""
    await visit.attach(HANDBOOK)
    await visit.ask(LEAVE)
    await visit.page.until(_CAUGHT_UP)
    await visit.page.value(_CHECKED.replace("CHECKED", json.dumps(CHECKED)))
    await visit.sees(".turn .marker.is-unsupported")


@scene("checks")
async def play_checks(visit: Visit) -> None:
    await show_checks(visit)


@scene("checks-listed")
async def play_checks_listed(visit: Visit) -> None:
    await show_checks(visit)
    await visit.click(".sources-line")
    await visit.sees(".card img")


@scene("checks-differs")
async def play_checks_differs(visit: Visit) -> None:
    await show_checks(visit)
    await visit.click("button.marker.is-differs")
    await visit.sees(".marks rect")


@scene("wrong-number")
async def play_wrong_number(visit: Visit) -> None:
    await visit.attach(HANDBOOK)
    visit.model.responder = quoting(WRONG_NUMBER)
    await visit.ask(LEAVE)


@scene("no-source")
async def play_no_source(visit: Visit) -> None:
    await visit.attach(HANDBOOK)
    visit.model.responder = quoting("Employees have a good life at the quay.")
    await visit.ask(LEAVE)


RIGHT_NUMBER = WRONG_NUMBER.replace("943", "28")
IN_OTHER_WORDS = "🚢 Leave comes to 28 days for all who work the whole week. [S1]"


def corrects(asked: ChatRequest) -> Reply:
    """A model that writes a wrong number, and corrects it when it is asked to, after a while."""
    if "<sentences>" in asked.prompt:
        return Reply(text=f"1. {RIGHT_NUMBER}", delay_ms=1000)
    return quoting(f"{IN_OTHER_WORDS} {WRONG_NUMBER}\n\nThat is all.")(asked)


@scene("corrected")
async def play_corrected(visit: Visit) -> None:
    await visit.attach(HANDBOOK)
    visit.model.responder = corrects
    await visit.ask(LEAVE)
    await visit.sees(".corrected")
    await visit.page.value("document.querySelector('.corrected').open = true")


async def fail(visit: Visit) -> None:
    await visit.write(LEAVE)
    await visit.page.press("Enter")
    await visit.sees(".turn.is-failed .note")


@scene("failed")
async def play_failed(visit: Visit) -> None:
    visit.model.responder = lambda asked: Failure(status=503)
    await fail(visit)


@scene("refused-by-model")
async def play_refused_by_model(visit: Visit) -> None:
    visit.model.responder = lambda asked: Failure(status=400, code="content_filter", message="filtered")
    await fail(visit)


@scene("interrupted")
async def play_interrupted(visit: Visit) -> None:
    await play_failed(visit)
    identifier = await visit.conversation()
    found = visit.get(f"/conversations/{identifier}?limit=50")
    found["turns"][0]["failure"] = {"code": "interrupted", "message": "The server stopped."}
    await visit.page.answer(
        f"*/api/conversations/{identifier}?limit=50", 200, json.dumps(found), content_type="application/json"
    )
    await visit.page.reload()
    await visit.sees(".turn.is-interrupted .note")


@scene("offline-browser", OFFLINE)
async def play_offline_browser(visit: Visit) -> None:
    await visit.attach(HANDBOOK)
    await visit.ask(LEAVE)
    await visit.write("And in the second year?")
    await visit.page.connected(False)
    await visit.sees(".banner")


@scene("server-away", OFFLINE)
async def play_server_away(visit: Visit) -> None:
    await visit.attach(HANDBOOK)
    await visit.ask(LEAVE)
    await visit.page.call("Network.setBlockedURLs", urls=["*/api/*"])
    await visit.write("And in the second year?")
    await visit.page.press("Enter")
    await visit.sees(".banner")


@scene("rate-limited", "limited")
async def play_rate_limited(visit: Visit) -> None:
    await enter_as(visit, f"user-{uuid.uuid4()}")
    await visit.ask("Hello")
    await visit.write("And again?")
    await visit.page.press("Enter")
    await visit.sees(".composer .note, .turn .working span:nth-child(2)")


@scene("signed-out")
async def play_signed_out(visit: Visit) -> None:
    await visit.attach(HANDBOOK)
    await visit.ask(LEAVE)
    await visit.be("")
    await visit.write("And in the second year?")
    await visit.page.press("Enter")
    await visit.sees(".banner a, .banner button")


def share(visit: Visit) -> None:
    """Make a collection that bob may read."""
    with visit.client() as client:
        client.headers.update(principal_headers(visit.organization, visit.user, ADMINISTRATOR))
        made = client.post("/contexts", json={"type": "organization", "name": "Port of Hamburg"})
        assert made.status_code == 201, made.text
        context = made.json()["context_id"]
        shared = client.put(f"/contexts/{context}/members/user/bob", json={"role": "viewer", "label": "Bob"})
        assert shared.status_code < 300, shared.text


@scene("viewer")
async def play_viewer(visit: Visit) -> None:
    share(visit)
    await enter_as(visit, "bob")
    await visit.click("#plus")
    await visit.page.until("document.querySelectorAll('#plus-menu .toggle').length > 3")


@scene("replaced", OFFLINE)
async def play_replaced(visit: Visit) -> None:
    await visit.attach(HANDBOOK)
    await visit.ask(HOTEL)
    with visit.client() as client:
        assert (
            upload(client, await visit.conversation(), (HANDBOOK.name, another_version())).status_code == 201
        )
    await visit.click("button.marker")
    await visit.sees(".quote-box [role=status]")


@scene("removed", OFFLINE)
async def play_removed(visit: Visit) -> None:
    await visit.attach(HANDBOOK)
    await visit.ask(HOTEL)
    await visit.click(".file button:last-child")
    await visit.page.until("!document.querySelector('.file')")
    await visit.click("button.marker")
    await visit.sees(".quote-box [role=status]")


@scene("gone")
async def play_gone(visit: Visit) -> None:
    await visit.page.value(f"location.hash = '#/c/{uuid.uuid4()}'")
    await visit.sees(".notice")


@scene("outdated")
async def play_outdated(visit: Visit) -> None:
    await visit.page.answer("*icons.svg", 404)
    await visit.page.value("document.dispatchEvent(new Event('visibilitychange'))")
    await visit.sees(".banner button")


@scene("menu", OFFLINE)
async def play_menu(visit: Visit) -> None:
    await visit.attach(HANDBOOK)
    # The session gets the name of its file a little later.
    await visit.page.until(f"document.querySelector('.session.is-current a')?.title === {HANDBOOK.name!r}")
    await visit.click("#plus")
    await visit.sees("#plus-menu:popover-open .toggle:nth-of-type(3)")


@scene("session-menu", OFFLINE)
async def play_session_menu(visit: Visit) -> None:
    await visit.attach(HANDBOOK)
    await visit.click(".session button")
    await visit.sees(".menu.is-small:popover-open")


@scene("deleted-session", OFFLINE)
async def play_deleted_session(visit: Visit) -> None:
    await play_session_menu(visit)
    await visit.click(".menu.is-small .is-bad")
    await visit.sees(".notice button")


@scene("preferences")
async def play_preferences(visit: Visit) -> None:
    await visit.click("button.foot-link")
    await visit.sees("dialog[open] select")


@scene("keys")
async def play_keys(visit: Visit) -> None:
    await visit.page.press("/", modifiers=2)
    await visit.sees("dialog[open] kbd")


@scene("contexts")
async def play_contexts(visit: Visit) -> None:
    share(visit)
    await visit.page.value("location.hash = '#/contexts'")
    await visit.click(".rows a")
    await visit.sees(".add-member")


@scene("telemetry")
async def play_telemetry(visit: Visit) -> None:
    await visit.ask("Hello")
    await visit.page.value("location.hash = '#/telemetry'")
    await visit.click(".data tbody button")
    await visit.sees(".timeline")
