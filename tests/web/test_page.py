"""The web page in a browser, against the product with a model double."""

import asyncio
import base64
import io
import json
import time
from pathlib import Path
from typing import Any

import pypdf
import pytest

from devkit.doubles.openai_double import Script
from devkit.doubles.openai_talk import default_reply
from devkit.node import from_npm
from devkit.page_scenes import FALSE
from devkit.shared_data import HANDBOOK
from devkit.visits import ANSWERED, Visit
from tests.unit.orc_core.extraction.samples import pdf

AXE = "axe-core/axe.min.js"
QUESTION = "How many days of annual leave does a new employee get?"
UUID = r"/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/"
MARKUP = '<img src=x onerror="window.ran=1"><script>window.ran=1</script><svg onload=window.ran=1>'
LINKS = (
    "[a](javascript:window.ran=1) [b](JaVaScRiPt:window.ran=1) [c](java\tscript:window.ran=1) [f](vbscript:x)"
    " [d](data:text/html,x) [e](https://user:secret@evil.example/) ![g](https://evil.example/pixel.png)"
    " <a href='javascript:window.ran=1'>h</a> [i]: https://evil.example 'x' <https://evil.example/ok> {{7*7}}"
)
ALLOWED = (
    "p h2 h3 ul ol li blockquote pre code table thead tbody tr th td div hr br strong em del a span button"
)
LEGAL = {*ALLOWED.upper().split(), "svg", "use", "ARTICLE", "DETAILS", "SUMMARY", "BDI", "SMALL", "FIGURE"}
LEGAL |= {"FIGCAPTION", "rect"}


STOP_MS, STOP_SECONDS = 300, 2.0
MOST_SCRIPTS, FIRST_BYTES, SECOND_BYTES = 17, 120 * 1024, 5_000
NOTICED_SECONDS, BACK_SECONDS = 1.0, 3.0
STOPPED = """
new Promise((done) => {
  const began = performance.now();
  const look = () => {
    if (document.querySelector(".turn.is-stopping, .turn.is-stopped")) done(performance.now() - began);
    else setTimeout(look, 1);
  };
  document.getElementById("stop").click();
  look();
})
"""


async def problems_of_access(visit: Visit) -> list[Any]:
    """What axe-core finds wrong with the page as it is, by the rules of WCAG 2.2 AA and good practice."""
    axe = from_npm(AXE).read_text(encoding="utf-8")
    await visit.page.value(f"window.axe ? 1 : (() => {{ {axe}; return 1; }})()")
    tags = json.dumps(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"])
    short = "({ id, nodes }) => [id, nodes.map((each) => each.html.slice(0, 160))]"
    found: list[Any] = await visit.page.value(
        f"axe.run(document, {{ runOnly: {tags} }}).then((result) => result.violations.map({short}))"
    )
    return found


async def places(visit: Visit, selector: str) -> list[dict[str, float]]:
    """Where elements are in the window, in pixels."""
    each = "(each) => each.getBoundingClientRect().toJSON()"
    found: list[dict[str, float]] = await visit.page.value(
        f"[...document.querySelectorAll('{selector}')].map({each})"
    )
    return found


async def test_a_quote_is_marked_on_the_picture_of_its_page(visit: Visit) -> None:
    page = visit.page
    await visit.attach(HANDBOOK)
    assert await problems_of_access(visit) == []
    await visit.ask(QUESTION)
    assert await visit.texts(".turn .word") == []
    await page.value("document.querySelector('button.marker').click()")
    await page.until("document.querySelector('.marks rect')")
    turn = visit.get(f"/conversations/{await visit.conversation()}")["turns"][0]
    [first, *_] = turn["citations"]
    for wider in range(2):
        if wider:
            await page.value("document.querySelector('.zoom button:last-child').click()")
            await page.until("document.querySelector('.sheet.zoom-150')")
        drawn, sheet = await places(visit, ".marks rect"), (await places(visit, ".sheet img"))[0]
        assert len(drawn) == len(first["rectangles"]) > 0
        for shape, known in zip(drawn, first["rectangles"], strict=True):
            assert abs(sheet["left"] + known["left"] * sheet["width"] - shape["left"]) < 1
            assert abs(sheet["left"] + known["right"] * sheet["width"] - shape["right"]) < 1
            assert abs(sheet["top"] + known["top"] * sheet["height"] - shape["top"]) < 1
            assert abs(sheet["top"] + known["bottom"] * sheet["height"] - shape["bottom"]) < 1
        [frame] = await places(visit, ".frame")
        assert frame["top"] <= drawn[0]["top"] <= frame["bottom"]
    await page.value("document.getElementById('tab-text').click()")
    await page.until("document.querySelector('.page-text mark')")
    assert (await visit.texts(".page-text mark"))[0] == first["quote"]
    await page.look(width=390, height=844, dark=True)
    assert await problems_of_access(visit) == []
    assert await page.value(f"{UUID}.test(document.body.innerText)") is False


async def test_a_question_is_asked_once_and_survives_a_reload(visit: Visit) -> None:
    visit.model.script = Script(text="Word after word, and each one once. " * 6, tokens=60, delay_ms=40)
    await visit.write("Hello there")
    for _ in range(5):
        await visit.page.press("Enter")
    await visit.page.until("document.querySelector('.turn.is-streaming .text')")
    seen = len((await visit.texts(".turn .text"))[0])
    await visit.page.reload()
    await visit.page.until(f"(document.querySelector('.turn .text')?.textContent.length ?? 0) > {seen}")
    await visit.page.until(ANSWERED.format(1))
    turns = visit.get(f"/conversations/{await visit.conversation()}")["turns"]
    assert [turn["question"] for turn in turns] == ["Hello there"]
    assert (await visit.texts(".turn .text"))[0].strip() == turns[0]["answer"].strip()


@pytest.mark.parametrize("is_held", [False, True])
async def test_five_clicks_and_a_held_key_ask_once(visit: Visit, is_held: bool) -> None:
    await visit.write("Hello there")
    if is_held:
        enter = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}
        for again in range(5):
            held = {"type": "keyDown", "autoRepeat": again > 0, **enter}
            await visit.page.call("Input.dispatchKeyEvent", **held)
        await visit.page.call("Input.dispatchKeyEvent", type="keyUp", **enter)
    else:
        await visit.page.value(
            "Array.from({ length: 5 }, () => document.getElementById('send')?.click()).length"
        )
    await visit.page.until(ANSWERED.format(1))
    turns = visit.get(f"/conversations/{await visit.conversation()}")["turns"]
    assert [turn["question"] for turn in turns] == ["Hello there"]
    assert sum(url.endswith("/orc/stream") for url, _ in visit.page.posts) == 1


async def test_an_answer_goes_on_while_another_session_is_open(visit: Visit) -> None:
    visit.model.script = Script(text="One word and then another. " * 8, tokens=60, delay_ms=40)
    await visit.write("Hello there")
    await visit.page.press("Enter")
    await visit.page.until("document.querySelector('.turn.is-streaming .text')")
    left = await visit.page.value("location.hash")
    await visit.page.value("document.getElementById('new').click()")
    await visit.page.until("!document.querySelector('.turn')")
    await visit.page.value(f"location.hash = {left!r}")
    await visit.page.until(ANSWERED.format(1))
    [turn] = visit.get(f"/conversations/{await visit.conversation()}")["turns"]
    assert await visit.texts(".turn .text") == [turn["answer"].strip()]


async def test_a_stopped_answer_is_kept_and_can_be_asked_again(visit: Visit) -> None:
    visit.model.script = Script(text="This takes a while. " * 20, tokens=100, delay_ms=100)
    await visit.write("Tell me a long story")
    await visit.page.press("Enter")
    await visit.page.until(
        "document.querySelector('.turn.is-streaming .text') && !document.querySelector('#stop').disabled"
    )
    assert await visit.page.value(STOPPED) < STOP_MS
    await visit.page.until("document.querySelector('.turn.is-stopped .note')")
    [asked] = [each for each in visit.model.requests if each.body.get("stream")][-1:]
    emitted = asked.emitted
    kept = (await visit.texts(".turn .text"))[0]
    assert kept and ("This takes a while. " * 20).startswith(kept.strip())
    visit.model.script = Script(text="A short story.")
    await visit.page.value("document.querySelector('.turn .actions [aria-label=\"Answer again\"]').click()")
    await visit.page.until(ANSWERED.format(1))
    assert await visit.texts(".turn .text") == ["A short story."]
    turns = visit.get(f"/conversations/{await visit.conversation()}")["turns"]
    assert turns[-1]["replaces"] == turns[0]["turn_id"]
    # The model wrote no more of the answer that was stopped.
    assert asked.emitted == emitted < 100
    assert not asked.finished


@pytest.mark.parametrize(
    ("sentence", "note"),
    [
        (f"{FALSE} ", "You stopped this answer. Only its numbered quotes were checked."),
        ("The quay opens at seven. ", "You stopped this answer. It was not checked."),
    ],
)
async def test_a_stopped_answer_says_how_far_it_was_checked(visit: Visit, sentence: str, note: str) -> None:
    await visit.attach(HANDBOOK)
    visit.model.script = Script(text=sentence * 20, tokens=100, delay_ms=30)
    await visit.write(QUESTION)
    await visit.page.press("Enter")
    await visit.page.until("document.querySelector('.turn.is-streaming .text')?.textContent.length > 200")
    await visit.page.value(STOPPED)
    await visit.page.until("document.querySelector('.turn.is-stopped .note')")
    assert await visit.texts(".turn.is-stopped .note") == [note]


async def test_after_a_stop_no_model_call_begins_and_the_partial_answer_is_kept(visit: Visit) -> None:
    """The answer cites nothing: the checks would have it revised, by another call."""
    page = visit.page
    await visit.attach(HANDBOOK)
    calls = len(visit.model.requests)
    visit.model.script = Script(text="The quay opens at seven. " * 20, tokens=100, delay_ms=30)
    visit.model.responder = lambda asked: None if asked.sources else default_reply(asked)
    await visit.write(QUESTION)
    await page.press("Enter")
    await page.until("document.querySelector('.turn.is-streaming .text')?.textContent.length > 60")
    await page.value(STOPPED)
    stopped = time.monotonic()
    await page.until("document.querySelector('.turn.is-stopped .note')")
    [kept] = await visit.texts(".turn .text")
    await asyncio.sleep(stopped + 1.5 * STOP_SECONDS - time.monotonic())
    asked = visit.model.requests[calls:]
    assert asked
    assert [each.path for each in asked if each.at > stopped + STOP_SECONDS] == []
    await page.reload()
    await page.until("document.querySelector('.turn.is-stopped .note')")
    assert await visit.texts(".turn .question p") == [QUESTION]
    assert await visit.texts(".turn .text") == [kept]
    [turn] = visit.get(f"/conversations/{await visit.conversation()}")["turns"]
    assert (turn["status"], turn["answer"].strip()) == ("stopped", kept.strip())


async def test_texts_of_others_are_only_text(visit: Visit, tmp_path: Path) -> None:
    name = "a<img src=x onerror=window.ran=1>.txt"
    (tmp_path / name).write_text(f"The harbour opens at six. {MARKUP} {LINKS}")
    await visit.attach(tmp_path / name)
    visit.model.script = Script(
        text=f"# {MARKUP}\n\n{LINKS}\n\n> {MARKUP}\n\n| {MARKUP} |\n|---|\n| {LINKS} |\n"
    )
    await visit.ask(f"When? {MARKUP}")
    assert any(MARKUP in text for text in await visit.texts(".question p"))
    tags = await visit.page.value("[...document.querySelectorAll('.turn *')].map((each) => each.tagName)")
    assert set(tags) <= LEGAL | {"path"}
    addresses = await visit.page.value("[...document.querySelectorAll('.turn a')].map((each) => each.href)")
    assert all(address.startswith(("https://", "http://")) for address in addresses)
    assert not any("secret" in address for address in addresses)
    await visit.page.value("document.querySelectorAll('.turn a').forEach((each) => { each.target = ''; })")
    assert await visit.page.value("window.ran ?? null") is None
    kept = await visit.page.value("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    assert "harbour opens" not in kept
    assert "javascript" not in kept


async def test_only_plain_addresses_can_be_followed(visit: Visit) -> None:
    """In the module itself: the API takes links out of answers before, and both have to hold."""
    base = await visit.page.value("document.documentElement.dataset.base")
    module = f"import('{base}markdown.js')"
    dangerous = [
        *("javascript:window.ran=1", "JaVaScRiPt:1", "java\tscript:1", " javascript:1"),
        *(
            "javascript\n:1",
            "\u0001javascript:1",
            "data:text/html,x",
            "vbscript:x",
            "blob:https://a.example/1",
        ),
        *(
            "file:///etc/passwd",
            "ftp://a.example/",
            "/relative",
            "https://user:secret@a.example/",
            "//a.example",
        ),
        *("https://a.example/\u202egnp.exe", "about:blank", "view-source:x"),
        *("https://a\u200b.example/", "", "intent://x"),
    ]
    calls = f"(found) => {json.dumps(dangerous)}.map((each) => found.safeAddress(each)?.href ?? null)"
    assert await visit.page.value(f"{module}.then({calls})") == [None] * len(dangerous)
    plain = ["https://a.example/x?y=1", "http://a.example/", "mailto:ann@a.example"]
    calls = f"(found) => {json.dumps(plain)}.map((each) => found.safeAddress(each)?.href ?? null)"
    assert await visit.page.value(f"{module}.then({calls})") == plain


async def test_the_page_itself_makes_no_link_of_a_dangerous_address(visit: Visit) -> None:
    """In the module itself: the API takes such links out of answers, and both have to hold."""
    drawn = """(async (source) => {
      const base = document.documentElement.dataset.base;
      const [{ blocks }, { render }] = await Promise.all(
        [import(base + "markdown.js"), import(base + "vendor/ui.js")]);
      const place = document.createElement("div");
      render(blocks(source, () => null), place);
      const linked = place.querySelectorAll("[href]:not(use), [src]");
      const links = [...linked].map((each) => each.getAttribute("href"));
      return [links, place.textContent];
    })(SOURCE)"""
    source = (
        "[a](javascript:alert(1)) [b](data:text/html,x) [c](https://user:secret@a.example/)"
        " [d](<java\tscript:x>) ![e](https://a.example/pixel.png) [f](https://a.example/fine)\n\n"
        "| [g](vbscript:x) |\n|---|\n| <https://u:p@a.example/> |\n\n[h]\n\n[h]: javascript:alert(2)\n"
        "\n$x_{1} `http://b.example/k$` b `[open](http://b.example/s)` end\n"
    )
    links, text = await visit.page.value(drawn.replace("SOURCE", json.dumps(source)))
    assert links == ["https://a.example/fine"]
    assert "a (javascript:alert(1))" in text


async def test_paper_has_the_colours_of_light_and_no_empty_page(visit: Visit) -> None:
    page = visit.page
    preferences = f"orc.{visit.organization}.ann.preferences"
    await page.value(f"localStorage.setItem({preferences!r}, JSON.stringify({{ theme: 'dark' }}))")
    await page.reload()
    await page.until("document.documentElement?.dataset.theme === 'dark'")
    await visit.ask("Is this one page?")
    printed = (await page.call("Page.printToPDF"))["data"]
    assert len(pypdf.PdfReader(io.BytesIO(base64.b64decode(printed))).pages) == 1
    seen = "(({ color, colorScheme }) => [color, colorScheme])(getComputedStyle(document.body))"
    on_screen = await page.value(seen)
    for dark in (True, False):
        await page.look(width=1440, height=900, dark=dark)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await page.call("Emulation.setEmulatedMedia", media="print", features=[scheme])
        assert await page.value(seen) == ["rgb(29, 28, 26)", "light"] != on_screen


async def test_a_conversation_is_printed_whole_and_without_buttons(visit: Visit) -> None:
    page = visit.page
    await visit.attach(HANDBOOK)
    visit.model.script = Script(text="Employees have some working days of annual leave [S1].\n\n" * 12)
    for number in range(1, 5):
        await visit.ask(f"Question number {number} about leave?", answers=number)
    # Also if it has just been opened, and most of it is still to be drawn.
    await page.value(
        "{ const later = setTimeout; window.setTimeout = (act, ms) => later(act, ms ?? 60000); }"
    )
    opened = await page.value("location.hash")
    await page.value("location.hash = '#/'")
    await page.until("!document.querySelector('.turn')")
    await page.value(f"location.hash = {opened!r}")
    await page.until("document.querySelector('.turn:empty') && document.querySelector('.turn .sources-line')")
    printed = (await page.call("Page.printToPDF"))["data"]
    pages = [each.extract_text() for each in pypdf.PdfReader(io.BytesIO(base64.b64decode(printed))).pages]
    words = " ".join(" ".join(pages).split())
    assert len(pages) > 1
    assert [f"Question number {number} about leave?" in words for number in range(1, 5)] == [True] * 4
    assert words.count("1. harbour-handbook.pdf, page") == 4
    for button in await page.value(
        "[...document.querySelectorAll('button:not(.title)')].map((each) => each.textContent)"
    ):
        assert len(button) < 4 or button not in words
    assert "Ask" not in words and "New session" not in words


FORMULAS = r"""The area is \(A = \pi r^2\), and the energy is \[ E = mc^2 \]

$$
\begin{aligned} a &= b \\ c &= d \end{aligned}
$$

Inline $x_1^2 < y$ of \(x_n\). Prices: $5 and $10, US$5 or A$6. Broken: \(\frac{a\).

Parts: \(a\) the rent, \[12\]. \[1\] Smith, 2020. Fields: \[first_name\], \(key=value\), $first_name$.

See \[Appendix A\] and the form \(see page 5\). Set $JAVA_HOME/bin:$PATH and $HOME/a_b:$USER, not $A_B:$ÜBER.

\[Appendix B\] is last.
"""


async def test_formulas_are_drawn_and_amounts_are_not(visit: Visit) -> None:
    visit.model.script = Script(text=FORMULAS)
    await visit.ask("What is the area?")
    page = visit.page
    await page.until("document.querySelectorAll('.text math').length === 5")
    texts = await page.value("[...document.querySelectorAll('.text math')].map((each) => each.textContent)")
    assert [text.replace("\u2062", "").strip() for text in texts] == [
        "A=πr2",
        "E=mc2",
        "a=bc=d",
        "x12<y",
        "xn",
    ]
    wide = "[...document.querySelectorAll('.text math')].map((each) => each.getAttribute('display'))"
    assert await page.value(wide) == [None, "block", "block", None, None]
    shown = " ".join((await visit.texts(".turn .text"))[0].split())
    assert "Prices: $5 and $10, US$5 or A$6. Broken: \\(\\frac{a\\)." in shown
    parts = "Parts: (a) the rent, [12]. [1] Smith, 2020."
    assert f"{parts} Fields: [first_name], (key=value), $first_name$." in shown
    assert "See [Appendix A] and the form (see page 5)." in shown
    assert "Set $JAVA_HOME/bin:$PATH and $HOME/a_b:$USER, not $A_B:$ÜBER." in shown
    assert shown.endswith("[Appendix B] is last.")
    assert page.problems == []


HOSTILE_FORMULAS = (
    r"\(\href{javascript:alert(1)}{x}\)", r"\(\url{https://evil.example}\)", r"\(\class{notice}{x}\)",
    r"\(\includegraphics{https://evil.example/pixel.png}\)", r"\(\style{position:fixed; inset:0}{x}\)",
    r"\(\def\a{\a\a}\a\)", r"\(" + "{" * 900 + "x" + "}" * 900 + r"\)", r"\(\rule{9999em}{9999em}\)",
)  # fmt: skip


async def test_a_formula_brings_no_link_no_picture_and_no_style_of_its_choice(visit: Visit) -> None:
    drawn = """(async (sources) => {
      const base = document.documentElement.dataset.base;
      const [{ blocks }, { render }] = await Promise.all(
        [import(base + "markdown.js"), import(base + "vendor/ui.js"), import(base + "vendor/math.js")]);
      const place = document.createElement("div");
      document.body.append(place);
      const began = performance.now();
      render(blocks(`${sources.join("\\n\\n")}\\n\\n\\\\(x^2\\\\)`, () => null), place);
      while (!place.querySelector("msup")) await new Promise(requestAnimationFrame);
      const taken = performance.now() - began;
      const of = (selector) => place.querySelectorAll(selector).length;
      const heights = [...place.querySelectorAll("*")].map((each) => each.getBoundingClientRect().height);
      place.remove();
      const counts = [of("[href]"), of("[src]"), of(".notice"), of("[style*=fixed]")];
      return [...counts, Math.max(...heights) < 2000, taken < 5000];
    })(SOURCES)"""
    seen = await visit.page.value(drawn.replace("SOURCES", json.dumps(HOSTILE_FORMULAS)))
    assert seen == [0, 0, 0, 0, True, True]
    assert visit.page.problems == []


async def test_emphasis_ends_before_the_mark_of_a_citation(visit: Visit) -> None:
    drawn = """(async () => {
      const base = document.documentElement.dataset.base;
      const [{ blocks, withPlaces }, { render }] =
        await Promise.all([import(base + "markdown.js"), import(base + "vendor/ui.js")]);
      const place = document.createElement("div");
      const marked = withPlaces("**28 days.**[1] left", [{ start: 12, end: 15, index: 0 }]);
      render(blocks(marked, () => "(1)"), place);
      return [place.querySelector("strong")?.textContent, place.textContent.trim()];
    })()"""
    assert await visit.page.value(drawn) == ["28 days.", "28 days.(1) left"]


async def test_a_block_that_cannot_be_drawn_takes_no_other_with_it(visit: Visit) -> None:
    drawn = """(async (sources) => {
      const base = document.documentElement.dataset.base;
      const [{ blocks }, { render }] = await Promise.all(
        [import(base + "markdown.js"), import(base + "vendor/ui.js")]);
      return sources.map((source) => {
        const place = document.createElement("div");
        const began = performance.now();
        render(blocks(`Before.\\n\\n${source}\\n\\n**After.**`, () => null), place);
        const [first, block, last] = place.children;
        return [first.textContent, block.textContent.trim() === source.trim(), last.innerHTML,
          performance.now() - began < 5000];
      });
    })(SOURCES)"""
    hostile = [
        "> " * 20_000 + "x",
        "- " * 5_000 + "x",
        "1. " * 5_000 + "x",
        ">- " * 5_000 + "x",
        "*a_" * 20_000,
    ]
    seen = await visit.page.value(drawn.replace("SOURCES", json.dumps(hostile)))
    assert seen == [["Before.", True, '<p dir="auto"><strong>After.</strong></p>', True]] * len(hostile)


async def test_the_menu_switches_tools_and_gives_the_focus_back(visit: Visit) -> None:
    page = visit.page
    await page.value("document.getElementById('plus').focus()")
    await page.press("Enter")
    await page.until("document.querySelector('#plus-menu:popover-open')")
    assert len(await visit.texts("#plus-menu #attach")) == 1
    assert await problems_of_access(visit) == []
    await page.press("Escape")
    assert await page.value("document.activeElement.id") == "plus"
    await page.press("Enter")
    await page.until("document.querySelector('#plus-menu:popover-open')")
    for kind in ("mousePressed", "mouseReleased"):
        await page.call("Input.dispatchMouseEvent", type=kind, x=720, y=300, button="left", clickCount=1)
    await page.until("!document.querySelector('#plus-menu:popover-open')")
    toggles = "[...document.querySelectorAll('#plus-menu .toggle')]"
    search = f"{toggles}.find((each) => each.textContent.includes('Search passages'))"
    await page.value(f"document.getElementById('plus').click(), {search}.click()")
    await page.until(
        "!document.querySelector('#plus-menu:popover-open') && document.querySelector('.chips .is-off')"
    )
    assert await page.value(f"{search}.getAttribute('aria-pressed')") == "false"
    await visit.ask("Hello")
    await page.reload()
    await page.until("document.querySelector('.chips .is-off')")
    await page.value("document.getElementById('new').click()")
    await page.until("!document.querySelector('.chips')")


async def ask_with_tools(visit: Visit, number: int) -> tuple[dict[str, bool], list[str]]:
    """Ask again: the tools that the request names, and the steps that the page shows of the answer."""
    await visit.ask(f"How many days of leave does an employee get? Attempt {number}.", answers=number)
    asked = [json.loads(body) for url, body in visit.page.posts if url.endswith("/orc/stream")]
    turn = visit.get(f"/conversations/{await visit.conversation()}")["turns"][number - 1]
    assert turn["choices"]["tools"] == asked[-1]["tools"]
    await visit.why(".turn.is-last")
    return asked[-1]["tools"], await visit.texts(".turn.is-last .why .steps li")


async def test_a_tool_that_is_switched_off_is_not_used_until_it_is_on_again(
    visit: Visit, tmp_path: Path
) -> None:
    page = visit.page
    (tmp_path / "leave.pdf").write_bytes(pdf("Every employee of the harbour has 28 days of leave."))
    await visit.attach(tmp_path / "leave.pdf")
    tools, [step] = await ask_with_tools(visit, 1)
    assert (tools, step.startswith("Searching passages")) == ({}, True)
    toggles = "[...document.querySelectorAll('#plus-menu .toggle')]"
    search = f"{toggles}.find((each) => each.textContent.includes('Search passages'))"
    await page.value(f"document.getElementById('plus').click(), {search}.click()")
    for number in (2, 3):
        tools, [step] = await ask_with_tools(visit, number)
        assert (tools, step.startswith("Searching pages")) == ({"semantic_search": False}, True)
        steps = await visit.why(".turn.is-last")
        assert "“Search passages” is switched off by you." in steps
        await page.reload()
        await page.until(f"{ANSWERED.format(number)} && document.querySelector('.chips .is-off')")
    await page.value(f"document.getElementById('plus').click(), {search}.click()")
    await page.until(f"{search}.getAttribute('aria-pressed') === 'true' && !document.querySelector('.chips')")
    # An answer that is asked for again has the tools that are on now.
    await visit.click(".turn.is-last [aria-label='Answer again']")
    await visit.sees(".turn.is-last.is-answered .versions")
    assert visit.get(f"/conversations/{await visit.conversation()}")["turns"][-1]["choices"]["tools"] == {}
    await visit.why(".turn.is-last")
    [step] = await visit.texts(".turn.is-last .why .steps li")
    assert step.startswith("Searching passages")


async def test_a_second_visit_loads_nothing_that_the_browser_has(visit: Visit) -> None:
    page = visit.page
    await visit.ask("Hello")
    first = {url: size for url, size in page.received if "/api/" not in url}
    assert sum(url.endswith(".js") for url in first) <= MOST_SCRIPTS
    assert all(first.values())
    # With the headers of each file.
    assert sum(first.values()) <= FIRST_BYTES
    await page.open("about:blank")
    page.received.clear()
    await visit.open()
    await visit.sees(".session a")
    again = dict(page.received)
    assert {url for url in first if url.endswith(".js")} <= again.keys()
    assert 0 < again[visit.address] < sum(again.values()) <= SECOND_BYTES


async def test_after_a_lost_connection_the_page_asks_again_what_the_server_offers(visit: Visit) -> None:
    """The server may have been started again with a model, while the page says that there is none."""
    await visit.attach(HANDBOOK)
    session = await visit.page.value("location.hash")
    store = "import(document.documentElement.dataset.base + 'store.js')"
    shown = "{ me.value = { ...me.value, offline_model: true }; }"
    await visit.page.value(f"{store}.then(({{ me }}) => {shown})")
    await visit.click("#new")
    await visit.page.until("!document.querySelector('.file')")
    await visit.page.value("""{
      const real = window.fetch;
      window.fetch = (...asked) => {
        if (!String(asked[0]).endsWith("/documents")) return real(...asked);
        window.fetch = real;
        return Promise.reject(new TypeError("away"));
      };
    }""")
    await visit.page.value(f"location.hash = {session!r}")
    await visit.page.until("document.querySelector('.file') && !document.querySelector('.composer .badge')")


async def test_a_failure_says_why_and_keeps_the_question(visit: Visit) -> None:
    await visit.attach(HANDBOOK)
    await visit.ask(QUESTION)
    answer = await visit.texts(".turn .text")
    loaded = "performance.getEntriesByType('resource').some((each) => each.name.endsWith('/picture.js'))"
    await visit.page.until(loaded)  # what shows a source comes behind the answer
    began = time.monotonic()
    await visit.page.connected(False)
    await visit.page.until("document.querySelector('.banner')")
    assert time.monotonic() - began < NOTICED_SECONDS
    assert await visit.texts(".turn .text") == answer
    await visit.click("button.marker")
    await visit.sees(".quote-box .quote")
    await visit.page.press("Escape")
    await visit.write("Are you there?")
    assert await visit.page.value("document.getElementById('send').disabled") is True
    began = time.monotonic()
    await visit.page.connected(True)
    await visit.page.until("!document.querySelector('.banner')")
    assert time.monotonic() - began < BACK_SECONDS
    await visit.page.press("Enter")
    await visit.page.until(ANSWERED.format(2))
    visit.page.problems.clear()


@pytest.mark.parametrize(("language", "said"), [("de", "Neuer Chat"), ("fr", "Nouvelle discussion")])
async def test_words_are_those_of_the_language_that_is_chosen(visit: Visit, language: str, said: str) -> None:
    await visit.page.value("document.querySelector('button.foot-link').click()")
    await visit.page.until("document.querySelector('dialog[open] select')")
    assert await problems_of_access(visit) == []
    choose = (
        "(each) => { each.value = LANGUAGE; each.dispatchEvent(new Event('change', { bubbles: true })); }"
    )
    chosen = choose.replace("LANGUAGE", json.dumps(language))
    await visit.page.value(f"({chosen})(document.querySelectorAll('dialog select')[1])")
    await visit.page.until(f"document.documentElement.lang === {language!r}")
    await visit.page.press("Escape")
    await visit.page.until("!document.querySelector('dialog')")
    assert said in (await visit.texts("#new"))[0]
    await asyncio.sleep(0)


async def test_a_shared_document_is_asked_by_its_context(visit: Visit) -> None:
    page = visit.page
    await page.value("location.hash = '#/contexts'")
    await page.until("document.querySelector('.admin form input')")
    await page.value("document.querySelector('.admin form input').focus()")
    await page.call("Input.insertText", text="Harbour 2026")
    await page.press("Enter")
    await page.until("document.querySelector('.add-member')")
    await page.attach(".admin input[type=file]", HANDBOOK)
    # Its row is there while it is sent: it can be asked once it is stored.
    status = "document.querySelector('.admin .file-status')?.textContent"
    await page.until(f"/You can ask now|Ready/.test({status})")
    assert await problems_of_access(visit) == []
    await page.value("document.getElementById('new').click()")
    await page.until("document.getElementById('plus')")
    await page.value("document.getElementById('plus').click()")
    toggles = "[...document.querySelectorAll('.menu .toggle')]"
    named = f"{toggles}.find((each) => each.textContent.includes('Harbour 2026'))"
    await page.until(named)
    await page.value(f"{named}.click()")
    await visit.ask(QUESTION)
    asked = [json.loads(body) for url, body in page.posts if url.endswith("/orc/stream")]
    [context] = visit.get("/contexts")["contexts"]
    assert asked[0]["contexts"] == [{"type": context["type"], "id": context["context_id"]}]
    await page.value("document.querySelector('button.marker').click()")
    await page.until("document.querySelector('.marks rect')")
    assert "Harbour 2026" in (await visit.texts(".turn .asked"))[0]
    await page.value("location.hash = '#/telemetry'")
    await page.until("document.querySelector('.data tbody button')")
    await page.value("document.querySelector('.data tbody button').click()")
    await page.until("document.querySelector('.timeline rect')")
    await page.until("document.querySelector('.tiles dd')?.textContent === '1'")
    assert await problems_of_access(visit) == []
    assert await page.value(f"{UUID}.test(document.querySelector('.sessions').innerText)") is False
