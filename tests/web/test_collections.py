"""Collections as people think of them: asked about from where one looks at them, at any depth."""

import asyncio

import httpx

from devkit.shared_data import HANDBOOK
from devkit.system import principal_headers
from devkit.visits import ANSWERED, Visit
from tests.web.test_viewers import choose

QUESTION = "What does the transformer feed?"
CHIPS = "[...document.querySelectorAll('.chips li')].map((each) => each.textContent.trim())"


def administrator(visit: Visit) -> httpx.Client:
    """The API as the user, who administers the installation."""
    client = visit.client()
    client.headers.update(principal_headers(visit.organization, "ann", "orc.admin"))
    return client


def made(visit: Visit, kind: str, name: str, parent: str | None = None) -> str:
    with administrator(visit) as client:
        created = client.post("/contexts", json={"type": kind, "name": name, "parent_id": parent})
        assert created.status_code == 201, created.text
    identifier: str = created.json()["context_id"]
    return identifier


async def test_what_one_looks_at_is_asked_about(visit: Visit) -> None:
    top = made(visit, "organization", "Northwind")
    folder = made(visit, "folder", "Ships", top)
    await visit.page.value(f"location.hash = '#/contexts/{folder}'")
    await visit.click(".ask-about")
    await visit.page.until("document.activeElement.id === 'question'")
    assert await visit.page.value(CHIPS) == ["Ships"]
    assert "What would you like" in (await visit.texts(".empty h2"))[0]
    await visit.ask("What is there?")
    [turn] = visit.get(f"/conversations/{await visit.conversation()}")["turns"]
    assert [each["id"] for each in turn["contexts"]] == [folder]


async def test_a_name_makes_a_collection_and_a_click_lets_everybody_read_it(visit: Visit) -> None:
    page = visit.page
    await page.value("location.hash = '#/contexts'")
    await visit.sees(".admin form")
    # What is not needed is folded: the form is one field and one button.
    fields = "[...document.querySelectorAll('.admin form :is(input, select, button)')]"
    seen = f"{fields}.filter((each) => each.checkVisibility())"
    assert await page.value(f"{seen}.map((each) => each.tagName)") == ["INPUT", "BUTTON"]
    await page.value("document.querySelector('.admin form input').focus()")
    await page.call("Input.insertText", text="Harbour rules")
    await page.press("Enter")
    await page.until("document.querySelector('.crumbs strong')?.textContent === 'Harbour rules'")
    [made_here] = visit.get("/contexts")["contexts"]
    assert (made_here["type"], made_here["name"]) == ("workspace", "Harbour rules")
    await visit.click(".let-all")
    await page.until("document.querySelectorAll('.rows li').length === 2")
    rows = "[...document.querySelectorAll('.rows li')]"
    row = f"{rows}.find((each) => each.textContent.startsWith('Everybody in your organization'))"
    said = await page.value(f"{row}.querySelector('select').selectedOptions[0].textContent")
    assert said == "can read and ask"
    assert await visit.texts(".let-all") == []
    # Bob, who is no one's member, reads it now, in sentences and without fields that he cannot change.
    path = f"#/contexts/{made_here['context_id']}"
    await page.call("Network.setExtraHTTPHeaders", headers=principal_headers(visit.organization, "bob"))
    await page.open("about:blank")
    await visit.open(path)
    await page.until("document.querySelectorAll('.rows li').length === 2")
    assert any(
        "Everybody in your organizationcan read and ask" in each for each in await visit.texts(".rows li")
    )
    assert await page.value(f"{seen}.length + document.querySelectorAll('.admin :disabled').length") == 0
    assert "Viewer" not in await page.value("document.querySelector('.admin').innerText")


async def test_a_collection_with_folders_is_an_option(visit: Visit) -> None:
    page = visit.page
    await page.value("location.hash = '#/contexts'")
    await visit.click(".admin form summary")
    await visit.click(".admin form [type=checkbox]")
    await page.value("document.querySelector('.admin form input').focus()")
    await page.call("Input.insertText", text="Northwind")
    await page.press("Enter")
    await page.until("document.querySelector('.crumbs strong')?.textContent === 'Northwind'")
    field = "document.querySelector('.admin [placeholder=\"Name of the new folder\"]')"
    await page.until(field)
    await page.value(f"{field}.focus()")
    await page.call("Input.insertText", text="Ships")
    await page.press("Enter")
    await page.until("document.querySelector('.crumbs strong')?.textContent === 'Ships'")
    assert "Northwind" in await page.value("document.querySelector('.crumbs').textContent")


async def test_a_person_is_added_with_a_name_and_what_they_can_do(visit: Visit) -> None:
    page = visit.page
    context = made(visit, "workspace", "Harbour rules")
    await page.value(f"location.hash = '#/contexts/{context}'")
    await visit.click(".add-member summary")
    for number, text in enumerate(("Bob Miller", "bob"), 1):
        await page.value(f"document.querySelectorAll('.add-member input')[{number - 1}].focus()")
        await page.call("Input.insertText", text=text)
    await page.press("Enter")
    await page.until("document.querySelectorAll('.rows li').length === 2")
    assert any(each.startswith("Bob Miller") for each in await visit.texts(".rows li"))
    members = visit.get(f"/contexts/{context}/members")["members"]
    assert {(each["principal"], each["role"], each["label"]) for each in members} >= {
        ("user:bob", "viewer", "Bob Miller")
    }


async def test_the_menu_leads_to_what_is_below(visit: Visit) -> None:
    top = made(visit, "organization", "Northwind")
    folder = made(visit, "folder", "Ships", top)
    made(visit, "usecase", "Chart sale", folder)
    await visit.click("#plus")
    await visit.click("#plus-menu [aria-label='Show what is below Northwind']")
    await visit.click("#plus-menu [aria-label='Show what is below Ships']")
    sale = (
        "[...document.querySelectorAll('#plus-menu .toggle')].find((each) => /Chart/.test(each.textContent))"
    )
    await visit.page.until(sale)
    await visit.page.value(f"{sale}.click()")
    await visit.page.until("document.querySelector('.chips')?.textContent.includes('Chart sale')")


async def test_a_source_from_elsewhere_says_so(visit: Visit) -> None:
    await visit.attach(HANDBOOK)
    await visit.ask("How many days of annual leave does a new employee get?")
    await visit.page.value("""(async () => {
      const { turns, change } = await import(document.documentElement.dataset.base + "session.js");
      const [turn] = turns.value;
      const home = { focus: false, context_type: "organization", context_id: "c", context_name: "Northwind" };
      const citations = turn.value.citations.map((each) => ({ ...each, ...home }));
      change(turn, { citations });
    })()""")
    await visit.page.until("document.querySelector('button.marker').textContent.includes('Northwind')")
    label = await visit.page.value("document.querySelector('button.marker').getAttribute('aria-label')")
    assert "from Organization Northwind" in label
    await visit.click(".sources-line")
    await visit.page.until("document.querySelector('.card .home')?.textContent.includes('Northwind')")
    visit.page.problems.clear()


def add_manual(client: httpx.Client, context: str) -> None:
    """A document of a collection, which answers QUESTION."""
    files = [("file", ("manual.txt", b"The transformer T1 feeds the busbar B2."))]
    assert client.post(f"/contexts/{context}/documents", files=files).status_code == 201


async def test_a_chat_that_was_opened_in_a_workspace_is_about_it(visit: Visit) -> None:
    plant = made(visit, "workspace", "Plant")
    with administrator(visit) as client:
        add_manual(client, plant)
        await asyncio.to_thread(visit.here.index)
        opened = client.post(f"/workspaces/{plant}/chat", json={"message": QUESTION})
    assert opened.status_code == 200, opened.text
    await visit.page.value(f"location.hash = '#/c/{opened.json()['session_id']}'")
    await visit.page.until(ANSWERED.format(1))
    assert await visit.page.value(CHIPS) == ["Plant"]
    await visit.ask("Does it feed anything else?", answers=2)
    assert await visit.texts(".turn.is-last .asked") == ["Plant"]


async def test_a_tool_that_a_collection_switches_off_is_said_to_be_off_by_it(visit: Visit) -> None:
    plant = made(visit, "workspace", "Plant")
    with administrator(visit) as client:
        add_manual(client, plant)
        switched = client.patch(f"/contexts/{plant}", json={"tools_off": ["semantic_search"]})
        assert switched.status_code == 200, switched.text
    await visit.page.value(f"location.hash = '#/contexts/{plant}'")
    await visit.click(".ask-about")
    await visit.ask(QUESTION)
    assert "“Search passages” is switched off by Workspace Plant." in await visit.texts(".why > ol > li")


async def test_a_collection_that_is_gone_is_said_to_be_left_out(visit: Visit) -> None:
    for name in ("Plant", "Quays"):
        quays = made(visit, "workspace", name)
        await choose(visit, name)
    await visit.ask("Hello there")
    assert await visit.texts(".turn .asked") == ["Plant, Quays"]
    assert await visit.texts(".note.is-left") == []
    with administrator(visit) as client:
        assert client.delete(f"/contexts/{quays}").status_code < 300
    await visit.ask("Hello again", answers=2)
    [note] = await visit.texts(".turn.is-last .note.is-left")
    assert note.startswith("1 chosen collection was not searched")
