"""Lists of the page: sessions that are deleted, contexts with many entries, and who sees what."""

import asyncio
import json
from pathlib import Path

import httpx

from devkit.browser import SECONDS
from devkit.doubles.openai_double import Failure
from devkit.page_layout import faults
from devkit.page_scenes import play_telemetry
from devkit.page_tasks import OPEN_STREAM, enqueued
from devkit.shared_data import HANDBOOK
from devkit.system import principal_headers
from devkit.visits import Visit
from orc_core.names import BlobPath, Owner

UNDO = "document.querySelector('.notice button:not(.icon)')"


async def delete(visit: Visit, title: str) -> None:
    """Choose "Delete" in the menu of a session."""
    row = f"[...document.querySelectorAll('.session')].find((each) => each.textContent.includes({title!r}))"
    await visit.page.until(row)
    await visit.page.value(f"{row}.querySelector('button').click()")
    await visit.page.until("document.querySelector('.menu.is-small .is-bad')")
    await visit.page.value("document.querySelector('.menu.is-small .is-bad').click()")
    await visit.page.until(f"!{row}")


async def titles(visit: Visit) -> list[str]:
    """The sessions as the page lists them."""
    return sorted(await visit.texts(".session a"))


async def test_a_deleted_session_is_gone_although_the_page_is_left(visit: Visit) -> None:
    page = visit.page
    for number, name in enumerate(("Apples?", "Bananas?", "Cherries?")):
        if number:
            await page.value("document.getElementById('new').click()")
            await page.until("!document.querySelector('.turn')")
        await visit.ask(name)
    await page.until("document.querySelectorAll('.session').length === 3")
    first = "[...document.querySelectorAll('.notice')].find((each) => each.textContent.includes('Apples'))"
    await delete(visit, "Apples?")
    await page.value(f"{first}.querySelector('button').click()")
    await page.until("document.querySelectorAll('.session').length === 3")
    # Deleted again: the timers of the first deletion have no say any more.
    await delete(visit, "Apples?")
    await delete(visit, "Bananas?")
    assert len(visit.get("/conversations")["conversations"]) == 3
    await page.reload()
    await page.until("document.querySelectorAll('.session').length === 1")
    page.problems.clear()


async def test_a_deleted_session_is_gone_although_the_window_is_closed(visit: Visit) -> None:
    """With the local user: the tests' browser gives what outlives a page no headers."""
    page, base = visit.page, visit.here.addresses["local"]
    await page.open(base.removesuffix("api"))
    await page.until("document.getElementById('question')")
    await visit.ask("Apples?")
    address = f"{base}/conversations/{await visit.conversation()}"
    await delete(visit, "Apples?")
    await page.open("about:blank")
    async with asyncio.timeout(SECONDS):
        while (await asyncio.to_thread(httpx.get, address)).status_code != 404:
            pass
    page.requests.clear()


async def test_taking_a_deletion_back_opens_the_session_again(visit: Visit) -> None:
    page = visit.page
    await visit.ask("Apples?")
    opened = await page.value("location.hash")
    await delete(visit, "Apples?")
    assert await page.value("location.hash") == "#/"
    await page.value(f"{UNDO}.click()")
    await page.until(f"location.hash === {opened!r} && document.querySelector('.turn')")
    assert len(visit.get("/conversations")["conversations"]) == 1


async def test_a_context_lists_all_that_it_has(visit: Visit, tmp_path: Path) -> None:
    page = visit.page
    with visit.here.client("page", visit.organization) as client:
        client.headers.update(principal_headers(visit.organization, "ann", "orc.admin"))
        made = [
            client.post("/contexts", json={"type": "workspace", "name": f"Harbour {number:03}"})
            for number in range(55)
        ]
        ids = [each.json()["context_id"] for each in made]
        for number in range(51):
            put = client.put(f"/contexts/{ids[0]}/members/user/guest-{number:03}", json={"role": "viewer"})
            assert put.status_code < 300, put.text
    await page.value("location.hash = '#/contexts'")
    await page.until("document.querySelectorAll('.rows a').length === 50")
    await page.value("document.querySelector('.admin > p > button.quiet').click()")
    await page.until("document.querySelectorAll('.rows a').length === 55")
    await page.value(f"location.hash = '#/contexts/{ids[0]}'")
    await page.until("document.querySelectorAll('.members li').length === 50")
    await page.value("[...document.querySelectorAll('.admin > p > button.quiet')].at(-1).click()")
    await page.until("document.querySelectorAll('.members li').length === 52")
    # On a phone a name has a separate line, and is not broken into letters.
    await page.look(width=390, height=844)
    name = "document.querySelector('.members li bdi').getBoundingClientRect()"
    assert await page.value(f"{name}.height < 30 && {name}.width > 200")
    await page.look(width=1440, height=900)
    (tmp_path / "a.txt").write_text("The harbour opens at six.")
    document_id = BlobPath(Owner(visit.organization, "~contexts", ids[0]), "a.txt").document_id
    for _ in range(2):
        await page.attach(".admin input[type=file]", tmp_path / "a.txt")
        await page.until("document.querySelector('.admin input[type=file]').files.length === 0")
        await page.until(f"document.querySelector('.admin [data-file=\"{document_id}\"]')")
        await visit.click('.file [aria-label="Remove a.txt"]')
        await page.until("!document.querySelector('.admin').textContent.includes('a.txt')")
        # What is shared is removed for all, a little later: it can be taken back.
        await visit.click(".notice button")
        await page.until("document.querySelector('.admin').textContent.includes('a.txt')")
        await visit.click('.file [aria-label="Remove a.txt"]')
        await visit.click(".notice button.icon")
        await page.until("!document.querySelector('.notice')")
    await page.value("location.hash = '#/contexts/ctx-unknown'")
    await page.until("document.querySelector('.admin')?.textContent.includes('does not exist')")
    page.problems.clear()


async def test_a_shared_file_becomes_ready_although_one_look_at_it_failed(
    visit: Visit, tmp_path: Path
) -> None:
    page = visit.page
    with visit.here.client("page", visit.organization) as client:
        client.headers.update(principal_headers(visit.organization, "ann", "orc.admin"))
        made = client.post("/contexts", json={"type": "workspace", "name": "Harbour"}).json()
    await page.value(f"location.hash = '#/contexts/{made['context_id']}'")
    await visit.sees(".admin input[type=file]")
    (tmp_path / "a.txt").write_text("The harbour opens at six.")
    await page.attach(".admin input[type=file]", tmp_path / "a.txt")
    await page.until("document.querySelector('.file-list')?.textContent.includes('a.txt')")
    await page.answer("*/documents?*", 503)
    await visit.sees(".notice.is-error")
    await asyncio.to_thread(visit.here.index)
    await page.answer_no_more()
    await page.until("document.querySelector('.file-list').textContent.includes('1 page')")
    assert len(await visit.texts(".notice.is-error")) <= 1
    page.problems.clear()


async def test_telemetry_says_who_may_see_it(visit: Visit) -> None:
    await visit.page.call("Network.setExtraHTTPHeaders", headers=principal_headers(visit.organization, "bob"))
    await visit.page.open("about:blank")
    await visit.open("#/telemetry")
    await visit.page.until("document.querySelector('main')?.textContent.includes('Only administrators')")
    assert await visit.page.value("document.querySelector('a[href=\"#/telemetry\"]')") is None


async def test_usage_says_when_a_day_begins_on_the_reader_s_clock(visit: Visit) -> None:
    await visit.page.call("Emulation.setTimezoneOverride", timezoneId="Asia/Kolkata")
    await visit.page.value("location.hash = '#/telemetry'")
    await visit.page.until("document.querySelector('.admin .grow')")
    [hint] = await visit.texts(".admin .grow")
    assert "A day begins at 5:30 AM on your clock" in hint.replace("\u202f", " ")
    assert "UTC" not in await visit.page.value("document.querySelector('main').innerText")


async def test_usage_has_whole_numbers_at_its_plots_and_no_heading_without_facts(visit: Visit) -> None:
    """The cost of a short question is $0.000093; no tool was called, and nothing was checked."""
    await play_telemetry(visit)
    assert await faults(visit.page) == []
    assert "0" not in await visit.page.value(
        "[...document.querySelectorAll('.facts dl')].map((each) => String(each.children.length))"
    )


async def test_a_busy_model_says_how_long_to_wait_and_usage_says_so_in_words(visit: Visit) -> None:
    visit.model.responder = lambda asked: Failure(status=429, headers={"retry-after": "90"})
    await visit.write("When does the ferry leave?")
    await visit.page.press("Enter")
    await visit.sees(".turn.is-failed .note")
    words = "The model is handling too many requests. Try again in a moment."
    said = await visit.texts(".turn.is-failed .note p")
    assert said[:2] == [words, "The service asks to wait 90 seconds before the next try."]
    await visit.page.value("location.hash = '#/telemetry'")
    await visit.page.until("document.querySelector('.data td.is-over')")
    assert await visit.texts(".data td.is-over") == [words]
    await visit.click(".data tbody button")
    await visit.page.until(f"document.querySelector('.facts dd')?.textContent === {words!r}")


async def test_words_that_are_not_served_do_not_take_the_words_away(visit: Visit) -> None:
    page = visit.page
    await page.value(
        "(() => { const real = window.fetch; window.fetch = (address, init) =>"
        " String(address).includes('words/de') ? Promise.resolve(new Response('{}', { status: 503 }))"
        " : real(address, init); })()"
    )
    await page.value("document.querySelector('button.foot-link').click()")
    await page.until("document.querySelector('dialog[open] select')")
    choose = "(each) => { each.value = 'de'; each.dispatchEvent(new Event('change', { bubbles: true })); }"
    await page.value(f"({choose})(document.querySelectorAll('dialog select')[1])")
    assert "New chat" in (await visit.texts("#new"))[0]
    send = "(each) => { each.value = 'ctrl'; each.dispatchEvent(new Event('change', { bubbles: true })); }"
    await page.value(f"({send})(document.querySelectorAll('dialog select')[2])")
    await page.press("Escape")
    await page.until("!document.querySelector('dialog')")
    pressed = "new KeyboardEvent('keydown', { key: '/', ctrlKey: true, bubbles: true })"
    await page.value(f"document.body.dispatchEvent({pressed})")
    await page.until("document.querySelector('.keys')")
    keys = await page.value(
        "JSON.stringify([...document.querySelectorAll('.keys dt')].slice(0, 2).map((each) =>"
        " [...each.querySelectorAll('kbd')].map((key) => key.textContent)))"
    )
    assert json.loads(keys) == [["Ctrl", "Enter"], ["Enter"]]


DRAWN = """
window.drawn = new Set();
const note = () => document.querySelectorAll(".files-line").forEach((line) => drawn.add(line.textContent));
new MutationObserver(note)
  .observe(document.querySelector(".shelf"), { childList: true, characterData: true, subtree: true });
"""


async def test_what_comes_of_many_files_at_once_is_drawn_at_once(visit: Visit) -> None:
    page = visit.page
    await page.call("Page.addScriptToEvaluateOnNewDocument", source=OPEN_STREAM)
    await page.open("about:blank")
    await visit.open()
    await visit.attach(HANDBOOK)
    await page.until("window.stream")
    [one] = visit.get(f"/conversations/{await visit.conversation()}/documents")["documents"]
    await page.value(DRAWN)
    others = [{**one, "document_id": f"d{n}", "blob_name": f"note {n}.pdf"} for n in range(200)]
    work = [{"document_id": each["document_id"], "done": 1, "total": 4, "message": ""} for each in others]
    await page.value(
        enqueued([*(("document", each) for each in others), *(("document_progress", each) for each in work)])
    )
    await page.until("document.querySelector('.files-line')?.textContent.startsWith('201 files')")
    await page.until("document.querySelectorAll('.shelf progress').length > 20")
    assert len(await page.value("[...drawn]")) == 1
    # A window that is hidden before its next frame has none.
    await page.value("window.requestAnimationFrame = () => 0; true")
    await page.value(enqueued([("document", {**one, "document_id": "last", "blob_name": "last.pdf"})]))
    await page.until("document.querySelector('.files-line')?.textContent.startsWith('202 files')")
