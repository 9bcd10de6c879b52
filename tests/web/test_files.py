"""Files that cannot be asked about, and files that are removed."""

import asyncio
import json
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from devkit.page_scenes import quoting
from devkit.shared_data import HANDBOOK
from devkit.visits import ANSWERED, Visit
from devkit.wider_scenes import prepare
from orc_core.grounding.closest import NOT_FOUND_ANSWER
from tests.unit.orc_core.extraction.samples import pdf
from tests.web.test_asking import BOX, refuse
from tests.web.test_collections import made

QUESTION = "How many days of leave does an employee of the harbour get?"
LEAVE = "Every employee of the harbour has 28 days of annual leave."
STAGES = (
    re.compile("Waiting"),
    re.compile("Uploading [0-9]+ %"),
    re.compile("Reading( · [0-9]+% read)?"),
    re.compile("(Processing|You can ask now)( · [0-9]+% prepared)?"),
    re.compile("Ready · 1 page · .+"),
)
"""What the widget of a file says of it, from its choice on."""
WATCHED = """
window.said = {};
new MutationObserver(() => {
  for (const each of document.querySelectorAll(".file")) {
    const name = each.querySelector("button:last-child").getAttribute("aria-label").slice("Remove ".length);
    const status = each.querySelector(".file-status").textContent;
    const before = (said[name] ??= []);
    if (before.at(-1) !== status) before.push(status);
  }
}).observe(document.body, { subtree: true, childList: true, characterData: true });
"""
UPLOADED = (
    "performance.getEntriesByType('resource')"
    ".filter((each) => each.initiatorType === 'xmlhttprequest' && each.responseStatus === 201).length"
)
STATUS = "document.querySelector('.file-status').textContent"
READ = "/^Reading · [0-9]+% read$/"
STARTED = "document.querySelector('.file progress')?.value > 0"
LINE = "The harbour has a crane with {}.\n"
LARGE_LINES, SLOW_BYTES = 12_000, 100_000
LONG_PAGES = 3000
FEW = 3
"""More files than these are one line, which opens their list."""
UPLOADS = "*/documents*"


async def attach_all(visit: Visit, folder: Path, **files: bytes) -> None:
    """Attach files by their names before `.pdf`, and wait until none is being read."""
    paths = []
    for name, content in files.items():
        paths.append(folder / f"{name}.pdf")
        paths[-1].write_bytes(content)
    await visit.page.attach("#picker", *paths)
    await indexed(visit, len(files))


async def indexed(visit: Visit, count: int) -> None:
    """Have files indexed until the page shows so many that are ready or failed."""
    if count > FEW and not await visit.page.value("Boolean(document.querySelector('.file-list'))"):
        await visit.click(".files-line")
    shown = f"document.querySelectorAll('.file.is-ready, .file.is-failed').length >= {count}"
    for _ in range(100):
        await asyncio.to_thread(visit.here.index)
        if await visit.page.value(shown):
            return
        await asyncio.sleep(0.05)
    raise AssertionError(await visit.texts(".files"))


async def slow(visit: Visit, *, bytes_per_second: int = -1, latency_ms: int = 0) -> None:
    """Have the page send so slowly, and get each response so late; as usual by default."""
    speeds = {"latency": latency_ms, "downloadThroughput": -1, "uploadThroughput": bytes_per_second}
    await visit.page.call("Network.emulateNetworkConditions", offline=False, **speeds)


def stages_of(said: Sequence[str]) -> list[int]:
    """The stages of a file as its widget said them, each one once."""
    stages = [next(n for n, words in enumerate(STAGES) if words.fullmatch(status)) for status in said]
    return [stage for before, stage in pairwise([-1, *stages]) if stage != before]


async def heard(visit: Visit) -> None:
    """Wait until the page listens to its session."""
    with visit.client() as client:
        client.patch(f"/conversations/{await visit.conversation()}", json={"title": "Heard"})
    await visit.page.until("document.querySelector('.head h1').textContent === 'Heard'")


async def stored_names(visit: Visit) -> list[str]:
    """The files that the API has of this session."""
    documents = visit.get(f"/conversations/{await visit.conversation()}/documents")["documents"]
    return sorted(each["blob_name"] for each in documents)


async def test_a_file_shows_how_much_of_it_is_sent_and_that_it_is_being_read(
    visit: Visit, tmp_path: Path
) -> None:
    page = visit.page
    (tmp_path / "log.txt").write_text("".join(LINE.format(number) for number in range(LARGE_LINES)))
    seen = """(() => {
      window.seen = [];
      new MutationObserver(() => {
        const [bar, said] = [".file progress", ".file-status"].map((each) => document.querySelector(each));
        if (bar) window.seen.push([bar.position, said.textContent, bar.getBoundingClientRect().height > 0]);
      }).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
    })()"""
    await page.value(seen)
    await slow(visit, bytes_per_second=SLOW_BYTES)
    await visit.attach(tmp_path / "log.txt")
    shown = await page.value("window.seen")
    sent = [position for position, said, _ in shown if said.startswith("Uploading")]
    assert sent == sorted(sent)
    assert len({*sent}) > 2, "it goes on with the bytes"
    # How long a file takes to read is not known at first: a bar without an end moves.
    assert {position for position, said, _ in shown if said == "Reading"} == {-1}
    assert all(is_seen for *_, is_seen in shown)


async def test_a_long_file_shows_how_much_of_it_is_read_before_it_can_be_asked_about(
    visit: Visit, tmp_path: Path
) -> None:
    """Of the first file of a chat, which the server does not know before, and of one of a collection."""
    page = visit.page
    pages = [f"Pier {number} of the harbour has {number} lamps." for number in range(LONG_PAGES)]
    (tmp_path / "piers.pdf").write_bytes(await asyncio.to_thread(pdf, *pages))
    await page.attach("#picker", tmp_path / "piers.pdf")
    for number, place in enumerate((".composer", ".admin"), 1):
        bar = f"document.querySelector('{place} .file progress')"
        await page.until(f"{bar}?.position > 0 && {bar}.position < 1 && {READ}.test({STATUS})")
        # On a slow machine the worker reads on.
        await page.until(f"{UPLOADED} === {number}")
        if place == ".composer":
            await page.value(f"location.hash = '#/contexts/{made(visit, 'workspace', 'Piers')}'")
            await visit.sees(".file-tools")
            await page.attach(".file-tools input[multiple]", tmp_path / "piers.pdf")


async def test_files_that_were_not_searched_are_named_above_the_answer(visit: Visit, tmp_path: Path) -> None:
    await attach_all(visit, tmp_path, leave=pdf(LEAVE), scan=pdf(""), blank=pdf("", ""))
    await visit.ask(QUESTION)
    [note] = await visit.texts(".answer .note.is-left")
    assert note == "Not searched: blank.pdf (has no text), scan.pdf (has no text)."
    above = "document.querySelector('.note.is-left').getBoundingClientRect().bottom"
    assert await visit.page.value(f"{above} <= document.querySelector('.text').getBoundingClientRect().top")
    await visit.page.value(
        "import(document.documentElement.dataset.base + 'store.js')"
        ".then((store) => { store.prefer({ language: 'de' }); })"
    )
    await visit.page.until(
        "document.querySelector('.note.is-left').innerText.includes('enthält keinen Text')"
    )
    await visit.click(".file [aria-label*='scan.pdf']")
    await visit.click(".file [aria-label*='blank.pdf']")
    await visit.ask(f"{QUESTION} Really?", answers=2)
    assert len(await visit.texts(".answer .note.is-left")) == 1


async def test_a_question_about_one_file_says_so_before_and_in_an_answer_that_found_nothing(
    visit: Visit, tmp_path: Path
) -> None:
    """A click on a file limits each later question, until the limit is removed."""
    page = visit.page
    placeholder = "document.getElementById('question').placeholder"
    await attach_all(visit, tmp_path, leave=pdf(LEAVE), quay=pdf("The quay opens at seven."))
    await visit.click(".file [title*='only']")
    await page.until("document.querySelector('.chips')")
    name = "leave.pdf" if "leave" in (await visit.texts(".file.is-asked"))[0] else "quay.pdf"
    assert await visit.texts(".chips li") == [f"Only {name}"]
    assert await page.value(placeholder) == f"Ask about {name} only"
    visit.model.responder = quoting(NOT_FOUND_ANSWER)
    await visit.ask("When does the ferry leave?")
    assert f"You asked about {name} only." in " ".join(await visit.texts(".answer .note.is-none"))
    await visit.click(".chips button[aria-label='Ask all files']")
    await page.until("!document.querySelector('.chips') && !document.querySelector('.file.is-asked')")
    assert await page.value(placeholder) == "Ask about your documents"
    await visit.ask("And the other ferry?", answers=2)
    turns = visit.get(f"/conversations/{await visit.conversation()}")["turns"]
    assert [turn["blob_names"] for turn in turns] == [[name], []]


async def test_a_removed_file_comes_back_if_that_is_taken_back(visit: Visit, tmp_path: Path) -> None:
    """What is typed after a click on what is gone by then is still the question."""
    await attach_all(visit, tmp_path, leave=pdf(LEAVE))
    await visit.write(QUESTION[:-3])
    for control in (".file [aria-label*='leave.pdf']", ".notice button"):
        await visit.point(control)
        await visit.page.until(f"!document.querySelector({control!r})")
        await visit.page.type_letter(QUESTION[-3] if "file" in control else QUESTION[-2])
    await visit.sees(".file")
    await visit.page.type_letter(QUESTION[-1])
    await visit.page.press("Enter")
    await visit.page.until(ANSWERED.format(1))
    assert QUESTION in (await visit.texts(".turn .question"))[0]
    documents = visit.get(f"/conversations/{await visit.conversation()}/documents")["documents"]
    assert [each["blob_name"] for each in documents] == ["leave.pdf"]


async def test_the_next_question_does_not_find_a_removed_file(visit: Visit, tmp_path: Path) -> None:
    await attach_all(visit, tmp_path, leave=pdf(LEAVE), other=pdf("The quay opens at seven."))
    await visit.ask(QUESTION)
    assert "leave.pdf" in str(
        visit.get(f"/conversations/{await visit.conversation()}")["turns"][0]["citations"]
    )
    await visit.click(".file [aria-label*='leave.pdf']")
    await visit.ask(f"{QUESTION} And which one?", answers=2)
    [_, turn] = visit.get(f"/conversations/{await visit.conversation()}")["turns"]
    assert "leave.pdf" not in str(turn["citations"])
    assert not await visit.page.value("document.querySelector('.notice')?.innerText.includes('leave.pdf')")


async def test_suggestions_go_with_the_file_that_they_may_be_about(visit: Visit, tmp_path: Path) -> None:
    await attach_all(visit, tmp_path, leave=pdf(LEAVE), other=pdf("The quay opens at seven."))
    await visit.ask(QUESTION)
    suggest = """(async () => {
      const base = document.documentElement.dataset.base;
      const { turns, change } = await import(base + 'session.js');
      change(turns.value[0], { suggestions: ['What else does leave.pdf say?'] });
    })()"""
    await visit.page.value(suggest)
    await visit.sees(".suggestions button")
    await visit.click(".file [aria-label*='leave.pdf']")
    # As when the time to take it back is over.
    settle = "(files) => files.settleRemovals()"
    await visit.page.value(f"import(document.documentElement.dataset.base + 'files.js').then({settle})")
    await visit.page.until("!document.querySelector('.suggestions')")


async def test_a_file_that_is_being_removed_is_not_asked_about(visit: Visit) -> None:
    await visit.attach(HANDBOOK)
    await visit.click(".file [aria-label*='handbook.pdf']")
    await visit.sees(".empty .drop")
    await visit.click(".notice button")
    await visit.page.until("!document.querySelector('.empty .drop')")


async def test_the_quote_of_a_removed_file_stays_and_has_no_other_pages(visit: Visit, tmp_path: Path) -> None:
    await attach_all(visit, tmp_path, leave=pdf(LEAVE, "Second page."))
    await visit.ask(QUESTION)
    await visit.click("button.marker")
    await visit.sees(".marks rect")
    assert await visit.texts(".quote-box .verdict") == ["same words"]
    await visit.sees(".toolbar [aria-label='Next page']")
    await visit.click(".file [aria-label*='leave.pdf']")
    await visit.page.until("document.querySelector('.quote-box [role=status]')")
    said = "This file has been removed. The quote is shown as it was cited."
    assert await visit.texts(".quote-box .verdict") == ["same words", said]
    assert await visit.page.value("document.querySelector('.toolbar [aria-label=\"Next page\"]')") is None


async def test_what_is_wrong_with_a_file_is_said_in_the_language_of_the_page(
    visit: Visit, tmp_path: Path
) -> None:
    await attach_all(visit, tmp_path, leave=pdf(LEAVE), broken=b"%PDF-1.7 and nothing else")
    [status] = await visit.texts(".file.is-failed .file-status")
    assert "damaged" in status
    german = "(store) => { store.prefer({ language: 'de' }); }"
    await visit.page.value(f"import(document.documentElement.dataset.base + 'store.js').then({german})")
    await visit.page.until(
        "document.querySelector('.file.is-failed .file-status').textContent.includes('beschädigt')"
    )
    visit.page.problems.clear()


async def test_failed_files_are_counted_in_the_line_of_many(visit: Visit, tmp_path: Path) -> None:
    bad = dict.fromkeys(("one", "two", "three"), b"no file")
    await attach_all(visit, tmp_path, leave=pdf(LEAVE), **bad)
    [line] = await visit.texts(".files-line")
    assert line == "4 files · 1 page · 3 cannot be read"
    visit.page.problems.clear()


async def test_a_marker_is_shown_only_with_its_citation(visit: Visit, tmp_path: Path) -> None:
    await attach_all(visit, tmp_path, leave=pdf(LEAVE))
    watch = """(() => {
      window.raw = [];
      // Each piece of the answer is drawn at once, so that none is missed.
      window.requestAnimationFrame = (act) => { act(0); return 0; };
      new MutationObserver(() => {
        const text = document.querySelector('.turn.is-streaming .text')?.innerText ?? '';
        if (text.includes('[')) window.raw.push(text);
      }).observe(document.body, { childList: true, subtree: true, characterData: true });
    })()"""
    await visit.page.value(watch)
    await visit.write(QUESTION)
    await visit.page.press("Enter")
    await visit.page.until(ANSWERED.format(1))
    await visit.sees("button.marker")
    assert await visit.page.value("window.raw") == []


async def test_a_file_without_text_can_be_chosen_if_its_pictures_are_sent(
    visit: Visit, tmp_path: Path
) -> None:
    await attach_all(visit, tmp_path, scan=pdf(""))
    chosen = "document.querySelector('.file button.file-main')"
    assert not await visit.page.value(f"Boolean({chosen})")
    send = """(async () => {
      const base = document.documentElement.dataset.base;
      const { me } = await import(base + 'store.js');
      const { pictures } = await import(base + 'session.js');
      me.value = { ...me.value, models: me.value.models.map((each) => ({ ...each, images: IMAGES })) };
      pictures.value = true;
    })()"""
    await visit.page.value(send.replace("IMAGES", "false"))
    assert not await visit.page.value(f"Boolean({chosen})")
    await visit.page.value(send.replace("IMAGES", "true"))
    await visit.page.until(chosen)


async def test_closest_passages_are_not_announced_as_sources(visit: Visit) -> None:
    await visit.ask("Hello there")
    announce = """(async () => {
      const base = document.documentElement.dataset.base;
      const { announce } = await import(base + 'stream.js');
      const { turns } = await import(base + 'session.js');
      const { said } = await import(base + 'store.js');
      announce({ ...turns.value[0].value, citations: [{ check: "quoted", closest: true }] });
      return said.value;
    })()"""
    assert await visit.page.value(announce) == "Answer ready. 1 closest passage, not an answer."


async def test_twenty_files_at_once_become_ready_and_a_damaged_one_says_why(
    visit: Visit, tmp_path: Path
) -> None:
    files = {
        f"pier{number}": pdf(f"Pier {number} of the harbour has {number} lamps.") for number in range(20)
    }
    await visit.page.value(WATCHED)
    await slow(visit, bytes_per_second=SLOW_BYTES, latency_ms=50)
    await attach_all(visit, tmp_path, **files, broken=b"no file")
    await slow(visit)
    assert await visit.page.value("document.querySelectorAll('.file.is-ready').length") == 20
    said = await visit.page.value("said")
    stages = {name: stages_of(said[f"{name}.pdf"]) for name in files}
    back = {name: each for name, each in stages.items() if each != sorted(set(each))}
    assert back == {}
    assert all(each[-1] == 4 for each in stages.values()), stages
    # A stage may be too short to be seen, but not that of every file.
    assert {0, 1, 4} <= set().union(*stages.values())
    # Three are sent at once.
    assert sum(each[0] == 0 for each in stages.values()) == 17
    assert {stage for each in stages.values() for stage in each} == {*range(len(STAGES))}
    [failed] = await visit.texts(".file.is-failed .file-status")
    assert failed.startswith("Not added: ")
    await visit.click(".file.is-failed button:last-child")
    await visit.page.until("!document.querySelector('.file.is-failed')")
    await visit.ask("How many lamps does pier 17 have?")
    assert "pier17.pdf" in str(
        visit.get(f"/conversations/{await visit.conversation()}")["turns"][0]["citations"]
    )
    visit.page.problems.clear()


async def test_a_file_that_is_removed_while_it_is_sent_is_not_stored(visit: Visit, tmp_path: Path) -> None:
    files = [tmp_path / f"{name}.txt" for name in ("sent", "kept", "other", "waiting")]
    for file in files:
        file.write_text(LINE.format(f"the canary of {file.stem}") * LARGE_LINES)
    await slow(visit, bytes_per_second=SLOW_BYTES)
    await visit.page.attach("#picker", *files)
    await visit.page.until(STARTED)
    for name in ("waiting", "sent"):
        [status] = await visit.page.value(
            f"[...document.querySelectorAll('.file')].filter((each) => each.innerText.includes('{name}.txt'))"
            ".map((each) => each.querySelector('.file-status').textContent)"
        )
        assert STAGES[0 if name == "waiting" else 1].fullmatch(status), status
        await visit.click(f".file [aria-label='Remove {name}.txt']")
        await visit.page.until(f"!document.querySelector(\".file [aria-label='Remove {name}.txt']\")")
    await slow(visit)
    await visit.page.until("document.querySelectorAll('.file button.file-main').length === 2")
    assert await stored_names(visit) == ["kept.txt", "other.txt"]
    sent = [url for method, url in visit.page.requests if method == "POST"]
    assert (len(sent), visit.page.cancelled) == (3, [sent[0]])
    kept = [each.read_bytes() for each in visit.here.folder.rglob("*") if each.is_file()]
    assert any(b"the canary of kept" in each for each in kept)
    assert not any(b"the canary of sent" in each or b"the canary of waiting" in each for each in kept)


async def test_a_file_is_stored_although_another_session_is_opened_while_it_is_sent(
    visit: Visit, tmp_path: Path
) -> None:
    await visit.ask("Hello there")
    other = await visit.conversation()
    await visit.click("#new")
    await visit.page.until("!document.querySelector('.turn')")
    await visit.write("A draft")
    (tmp_path / "quay.txt").write_text(LINE.format("a lamp") * LARGE_LINES)
    await slow(visit, bytes_per_second=SLOW_BYTES)
    await visit.page.attach("#picker", tmp_path / "quay.txt")
    await visit.page.until(STARTED)
    await visit.page.value(f"location.hash = '#/c/{other}'")
    await visit.page.until(f"{ANSWERED.format(1)} && !document.querySelector('.file')")
    await slow(visit)
    await visit.page.until("document.querySelectorAll('.session').length === 2")
    await visit.click("#new")
    await visit.page.until("!document.querySelector('.turn')")
    assert await visit.texts(".file") == []
    assert await visit.page.value(BOX) == ""
    await visit.click(f".session a:not([href$='{other}'])")
    await visit.sees(".file button.file-main")
    assert await visit.page.value(BOX) == "A draft"
    assert await stored_names(visit) == ["quay.txt"]


@pytest.mark.parametrize("window", ["this", "another"])
async def test_files_of_a_session_that_is_deleted_are_not_sent_any_more(
    visit: Visit, tmp_path: Path, window: str
) -> None:
    await visit.ask("Hello there")
    await heard(visit)
    (tmp_path / "quay.txt").write_text(LINE.format("a lamp") * LARGE_LINES)
    await slow(visit, bytes_per_second=SLOW_BYTES)
    await visit.page.attach("#picker", tmp_path / "quay.txt")
    await visit.page.until(STARTED)
    deleted = await visit.conversation()
    if window == "this":
        remove = f"(chats) => {{ chats.remove(['{deleted}'], 'Hello there'); }}"
        base = "document.documentElement.dataset.base"
        await visit.page.value(f"import({base} + 'sessions.js').then({remove})")
    else:
        with visit.client() as client:
            client.delete(f"/conversations/{deleted}")
    await visit.page.until("!document.querySelector('.turn')")
    await slow(visit)
    await visit.ask("Hello again")
    assert any(address.endswith(f"/conversations/{deleted}/documents") for address in visit.page.cancelled)
    await visit.page.until("document.querySelectorAll('.session').length === 1")
    visit.page.problems.clear()


async def test_a_file_says_how_much_of_it_is_indexed(visit: Visit, tmp_path: Path) -> None:
    file = tmp_path / "leave.pdf"
    file.write_bytes(pdf(LEAVE))
    await visit.attach(file)
    await prepare(visit, done=3, total=16)
    await visit.page.until(f"{STATUS} === 'You can ask now · 19% prepared'")
    await indexed(visit, 1)
    assert (await visit.texts(".file-status"))[0].startswith("Ready · 1 page")


async def test_the_answer_to_an_upload_does_not_undo_what_was_heard_since(
    visit: Visit, tmp_path: Path
) -> None:
    await attach_all(visit, tmp_path, quay=pdf("The quay opens at seven."))
    await visit.page.value(WATCHED)
    (tmp_path / "leave.pdf").write_bytes(pdf(LEAVE))
    async with visit.page.hold("POST", UPLOADS):
        await visit.page.attach("#picker", tmp_path / "leave.pdf")
        await indexed(visit, 2)
        assert await visit.page.value(UPLOADED) == 1
    wait = f"while ({UPLOADED} < 2) await new Promise((done) => {{ setTimeout(done, 20); }});"
    await visit.page.value(f"(async () => {{ {wait} }})()")
    await visit.page.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    stages = stages_of((await visit.page.value("said"))["leave.pdf"])
    assert (stages[-1], stages) == (len(STAGES) - 1, sorted(set(stages)))


async def test_a_file_that_is_removed_while_it_is_read_is_removed_once_it_is_stored(
    visit: Visit, tmp_path: Path
) -> None:
    (tmp_path / "leave.pdf").write_bytes(pdf(LEAVE))
    async with visit.page.hold("POST", UPLOADS):
        await visit.page.attach("#picker", tmp_path / "leave.pdf")
        await visit.page.until("document.querySelector('.file-status')?.textContent === 'Reading'")
        await visit.click(".file [aria-label='Remove leave.pdf']")
        await visit.page.until("!document.querySelector('.file')")
    await visit.page.until("document.querySelector('.notice')?.textContent.includes('leave.pdf was removed')")
    assert await stored_names(visit) == ["leave.pdf"]
    await visit.ask(QUESTION)
    assert await stored_names(visit) == []
    assert await visit.texts(".file, .marker") == []


async def test_a_file_that_is_attached_again_is_not_removed_with_the_earlier_one(
    visit: Visit, tmp_path: Path
) -> None:
    await attach_all(visit, tmp_path, leave=pdf(LEAVE))
    await visit.click(".file [aria-label='Remove leave.pdf']")
    await visit.page.until("document.querySelector('.notice')")
    (tmp_path / "leave.pdf").write_bytes(pdf("Every employee of the harbour has 31 days of annual leave."))
    async with visit.page.hold("DELETE", UPLOADS):
        await visit.page.attach("#picker", tmp_path / "leave.pdf")
        await visit.page.until("!document.querySelector('.notice')")
        assert await visit.texts(".file-status") == ["Waiting"]
        methods = [method for method, url in visit.page.requests if "/documents" in url]
        assert (methods.count("POST"), methods[-1]) == (1, "DELETE")
    await visit.sees(".file button.file-main")
    await visit.ask(QUESTION)
    assert await stored_names(visit) == ["leave.pdf"]
    assert len(await visit.texts(".file")) == 1
    assert "31 days" in (await visit.texts(".turn .text"))[0]


async def test_a_file_is_kept_if_the_one_that_it_replaces_is_removed_while_it_is_sent(
    visit: Visit, tmp_path: Path
) -> None:
    await attach_all(visit, tmp_path, leave=pdf(LEAVE))
    async with visit.page.hold("POST", UPLOADS):
        await visit.page.attach("#picker", tmp_path / "leave.pdf")
        await visit.page.until("document.querySelector('.files').textContent.includes('Reading')")
        await visit.click(".file:has(button.file-main) [aria-label='Remove leave.pdf']")
        await visit.page.until("document.querySelectorAll('.file').length === 1")
        # As when the time to take it back is over.
        await visit.page.value(
            "import(document.documentElement.dataset.base + 'files.js')"
            ".then((files) => { files.settleRemovals(); })"
        )
        await visit.write(QUESTION)
    await visit.sees(".file button.file-main")
    await visit.page.value(
        "new Promise((frame) => requestAnimationFrame(() => requestAnimationFrame(frame)))"
    )
    await visit.page.press("Enter")  # The focus is still in the text box.
    await visit.page.until(ANSWERED.format(1))
    assert await stored_names(visit) == ["leave.pdf"]
    assert len(await visit.texts(".file")) == 1


async def test_of_two_files_of_one_name_the_one_that_is_attached_last_is_kept(
    visit: Visit, tmp_path: Path
) -> None:
    """The first is sent for longer, and would take the place of the second."""
    files = [tmp_path / "first" / "leave.pdf", tmp_path / "second" / "leave.pdf"]
    contents = [pdf(LEAVE) + b"\n%" + b"x" * 4 * SLOW_BYTES, pdf(LEAVE.replace("28", "31"))]
    for file, content in zip(files, contents, strict=True):
        file.parent.mkdir()
        file.write_bytes(content)
    await slow(visit, bytes_per_second=SLOW_BYTES)
    await visit.page.attach("#picker", files[0])
    await visit.page.until(STARTED)
    await visit.page.attach("#picker", files[1])
    await visit.page.until("document.querySelector('.files').textContent.includes('Waiting')")
    await slow(visit)
    await visit.page.until(f"!document.querySelector('.file progress') && {UPLOADED} === 2")
    await visit.sees(".file button.file-main")
    await visit.ask(QUESTION)
    assert "31 days" in (await visit.texts(".turn .text"))[0]


async def test_a_file_is_kept_that_is_attached_again_after_it_was_removed_while_it_was_read(
    visit: Visit, tmp_path: Path
) -> None:
    file = tmp_path / "leave.pdf"
    file.write_bytes(pdf(LEAVE))
    async with visit.page.hold("POST", UPLOADS):
        await visit.page.attach("#picker", file)
        await visit.page.until("document.querySelector('.file-status')?.textContent === 'Reading'")
        await visit.click(".file [aria-label='Remove leave.pdf']")
        await visit.page.until("!document.querySelector('.file')")
        file.write_bytes(pdf(LEAVE.replace("28", "31")))
        await visit.page.attach("#picker", file)
        await visit.page.until("document.querySelector('.file-status')?.textContent === 'Waiting'")
    await visit.page.until(f"{UPLOADED} === 2")
    await visit.sees(".file button.file-main")
    await visit.ask(QUESTION)
    assert await stored_names(visit) == ["leave.pdf"]
    assert "31 days" in (await visit.texts(".turn .text"))[0]


async def test_a_question_is_asked_once_the_files_attached_before_it_are_stored(
    visit: Visit, tmp_path: Path
) -> None:
    """Also if one of them is refused."""
    files = [tmp_path / "leave.pdf", tmp_path / "quay.pdf", tmp_path / "broken.xyz"]
    for file, content in zip(files, [pdf(LEAVE), pdf("The quay opens at seven."), b"none"], strict=True):
        file.write_bytes(content)
    async with visit.page.hold("POST", UPLOADS):
        await visit.page.attach("#picker", *files)
        await visit.write(QUESTION)
        await visit.page.press("Enter")
        await visit.page.until("document.querySelector('.turn .working')")
        assert await visit.texts(".turn .working") == ["Waiting for 3 files"]
        assert not [url for _, url in visit.page.requests if url.endswith("/orc/stream")]
    await visit.page.until(ANSWERED.format(1))
    assert "28 days" in (await visit.texts(".turn .text"))[0]
    assert await visit.page.value(BOX) == ""
    visit.page.problems.clear()


async def test_a_question_that_waits_for_files_can_be_taken_back(visit: Visit, tmp_path: Path) -> None:
    (tmp_path / "leave.pdf").write_bytes(pdf(LEAVE))
    async with visit.page.hold("POST", UPLOADS):
        await visit.page.attach("#picker", tmp_path / "leave.pdf")
        await visit.write(QUESTION)
        for take_back in (visit.page.press("Enter"), visit.click("#stop")):
            await visit.page.value("document.getElementById('question').focus()")
            await visit.page.press("Enter")
            await visit.sees(".turn .working")
            await take_back
            await visit.page.until("!document.querySelector('.turn')")
            assert await visit.page.value(BOX) == QUESTION
    await indexed(visit, 1)
    assert await visit.texts(".turn") == []
    await visit.ask("")
    assert "28 days" in (await visit.texts(".turn .text"))[0]


async def test_a_reload_gives_a_question_back_that_waits_for_files(visit: Visit, tmp_path: Path) -> None:
    """The files that were being sent are lost, so that it would be asked without them."""
    (tmp_path / "leave.pdf").write_bytes(pdf(LEAVE))
    async with visit.page.hold("POST", UPLOADS):
        await visit.page.attach("#picker", tmp_path / "leave.pdf")
        await visit.write(QUESTION)
        await visit.page.press("Enter")
        await visit.sees(".turn .working")
        await visit.write("And next?")
        await visit.page.reload()
        await visit.page.until(f"document.getElementById('question') && {BOX}")
    assert await visit.page.value(BOX) == f"{QUESTION}\n\nAnd next?"
    assert await visit.texts(".turn") == []


async def test_a_question_that_waits_for_files_goes_with_its_session(visit: Visit, tmp_path: Path) -> None:
    (tmp_path / "leave.pdf").write_bytes(pdf(LEAVE))
    await visit.ask(QUESTION)
    async with visit.page.hold("POST", UPLOADS):
        await visit.page.attach("#picker", tmp_path / "leave.pdf")
        await visit.write("A question of a deleted session?")
        await visit.page.press("Enter")
        await visit.sees(".turn .working")
        await visit.page.value("document.querySelector('.sessions .session button').click()")
        await visit.click(".menu .toggle.is-bad")
        await visit.page.value("dispatchEvent(new Event('pagehide'))")
        await visit.page.until("!document.querySelector('.session')")
        await visit.page.until("!JSON.stringify({...sessionStorage}).includes('deleted session')")


async def test_a_file_whose_question_was_refused_becomes_ready(visit: Visit, tmp_path: Path) -> None:
    (tmp_path / "leave.pdf").write_bytes(pdf(LEAVE))
    await refuse(visit, 413, "too_large")
    async with visit.page.hold("POST", UPLOADS):
        await visit.page.attach("#picker", tmp_path / "leave.pdf")
        await visit.page.until("document.querySelector('.file-status')?.textContent === 'Reading'")
        await visit.write(QUESTION)
        await visit.page.press("Enter")
    await visit.sees(".composer .note.is-bad")
    await indexed(visit, 1)
    assert await stored_names(visit) == ["leave.pdf"]
    assert await visit.page.value(BOX) == QUESTION


async def test_a_removal_does_not_hide_a_later_file_of_the_same_name(visit: Visit, tmp_path: Path) -> None:
    await attach_all(visit, tmp_path, leave=pdf(LEAVE))
    [before] = visit.get(f"/conversations/{await visit.conversation()}/documents")["documents"]
    await visit.click(".file [aria-label='Remove leave.pdf']")
    await visit.ask(QUESTION)
    await visit.attach(tmp_path / "leave.pdf")
    hear = f"files.onDocumentEvent('document_removed', {{ document_id: '{before['document_id']}' }})"
    forget = f"files.onDocumentEvent('document', {json.dumps(before)})"
    await visit.page.value(
        f"import(document.documentElement.dataset.base + 'files.js').then((files) => {{ {forget}; {hear}; }})"
    )
    await visit.page.value("new Promise(requestAnimationFrame)")
    assert len(await visit.texts(".file")) == 1
    await visit.page.reload()
    await visit.sees(".file")


async def test_a_list_from_before_does_not_hide_a_later_file(visit: Visit, tmp_path: Path) -> None:
    await attach_all(visit, tmp_path, leave=pdf(LEAVE))
    async with visit.page.hold("GET", UPLOADS):
        read = f"files.refreshDocuments('{await visit.conversation()}').then(() => {{ window.read = true; }})"
        await visit.page.value(
            f"import(document.documentElement.dataset.base + 'files.js').then((files) => {{ {read}; }})"
        )
        await attach_all(visit, tmp_path, quay=pdf("The quay opens at seven."))
        await visit.page.until("document.querySelectorAll('.file').length === 2")
    wait = "while (!window.read) await new Promise((done) => { setTimeout(done, 20); });"
    await visit.page.value(f"(async () => {{ {wait} }})()")
    await visit.page.value("new Promise(requestAnimationFrame)")
    assert len(await visit.texts(".file")) == 2


async def test_a_removed_file_is_not_shown_again_by_a_record_from_before(
    visit: Visit, tmp_path: Path
) -> None:
    await attach_all(visit, tmp_path, leave=pdf(LEAVE))
    [record] = visit.get(f"/conversations/{await visit.conversation()}/documents")["documents"]
    await visit.click(".file [aria-label='Remove leave.pdf']")
    await visit.ask(QUESTION)

    async def shown(document: dict[str, object]) -> int:
        hear = f"files.onDocumentEvent('document', {json.dumps(document)})"
        heard = f"import(document.documentElement.dataset.base + 'files.js').then((files) => {hear})"
        await visit.page.value(heard)
        await visit.page.value("new Promise(requestAnimationFrame)")
        return len(await visit.texts(".file"))

    later = {"created_at": record["updated_at"], "updated_at": record["updated_at"]}
    assert record["created_at"] < record["updated_at"]
    assert (await shown(record), await shown(record | later)) == (0, 1)
