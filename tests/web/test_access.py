"""What people with a keyboard, a screen reader, a small window or large letters meet, and what stays true."""

import base64
import io
import math
import time
from collections.abc import Sequence
from pathlib import Path

import docx
import pypdf

from devkit.doubles.openai_double import Reply, Script, default_reply
from devkit.page_scenes import HOTEL, another_version
from devkit.shared_data import HANDBOOK
from devkit.system import upload
from devkit.visits import ANSWERED, Visit
from tests.unit.orc_core.extraction.samples import pdf

LEAVE = "Every employee of the harbour has 28 days of annual leave."
QUAY = "The quay opens at seven in the morning."
FOCUSED = """
(() => {
  const at = document.activeElement;
  const { left, top, width, height } = at.getBoundingClientRect();
  const over = document.elementFromPoint(left + width / 2, top + Math.min(height / 2, 20));
  const outline = getComputedStyle(at).outlineStyle !== "none" || at.closest(".composer") !== null;
  return { name: at.id || at.getAttribute("aria-label") || at.textContent, tag: at.tagName,
    seen: at.matches(":focus-visible") && outline,
    covered: !(over && (at.contains(over) || over.contains(at))) };
})()
"""
SMALL = """
[...document.querySelectorAll("button, a, input, select, textarea, summary")].filter((each) => {
  const { width, height } = each.getBoundingClientRect();
  const isShown = each.checkVisibility({ visibilityProperty: true }) && width > 1 && !each.closest(".skip");
  return isShown && (width < 24 || height < 24) && getComputedStyle(each).display !== "inline";
}).map((each) => each.outerHTML.slice(0, 120))
"""
WIDER = """
[...document.querySelectorAll("html, body, .scroller, #sources")]
  .filter((each) => each.scrollWidth > each.clientWidth + 1).map((each) => each.className || each.tagName)
"""
SAVING = """
HTMLAnchorElement.prototype.click = function () {
  window.saved = [this.download, window.made];
  document.body.append("");
};
(() => {
  const make = URL.createObjectURL;
  URL.createObjectURL = (blob) => { window.made = blob; return make(blob); };
})()
"""
"""The browser's own window for files is not opened."""
SAVED = """
(async () => {
  const [name, blob] = window.saved;
  window.saved = null;
  const reader = new FileReader();
  await new Promise((done) => { reader.onload = done; reader.readAsDataURL(blob); });
  return [name, reader.result.split(",")[1]];
})()
"""
SPOKEN = """
window.spoken = [];
new MutationObserver((changes) => {
  const live = "[role=status], [role=alert], [role=log], [aria-live]";
  const element = (node) => node.nodeType === Node.ELEMENT_NODE ? node : node.parentElement;
  const within = (node) => [element(node)?.closest(live), ...node.querySelectorAll?.(live) ?? []];
  const around = changes.map(({ target }) => element(target)?.closest(live));
  const fresh = changes.flatMap(({ addedNodes }) => [...addedNodes].flatMap(within));
  for (const each of new Set([...around, ...fresh])) {
    if (each?.textContent) spoken.push([each.getAttribute("role"), each.textContent]);
  }
}).observe(document.body, { subtree: true, childList: true, characterData: true });
"""
"""Each text of a region that screen readers follow, also if the region is new."""
TOKENS, EACH_SECONDS = 2000, 10


async def focused(visit: Visit) -> dict[str, object]:
    """What has the focus, which is seen and not covered."""
    found: dict[str, object] = await visit.page.value(FOCUSED)
    assert found["tag"] != "BODY", found
    assert found["seen"], found
    assert not found["covered"], found
    return found


async def tab_to(visit: Visit, *names: str, back: bool = False) -> None:
    """Press Tab until one of these has the focus."""
    for _ in range(60):
        await visit.page.press("Tab", modifiers=8 if back else 0)
        if (await focused(visit))["name"] in names:
            return
    raise AssertionError(f"{names} are not reached by Tab")


async def keys(visit: Visit, *pressed: str) -> None:
    for key in pressed:
        await visit.page.press(key)


async def test_everything_can_be_done_with_the_keyboard(visit: Visit) -> None:
    page = visit.page
    await attach_with_keys(visit)
    await page.value("document.getElementById('question').focus()")
    await tab_to(visit, "plus")
    await keys(visit, "Enter")
    await tab_to(visit, "Advanced")
    # The first tool below it.
    await keys(visit, "Enter", "Tab", "Enter")
    await page.until("document.querySelector('.chips li')")
    assert (await focused(visit))["name"] == "plus"
    await tab_to(visit, "question", back=True)
    await visit.page.call("Input.insertText", text=HOTEL)
    await keys(visit, "Enter")
    await page.until(ANSWERED.format(1))
    assert (await focused(visit))["name"] == "question"
    label = await page.value("document.querySelector('button.marker').getAttribute('aria-label')")
    await tab_to(visit, label, back=True)
    await keys(visit, "Enter")
    await visit.sees(".marks rect")
    assert (await focused(visit))["name"] == "sources"
    await tab_to(visit, "tab-picture")
    await tab_to(visit, "Larger")
    await keys(visit, "Enter")
    await visit.sees(".sheet.zoom-150")
    await keys(visit, "PageDown")
    await page.until("!document.querySelector('.marks rect')")
    await keys(visit, "Escape")
    await page.until("!document.getElementById('sources')")
    await page.until("document.activeElement.matches('button.marker')")
    assert (await focused(visit))["name"] == label
    await change_the_session(visit)


async def attach_with_keys(visit: Visit) -> None:
    """Open the "+" menu and choose files; which ones is a matter of the browser's own window."""
    page = visit.page
    await page.call("Page.setInterceptFileChooserDialog", enabled=True)
    await page.value(
        "document.getElementById('picker').addEventListener('click', () => { window.picked = true; })"
    )
    await page.value("document.getElementById('question').focus()")
    await tab_to(visit, "plus")
    await keys(visit, "Enter", "Tab")
    assert (await focused(visit))["name"] == "attach"
    await keys(visit, "Enter")
    assert await page.value("window.picked === true && !document.querySelector('#plus-menu:popover-open')")
    assert (await focused(visit))["name"] == "plus"
    await visit.attach(HANDBOOK)


async def test_an_answer_is_stopped_with_the_keyboard(visit: Visit) -> None:
    page = visit.page
    for key in ("Enter", "Escape"):
        visit.model.script = Script(text="This takes a while. " * 20, tokens=100, delay_ms=100)
        await visit.write("Tell me a long story")
        await page.press("Enter")
        await page.until("document.querySelector('#stop:not(:disabled)')")
        if key == "Enter":
            await tab_to(visit, "stop")
        await keys(visit, key)
        stopped = 1 if key == "Enter" else 2
        await page.until(f"document.querySelectorAll('.turn.is-stopped').length === {stopped}")
        await focused(visit)


async def test_citations_and_pages_are_turned_with_the_keyboard(visit: Visit, tmp_path: Path) -> None:
    page = visit.page
    visit.model.responder = lambda asked: (
        Reply(text=f"{LEAVE} [S1] {QUAY} [S1]") if asked.sources and not asked.schema_asked else None
    )
    (tmp_path / "rules.pdf").write_bytes(pdf(f"{LEAVE} {QUAY}", "Another page."))
    await visit.attach(tmp_path / "rules.pdf")
    await visit.ask("What are the rules of the harbour?")
    await tab_to(
        visit,
        await page.value("document.querySelector('button.marker').getAttribute('aria-label')"),
        back=True,
    )
    await keys(visit, "ArrowRight")
    assert str((await focused(visit))["name"]).startswith("1: Page 1 of rules.pdf")
    await keys(visit, "ArrowLeft", "Enter")
    quote = "document.querySelector('.quote-box .is-current .quote')?.textContent"
    await page.until(f"{quote}?.includes('leave')")
    await page.until("document.activeElement.id === 'sources'")
    await keys(visit, "ArrowRight")
    await page.until(f"{quote}?.includes('quay')")
    await focused(visit)
    await keys(visit, "PageDown")
    await page.until("document.querySelector('.toolbar').textContent.includes('Page 2')")
    await focused(visit)
    await keys(visit, "PageUp")
    await visit.sees(".marks rect")
    await tab_to(visit, "Page")
    await keys(visit, "+")
    await visit.sees(".sheet.zoom-150")
    await focused(visit)


async def test_an_answer_is_read_out_without_markers_and_headings_name_their_questions(
    visit: Visit, tmp_path: Path
) -> None:
    page = visit.page
    (tmp_path / "rules.pdf").write_bytes(pdf(f"{LEAVE} {QUAY}"))
    await visit.attach(tmp_path / "rules.pdf")
    visit.model.responder = lambda asked: (
        Reply(text=f"## Leave\n\n- {LEAVE} [S1]\n- **Really**.\n\n| Group | Days |\n|---|---|\n| all | 28 |")
        if asked.sources and not asked.schema_asked
        else default_reply(asked)
    )
    await visit.ask("How many days of leave does an employee get?")
    # It is read out when the stream has ended.
    await page.until("document.querySelector('[role=log]').textContent")
    said = await page.value("document.querySelector('[role=log]').textContent")
    assert said == f"Leave\n{LEAVE}\nReally.\nGroup, Days\nall, 28"
    await visit.ask("How many days of leave, again?", answers=2)
    headings = await visit.texts(".turn h2")
    assert headings == [
        "You asked: How many days of leave does an employee get?",
        "Answer to: How many days of leave does an employee get?",
        "You asked: How many days of leave, again?",
        "Answer to: How many days of leave, again?",
    ]
    # One key leads from the question to the newest source.
    await page.value("document.getElementById('question').focus()")
    await page.press("l", modifiers=10)
    last = "document.activeElement.closest('.turn:last-child')"
    await page.until(f"{last}?.querySelector('.marker') === document.activeElement")
    # The list of keys has an entry that can be seen.
    named = "[...document.querySelectorAll('{}')].find((each) => each.textContent === '{}').click()"
    await page.value(named.format(".foot-link", "Preferences"))
    await page.until("document.querySelector('dialog select')")
    await page.value(named.format("dialog button", "Keyboard shortcuts"))
    await page.until("document.querySelector('dialog .keys')?.textContent.includes('newest answer')")


async def test_a_session_is_exported_with_the_keyboard(visit: Visit, tmp_path: Path) -> None:
    page = visit.page
    (tmp_path / "rules.pdf").write_bytes(pdf(f"{LEAVE} {QUAY}"))
    await visit.attach(tmp_path / "rules.pdf")
    await visit.ask("How many days of leave does an employee get?")
    turn = visit.get(f"/conversations/{await visit.conversation()}")["turns"][0]
    await page.value(SAVING)
    for tabs, ending in ((3, ".md"), (4, ".pdf"), (5, ".docx")):
        await page.press("k", modifiers=2)
        await page.until("document.activeElement.id === 'search'")
        await tab_to(
            visit, await page.value("document.querySelector('.session button').getAttribute('aria-label')")
        )
        await keys(visit, "Enter")
        await page.until("document.activeElement.textContent === 'Rename'")
        await keys(visit, *["Tab"] * tabs, "Enter")
        name, exported = await saved(visit)
        await focused(visit)
        assert name.endswith(ending)
        if ending == ".md":
            for citation in turn["citations"]:
                assert citation["quote"] in exported.decode()
                assert f"page {citation['page']}" in exported.decode()
        elif ending == ".docx":
            written = " ".join(each.text for each in docx.Document(io.BytesIO(exported)).paragraphs)
            assert turn["citations"][0]["quote"] in written
        else:
            assert exported.startswith(b"%PDF")
            text = " ".join(pypdf.PdfReader(io.BytesIO(exported)).pages[0].extract_text().split())
            assert turn["citations"][0]["quote"] in text


async def saved(visit: Visit) -> tuple[str, bytes]:
    """The name and the content of the file that the page has given the browser to save."""
    await visit.page.until("window.saved")
    name, content = await visit.page.value(SAVED)
    return name, base64.b64decode(content)


async def change_the_session(visit: Visit) -> None:
    """Rename, delete and bring back the session, without the pointer."""
    page = visit.page
    await page.press("k", modifiers=2)
    await page.until("document.activeElement.id === 'search'")
    menu = await page.value("document.querySelector('.session button').getAttribute('aria-label')")
    await tab_to(visit, menu)
    await keys(visit, "Enter")
    await page.until("document.activeElement.textContent === 'Rename'")
    await keys(visit, "Enter")
    await page.until("document.activeElement.className === 'rename'")
    await page.call("Input.insertText", text="Fair hotels")
    await keys(visit, "Enter")
    await page.until("document.activeElement.textContent === 'Fair hotels'")
    await tab_to(visit, "Options for Fair hotels")
    await keys(visit, "Enter")
    await page.until("document.activeElement.textContent === 'Rename'")
    await keys(visit, *["Tab"] * 7, "Enter")
    await page.until("document.activeElement.textContent === 'Undo'")
    await keys(visit, "Enter")
    await page.until("document.querySelector('.session a')?.textContent === 'Fair hotels'")


async def hear_an_answer(visit: Visit, delay_ms: float) -> list[str]:
    """Have an answer of TOKENS read out; returns the texts of status and alert regions, which are few."""
    visit.model.script = Script(text="word " * TOKENS, tokens=TOKENS, delay_ms=delay_ms)
    await visit.page.value(SPOKEN)
    began = time.monotonic()
    await visit.ask("Tell me")
    await visit.page.until("document.querySelector('[role=status].hidden').textContent.includes('ready')")
    seconds = time.monotonic() - began
    assert visit.model.requests[-1].emitted == TOKENS
    assert seconds > TOKENS * delay_ms / 1000
    spoken = await visit.page.value("spoken")
    [answer] = [text for role, text in spoken if role == "log"]
    assert answer.split() == ["word"] * TOKENS
    texts = [text for role, text in spoken if role != "log"]
    assert len(texts) <= 1 + math.ceil(seconds / EACH_SECONDS) + 1, texts
    assert (texts[0], texts[-1].startswith("Answer ready")) == ("Answering", True)
    return texts


async def test_little_is_read_out_while_an_answer_grows(visit: Visit) -> None:
    await hear_an_answer(visit, 1.0)
    live = await visit.page.value("[...document.querySelectorAll('.turn [aria-live]')].length")
    assert live == 0


async def test_small_windows_and_large_letters_hide_nothing(visit: Visit) -> None:
    """320 px is also what a window of 1280 px has at 400 %."""
    await visit.attach(HANDBOOK)
    await visit.ask(HOTEL)
    # What is clicked, and what is there then.
    states: Sequence[tuple[str, str]] = (
        ("details.why summary", "details.why[open]"),
        ("button.marker", "#sources .picture img"),
        ("#tab-text", "#sources .page-text mark"),
        ("#sources .panel-head button", "#sources .cards"),
        ("#sources .panel-head button:last-child", "body:not(:has(#sources))"),
        (".open-sessions", "#sessions"),
    )
    await visit.page.look(width=320, height=256)
    assert await visit.page.value(WIDER) == []
    assert await visit.page.value(SMALL) == []
    for state, shown in states:
        await visit.click(state)
        await visit.sees(shown)
        await visit.page.until("!document.querySelector('#sources .loading')")
        await visit.page.value("new Promise((resolve) => requestAnimationFrame(() => resolve(1)))")
        assert await visit.page.value(WIDER) == [], state
        assert await visit.page.value(SMALL) == [], state
    await visit.page.look(width=1440, height=900)
    assert await visit.page.value(SMALL) == []


async def test_a_file_that_changed_since_shows_no_rectangles(visit: Visit) -> None:
    """Also if the picture of its page is still in memory, or in the browser's cache."""
    await visit.attach(HANDBOOK)
    await visit.ask(HOTEL)
    await visit.click("button.marker")
    await visit.sees(".marks rect")
    with visit.client() as client:
        stored = upload(client, await visit.conversation(), (HANDBOOK.name, another_version()))
    assert stored.status_code == 201
    await visit.sees(".quote-box [role=status]")
    assert "replaced" in (await visit.texts(".quote-box [role=status]"))[0]
    assert await visit.texts(".picture, .page-text") == []
    await visit.page.press("Escape")
    await visit.click(".file button:last-child")
    await visit.page.until("!document.querySelector('.file')")
    settle = "(files) => files.settleRemovals()"
    await visit.page.value(f"import(document.documentElement.dataset.base + 'files.js').then({settle})")
    await visit.click("button.marker")
    await visit.sees(".quote-box [role=status]")
    assert "removed" in (await visit.texts(".quote-box [role=status]"))[0]
    quote = visit.get(f"/conversations/{await visit.conversation()}")["turns"][0]["citations"][0]["quote"]
    assert quote in (await visit.texts(".quote-box .quote"))[0]


async def test_forced_colours_keep_verdicts_and_reduced_motion_stops_it(visit: Visit) -> None:
    page = visit.page
    await visit.attach(HANDBOOK)
    await visit.ask(HOTEL)
    forced = [
        {"name": "forced-colors", "value": "active"},
        {"name": "prefers-reduced-motion", "value": "reduce"},
    ]
    await page.call("Emulation.setEmulatedMedia", features=forced)
    border = await page.value(
        "(() => { const style = getComputedStyle(document.querySelector('button.marker'));"
        " return [style.borderTopStyle, parseFloat(style.borderTopWidth)]; })()"
    )
    assert border[0] == "solid" and border[1] >= 1
    assert await page.value("Boolean(document.querySelector('button.marker .icon'))")
    visit.model.script = Script(text="A slow answer. " * 10, tokens=30, delay_ms=60)
    await visit.write("Hello there")
    await page.press("Enter")
    await page.until("document.querySelectorAll('.turn').length === 2")
    moving = "document.getAnimations().filter((each) => each.playState === 'running').length"
    assert await page.value(moving) == 0
    await page.until(ANSWERED.format(2))
