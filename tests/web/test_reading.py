"""Sources next to the answer: at every width, with the keyboard, and by its address."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from devkit.browser import Program, browsing
from devkit.doubles.openai_double import Reply, Script
from devkit.page_scenes import HOTEL
from devkit.shared_data import HANDBOOK
from devkit.visits import Visit
from tests.unit.orc_core.extraction.samples import pdf

LEAVE = "Every employee of the harbour has 28 days of annual leave."
QUAY = "The quay opens at seven in the morning."
CRANE = "The crane is checked every evening by the mate."
COVERED = """
[...document.querySelectorAll("#send, #plus, #question, .marker, .question p, .head h1")].filter((each) => {
  each.scrollIntoView({ block: "nearest" });
  const { left, top, width, height } = each.getBoundingClientRect();
  return [0.02, 0.5, 0.98].some((part) => {
    const over = document.elementFromPoint(left + width * part, top + height / 2);
    return !(over && (each.contains(over) || over.contains(each)));
  });
}).map((each) => each.id || each.textContent)
"""
"""What is cut, or is below something else."""
MARKERS = "[...document.querySelectorAll('button.marker')].map((each) => parseInt(each.textContent))"
QUOTE = (
    "document.querySelector('.quote-box .is-current .quote, .quote-box:not(.is-many) .quote')?.textContent"
)
PLACE = "document.querySelector('.toolbar').textContent"
LINE = "document.querySelector('.marks rect').getBoundingClientRect().height"


async def open_first(visit: Visit) -> None:
    """Attach the handbook, ask, and open the first source."""
    await visit.attach(HANDBOOK)
    await visit.ask(HOTEL)
    await visit.click("button.marker")
    await visit.sees(".marks rect")


async def attach_rules(visit: Visit, folder: Path) -> None:
    """Two pages; an answer cites the first one twice, and the second one between."""
    visit.model.responder = lambda asked: (
        Reply(text=f"{LEAVE} [S1] {CRANE} [S2] {QUAY} [S1]")
        if asked.sources and not asked.schema_asked
        else None
    )
    (folder / "rules.pdf").write_bytes(pdf(f"{LEAVE} {QUAY}", CRANE))
    await visit.attach(folder / "rules.pdf")
    await visit.ask("What are the rules of the harbour, of the quay and of the crane?")


@pytest.mark.parametrize(("width", "height"), [(700, 900), (820, 1180), (1024, 768), (1093, 615)])
async def test_answer_and_source_are_read_side_by_side(visit: Visit, width: int, height: int) -> None:
    await visit.page.look(width=width, height=height)
    await open_first(visit)
    assert await visit.page.value(COVERED) == []
    boxes = "['conversation', 'sources'].map((each) => document.getElementById(each).getBoundingClientRect())"
    talk, sources = await visit.page.value(f"{boxes}.map((each) => [each.left, each.right])")
    assert (talk[0], talk[1], sources[1]) == (0, sources[0], width)
    assert min(talk[1] - talk[0], sources[1] - sources[0]) >= 320
    assert await visit.page.value("document.documentElement.scrollWidth") == width


async def test_keys_work_at_once_after_a_source_is_opened(visit: Visit, tmp_path: Path) -> None:
    page = visit.page
    await attach_rules(visit, tmp_path)
    await page.value("document.querySelector('button.marker').focus()")
    await page.press("Enter")
    await visit.sees(".marks rect")
    await page.until("document.activeElement.id === 'sources'")
    await page.press("+")
    await visit.sees(".sheet.zoom-150")
    await page.press("PageDown")
    await page.until(f"{PLACE}.includes('Page 2')")
    await page.press("PageUp")
    await page.until(f"{QUOTE}.includes('leave')")
    await page.press("ArrowRight")
    await page.until(f"{QUOTE}.includes('quay')")
    assert "Source 1 of 2" in await page.value(PLACE)
    await page.press("ArrowRight")
    await page.until(f"{QUOTE}.includes('crane')")
    assert "Source 2 of 2" in await page.value(PLACE)
    await page.press("Escape")
    await page.until("!document.getElementById('sources')")
    await page.until("document.activeElement.matches('button.marker')")
    # Who writes next to the source keeps the focus.
    await page.press("Enter")
    await page.until("document.activeElement.id === 'sources'")
    await visit.close_while_writing("#sources")


async def test_a_marker_stays_in_view_while_its_source_opens(visit: Visit) -> None:
    """In a window of 1440 pixels at 200 %, where the text next to the panel takes twice as many lines."""
    await visit.page.look(width=720, height=450)
    await visit.attach(HANDBOOK)
    text = "The rules of the harbour say how long a leave is, and who decides about it. " * 6
    visit.model.script = Script(text=f"{text}Employees have some working days of annual leave [S1].")
    await visit.ask("How long is the annual leave?")
    await visit.page.value("document.querySelector('.marker').scrollIntoView({ block: 'end' })")
    await visit.point("button.marker")
    await visit.sees("#sources .marks rect")
    await visit.page.value("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 100)))")
    edges = "(({ top, bottom }) => [top, bottom])"
    box, mark = [
        await visit.page.value(f"{edges}(document.querySelector('{each}').getBoundingClientRect())")
        for each in (".scroller", "button.marker")
    ]
    assert box[0] <= mark[0] and mark[1] <= box[1] + 1


async def test_a_page_has_one_number_and_its_quotes_below_it(visit: Visit, tmp_path: Path) -> None:
    await attach_rules(visit, tmp_path)
    assert await visit.page.value(MARKERS) == [1, 2, 1]
    assert (await visit.texts(".sources-line"))[0].startswith("2 sources")
    await visit.click(".sources-line")
    await visit.page.until("document.querySelectorAll('.card').length === 2")
    assert [len(await visit.texts(f".card:nth-child({n}) .quote-row")) for n in (1, 2)] == [2, 1]
    await visit.click(".card:nth-child(1) li:nth-child(2) .quote-row")
    await visit.page.until(f"{QUOTE}?.includes('quay')")
    assert len(await visit.texts(".quote-box .quote-row")) == 2


async def test_the_address_of_a_source_can_be_loaded_again_and_sent(visit: Visit, program: Program) -> None:
    page = visit.page
    await open_first(visit)
    opened = await page.value("location.hash")
    assert "/t/" in opened
    await page.reload()
    await page.until("document.readyState === 'complete' && document.querySelector('.marks rect')")
    async with browsing(program) as window:
        other = replace(visit, page=window)
        await other.be("ann")
        await other.open(opened)
        await other.sees(".marks rect")
        assert window.problems == []
    await page.value("history.back()")
    await page.until("!document.getElementById('sources') && document.querySelector('.turn')")
    assert await page.value("location.hash") == opened.split("/t/")[0]


async def test_an_address_of_an_answer_that_is_gone_says_so(visit: Visit) -> None:
    await visit.ask("Hello there")
    session = await visit.conversation()
    await visit.page.open("about:blank")
    await visit.open(f"#/c/{session}/t/{session}/s/1")
    await visit.page.until("document.querySelector('.notice')?.textContent.includes('This answer')")
    assert await visit.page.value("location.hash") == f"#/c/{session}"


async def touching(visit: Visit, width: int, height: int) -> None:
    """Have a phone or a tablet: a finger and no mouse."""
    page = visit.page
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": True}
    await page.call("Emulation.setDeviceMetricsOverride", **size)
    await page.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
    await page.until("matchMedia('(pointer: coarse)').matches")


async def test_a_finger_is_not_asked_to_drop_files(visit: Visit) -> None:
    assert (await visit.texts(".empty .drop"))[0].startswith("Drop files here, or choose them")
    await touching(visit, 390, 844)
    await visit.page.reload()
    await visit.page.until("document.querySelector('.empty .drop')?.textContent.startsWith('Choose files')")


async def test_two_fingers_change_the_size_of_a_page_and_keep_its_quote(visit: Visit) -> None:
    page = visit.page
    await open_first(visit)
    await touching(visit, 820, 1180)
    await page.until("document.querySelector('.marks rect')")
    zoom = "document.querySelector('.zoom').textContent"
    before = await page.value(zoom)
    box = await page.value("document.querySelector('.frame').getBoundingClientRect().toJSON()")
    x, y = box["left"] + box["width"] / 2, box["top"] + box["height"] / 2

    async def spread(kind: str, apart: float) -> None:
        points = [{"x": x - apart, "y": y, "id": 0}, {"x": x + apart, "y": y, "id": 1}] if apart else []
        await page.call("Input.dispatchTouchEvent", type=kind, touchPoints=points)

    for begin, end, sign in ((40, 100, 1), (100, 40, -1)):
        await spread("touchStart", begin)
        for step in range(1, 7):
            await spread("touchMove", begin + (end - begin) * step / 6)
        await spread("touchEnd", 0)
        await page.until(f"{zoom} !== {json.dumps(before)}")
        now = await page.value(zoom)
        assert (int(now.split()[0]) - int(before.split()[0])) * sign > 0
        before = now
        inside = (
            "(() => { const frame = document.querySelector('.frame').getBoundingClientRect();"
            " const mark = document.querySelector('.marks rect').getBoundingClientRect();"
            " return mark.bottom > frame.top && mark.top < frame.bottom; })()"
        )
        assert await page.value(inside)
        # The window itself keeps its size.
        assert await page.value("visualViewport.scale") == 1


async def test_on_a_phone_a_source_is_a_sheet_that_back_closes(visit: Visit) -> None:
    page = visit.page
    await page.look(width=390, height=844)
    await open_first(visit)
    await page.until(f"{LINE} >= 14")
    frame = "document.querySelector('.frame').getBoundingClientRect()"
    mark = "document.querySelector('.marks rect').getBoundingClientRect()"
    inside = f"{mark}.left >= {frame}.left - 1 && {mark}.top >= {frame}.top && {mark}.top < {frame}.bottom"
    assert await page.value(inside), "it begins at the quote"
    assert await page.value("document.getElementById('sources').offsetWidth") == 390
    for _ in range(12):
        await page.press("Tab")
        assert await page.value("!document.activeElement.closest('#conversation')"), "what is covered"
    await page.value("history.back()")
    await page.until("!document.getElementById('sources')")
    assert await page.value("location.href.startsWith('http') && document.querySelector('.turn') !== null")
    await page.until("document.activeElement.matches('button.marker, #question')")
    # A browser of a phone enlarges the page for a field with smaller letters.
    sizes = "[...document.querySelectorAll('input, textarea')].map((each) => getComputedStyle(each).fontSize)"
    assert set(await page.value(sizes)) == {"16px"}
    await visit.click(".open-sessions")
    await visit.sees(".sessions.is-open")
    await page.value("location.hash = '#/'")
    await page.until("!document.querySelector('.sessions.is-open, .turn')")
