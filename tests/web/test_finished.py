"""Answers that look finished: tables, code, links, directions, and the end that stays in view."""

from pathlib import Path
from xml.etree import ElementTree

from devkit.doubles.openai_double import Reply, Script
from devkit.visits import ANSWERED, Visit
from tests.web.test_access import SAVING, saved
from tests.web.test_page import problems_of_access
from tests.web.test_reading import CRANE, LEAVE, QUAY, attach_rules

TABLE = "| City | Hotel in the harbour |\n|---|---|\n| Rotterdam | 150 |\n| Lisbon, old town | 120 |\n"
TEXT = (
    f"{TABLE}\n```python\nprint(1)\n```\n\n"
    "See [the rules](https://example.org/rules?a=1) now.\n\nשלום עולם.\n\n- [x] done\n- [ ] open\n"
)
COPIED = """
(() => {
  window.copied = [];
  const take = (value) => { window.copied.push(value); return Promise.resolve(); };
  Object.defineProperty(navigator, "clipboard", { configurable: true, value: {
    writeText: take,
    write: async ([item]) => {
      window.plain = await (await item.getType("text/plain")).text();
      return take(await (await item.getType("text/html")).text());
    },
  } });
})()
"""
BELOW = (
    "(() => { const box = document.querySelector('.scroller');"
    " return box.scrollHeight - box.scrollTop - box.clientHeight; })()"
)


async def test_an_answer_is_shown_with_its_form(visit: Visit) -> None:
    page = visit.page
    await page.look(width=320, height=640)
    visit.model.script = Script(text=TEXT)
    await visit.ask("Tell me")
    # A word is not broken: each is on one line.
    heights = "[...document.querySelectorAll('.text td')].map((each) => each.getClientRects()[0].height)"
    assert max(await page.value(heights)) < 70
    broken = """[...document.querySelectorAll('.text td, .text th')].filter((each) => {
      const range = document.createRange();
      const text = each.firstChild;
      return each.textContent.split(" ").some((word) => {
        const start = text.textContent.indexOf(word);
        range.setStart(text, start);
        range.setEnd(text, start + word.length);
        return range.getClientRects().length > 1;
      });
    }).map((each) => each.textContent)"""
    assert await page.value(broken) == []
    assert await page.value("document.documentElement.scrollWidth") == 320
    assert "the rules (example.org) now." in " ".join(await visit.texts(".text p"))
    assert (
        await page.value("getComputedStyle([...document.querySelectorAll('.text p')].at(-1)).direction")
        == "rtl"
    )
    assert await page.value("getComputedStyle(document.querySelector('.text li')).listStyleType") == "none"


async def test_tables_and_code_leave_with_their_form(visit: Visit) -> None:
    page = visit.page
    visit.model.script = Script(text=TEXT)
    await visit.ask("Tell me")
    await page.value(COPIED)
    await visit.click(".tools [aria-label='Copy the table']")
    await page.until("window.copied.length === 1")
    await visit.click(".tools [aria-label='Copy the code']")
    await page.until("window.copied.length === 2")
    table, code = await page.value("window.copied")
    assert "<td" in table and "Lisbon, old town" in table
    assert code == "print(1)"
    await page.value(SAVING)
    await visit.click(".tools [aria-label^='Save as a spreadsheet']")
    name, content = await saved(visit)
    assert name == "Table.csv"
    assert content.decode("utf-8-sig").splitlines() == [
        '"City","Hotel in the harbour"',
        '"Rotterdam","150"',
        '"Lisbon, old town","120"',
    ]


CODE = """```python
print("a", 28)  # two values
```

```bash
orc serve --port=8080 "$HOME"  # not a comment: https://a.example/#b
```

```
print("a", 28)
```
"""


async def test_code_has_colours_and_is_copied_as_it_is(visit: Visit) -> None:
    page = visit.page
    visit.model.script = Script(text=CODE)
    await visit.ask("Tell me")
    blocks = "[...document.querySelectorAll('.text pre')]"
    await page.until(f"{blocks}.filter((each) => each.querySelector('span')).length === 2")
    spans = "[...each.querySelectorAll('span')].map((one) => [one.className, one.textContent])"
    python, bash, plain = await page.value(f"{blocks}.map((each) => {spans})")
    assert python == [
        ["code-call", "print"],
        ["code-text", '"a"'],
        ["code-number", "28"],
        ["code-comment", "# two values"],
    ]
    assert [kind for kind, _ in bash] == ["code-number", "code-text", "code-comment"]
    assert plain == []
    assert await page.value(f"{blocks}.map((each) => each.textContent)") == [
        'print("a", 28)  # two values',
        'orc serve --port=8080 "$HOME"  # not a comment: https://a.example/#b',
        'print("a", 28)',
    ]
    # Each can be read in both colours.
    for dark in (False, True):
        await page.look(width=1440, height=900, dark=dark)
        assert await problems_of_access(visit) == []
    await page.value(COPIED)
    await visit.click(".tools [aria-label='Copy the code']")
    await page.until("window.copied.length === 1")
    assert await page.value("window.copied[0]") == 'print("a", 28)  # two values'


async def test_an_answer_leaves_with_one_list_of_its_sources(visit: Visit, tmp_path: Path) -> None:
    page = visit.page
    await attach_rules(visit, tmp_path)
    await page.value(COPIED)
    await visit.click('.actions [aria-label="Copy with sources"]')
    await page.until("window.copied.length === 1")
    text = await page.value("window.plain")
    answer, first, second = text.replace("\n\n", "\n").split("\n")
    assert answer == f"{LEAVE} [1] {CRANE} [2] {QUAY} [1]"
    assert first == f"[1] rules.pdf, page 1: “{LEAVE}” (same words); “{QUAY}” (same words)"
    assert second == f"[2] rules.pdf, page 2: “{CRANE}” (same words)"
    # What is selected has no numbers of markers in it.
    selected = (
        "(getSelection().selectAllChildren(document.querySelector('.turn .text')), `${getSelection()}`)"
    )
    assert " ".join((await page.value(selected)).split()) == f"{LEAVE} {CRANE} {QUAY}"


async def test_an_answer_is_copied_with_its_form(visit: Visit, tmp_path: Path) -> None:
    page = visit.page
    await attach_rules(visit, tmp_path)
    said = f"**{LEAVE}** [S1]\n\n- {QUAY} [S1]\n- {CRANE} [S2]\n\n{TABLE}"
    visit.model.responder = lambda asked: (
        Reply(text=said) if asked.sources and not asked.schema_asked else None
    )
    await visit.ask("What are the rules of the harbour, of the quay and of the crane, again?", answers=2)
    await page.value(COPIED)
    await page.value(
        "[...document.querySelectorAll('.actions [aria-label=\"Copy with sources\"]')].at(-1).click()"
    )
    await page.until("window.copied.length === 1")
    [pasted] = await page.value("window.copied")
    whole = ElementTree.fromstring(pasted.replace(' xmlns="http://www.w3.org/1999/xhtml"', ""))
    assert [each.text for each in whole.iter("strong")] == [LEAVE]
    assert ["".join(each.itertext()) for each in whole.iter("li")] == [f"{QUAY} [1]", f"{CRANE} [2]"]
    assert len(list(whole.iter("td"))) == 4
    assert [*whole.iter("button"), *whole.iter("svg")] == []
    # Each cited page once, as in the plain text.
    plain: str = await page.value("window.plain")
    assert ["".join(each.itertext()) for each in whole.findall("p")] == plain.splitlines()[-2:]
    assert [line[:3] for line in plain.splitlines()[-2:]] == ["[1]", "[2]"]


async def test_an_answer_is_copied_while_there_is_no_connection(visit: Visit) -> None:
    page = visit.page
    await visit.ask("Hello")
    await page.until(
        "performance.getEntriesByType('resource').some(({ name }) => name.endsWith('copies.js'))"
    )
    await page.value(COPIED)
    await page.connected(False)
    await visit.click('.actions [aria-label="Copy with sources"]')
    await page.until("window.copied.length === 1")
    await page.connected(True)


async def test_a_copy_has_the_quote_marks_of_the_page(visit: Visit, tmp_path: Path) -> None:
    page = visit.page
    await attach_rules(visit, tmp_path)
    await page.value(
        "import(document.documentElement.dataset.base + 'store.js')"
        ".then((store) => { store.prefer({ language: 'de' }); })"
    )
    await visit.sees('.actions [aria-label="Mit Quellen kopieren"]')
    await page.value(COPIED)
    await visit.click('.actions [aria-label="Mit Quellen kopieren"]')
    await page.until("window.copied.length === 1")
    assert f"„{LEAVE}“" in await page.value("window.plain")


async def test_footnotes_stand_below_with_their_numbers(visit: Visit) -> None:
    visit.model.script = Script(
        text="The quay opens early[^1] and late[^b].\n\n[^1]: At **seven**.\n[^b]: At ten.\n"
    )
    await visit.ask("Tell me")
    assert await visit.texts(".text p:not(.footnote) sup") == ["1", "b"]
    assert await visit.texts(".text .footnote") == ["1 At seven.", "b At ten."]
    assert await visit.texts(".text .footnote strong") == ["seven"]
    assert "[^" not in "".join(await visit.texts(".text"))


async def test_the_end_stays_in_view_once_one_has_gone_there(visit: Visit) -> None:
    page = visit.page
    visit.model.script = Script(text="One line of an answer.\n\n" * 120, tokens=120, delay_ms=60)
    await visit.write("Tell me a long story")
    await page.press("Enter")
    await page.until(f"{BELOW} > 500")
    # A reader of the beginning is not moved.
    assert await page.value("document.querySelector('.question').getBoundingClientRect().top") > 0
    await visit.click(".to-end")
    before = await page.value("document.querySelector('.scroller').scrollHeight")
    await page.until(f"document.querySelector('.scroller').scrollHeight > {before} + 300")
    assert await page.value(BELOW) < 60
    await page.until(ANSWERED.format(1))


async def test_a_greeting_has_no_mark_of_a_missing_source(visit: Visit) -> None:
    visit.model.script = Script(text="Hello! How can I help?")
    await visit.ask("Hello")
    assert await visit.texts(".marker") == []
    assert await visit.texts(".answer .note") == []
