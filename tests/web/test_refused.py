"""Files that were refused: what is said of them, and for how long."""

from pathlib import Path

from devkit.visits import ANSWERED, Visit
from tests.unit.orc_core.extraction.samples import pdf
from tests.web.test_files import LEAVE, QUESTION


async def test_a_refused_file_stays_over_a_reload_until_it_is_dismissed(visit: Visit, tmp_path: Path) -> None:
    """Name, reason and what to do; the answers to questions after it say that it was refused."""
    page = visit.page
    (tmp_path / "leave.pdf").write_bytes(pdf(LEAVE))
    (tmp_path / "budget.pdf").write_bytes(b"%PDF-1.7 and nothing else")
    # A new chat has no session yet that could keep it.
    await page.attach("#picker", tmp_path / "budget.pdf")
    await visit.sees(".file.is-failed")
    [said] = await visit.texts(".file.is-failed .file-status")
    assert said.startswith("Not added: ")
    assert "save it again" in said
    (tmp_path / "empty.txt").write_bytes(b"")
    await page.attach("#picker", tmp_path / "empty.txt")
    why = "document.querySelectorAll('.file.is-failed .file-status')[1]?.textContent"
    await page.until(why)
    assert await page.value(why) == "Not added: The file is empty. Check whether it is the right one."
    await visit.click(".file [aria-label='Remove empty.txt']")
    # All of it is seen, in a small window too.
    cut = "(({ scrollHeight, clientHeight }) => scrollHeight > clientHeight + 1)"
    for width in (1440, 390):
        await page.look(width=width, height=844)
        assert not await page.value(f"{cut}(document.querySelector('.file.is-failed .file-status'))")
        assert not await page.value(f"{cut}(document.querySelector('.files'))")
    await page.look(width=1440, height=900)
    await page.reload()
    await visit.sees(".file.is-failed")
    assert await visit.texts(".file.is-failed .file-status") == [said]
    assert await page.value("document.querySelector('.file .middle').title") == "budget.pdf"
    await visit.attach(tmp_path / "leave.pdf")
    await visit.ask(QUESTION)
    assert await visit.texts(".answer .note.is-left") == ["Not searched: budget.pdf (was refused)."]
    await page.reload()
    await page.until(f"{ANSWERED.format(1)} && document.querySelector('.file.is-failed')")
    assert await visit.texts(".answer .note.is-left") == ["Not searched: budget.pdf (was refused)."]
    # Dismissed, it does not come back.
    await visit.click(".file [aria-label='Remove budget.pdf']")
    await page.until("!document.querySelector('.file.is-failed, .note.is-left')")
    await page.reload()
    await page.until("document.querySelector('.file.is-ready, .shelf .file')")
    assert await visit.texts(".file.is-failed") == []
    page.problems.clear()


async def test_an_answer_says_that_the_file_it_was_asked_about_was_refused(
    visit: Visit, tmp_path: Path
) -> None:
    """Also if nothing was looked up, as there is no other file."""
    (tmp_path / "budget.pdf").write_bytes(b"%PDF-1.7 and nothing else")
    await visit.page.attach("#picker", tmp_path / "budget.pdf")
    await visit.sees(".file.is-failed")
    await visit.ask("Hello")
    assert await visit.texts(".answer .note.is-left") == []
    await visit.ask("What does Budget.pdf say?", answers=2)
    assert await visit.texts(".answer .note.is-left") == ["Not searched: budget.pdf (was refused)."]
    visit.page.problems.clear()


async def test_what_was_refused_is_forgotten_with_the_session_and_its_user(
    visit: Visit, tmp_path: Path
) -> None:
    kept = "Object.entries(localStorage).filter(([key]) => key.includes('.refused.')).length"
    (tmp_path / "budget.pdf").write_bytes(b"%PDF-1.7 and nothing else")
    await visit.ask("Hello")
    await visit.page.attach("#picker", tmp_path / "budget.pdf")
    await visit.page.until(f"{kept} === 1")
    # Another user of this browser is not shown it.
    address = await visit.page.value("location.hash")
    await visit.be("bob")
    await visit.page.open("about:blank")
    await visit.open()
    assert await visit.texts(".file") == []
    await visit.be("ann")
    await visit.page.open("about:blank")
    await visit.open(address)
    await visit.sees(".file.is-failed")
    await visit.page.value(
        "import(document.documentElement.dataset.base + 'store.js').then((store) => { store.forgetUser(); })"
    )
    assert await visit.page.value(kept) == 0
    visit.page.problems.clear()
