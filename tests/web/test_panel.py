"""The panel of sources: how far one can turn, what it asks the API for, and how wide it is."""

from pathlib import Path

from devkit.doubles.openai_double import Script
from devkit.page_scenes import HOTEL
from devkit.shared_data import HANDBOOK
from devkit.visits import Visit
from tests.web.test_page import QUESTION

FETCHED = "performance.getEntriesByType('resource').filter((each) => each.name.includes('/image?')).length"
TWO_FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))"
IN_VIEW = """
(() => {
  const frame = document.querySelector(".frame").getBoundingClientRect();
  const mark = document.querySelector(".marks rect").getBoundingClientRect();
  return mark.bottom > frame.top && mark.top < frame.bottom
    && mark.right > frame.left && mark.left < frame.right;
})()
"""
AFTER = "document.querySelector('.toolbar [aria-label=\"Next page\"]')"


async def test_one_turns_to_the_last_page_and_no_further(visit: Visit) -> None:
    page = visit.page
    await visit.attach(HANDBOOK)
    await visit.ask(QUESTION)
    await page.value("document.querySelector('button.marker').click()")
    await page.until("document.querySelector('.toolbar')?.textContent.includes('of 16')")
    await page.until("document.querySelector('.sheet img')")
    await page.value("document.querySelector('.frame').focus()")
    for _ in range(14):
        await page.value(f"{AFTER}.click()")
    await page.until("document.querySelector('.toolbar').textContent.includes('Page 16 of 16')")
    assert await page.value(f"{AFTER}.disabled") is True
    await page.until("document.querySelector('.sheet img')?.alt.includes('page 16')")
    # Wider by a press, then by keys; kept for the next time.
    width = "document.getElementById('sources').offsetWidth"
    await page.value("document.querySelector('.sources .divider').click()")
    await page.until("document.documentElement.style.getPropertyValue('--panel') === '720px'")
    assert await page.value(width) == 720
    await page.value("document.querySelector('.sources .divider').focus()")
    await page.press("ArrowRight")
    await page.until("document.documentElement.style.getPropertyValue('--panel') === '680px'")
    await page.reload()
    await page.until("document.querySelector('button.marker')")
    await page.value("document.querySelector('button.marker').click()")
    await page.until("document.getElementById('sources')")
    assert await page.value(width) == 680


async def test_a_document_without_pictures_is_asked_for_none(visit: Visit, tmp_path: Path) -> None:
    page = visit.page
    (tmp_path / "notes.md").write_text("The harbour opens at six in the morning. The harbour closes at ten.")
    await visit.attach(tmp_path / "notes.md")
    visit.model.script = Script()
    await visit.ask("When does the harbour open?")
    await page.value("document.querySelector('button.marker').click()")
    await page.until("document.querySelector('.page-text')")
    assert [address for _, address in page.requests if "/image" in address] == []
    assert await page.value("document.getElementById('tab-picture').disabled") is True
    reason = (
        "document.getElementById(document.getElementById('tab-picture').getAttribute('aria-describedby'))"
    )
    assert await page.value(f"{reason}.textContent") == "A page is drawn for PDF files and pictures only."


async def test_a_page_is_fetched_once_a_marker_is_pointed_at(visit: Visit) -> None:
    page = visit.page
    await visit.attach(HANDBOOK)
    await visit.ask(QUESTION)
    assert await page.value(FETCHED) == 0
    box = await page.value("document.querySelector('button.marker').getBoundingClientRect().toJSON()")
    middle = {"x": box["left"] + box["width"] / 2, "y": box["top"] + box["height"] / 2}
    await page.call("Input.dispatchMouseEvent", type="mouseMoved", **middle)
    await visit.sees(".peek")
    wait = f"while (!({FETCHED})) await new Promise((done) => {{ setTimeout(done, 5); }});"
    await page.value(f"(async () => {{ {wait} }})()")
    await page.value("document.querySelector('button.marker').click()")
    await visit.sees(".marks rect")
    assert await page.value(FETCHED) == 1


async def test_the_mark_stays_in_view_in_a_window_of_another_size(visit: Visit) -> None:
    page = visit.page
    await visit.attach(HANDBOOK)
    await visit.ask(HOTEL)
    await page.value("document.querySelector('button.marker').click()")
    await visit.sees(".marks rect")
    for zoom in (150, 200, 300):
        await visit.click(".zoom button:last-child")
        await visit.sees(f".sheet.zoom-{zoom}")
        await page.value(TWO_FRAMES)
    for width, height in ((390, 844), (844, 390), (390, 844), (1440, 900)):
        await page.look(width=width, height=height)
        await page.value(TWO_FRAMES)
        assert await page.value(IN_VIEW), (width, height)


async def test_a_picture_that_could_not_be_fetched_can_be_asked_for_again(visit: Visit) -> None:
    await visit.attach(HANDBOOK)
    await visit.ask(QUESTION)
    await visit.page.answer("*/image*", 503)
    await visit.click("button.marker")
    await visit.sees(".notice.is-error")
    await visit.page.answer_no_more()
    await visit.click(".page .loading button")
    await visit.sees(".marks rect")
    visit.page.problems.clear()
