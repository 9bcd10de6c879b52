"""Small things that people stumbled over who saw the page for the first time, where a person does them."""

import json
from pathlib import Path

from devkit.page_scenes import HOTEL, LEAVE
from devkit.shared_data import HANDBOOK
from devkit.visits import Visit
from tests.web.test_collections import made
from tests.web.test_offline_model import offline
from tests.web.test_reading import attach_rules

__all__ = ["offline"]

COVERED = """
(([selector, over]) => [...document.querySelectorAll(selector)].filter((each) => {
  if (!each.checkVisibility()) return false;
  const box = each.getBoundingClientRect();
  return [0.05, 0.5, 0.95].some((part) =>
    document.elementFromPoint(box.left + box.width * part, box.top + box.height / 2)?.closest(over));
}).map((each) => each.textContent.trim() || each.getAttribute("aria-label")))
"""
"""What of this is below something else."""


async def covered(visit: Visit, selector: str, over: str) -> list[str]:
    found: list[str] = await visit.page.value(f"({COVERED})({json.dumps([selector, over])})")
    return found


async def test_a_notice_covers_no_path_field_button_or_question(visit: Visit, tmp_path: Path) -> None:
    page = visit.page
    top = made(visit, "organization", "Northwind")
    folder = made(visit, "folder", "Ships", top)
    (tmp_path / "quay.txt").write_text("The quay opens at seven in the morning.")
    for width in (1440, 1024, 820):
        await page.look(width=width, height=900)
        await page.value(f"location.hash = '#/contexts/{folder}'")
        await visit.sees(".file-tools")
        await page.attach(".file-tools input[multiple]", tmp_path / "quay.txt")
        await page.until("document.querySelector('.file-status')?.textContent.startsWith('You can ask now')")
        await visit.click(".file [aria-label='Remove quay.txt']")
        await visit.sees(".notice")
        assert await covered(visit, ".crumbs a, .ask-about, .admin button, .admin input", ".notices") == []
        assert await covered(visit, ".head button:not(.title)", ".notices") == []
        await visit.click(".notice [aria-label='Close']")
        await page.until("!document.querySelector('.file, .notice')")
    await page.value("location.hash = '#/'")
    await visit.attach(tmp_path / "quay.txt")
    await visit.ask("When does the quay open?")
    await visit.click(".file [aria-label='Remove quay.txt']")
    await visit.sees(".notice")
    seen = ".question p, .head button:not(.title), .turn .marker"
    assert await covered(visit, seen, ".notices") == []


async def test_the_card_of_a_marker_does_not_cover_the_sentence_that_it_proves(
    visit: Visit, tmp_path: Path
) -> None:
    page = visit.page
    await attach_rules(visit, tmp_path)
    await page.look(width=700, height=900)
    await page.until("document.querySelectorAll('button.marker').length === 3")
    at = "document.querySelectorAll('button.marker')[2].getBoundingClientRect().toJSON()"
    box = await page.value(at)
    await page.call("Input.dispatchMouseEvent", type="mouseMoved", x=box["left"] + 9, y=box["top"] + 9)
    await page.until("document.querySelector('.peek')?.textContent.includes('quay')")
    await page.until(f"document.querySelector('.peek').getBoundingClientRect().top > {box['bottom']}")


async def test_on_a_small_phone_the_buttons_of_a_page_stay_together(visit: Visit) -> None:
    await visit.attach(HANDBOOK)
    await visit.ask(HOTEL)
    await visit.page.look(width=320, height=640)
    await visit.click("button.marker")
    await visit.sees(".marks rect")
    tops = "[...document.querySelectorAll('.pages button')].map((each) => each.getBoundingClientRect().top)"
    assert len(set(await visit.page.value(tops))) == 1


async def test_markers_of_lines_below_each_other_do_not_touch(visit: Visit, tmp_path: Path) -> None:
    await attach_rules(visit, tmp_path)
    boxes = "[...document.querySelectorAll('button.marker')].map((each) => each.getBoundingClientRect())"
    line = "parseFloat(getComputedStyle(document.querySelector('.turn .text')).lineHeight)"
    heights, of_line = await visit.page.value(f"[{boxes}.map((each) => each.height), {line}]")
    assert max(heights) < of_line


async def test_the_title_is_changed_where_it_is_shown(visit: Visit) -> None:
    page = visit.page
    await visit.ask("Hello there")
    await page.value("document.querySelector('.head .title').focus()")
    await page.press("Enter")
    await page.until("document.activeElement.matches('.head input')")
    await page.call("Input.insertText", text="Costs of the ferry")
    await page.press("Enter")
    await page.until("document.querySelector('.head h1')?.textContent === 'Costs of the ferry'")
    await page.until("document.querySelector('.session a')?.textContent === 'Costs of the ferry'")
    await page.until("document.activeElement.matches('.head .title')")
    await page.reload()
    await page.until("document.querySelector('.head h1')?.textContent === 'Costs of the ferry'")
    assert (visit.get(f"/conversations/{await visit.conversation()}"))["title"] == "Costs of the ferry"
    # Esc leaves it as it was.
    await visit.click(".head .title")
    await page.until("document.activeElement.matches('.head input')")
    await page.call("Input.insertText", text="Another")
    await page.press("Escape")
    await page.until("document.querySelector('.head h1')?.textContent === 'Costs of the ferry'")


async def test_a_wrong_address_in_the_browser_leads_to_the_page_which_says_so(visit: Visit) -> None:
    page = visit.page
    await page.open(f"{visit.address}nonsense/of?any=kind")
    await page.until("document.querySelector('.notice')?.textContent.includes('This address does not exist')")
    assert await page.value("location.pathname + location.hash") == "/#/"
    # Programs get the problem document.
    with visit.client() as client:
        root = visit.address.rstrip("/")
        assert client.get(f"{root}/nonsense").json()["code"] == "not_found"
        browser = {"accept": "text/html"}
        assert client.get("/nonsense", headers=browser).json()["code"] == "not_found"


async def test_without_a_model_nothing_is_said_of_a_model(offline: Visit) -> None:
    await offline.attach(HANDBOOK)
    await offline.ask(LEAVE)
    sentences = await offline.why()
    whole = await offline.page.value("document.querySelector('.why').textContent")
    assert not any("model" in each for each in sentences)
    assert "tokens" not in whole and "instructions" not in whole
