"""Where things are in the window: nothing covers another thing, and nothing jumps."""

import asyncio
from pathlib import Path

from devkit.doubles.openai_double import Script
from devkit.shared_data import HANDBOOK
from devkit.visits import ANSWERED, Visit

TOP = "document.querySelector('.turn:last-of-type .question').getBoundingClientRect().top"


async def test_the_question_stays_where_it_is_when_the_answer_ends(visit: Visit) -> None:
    page = visit.page
    visit.model.script = Script(text="One line of an answer.\n\n" * 30, tokens=10, delay_ms=1)
    await visit.ask("First?")
    visit.model.script = Script(text="A short answer. " * 3, tokens=6, delay_ms=60)
    await visit.write("Second?")
    await page.press("Enter")
    await page.until("document.querySelector('.turn.is-streaming .text')")
    before = await page.value(TOP)
    await page.until(ANSWERED.format(2))
    await page.until("document.querySelectorAll('.turn .actions').length === 2")
    assert abs(await page.value(TOP) - before) < 2
    assert 0 <= before < 120


async def test_the_way_to_the_end_covers_nothing(visit: Visit, tmp_path: Path) -> None:
    page = visit.page
    files = [tmp_path / f"{number}.txt" for number in range(8)]
    for file in files:
        file.write_text("The harbour opens at six.")
    await visit.attach(*files)
    visit.model.script = Script(text="One line of an answer.\n\n" * 60, tokens=10, delay_ms=1)
    await visit.ask("First?")
    for width, height in ((1440, 900), (390, 844)):
        await page.look(width=width, height=height)
        await page.value("document.querySelector('.scroller').scrollTop = 0")
        await page.until("document.querySelector('.to-end')")
        hit = await page.value(
            "(() => { const box = document.querySelector('.to-end').getBoundingClientRect(); const under ="
            " document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);"
            " const files = document.querySelector('.composer').getBoundingClientRect();"
            " return [Boolean(under.closest('.to-end')), files.top - box.bottom]; })()"
        )
        assert hit[0] is True
        assert hit[1] >= 0


async def test_files_leave_the_window_of_a_phone_to_the_answer(visit: Visit, tmp_path: Path) -> None:
    page = visit.page
    await page.look(width=360, height=640)
    files = [tmp_path / f"harbour-{number}.txt" for number in range(3)]
    for file in files:
        file.write_text("The harbour opens at six.")
    await visit.attach(*files)
    visible = (
        "(() => { const box = document.querySelector('.file:last-child').getBoundingClientRect();"
        " return box.left >= 0 && box.right <= innerWidth + 1; })()"
    )
    assert await page.value(visible), "what was attached last is in view"
    visit.model.script = Script(text="One line of an answer.\n\n" * 60, tokens=10, delay_ms=1)
    await visit.ask("First?")
    shelf, answer = await page.value(
        "['.files', '.scroller'].map((each) => document.querySelector(each).getBoundingClientRect().height)"
    )
    assert shelf < 80
    assert answer > 0.6 * 640
    await page.value("document.querySelector('.file:first-child').scrollIntoView()")
    hit = (
        "(() => { const file = document.querySelector('.file:first-child button.file-main');"
        " const box = file.getBoundingClientRect();"
        " return file.contains(document.elementFromPoint(box.left + 20, box.top + 20)); })()"
    )
    assert await page.value(hit), "each file is within reach of a swipe"
    assert await page.value("document.documentElement.scrollWidth <= innerWidth")


async def test_whole_questions_are_suggested_after_an_answer(visit: Visit, tmp_path: Path) -> None:
    """Headings are no questions, and nothing is known of the person before the first one."""
    (tmp_path / "faq.md").write_text("# Devices\n\n## How do I report lost devices?\n\nWithin an hour.\n")
    await visit.attach(HANDBOOK)
    await visit.attach(tmp_path / "faq.md")
    await asyncio.to_thread(visit.here.index)
    asked = "How many days of annual leave does a new employee get?", "What is to be done about lost devices?"
    for number, question in enumerate(asked, 1):
        assert len([url for _, url in visit.page.requests if url.endswith("/suggestions")]) == number - 1
        await visit.ask(question, answers=number)
        path = f"/conversations/{await visit.conversation()}/suggestions"
        found = visit.get(path)["suggestions"]
        await visit.page.until(f"document.querySelectorAll('.suggestions li').length === {len(found)}")
        assert await visit.texts(".suggestions button") == found
    assert found == ["How do I report lost devices?"]
    await visit.click(".suggestions button")
    await visit.page.until("document.querySelectorAll('.turn.is-answered').length === 3")
    assert (await visit.texts(".turn .question p"))[-1] == found[0]


async def test_a_long_name_keeps_its_ending(visit: Visit, tmp_path: Path) -> None:
    name = "Annual report on the collective agreement of the harbour workers, second draft (final).txt"
    (tmp_path / name).write_text("The harbour opens at six.")
    await visit.attach(tmp_path / name)
    for width in (1440, 390):
        await visit.page.look(width=width, height=844)
        # It is measured with the next frame.
        await visit.page.until("document.querySelector('.file .middle').dataset.shown")
        shown, fits = await visit.page.value(
            "(() => { const name = document.querySelector('.file .middle');"
            " return [name.dataset.shown, name.scrollWidth <= name.clientWidth]; })()"
        )
        assert shown.startswith("Annual r")
        assert shown.endswith("…inal).txt")
        assert fits
    assert await visit.page.value("document.querySelector('.file .middle').title") == name
    label = await visit.page.call("Accessibility.getFullAXTree")
    names = [each.get("name", {}).get("value", "") for each in label["nodes"]]
    assert any(each.startswith("TXT") or name in each for each in names if "Ready" in each or name in each)
    assert any(name in each for each in names)


async def test_a_short_name_is_shown_as_it_is(visit: Visit, tmp_path: Path) -> None:
    for name in ("i.md", "notes.txt"):
        (tmp_path / name).write_text("The harbour opens at six.")
    await visit.attach(tmp_path / "i.md", tmp_path / "notes.txt")
    names = (
        "[...document.querySelectorAll('.file .middle')].map((each) =>"
        " [each.innerText, each.dataset.shown ?? '', each.firstElementChild.offsetLeft])"
    )
    assert sorted(await visit.page.value(names)) == [["i.md", "", 0], ["notes.txt", "", 0]]


async def test_the_end_of_the_last_answer_is_in_view_after_a_reload(visit: Visit, tmp_path: Path) -> None:
    page = visit.page
    files = [tmp_path / f"{number}.txt" for number in range(6)]
    for file in files:
        file.write_text("The harbour opens at six.")
    await visit.attach(*files)
    visit.model.script = Script(text="One line of an answer.\n\n" * 40, tokens=10, delay_ms=1)
    await visit.ask("First?")
    await page.reload()
    await page.until("document.querySelector('.shelf')?.dataset.askable === '6'")
    await page.until(
        "(() => { const box = document.querySelector('.scroller');"
        " return box.scrollHeight - box.scrollTop - box.clientHeight < 8; })()"
    )


async def test_a_source_of_a_file_without_pages_is_a_section(visit: Visit) -> None:
    base = await visit.page.value("document.documentElement.dataset.base")
    named = (
        f"import('{base}parts.js').then((parts) => ['text/csv', 'application/pdf'].map((media_type) =>"
        " parts.accountOf({ blob_name: 'a', page: 2, media_type, check: 'differs', missing: ['7'] })))"
    )
    assert await visit.page.value(named) == [
        "a, section 2, 7 is not there",
        "Page 2 of a, 7 is not on page 2",
    ]


async def test_escape_closes_what_is_on_top(visit: Visit) -> None:
    page = visit.page
    await visit.ask("First?")
    await page.look(width=820, height=1180)
    await page.value("document.querySelector('.open-sessions').click()")
    await page.until("document.querySelector('.sessions.is-open')")
    base = await page.value("document.documentElement.dataset.base")
    peek = (
        f"import('{base}parts.js').then((parts) => {{ parts.peek({{ blob_name: 'a', page: 1, quote: 'q',"
        " check: 'quoted', missing: [], rectangles: [], marks: [] }, document.querySelector('.turn')); })"
    )
    await page.value(peek)
    await page.until("document.querySelector('.peek')")
    await page.press("Escape")
    await page.until("!document.querySelector('.peek')")
    assert await page.value("document.querySelector('.sessions.is-open') !== null") is True
    await page.press("Escape")
    await page.until("!document.querySelector('.sessions.is-open')")
    assert await page.value("document.activeElement.classList.contains('open-sessions')") is True
