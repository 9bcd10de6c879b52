"""The page of telemetry in a browser: what it shows, how it is used, and that nothing else runs in it."""

import asyncio
import re
import socket
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
import uvicorn

from devkit.browser import Page, Program, browsing, unpacked
from devkit.sample_traces import a_month, detailed
from orc.api.app import create_app
from orc.conversations.models import utc_now
from orc.settings import Settings

IMAGE = '<img src=x onerror="window.ran = 1">'
MARKUP = "<script>document.title = 'taken over'</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def program() -> Iterator[Program]:
    with unpacked() as program:
        yield program


@pytest.fixture
async def address(tmp_path: Path) -> AsyncIterator[str]:
    """The page over a month of turns; the latest one's names are markup."""
    app = create_app(Settings(data_dir=tmp_path))
    store = (await app.state.provider.get()).traces
    # A moment ago, and yet on the day that is today: the page shows days up to its own.
    now = utc_now()
    for each in a_month(now - timedelta(minutes=1)):
        await store.save(each)
    names = {"model": f"gpt-4o {MARKUP}", "intent": MARKUP, "user_id": MARKUP}
    await store.save(detailed(900, now, **names))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off", ws="none"))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/api/admin/telemetry/page"
        server.should_exit = server.force_exit = True
        await serving
    await app.state.provider.close()


@pytest.fixture
async def page(program: Program, address: str) -> AsyncIterator[Page]:
    async with browsing(program) as page:
        await page.look(width=1180, height=900)
        await page.open(address)
        await page.until("document.querySelectorAll('#rows tr').length")
        yield page
        assert page.problems == []


def count(selector: str) -> str:
    return f"document.querySelectorAll({selector!r}).length"


def click(selector: str) -> str:
    return f"document.querySelector({selector!r}).dispatchEvent(new MouseEvent('click', {{bubbles: true}}))"


def shown(selector: str) -> str:
    return f"[...document.querySelectorAll({selector!r})].map((each) => each.textContent)"


async def test_days_are_plotted_with_axes(page: Page) -> None:
    assert await page.value(shown("#plots h2")) == ["Tokens per day", "Cost per day", "Time per turn"]
    assert await page.value(count("#plots section:nth-child(1) rect.bar.first")) > 15
    assert await page.value(count("#plots section:nth-child(1) rect.bar.second")) > 15
    assert await page.value(count("#plots section:nth-child(2) rect.bar")) > 15
    assert await page.value(count("#plots section:nth-child(3) polyline")) == 2
    labels = await page.value(shown("#plots section:nth-child(1) text"))
    assert {"0", "50K", "100K"} <= set(labels)
    assert len([label for label in labels if re.fullmatch(r"[A-Z][a-z]{2} \d+", label)]) == 5
    totals = await page.value(shown("#tiles strong"))
    assert int(totals[0]) > 60


@pytest.mark.parametrize(
    ("cost", "labels", "exact"),
    [
        (0.14, ["$0.00", "$0.05", "$0.10", "$0.15"], "$0.1400"),
        (0.00086, ["$0.00000", "$0.00025", "$0.00050", "$0.00075", "$0.00100"], "$0.00086"),
        (4815.5, ["$0", "$2,000", "$4,000", "$6,000"], "$4815.50"),
    ],
)
async def test_an_axis_says_what_it_shows(page: Page, cost: float, labels: list[str], exact: str) -> None:
    day = f"{{ ...NOTHING, day: '2025-03-10', turns: 1, cost_usd: {cost} }}"
    formats = "{ axis: roundDollars, exact: dollars }"
    drawn = f"plot('Cost', [{day}], [['cost_usd', 'US dollars', 'first']], {formats})"
    texts = f"[...{drawn}.querySelectorAll('svg > text')].map((each) => each.textContent)"
    assert (await page.value(texts))[: len(labels)] == labels
    assert f"US dollars: {exact}" in await page.value(f"{drawn}.querySelector('title').textContent")


async def test_token_counts_and_timings_are_reported_as_numbers(page: Page) -> None:
    assert await page.value("[1250000, 12500, 2.5, 0].map(round.format)") == ["1.25M", "12.5K", "2.5", "0"]
    assert await page.value("[1250, 2.5, 12500].map(roundSeconds)") == ["1.25 s", "2.5 ms", "12.5 s"]


async def test_turns_are_paged_there_and_back(page: Page) -> None:
    first = await page.value(shown("#rows td:first-child"))
    assert len(first) == 20
    # Twice, as hands do.
    await page.value(f"{click('#next')}, {click('#next')}")
    await page.until("document.querySelector('#place').textContent === 'page 2'")
    second = await page.value(shown("#rows td:first-child"))
    assert max(second) <= min(first)
    await page.value(click("#previous"))
    await page.until("document.querySelector('#place').textContent === 'page 1'")
    assert await page.value(shown("#rows td:first-child")) == first


async def test_turns_are_filtered(page: Page) -> None:
    await page.value("document.querySelector('[name=status]').value = 'failed'")
    await page.value(click("#filters button:not([type])"))
    await page.until("document.querySelector('#rows tr td:last-child').textContent === 'deadline_exceeded'")
    assert set(await page.value(shown("#rows td:last-child"))) == {"deadline_exceeded"}
    await page.value(click("#filters [type=reset]"))
    await page.until("document.querySelector('#rows tr td:last-child').textContent === 'done'")


async def test_turns_are_found_by_their_trace(page: Page) -> None:
    await page.value(f"document.querySelector('[name=trace_id]').value = '{900:032x}'")
    await page.value(click("#filters button:not([type])"))
    await page.until("document.querySelectorAll('#rows tr').length === 1")
    assert MARKUP in await page.value("document.querySelector('#rows tr').textContent")


async def test_a_day_in_a_plot_chooses_its_turns(page: Page) -> None:
    await page.value(click("#plots .day:nth-last-child(1)"))
    await page.until("document.querySelector('#next').disabled")
    today = await page.value("document.querySelector('[name=from]').value")
    days = {began[:10] for began in await page.value(shown("#rows td:first-child"))}
    assert days == {today}


async def test_a_turn_has_a_timeline_and_its_numbers(page: Page) -> None:
    await page.value(click("#rows tr:nth-child(1)"))
    await page.until("document.querySelector('svg.timeline')")
    steps = await page.value(shown("svg.timeline rect.step title"))
    kinds = [step.split()[0] for step in steps]
    assert set(kinds) == {"plan", "tool", "model", "answer", "critique", "reset", "store"}
    assert await page.value(count("svg.timeline rect.bad")) == 2
    widths = "[...document.querySelectorAll('svg.timeline rect.step')].map((bar) => bar.width.baseVal.value)"
    assert max(await page.value(widths)) > 100
    facts = await page.value("document.querySelector('.facts').textContent")
    assert "3 of 3 verified" in facts
    assert "dependency_down" in facts
    assert "tools3,950" in facts
    assert "1 issue" in facts
    assert "1 issues" not in facts


async def test_markup_in_a_name_is_text(page: Page) -> None:
    assert MARKUP in await page.value("document.querySelector('#rows tr').textContent")
    await page.value(click("#rows tr:nth-child(1)"))
    await page.until("document.querySelector('svg.timeline')")
    assert MARKUP in await page.value("document.querySelector('.facts').textContent")
    assert await page.value(count("#rows img, #rows script, #turn img, #turn script")) == 0
    assert await page.value("document.title") == "Orc: turns"


async def test_the_policy_stops_what_is_not_in_the_page(program: Program, address: str) -> None:
    """The same markup, let in as markup: so that the other tests' silent consoles mean something."""
    made = "document.createElement('script')"
    async with browsing(program) as page:
        await page.open(address)
        await page.value(f"document.body.append(Object.assign({made}, {{ textContent: 'window.ran = 1' }}))")
        await page.value(f"document.body.insertAdjacentHTML('beforeend', {IMAGE!r})")
        await page.until("true")
        assert await page.value("window.ran ?? null") is None
        assert any("Content Security Policy" in problem for problem in page.problems)


async def test_failures_are_reported(page: Page) -> None:
    await page.value("document.querySelector('[name=model]').removeAttribute('maxlength')")
    await page.value("document.querySelector('[name=model]').value = 'm'.repeat(300)")
    await page.value(click("#filters button:not([type])"))
    await page.until("document.querySelector('#problem').textContent.includes('That did not work')")
    # The browser itself reports the status.
    page.problems.clear()
