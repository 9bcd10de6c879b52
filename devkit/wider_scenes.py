"""States of the web page with much on it, and of what is shared with others."""

import asyncio

from devkit.doubles.openai_double import Script
from devkit.page_stage import enter_as, indexed, saved, scene
from devkit.shared_data import HANDBOOK
from devkit.system import principal_headers
from devkit.visits import ADMINISTRATOR, ANSWERED, Visit
from orc_core.models import JobProgress
from orc_core.names import Owner

LONG_NAME = "Minutes of the meeting on the collective agreement of the harbour workers, second draft {}.txt"
QUESTION = "What is said in the report about the quay, the cranes and the donaudampfschifffahrtsgesellschaft?"
FORMS = """## Hotels by city

| City | Hotel limit in euros | Breakfast | Approved by | Remark for those who travel by train |
|:---|---:|:---:|---|---|
| Rotterdam | 1,150.00 | yes | head of department | not during the harbour fair |
| Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch | 90.50 | no | line manager | – |

1. First [the rules](https://example.org/rules?a=1), then `make_fast(ship, quay="north")`:

```python
def make_fast(ship, quay, *, lines=("bow", "stern", "spring"), tugs=None, pilot=None, weather=None):
    return [rope(ship, quay, line) for line in lines]
```

- [x] done
- [ ] open: https://example.org/a/very/long/address/that/has/no/place/to/break/at/all/and/goes/on.html

The area is $a^2 + b^2 = c^2$, and the sum is $$\\sum_{k=1}^{n} \\frac{k^2 + 2k + 1}{(k+1)^2} = n$$

שלום עולם, זה נמל.

> A quote of the captain.[^1]

[^1]: At **seven**.
"""
SHARE_DAYS = 30


def files_of(visit: Visit, number: int) -> list[tuple[str, bytes]]:
    return [(LONG_NAME.format(n), b"The quay opens at seven. " * 99) for n in range(number)]


@scene("forms")
async def play_forms(visit: Visit) -> None:
    visit.model.script = Script(text=FORMS)
    await visit.ask(QUESTION)
    drawn = ("table", "math", "pre [class^=code-]")
    await visit.page.until(" && ".join(f"document.querySelector('.text {each}')" for each in drawn))


@scene("shelf", "offline")
async def play_shelf(visit: Visit) -> None:
    await visit.attach(HANDBOOK, *(saved(visit, *each) for each in files_of(visit, 11)))
    await visit.page.attach("#picker", saved(visit, "damaged.pdf", b"%PDF-1.7 and nothing else"))
    await visit.page.until("document.querySelector('.files-line')?.textContent.includes('cannot be read')")
    await visit.ask("When does the quay open?")
    await visit.click(".files-line")
    await visit.page.until("document.querySelectorAll('.files.is-list .file').length === 13")


async def prepare(visit: Visit, *, done: int, total: int) -> None:
    """The worker says how far it is with the first file of the chat."""
    owner = Owner(visit.organization, visit.user, await visit.conversation())

    async def work() -> None:
        queue = visit.here.documents.stores.queue
        [document] = await visit.here.documents.library.list_documents(owner)
        [kind] = await queue.progress(document.document_id)
        job = await queue.claim(document, kind, 60)
        assert job is not None
        await queue.report(job, JobProgress(done=done, total=total, what="Reading"))
        await queue.release(job)

    await asyncio.to_thread(visit.here.portal.call, work)


@scene("prepared", "offline")
async def play_prepared(visit: Visit) -> None:
    await visit.attach(HANDBOOK)
    await prepare(visit, done=3, total=16)
    await visit.page.until("document.querySelector('.file-status')?.textContent.includes('19')")


@scene("notices", "offline")
async def play_notices(visit: Visit) -> None:
    """A chat and a file are gone, and both can be taken back."""
    await visit.attach(HANDBOOK)
    await visit.click(".session button")
    await visit.click(".menu.is-small .is-bad")
    await visit.sees(".notice button")
    await visit.attach(saved(visit, *files_of(visit, 1)[0]))
    await visit.click(".file button:last-child")
    await visit.page.until("document.querySelectorAll('.notice').length === 2")


@scene("same-name", "offline")
async def play_same_name(visit: Visit) -> None:
    await visit.attach(saved(visit, "report.txt", b"The quay opens at seven."))
    await visit.page.attach("#picker", saved(visit, "report.txt", b"The quay opens at eight."))
    await visit.sees(".notice button:nth-of-type(2)")


@scene("rating", "offline")
async def play_rating(visit: Visit) -> None:
    await visit.ask("When does the quay open?")
    await visit.click(".actions button:last-child")
    await visit.sees(".comment input")


@scene("versions")
async def play_versions(visit: Visit) -> None:
    await visit.ask("First question")
    await visit.click(".turn .actions button:nth-of-type(3)")
    await visit.write(" changed")
    await visit.page.press("Enter")
    await visit.sees(".turn.is-answered .versions")
    await visit.click(".turn .actions button:nth-of-type(3)")
    await visit.sees(".replacing")


@scene("found")
async def play_found(visit: Visit) -> None:
    visit.model.script = Script(text="After ten years the harbour gives a sabbatical of three months. " * 3)
    await visit.ask("What is given after so many years, and who has to agree to it first?")
    await visit.page.value("document.getElementById('search').focus()")
    await visit.page.call("Input.insertText", text="sabbatical")
    await visit.sees(".session small")


@scene("chosen")
async def play_chosen(visit: Visit) -> None:
    await visit.ask(QUESTION)
    await visit.click(".session > button")
    entries = "[...document.querySelectorAll('.menu .toggle')]"
    entry = f"{entries}.find((each) => each.textContent === 'Choose several')"
    await visit.page.until(entry)
    await visit.page.value(f"{entry}.click()")
    await visit.sees(".chosen .is-bad")


def link_of(visit: Visit, conversation: str) -> tuple[str, str]:
    """A link to the conversation: its secret, and its address in the API."""
    with visit.client() as client:
        made = client.post(f"/conversations/{conversation}/links", json={"days": SHARE_DAYS})
        assert made.status_code == 201, made.text
    address = f"/conversations/{conversation}/links/{made.json()['link_id']}"
    return made.json()["secret"], address


@scene("share")
async def play_share(visit: Visit) -> None:
    await visit.ask(QUESTION)
    link_of(visit, await visit.conversation())
    await visit.click(".share-chat")
    await visit.sees(".share .api-keys li")
    await visit.click(".share form button")
    await visit.sees(".share .once input")


async def read_by_link(visit: Visit) -> str:
    """A colleague opens a link to an answer with sources; returns its address in the API."""
    await visit.attach(HANDBOOK)
    await visit.ask("How many days of annual leave does a new employee get?")
    secret, address = link_of(visit, await visit.conversation())
    await enter_as(visit, "bob")
    await visit.page.value(f"location.hash = '#/s/{secret}'")
    await visit.sees(".is-shared .turn")
    return address


@scene("shared")
async def play_shared(visit: Visit) -> None:
    await read_by_link(visit)


@scene("shared-source")
async def play_shared_source(visit: Visit) -> None:
    await read_by_link(visit)
    await visit.click("button.marker")
    await visit.sees(".quote-box")


@scene("shared-gone")
async def play_shared_gone(visit: Visit) -> None:
    address = await read_by_link(visit)
    await visit.be("ann")
    with visit.client() as client:
        assert client.delete(address).status_code == 204
    await enter_as(visit, "bob")
    await visit.page.value(f"location.hash = '#/s/{'x' * 43}'")
    await visit.sees(".empty[role=status]")


def collection(visit: Visit, name: str, *, kind: str = "workspace", files: int = 0) -> str:
    with visit.client() as client:
        client.headers.update(principal_headers(visit.organization, visit.user, ADMINISTRATOR))
        made = client.post("/contexts", json={"type": kind, "name": name})
        assert made.status_code == 201, made.text
        identifier: str = made.json()["context_id"]
        for one in files_of(visit, files):
            stored = client.post(f"/contexts/{identifier}/documents", files=[("file", one)])
            assert stored.status_code == 201, stored.text
        member = {"role": "viewer", "label": "Bob Who-Has-A-Rather-Long-Name of the northern harbour"}
        assert client.put(f"/contexts/{identifier}/members/user/bob", json=member).status_code == 204
    return identifier


@scene("collection-files")
async def play_collection_files(visit: Visit) -> None:
    context = collection(visit, "Rules of the harbour, the quay and the customs house", files=10)
    await asyncio.to_thread(visit.here.index)
    await visit.page.value(f"location.hash = '#/contexts/{context}'")
    await visit.page.until("document.querySelectorAll('.files.is-list .file').length === 10")
    await visit.click(".add-member:not([open]) summary")
    await visit.page.value("document.querySelector('.add-member input').focus()")
    await visit.page.call("Input.insertText", text="bob@example.org")
    await visit.sees(".add-member [role=status] p")


@scene("collection-read")
async def play_collection_read(visit: Visit) -> None:
    context = collection(visit, "Rules of the harbour", files=2)
    await enter_as(visit, "bob")
    await visit.page.value(f"location.hash = '#/contexts/{context}'")
    await visit.page.until("document.querySelectorAll('.files.is-list .file').length === 2")


@scene("collection-tree")
async def play_collection_tree(visit: Visit) -> None:
    context = collection(visit, "Northwind", kind="organization")
    await visit.page.value(f"location.hash = '#/contexts/{context}'")
    await visit.sees(".ask-about")


@scene("collection-asked")
async def play_collection_asked(visit: Visit) -> None:
    context = collection(visit, "Rules of the harbour, the quay and the customs house", files=1)
    await asyncio.to_thread(visit.here.index)
    await visit.page.value(f"location.hash = '#/contexts/{context}'")
    await visit.click(".ask-about")
    await visit.sees(".chips li")
    await visit.write("When does the quay open?")
    await visit.page.press("Enter")
    await visit.page.until(ANSWERED.format(1))
    await visit.sees(".turn.is-answered")


@scene("only")
async def play_only(visit: Visit) -> None:
    await visit.attach(HANDBOOK, saved(visit, *files_of(visit, 1)[0]))
    await indexed(visit)
    await visit.click(".file:nth-child(2) .file-main")
    await visit.sees(".chips .is-only")
