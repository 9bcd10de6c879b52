"""Taking back what was removed, with a mouse, with keys, and without hurry."""

from pathlib import Path

from devkit.visits import Visit
from tests.web.test_access import focused, keys, tab_to

QUAY = "The quay opens at seven in the morning."
GONE = "!document.querySelector('.file')"


async def attach(visit: Visit, folder: Path) -> None:
    (folder / "quay.txt").write_text(QUAY)
    await visit.attach(folder / "quay.txt")


async def test_a_removed_file_is_taken_back_with_the_keyboard(visit: Visit, tmp_path: Path) -> None:
    page = visit.page
    await attach(visit, tmp_path)
    await page.value("document.getElementById('question').focus()")
    await tab_to(visit, "Remove quay.txt", back=True)
    await keys(visit, "Enter")
    await page.until(GONE)
    await page.until("document.activeElement.textContent === 'Undo'")
    await keys(visit, "Enter")
    await visit.sees(".file")
    await page.until("document.activeElement.closest('.file')")
    await focused(visit)
    # Again, and back by Ctrl+Z from the text box.
    await page.value("document.activeElement.closest('.file').querySelector('button:last-child').click()")
    await page.until(GONE)
    await page.value("document.getElementById('question').focus()")
    await page.press("z", modifiers=2)
    await visit.sees(".file")
    documents = visit.get(f"/conversations/{await visit.conversation()}/documents")["documents"]
    assert len(documents) == 1


async def test_a_deleted_session_is_taken_back_with_the_keyboard(visit: Visit) -> None:
    page = visit.page
    await visit.ask("Apples?")
    opened = await page.value("location.hash")
    await page.press("k", modifiers=2)
    await page.until("document.activeElement.id === 'search'")
    label = await page.value("document.querySelector('.session button').getAttribute('aria-label')")
    await tab_to(visit, label)
    await keys(visit, "Enter")
    await page.until("document.activeElement.textContent === 'Rename'")
    await keys(visit, *["Tab"] * 7, "Enter")
    await page.until("document.activeElement.textContent === 'Undo'")
    await focused(visit)
    # The notice is a region of the window.
    await page.value("document.getElementById('question').focus()")
    await page.value("document.getElementById('sessions').focus()")
    for _ in range(3):
        await page.press("F6")
        if await page.value("document.activeElement.id === 'notices'"):
            break
    await keys(visit, "Tab", "Enter")
    await page.until(f"location.hash === {opened!r} && document.querySelector('.turn')")
    assert len(visit.get("/conversations")["conversations"]) == 1


async def test_a_notice_waits_while_it_has_the_focus(visit: Visit, tmp_path: Path) -> None:
    page = visit.page
    await attach(visit, tmp_path)
    await page.value(
        "window.later = setTimeout; window.setTimeout = (act, ms) => later(act, ms === 8000 ? 300 : ms)"
    )
    await visit.click(".file button:last-child")
    await page.until(GONE)
    await page.value("document.querySelector('.notice button').focus()")
    await page.value("new Promise((done) => { later(done, 900); })")
    assert await page.value("document.querySelector('.notice') !== null")
    await page.value("document.getElementById('question').focus()")
    await page.until("!document.querySelector('.notice')")
    await page.until("performance.getEntriesByType('resource').length > 0")
    for _ in range(50):
        if not visit.get(f"/conversations/{await visit.conversation()}/documents")["documents"]:
            return
    raise AssertionError("it was not removed")
