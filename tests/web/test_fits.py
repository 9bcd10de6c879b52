"""No control is covered, no line is cut and nothing scrolls sideways, at all widths, zooms and languages."""

from collections.abc import Awaitable, Callable

import pytest

from devkit.page_layout import SIZES, ZOOMED, faults
from devkit.page_scenes import play_checks, play_checks_differs, play_files, play_removed
from devkit.visits import Visit
from devkit.wider_scenes import play_collection_files, play_forms, play_same_name, play_shelf
from tests.web.test_notes import in_german

FULL = (play_checks_differs, play_collection_files, play_forms, play_same_name, play_shelf)
"""The states with the most in them; a campaign looks at all."""


async def look(visit: Visit, width: int, height: int, *, zoom: int = 1, touch: bool = False) -> None:
    size = {"width": width, "height": height, "deviceScaleFactor": zoom, "mobile": touch}
    await visit.page.call("Emulation.setDeviceMetricsOverride", **size)
    await visit.page.call("Emulation.setTouchEmulationEnabled", enabled=touch)


@pytest.mark.parametrize("play", FULL)
async def test_all_of_it_fits(visit: Visit, play: Callable[[Visit], Awaitable[None]]) -> None:
    await play(visit)
    # The browser itself reports a file that was refused.
    visit.page.problems.clear()
    found: dict[tuple[str, int, bool | int], list[str]] = {}
    for language in ("en", "de"):
        if language == "de":
            await in_german(visit)
        for width, height in SIZES:
            for touch in (False, True):
                await look(visit, width, height, touch=touch)
                found[language, width, touch] = await faults(visit.page)
        for width, height, zoom in ZOOMED:
            await look(visit, width, height, zoom=zoom)
            found[language, width, zoom] = await faults(visit.page)
    assert {at: wrong for at, wrong in found.items() if wrong} == {}


async def test_a_notice_leaves_the_text_box_free_and_its_words_whole(visit: Visit) -> None:
    await play_same_name(visit)
    for width in (320, 390):
        await look(visit, width, 740, touch=True)
        bottom, box, words = await visit.page.value("""(() => {
          const at = (selector) => document.querySelector(selector).getBoundingClientRect();
          return [at(".notice").bottom, at(".composer").top, at(".notice > span").width];
        })()""")
        assert bottom <= box
        # Next to its buttons the words were a column of letters.
        assert words > 200


async def test_a_notice_next_to_a_page_leaves_the_question_in_view(visit: Visit) -> None:
    await visit.page.look(width=820, height=1180)
    await play_removed(visit)
    await visit.sees(".notice")
    covered, words = await visit.page.value("""(() => {
      const { left, top, width, height } = document.querySelector(".question p").getBoundingClientRect();
      const at = (part) => document.elementFromPoint(left + part * width, top + height / 2);
      const notice = document.querySelector(".notice > span").getBoundingClientRect();
      return [[0.05, 0.5, 0.95].some((part) => at(part).closest(".notices")), notice.width];
    })()""")
    assert not covered
    assert words > 200


async def test_a_low_window_scrolls_from_a_quote_to_its_page(visit: Visit) -> None:
    """At 400 % the page of a source had 25 pixels below its quote, and its buttons covered the quote."""
    await play_checks(visit)
    width, height, zoom = ZOOMED[1]
    await look(visit, width, height, zoom=zoom)
    await visit.click("button.marker.is-differs")
    await visit.sees(".marks rect")
    assert await visit.page.value("document.querySelector('.picture').offsetHeight > 150")
    seen = await visit.page.value("""(() => {
      document.querySelector(".picture").scrollIntoView({ block: "end" });
      const { top, bottom } = document.querySelector(".marks rect").getBoundingClientRect();
      return top >= 0 && bottom <= innerHeight;
    })()""")
    assert seen


async def test_two_rows_of_files_are_whole(visit: Visit) -> None:
    """The upper one was cut at its top, and the beginning of a bar at a round corner."""
    await play_files(visit)
    visit.page.problems.clear()
    rows, hidden, free = await visit.page.value("""(() => {
      const files = document.querySelector(".files");
      const tops = [...document.querySelectorAll(".file")].map((each) => each.offsetTop);
      const bar = document.querySelector(".file progress");
      const corner = parseFloat(getComputedStyle(bar.parentElement).borderBottomLeftRadius);
      return [new Set(tops).size, files.scrollHeight - files.clientHeight, bar.offsetLeft - corner];
    })()""")
    assert (rows, hidden) == (2, 0)
    assert free >= 0


async def test_the_columns_of_a_table_are_not_squeezed_to_a_word_per_line(visit: Visit) -> None:
    await play_forms(visit)
    for width in (1440, 390):
        await visit.page.look(width=width, height=900)
        lines = await visit.page.value("""[...document.querySelectorAll(".text th, .text td")].map((each) => {
          const range = document.createRange();
          range.selectNodeContents(each);
          return range.getBoundingClientRect().height / parseFloat(getComputedStyle(each).lineHeight);
        })""")
        # "Remark for those who travel by train" had six.
        assert max(lines) < 4.1
