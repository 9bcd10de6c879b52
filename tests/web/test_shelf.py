"""The files of a session and of a context: one line, a list, folders, and files of one name."""

import asyncio
import json
from pathlib import Path

from devkit.browser import SECONDS
from devkit.system import principal_headers
from devkit.visits import Visit

QUAY = "The quay opens at seven in the morning."
DROP = """
(async (files, folder) => {
  const dropped = new DataTransfer();
  for (const [name, text] of files) dropped.items.add(new File([text], name));
  const entry = ([name, text]) => ({ isFile: true, name, file: (done) => done(new File([text], name)) });
  const reader = (entries) => ({ readEntries: (done) => done(entries.splice(0)) });
  const directory = (name, entries) => ({ isFile: false, name, createReader: () => reader([...entries]) });
  if (folder) {
    Object.defineProperty(dropped, "types", { value: ["Files"] });
    const [name, below] = folder;
    const inner = Object.entries(below).map(([each, found]) => directory(each, found.map(entry)));
    Object.defineProperty(dropped, "items", { value: [{ webkitGetAsEntry: () => directory(name, inner) }] });
  }
  dispatchEvent(new DragEvent("dragover", { dataTransfer: dropped, bubbles: true, cancelable: true }));
  while (!document.querySelector(".dropping")) await new Promise(requestAnimationFrame);
  window.invited = document.querySelector(".dropping")?.textContent ?? "";
  dispatchEvent(new DragEvent("drop", { dataTransfer: dropped, bubbles: true, cancelable: true }));
})
"""
"""Drop files, or a folder of folders: a test cannot drag from the desktop."""
SETTLED = "!/Uploading|Reading|Waiting/.test(document.querySelector('.file-list').textContent)"
REPLACE = "[...document.querySelectorAll('.is-failed button')].find((each) => each.textContent === 'Replace')"
ASKABLE = "document.querySelector('.shelf')?.dataset.askable"


async def drop(
    visit: Visit, files: dict[str, str], folder: tuple[str, dict[str, list[tuple[str, str]]]] | None = None
) -> None:
    arguments = json.dumps(list(files.items())), json.dumps(folder)
    await visit.page.value(f"({DROP})({', '.join(arguments)})")


def stored(visit: Visit, session: str) -> list[str]:
    return sorted(each["blob_name"] for each in visit.get(f"/conversations/{session}/documents")["documents"])


def shared(visit: Visit) -> str:
    """A new context of the user."""
    with visit.here.client("page", visit.organization) as client:
        client.headers.update(principal_headers(visit.organization, "ann", "orc.admin"))
        made = client.post("/contexts", json={"type": "workspace", "name": "Harbour"}).json()
    identifier: str = made["context_id"]
    return identifier


async def test_many_files_are_one_line_that_opens_their_list(visit: Visit, tmp_path: Path) -> None:
    page = visit.page
    files = [tmp_path / f"note {number}.txt" for number in (10, 2, 1, *range(3, 10))]
    for file in files:
        file.write_text(QUAY)
    await visit.attach(*files)
    await asyncio.to_thread(visit.here.index)
    await page.until("!document.querySelector('.files')")
    [line] = await visit.texts(".files-line")
    assert line.startswith("10 files · 10 pages")
    height = await page.value("document.querySelector('.shelf').offsetHeight")
    assert height < 48
    await visit.click(".files-line")
    await page.until("document.querySelectorAll('.files.is-list .file').length === 10")
    names = await page.value(
        "[...document.querySelectorAll('.files.is-list .middle')].map((each) => each.title)"
    )
    assert names == [f"note {number}.txt" for number in range(1, 11)]
    await visit.click(".files.is-list [data-file]:nth-child(2) .file-main")
    await page.until("document.querySelector('.chips')?.textContent === 'Only note 2.txt'")
    await page.value("document.querySelector('.file-tools input[type=search]').focus()")
    await page.call("Input.insertText", text="note 10")
    await page.until("document.querySelectorAll('.files.is-list .file').length === 1")
    assert (await visit.texts(".file-tools .is-bad")) == ["Remove this file"]
    await page.call("Input.insertText", text="0")
    await page.until("!document.querySelector('.files.is-list .file')")
    assert (await visit.texts(".file-tools .is-bad")) == []
    await page.value("document.execCommand('delete')")
    await visit.click(".files.is-list .file button:last-child")
    await page.press("Escape")
    await page.until("!document.querySelector('.file-list') && document.activeElement.id === 'files-line'")
    # Who writes keeps the focus.
    await visit.click(".files-line")
    await visit.sees(".file-list")
    await visit.close_while_writing(".file-list")
    assert (await visit.texts(".files-line"))[0].startswith("9 files")
    await visit.ask("When does the quay open?")
    [turn] = visit.get(f"/conversations/{await visit.conversation()}")["turns"]
    assert turn["blob_names"] == ["note 2.txt"]


async def test_a_file_of_the_list_has_its_box_in_the_middle_and_a_whole_focus_ring(
    visit: Visit, tmp_path: Path
) -> None:
    files = [tmp_path / f"{number}.txt" for number in range(4)]
    for file in files:
        file.write_text(QUAY)
    await visit.attach(*files)
    await visit.click(".files-line")
    await visit.sees(".files.is-list .file-box svg")
    await visit.page.press("Tab")
    await visit.page.value("document.querySelector('.files.is-list .file-main').focus()")
    off, ring = await visit.page.value("""(() => {
      const file = document.querySelector('.files.is-list .file-main');
      const middle = (each) => { const box = each.getBoundingClientRect(); return box.top + box.height / 2; };
      const { outlineStyle, outlineOffset, outlineWidth } = getComputedStyle(file);
      const within = -parseFloat(outlineOffset) >= parseFloat(outlineWidth);
      return [Math.abs(middle(file.querySelector('.file-box svg')) - middle(file)), [outlineStyle, within]];
    })()""")
    assert off < 1
    assert ring == ["solid", True]


async def test_a_dropped_folder_brings_its_files_by_distinct_names(visit: Visit) -> None:
    below = {
        "May": [("report.txt", f"{QUAY} May."), (".hidden.txt", "no"), ("program.exe", "no")],
        "June": [("report.txt", f"{QUAY} June.")],
    }
    await drop(visit, {}, ("reports", {name: list(files) for name, files in below.items()}))
    await visit.page.until(f"{ASKABLE} === '2'")
    assert stored(visit, await visit.conversation()) == ["report (June).txt", "report.txt"]
    said = "document.querySelector('.notice')?.textContent.includes('2 files of the folder')"
    await visit.page.until(said)
    assert "connection" not in "".join(await visit.texts(".shelf"))


async def test_a_file_of_the_same_name_is_said_and_both_can_be_kept(visit: Visit) -> None:
    page = visit.page
    await drop(visit, {"report.txt": f"{QUAY} The first."})
    await page.until(f"{ASKABLE} === '1'")
    session = await visit.conversation()

    def contents() -> dict[str, str]:
        with visit.client() as client:
            listed = client.get(f"/conversations/{session}/documents").json()["documents"]
            address = "/conversations/{}/documents/{}/content"
            return {
                each["blob_name"]: client.get(address.format(session, each["document_id"])).text[-11:].strip()
                for each in listed
            }

    async def become(wanted: dict[str, str]) -> None:
        async with asyncio.timeout(SECONDS):
            while await asyncio.to_thread(contents) != wanted:
                pass
        await page.until("!document.querySelector('.file progress')")

    await drop(visit, {"report.txt": f"{QUAY} The other."})
    await page.until("document.querySelector('.notice')?.textContent.includes('report.txt took the place')")
    assert contents() == {"report.txt": "The other."}
    await visit.click(".notice button:nth-of-type(1)")
    await page.until("!document.querySelector('.notice')")
    await become({"report.txt": "The first."})
    await drop(visit, {"report.txt": f"{QUAY} The other."})
    await page.until("document.querySelector('.notice')")
    await visit.click(".notice button:nth-of-type(2)")
    await page.until(f"{ASKABLE} === '2'")
    await become({"report.txt": "The first.", "report (2).txt": "The other."})
    # The same bytes again are no other file.
    await drop(visit, {"report.txt": f"{QUAY} The first."})
    await page.until(f"{ASKABLE} === '2' && !document.querySelector('.file progress')")
    assert await visit.texts(".notice") == []


async def test_files_dropped_on_a_context_are_stored_there(visit: Visit) -> None:
    page = visit.page
    context = shared(visit)
    await page.value("location.hash = '#/contexts'")
    await visit.sees(".admin .rows")
    await drop(visit, {"lost.txt": QUAY})
    assert "Files can be added" in await page.value("window.invited")
    await page.until("document.querySelector('.notice')?.textContent.includes('Files can be added')")
    await page.value(f"location.hash = '#/contexts/{context}'")
    await visit.sees(".file-tools")
    await drop(visit, {"quay.txt": QUAY, "broken.pdf": "%PDF-1.7 and nothing else"})
    assert "Drop the files here" in await page.value("window.invited")
    await visit.sees(".file.is-failed")
    await page.until("document.querySelector('.file-list').textContent.includes('quay.txt')")
    assert await visit.texts(".notice.is-error") == []
    # Another file of the name: one chooses.
    await drop(visit, {"quay.txt": f"{QUAY} Really."})
    await page.until("document.querySelectorAll('.file.is-failed').length === 2")
    both = (
        "[...document.querySelectorAll('.is-failed button')].find((each) => each.textContent === 'Keep both')"
    )
    await page.value(f"{both}.click()")
    await page.until(
        "document.querySelector('.file-list').textContent.includes('quay (2).txt')"
        " && !/Uploading|Reading|Waiting/.test(document.querySelector('.file-list').textContent)"
    )
    listed = visit.get(f"/contexts/{context}/documents")["documents"]
    assert sorted(each["blob_name"] for each in listed) == ["quay (2).txt", "quay.txt"]
    page.problems.clear()


async def test_a_file_of_a_taken_name_replaces_the_other_one_if_one_says_so(visit: Visit) -> None:
    page = visit.page
    context = shared(visit)
    await page.value(f"location.hash = '#/contexts/{context}'")
    await visit.sees(".file-tools")
    for text in ("The first.", "The other."):
        await drop(visit, {"quay.txt": text})
        await page.until("document.querySelector('.file-list').textContent.includes('quay.txt')")
        await page.until(
            "!/Uploading|Reading|Waiting/.test(document.querySelector('.file-list').textContent)"
        )
    await visit.sees(".file.is-failed")
    await page.value(f"{REPLACE}.click()")
    # The other one can come back.
    await page.until("document.querySelector('.notice')?.textContent.includes('quay.txt took the place')")
    assert await visit.texts(".file.is-failed") == []
    [listed] = visit.get(f"/contexts/{context}/documents")["documents"]
    with visit.client() as client:
        address = f"/contexts/{context}/documents/{listed['document_id']}/content"
        assert client.get(address).text == "The other."
    page.problems.clear()


async def test_a_replaced_file_can_come_back_although_the_list_did_not_show_it(visit: Visit) -> None:
    page = visit.page
    context = shared(visit)
    await page.value(f"location.hash = '#/contexts/{context}'")
    await visit.sees(".file-tools")
    async with page.hold("GET", f"*/contexts/{context}/documents"):
        await drop(visit, {"quay.txt": "The first."})
        await page.until("document.querySelector('.file')")
        await page.until("!document.querySelector('.file')")
        await drop(visit, {"quay.txt": "The other."})
        await visit.sees(".file.is-failed")
        await page.value(f"{REPLACE}.click()")
        await page.until("document.querySelector('.notice')?.textContent.includes('quay.txt took the place')")
    page.problems.clear()


async def test_a_refused_file_of_a_collection_stays_over_a_reload(visit: Visit) -> None:
    page = visit.page
    context = shared(visit)
    await page.value(f"location.hash = '#/contexts/{context}'")
    await visit.sees(".file-tools")
    await drop(visit, {"broken.pdf": "%PDF-1.7 and nothing else"})
    await visit.sees(".file.is-failed")
    [said] = await visit.texts(".file.is-failed .file-status")
    assert said.startswith("Not added: ")
    await page.reload()
    await page.until("document.readyState === 'complete' && document.querySelector('.file.is-failed')")
    assert await visit.texts(".file.is-failed .file-status") == [said]
    await visit.click(".file [aria-label='Remove broken.pdf']")
    await page.until("!document.querySelector('.file.is-failed')")
    page.problems.clear()


async def test_a_chosen_folder_brings_its_files(visit: Visit, tmp_path: Path) -> None:
    folder = tmp_path / "reports"
    for name in ("May/report.txt", "June/report.txt", "June/program.exe"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{QUAY} {name}")
    (tmp_path / "first.txt").write_text(QUAY)
    await visit.attach(tmp_path / "first.txt")
    module = "import(document.documentElement.dataset.base + 'files.js')"
    await visit.page.value(f"{module}.then((files) => {{ files.listOpen.value = true; }})")
    await visit.sees(".file-list [webkitdirectory]")
    await visit.page.attach(".file-list [webkitdirectory]", folder)
    await visit.page.until(f"{ASKABLE} === '3'")
    names = stored(visit, await visit.conversation())
    assert names[0] == "first.txt"
    assert names[-1] == "report.txt"
    assert names[1] in ("report (May).txt", "report (June).txt")
    await visit.page.until("document.querySelector('.notice')?.textContent.includes('1 file of the folder')")


async def test_a_text_that_is_too_long_becomes_a_file(visit: Visit) -> None:
    await visit.page.value("document.getElementById('question').focus()")
    paste = """(() => {
      const pasted = new DataTransfer();
      pasted.setData("text/plain", "The quay opens at seven. ".repeat(500));
      const paste = { clipboardData: pasted, bubbles: true, cancelable: true };
      document.activeElement.dispatchEvent(new ClipboardEvent("paste", paste));
    })()"""
    await visit.page.value(paste)
    await visit.page.until(f"{ASKABLE} === '1'")
    assert stored(visit, await visit.conversation()) == ["Pasted text.txt"]
    assert await visit.page.value("document.getElementById('question').value") == ""


async def test_hundreds_of_files_do_not_hold_the_page_up(visit: Visit, tmp_path: Path) -> None:
    """All that were not ready were drawn, and all rows of their list: a thousand took 16,000 elements."""
    page = visit.page
    files = [tmp_path / f"note {number}.txt" for number in range(140)]
    for file in files:
        file.write_text(QUAY)
    await visit.attach(*files)
    [line] = await visit.texts(".files-line")
    assert line.startswith("140 files")
    assert 0 < await page.value("document.querySelectorAll('.file').length") <= 30
    await visit.click(".files-line")
    for shown in (50, 100):
        await page.until(f"document.querySelectorAll('.files.is-list .file').length === {shown}")
        await page.value("document.querySelector('.file-list > p > button').click()")
    await page.until("document.querySelectorAll('.files.is-list .file').length === 140")
    await page.until("!document.querySelector('.file-list > p > button')")
