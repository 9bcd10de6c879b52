"""Long conversations, fast streams and long answers: how much the page does, and how long a person waits.

The clock also counts what else the machine does. So the work of the page is measured in processor time, and
waits are the shortest of several. `--log-cli-level=INFO` shows the figures.
"""

import logging
import uuid

import pytest

from core.infra.sqlite import Database
from core.names import Owner
from devkit.doubles.openai_double import Script
from devkit.page_scenes import HOTEL
from devkit.process_state import is_busy
from devkit.shared_data import HANDBOOK
from devkit.visits import ANSWERED, Visit
from orc.conversations.models import NewTurn, TurnOutcome
from orc.conversations.sqlite import SqliteTurnLog

TURNS = 5000
STREAM_SECONDS, TOKENS_PER_SECOND = 10, 200
MOST_ELEMENTS = 5000
MOST_BUSY = 0.5
COLD_MS, CACHED_MS = 300, 80
LONG = "".join(
    [
        *(f"Paragraph {n} of a long answer, with **strong** words and `code`.\n\n" for n in range(900)),
        "| a | b | c |\n|---|---|---|\n",
        *(f"| row {n} | {n * 2} | {n * 3} |\n" for n in range(500)),
        "\n```\n",
        *(f"line {n} of a fence\n" for n in range(2000)),
        "```\n",
    ]
)
WATCH = """
window.frames = []; window.long = [];
new PerformanceObserver((list) => long.push(...list.getEntries().map((each) => each.duration)))
  .observe({ entryTypes: ["longtask"] });
(() => {
  let last = performance.now();
  const next = (now) => {
    frames.push(now - last);
    last = now;
    if (!window.enough) requestAnimationFrame(next);
  };
  requestAnimationFrame(next);
})();
"""
CLICKED = """
(async (place) => {
  const began = performance.now();
  document.querySelectorAll("button.marker")[place].click();
  for (;;) {
    await new Promise((resolve) => { setTimeout(resolve, 1); });
    const shape = document.querySelector(".marks rect")?.getBoundingClientRect();
    const frame = document.querySelector(".frame")?.getBoundingClientRect();
    const isShown = shape?.height && shape.top >= frame.top && shape.top <= frame.bottom;
    if (isShown) return performance.now() - began;
  }
})
"""
CLOSED = "document.querySelector('#sources .panel-head button:last-child').click()"
log = logging.getLogger(__name__)
ELEMENTS = "document.querySelectorAll('*').length"


async def fill(visit: Visit, conversation: str, turns: int) -> None:
    """Store turns of an earlier time in the place of the answers that this would take hours to ask for."""
    database = Database(visit.here.folder / "orc.db")
    try:
        log, owner = SqliteTurnLog(database), Owner(visit.organization, visit.user, conversation)
        for number in range(1, turns + 1):
            new = NewTurn(key=f"k{number}", request_hash="h", question=f"What is word{number}?")
            turn = (await log.begin(owner, new, lease_seconds=60)).turn
            text = f"It is answer{number}. " + "The deposit is due by **1 March**. " * 10
            outcome = TurnOutcome(answer=text, result={"answer": text}, citations=[])
            await log.commit(owner, turn.turn_id, turn.attempt, outcome)
    finally:
        await database.close()


async def work(visit: Visit) -> dict[str, float]:
    """Seconds of the page's process so far, by kind of task."""
    await visit.page.call("Performance.enable", timeDomain="threadTicks")
    metrics = (await visit.page.call("Performance.getMetrics"))["metrics"]
    return {each["name"]: each["value"] for each in metrics}


@pytest.mark.campaign
async def test_ten_thousand_messages_and_a_fast_stream(visit: Visit) -> None:
    conversation = str(uuid.uuid4())
    await fill(visit, conversation, TURNS)
    await visit.page.open("about:blank")
    await visit.open(f"#/c/{conversation}")
    await visit.page.until("document.querySelectorAll('.turn').length >= 50")
    assert await visit.page.value(ELEMENTS) < MOST_ELEMENTS
    opened = await visit.page.value("performance.now()")
    words = STREAM_SECONDS * TOKENS_PER_SECOND
    visit.model.script = Script(text="word " * words, tokens=words, delay_ms=1000 / TOKENS_PER_SECOND)
    before = await work(visit)
    await visit.page.value(WATCH)
    await visit.write("Tell me")
    await visit.page.press("Enter")
    await visit.page.until("document.querySelector('.turn:last-child.is-answered')")
    after = await work(visit)
    frames = sorted(await visit.page.value("window.enough = true, frames"))
    long = await visit.page.value("long")
    seconds = await visit.page.value("frames.reduce((sum, each) => sum + each, 0)") / 1000
    busy = (after["TaskDuration"] - before["TaskDuration"]) / seconds
    slow = sum(each > 50 for each in frames)
    middle, last = frames[len(frames) // 2], frames[len(frames) * 99 // 100]
    figures = f"opened after {opened:.0f} ms; {seconds:.1f} s of stream, busy {busy:.0%}"
    figures += f"; {len(frames)} frames, p50 {middle:.1f}, p99 {last:.1f} ms"
    log.info("%s, over 50 ms %d; long tasks %d, at most %d ms", figures, slow, len(long), max([0, *long]))
    assert busy < MOST_BUSY
    assert await visit.page.value(ELEMENTS) < MOST_ELEMENTS


@pytest.mark.campaign
async def test_earlier_turns_come_without_moving_the_reader(visit: Visit) -> None:
    conversation = str(uuid.uuid4())
    await fill(visit, conversation, 400)
    await visit.page.open("about:blank")
    await visit.open(f"#/c/{conversation}")
    await visit.page.until("document.querySelectorAll('.turn').length >= 50")
    for _ in range(6):
        moved = await visit.page.value(
            """(async () => {
              const box = document.querySelector('.scroller');
              const first = document.querySelectorAll('.turn')[3];
              const key = document.querySelector('.turn').id;
              first.scrollIntoView({ block: 'start' });
              const before = first.getBoundingClientRect().top;
              while (document.querySelector('.turn').id === key)
                await new Promise((done) => { setTimeout(done, 5); });
              await new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)); });
              return Math.abs(first.getBoundingClientRect().top - before);
            })()"""
        )
        assert moved < 2
    assert await visit.page.value("document.querySelectorAll('.turn').length") <= 100
    assert await visit.page.value(ELEMENTS) < MOST_ELEMENTS


@pytest.mark.campaign
async def test_a_long_answer_is_drawn_in_short_tasks(visit: Visit) -> None:
    visit.model.script = Script(text=LONG, tokens=1000, delay_ms=5)
    await visit.page.value(WATCH)
    before = await work(visit)
    await visit.ask("Tell me everything")
    after = await work(visit)
    long = await visit.page.value("window.enough = true, long")
    busy = after["TaskDuration"] - before["TaskDuration"]
    figures = f"{len(LONG)} characters, {busy:.1f} s of tasks, {len(long)} long"
    log.info("%s, at most %d ms", figures, max([0, *long]))
    assert "line 1999 of a fence" in (await visit.texts(".turn pre"))[0]
    assert len(await visit.texts(".turn tbody tr")) == 500


@pytest.mark.campaign
async def test_a_click_on_a_marker_shows_the_quote_at_once(visit: Visit) -> None:
    await visit.attach(HANDBOOK)
    cold, cached = [], []
    for number in range(1, 6):
        await visit.ask(f"{HOTEL} {number}", answers=number)
        await visit.page.open("about:blank")
        await visit.page.call("Network.clearBrowserCache")
        await visit.open(f"#/c/{visit.get('/conversations')['conversations'][0]['conversation_id']}")
        await visit.page.until(ANSWERED.format(number))
        cold.append(await visit.page.value(f"{CLICKED}({number - 1})"))
        await visit.page.value(CLOSED)
        await visit.page.until("!document.getElementById('sources')")
        cached.append(await visit.page.value(f"{CLICKED}({number - 1})"))
    log.info("cold %d to %d ms, cached %d to %d ms", min(cold), max(cold), min(cached), max(cached))
    assert min(cached) < CACHED_MS
    if is_busy():
        pytest.skip(f"The machine is too busy to judge a page that is drawn first: {min(cold)} ms")
    assert min(cold) < COLD_MS
