"""The notes on the page of two of the documents that Orc was asked for from, each as a test of its name.

Of the first, on sessions over several contexts, its "UI/UX Requirements". Of the second, on chats in a
workspace, its "Chat UI Components": a list of messages, an input area and a panel of citations.
"""

import asyncio
import json
import re
from pathlib import Path

from devkit.browser import Page
from devkit.shared_data import HANDBOOK
from devkit.visits import ANSWERED, Visit
from tests.unit.orc_core.extraction.samples import pdf
from tests.web.test_collections import CHIPS, QUESTION, add_manual, administrator, made
from tests.web.test_files import indexed
from tests.web.test_page import UUID
from tests.web.test_viewers import ROW, choose

QUAY = "The quay opens at seven in the morning."
LEAVE = "How many days of annual leave does a new employee get?"
OPEN = "document.querySelector('#plus-menu:popover-open')"
FILE_CONTROLS = (
    "[...document.querySelectorAll('.composer button')].filter((each) => each.checkVisibility()"
    " && each.querySelector('use')?.getAttribute('href').endsWith('#clip')).map((each) => each.id)"
)
LABELLED = """[...document.querySelectorAll('#plus-menu .toggle[aria-pressed]')].map((each) =>
  [each.querySelectorAll('svg').length, each.textContent.trim().length > 0])"""
CHOICES = """Object.entries(localStorage).filter(([name]) => name.includes('choices.'))
  .map(([name, text]) => [name.split('.').at(-1), JSON.parse(text)])"""
STATES = """(() => {
  window.states = new Set();
  const look = () => {
    for (const each of document.querySelectorAll('.file-status')) window.states.add(each.textContent);
  };
  new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true });
})()"""


async def press(page: Page, x: float, y: float) -> None:
    for kind in ("mousePressed", "mouseReleased"):
        await page.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)


async def open_menu(visit: Visit) -> None:
    await visit.click("#plus")
    await visit.page.until(OPEN)


async def test_the_attach_control_is_a_single_paperclip_entry_in_the_plus_menu(visit: Visit) -> None:
    assert await visit.page.value(FILE_CONTROLS) == []
    await open_menu(visit)
    assert await visit.page.value(FILE_CONTROLS) == ["attach"]
    await visit.page.call("Page.setInterceptFileChooserDialog", enabled=True)
    await visit.page.value(
        "document.getElementById('picker').addEventListener('click', () => (window.picked = true))"
    )
    await visit.click("#attach")
    await visit.page.until("window.picked")


async def test_the_menu_lists_contexts_and_tools_with_icon_buttons_that_toggle(visit: Visit) -> None:
    made(visit, "workspace", "Plant")
    for name in ("Plant", "Search passages"):
        await open_menu(visit)
        row = ROW.format(name)
        await visit.page.until(row)
        before = await visit.page.value(f"{row}.getAttribute('aria-pressed')")
        assert all(icons >= 2 and named for icons, named in await visit.page.value(LABELLED))
        await visit.page.value(f"{row}.click()")
        await visit.page.until(f"{row}.getAttribute('aria-pressed') !== {json.dumps(before)}")
    assert [each.split(":")[0] for each in await visit.page.value(CHIPS)] == [
        "Plant",
        "Search passages is off",
    ]


async def test_toggling_contexts_and_tools_is_persisted_per_session_in_local_storage(visit: Visit) -> None:
    page = visit.page
    plant = made(visit, "workspace", "Plant")
    await choose(visit, "Plant")
    await choose(visit, "Search passages")
    await visit.ask("Hello")
    session = await visit.conversation()
    [[stored, choices]] = await page.value(CHOICES)
    assert (stored, [each["id"] for each in choices["contexts"]]) == (session, [plant])
    await page.reload()
    await page.until(f"{ANSWERED.format(1)} && {CHIPS}.length === 2")
    # Another chat has none of it, and gives it back.
    await visit.click("#new")
    await page.until("!document.querySelector('.chips')")
    await page.value(f"location.hash = '#/c/{session}'")
    await page.until(f"{CHIPS}.length === 2")


async def test_context_labels_use_names_and_no_raw_uuids(visit: Visit) -> None:
    page = visit.page
    plant = made(visit, "workspace", "Plant")
    with administrator(visit) as client:
        add_manual(client, plant)
    await asyncio.to_thread(visit.here.index)
    await choose(visit, "Plant")
    await visit.ask(QUESTION)
    assert await visit.texts(".turn .asked") == ["Plant"]
    assert len(await visit.why()) > 1
    for address in ("", f"#/contexts/{plant}", "#/contexts"):
        if address:
            await page.value(f"location.hash = '{address}'")
            await page.until("document.querySelector('.admin')?.innerText.includes('Plant')")
        assert await page.value(f"{UUID}.test(document.body.innerText)") is False


async def test_the_menu_closes_on_an_outside_click_and_after_selecting_an_item(visit: Visit) -> None:
    page = visit.page
    await open_menu(visit)
    await press(page, 720, 300)
    await page.until(f"!{OPEN}")
    for name in ("Search passages", "Search the web"):
        await open_menu(visit)
        await page.value(f"{ROW.format(name)}.disabled || {ROW.format(name)}.click()")
        if await page.value(f"{ROW.format(name)}.disabled"):
            await page.press("Escape")
        await page.until(f"!{OPEN}")
        assert await page.value("document.activeElement.id") == "plus"


async def test_the_chat_input_shows_a_file_widget_per_document_with_name_status_and_remove(
    visit: Visit, tmp_path: Path
) -> None:
    page = visit.page
    files = {"leave.pdf": pdf(f"{QUAY} There are 28 days."), "quay.pdf": pdf(QUAY), "broken.pdf": b"no file"}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    await page.value(STATES)
    await page.attach("#picker", *[tmp_path / name for name in files])
    await page.until("document.querySelectorAll('.composer .file').length === 3")
    await page.until("document.querySelectorAll('.composer .file.is-failed').length === 1")
    await indexed(visit, 3)
    names = "[...document.querySelectorAll('.composer .file .middle')].map((each) => each.title)"
    assert sorted(await page.value(names)) == sorted(files)
    said = await page.value("[...window.states]")
    # Uploading or waiting for that; then read, and asked about while it is indexed; ready; failed.
    for stage in (r"Uploading|Waiting|Reading", r"You can ask now", r"Ready · 1 page", r"Not added: "):
        assert any(re.search(stage, each) for each in said), (stage, said)
    for name in ("leave.pdf", "broken.pdf"):
        await visit.click(f".composer .file [aria-label='Remove {name}']")
    await page.until("document.querySelectorAll('.composer .file').length === 1")
    await visit.ask("What is there?")
    stored = visit.get(f"/conversations/{await visit.conversation()}/documents")["documents"]
    assert [each["blob_name"] for each in stored] == ["quay.pdf"]
    page.problems.clear()


async def test_the_message_list_shows_each_message_with_its_sources_as_links_to_pages(visit: Visit) -> None:
    """A message of a user, then one of the assistant; a source leads to its page next to them."""
    await visit.attach(HANDBOOK)
    await visit.ask(LEAVE)
    order = "[...document.querySelectorAll('.question p, .answer .text, .answer .sources-line')]"
    shown = await visit.page.value(f"{order}.map((each) => each.className || each.tagName)")
    assert shown == ["P", "text", "sources-line"]
    assert re.match(r"\d+ sources?", (await visit.texts(".sources-line"))[0])
    await visit.click("button.marker")
    await visit.sees(".marks rect")
    [turn] = visit.get(f"/conversations/{await visit.conversation()}")["turns"]
    number = turn["citations"][0]["page"]
    assert f"Page {number} of" in await visit.page.value("document.querySelector('.toolbar').textContent")
    assert (await visit.page.value("location.hash")).endswith(f"/t/{turn['turn_id']}/s/1")


async def test_the_input_area_is_cleared_after_sending_and_sends_nothing_empty(visit: Visit) -> None:
    page = visit.page
    box, send = "document.getElementById('question')", "document.getElementById('send')"
    assert await page.value(f"{box}.tagName") == "TEXTAREA"
    assert await page.value(f"{box}.placeholder.length > 0 && {send}.disabled")
    await visit.write("   ")
    await page.press("Enter")
    assert await visit.texts(".turn") == []
    await page.value(f"{box}.select()")
    await visit.write("Hello")
    assert await page.value(f"{send}.disabled") is False
    await visit.click("#send")
    await page.until(f"{box}.value === ''")
    # While an answer is being written there is a button to stop it in the place of the one that sends.
    await page.until(ANSWERED.format(1))
    assert await page.value(f"{send}.disabled")


async def test_the_citation_panel_has_a_card_per_page_with_picture_number_and_summary(visit: Visit) -> None:
    page = visit.page
    await visit.attach(HANDBOOK)
    await asyncio.to_thread(visit.here.index)
    await visit.ask(LEAVE)
    await visit.click(".sources-line")
    await page.until("document.querySelectorAll('.card img.thumbnail').length > 0")
    [turn] = visit.get(f"/conversations/{await visit.conversation()}")["turns"]
    cards = await visit.texts(".card strong")
    assert len(cards) == len({each["page"] for each in turn["citations"]})
    assert re.search(r"page \d+", cards[0])
    await page.until("document.querySelector('.card .summary')?.textContent.length > 20")
    drawn = "document.querySelector('.card img.thumbnail').naturalWidth > 50"
    await page.until(drawn)
    # A card leads to the page itself.
    await visit.click(".card-head")
    await visit.sees(".marks rect")
