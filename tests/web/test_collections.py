"""Collections as people think of them: asked about from where one looks at them, at any depth."""

import asyncio

import httpx

from devkit.shared_data import HANDBOOK
from devkit.system import principal_headers
from devkit.visits import ANSWERED, Visit
from tests.web.test_viewers import ROW, choose

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
    await page.until("document.querySelectorAll('.members li').length === 2")
    rows = "[...document.querySelectorAll('.members li')]"
    row = f"{rows}.find((each) => each.textContent.startsWith('Everybody in your organization'))"
    said = await page.value(f"{row}.querySelector('select').selectedOptions[0].textContent")
    assert said == "can read and ask"
    assert await visit.texts(".let-all") == []
    # Bob, who is no one's member, reads it now, in sentences and without fields that he cannot change.
    path = f"#/contexts/{made_here['context_id']}"
    await page.call("Network.setExtraHTTPHeaders", headers=principal_headers(visit.organization, "bob"))
    await page.open("about:blank")
    await visit.open(path)
    await page.until("document.querySelectorAll('.members li').length === 2")
    assert any(
        "Everybody in your organizationcan read and ask" in each for each in await visit.texts(".members li")
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
    # Bob has never opened the page: he is added with the id of the sign-in, and a name.
    for number, text in enumerate(("bob", "Bob Miller"), 1):
        await page.until(f"document.querySelectorAll('.add-member input').length === {number}")
        await page.value(f"document.querySelectorAll('.add-member input')[{number - 1}].focus()")
        await page.call("Input.insertText", text=text)
    await page.press("Enter")
    await page.until("document.querySelectorAll('.members li').length === 2")
    assert any(each.startswith("Bob Miller") for each in await visit.texts(".members li"))
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
    assert "“Search passages” is switched off by Workspace Plant." in await visit.why()


async def test_a_role_that_stays_is_shown_as_it_is(visit: Visit) -> None:
    page = visit.page
    plant = made(visit, "workspace", "Plant")
    await page.value(f"location.hash = '#/contexts/{plant}'")
    await visit.sees(".members select")
    await page.answer("*/members/user/*", 409)
    role = "document.querySelector('.members select')"
    await page.value(f"{role}.value = 'viewer', {role}.dispatchEvent(new Event('change'))")
    await visit.sees(".notice")
    await page.until(f"{role}.value === 'admin'")
    page.problems.clear()


ALL_SEARCHES = ["document_chat", "search_pages", "semantic_search"]
TOOL = (
    "[...document.querySelectorAll('.allowed li')].find((each) => each.textContent.includes('Search pages'))"
)

OFF = "document.querySelectorAll('.allowed input:not(:checked)')"


async def test_what_switched_the_search_off_is_linked_and_switches_it_on_again(visit: Visit) -> None:
    page = visit.page
    plant = made(visit, "workspace", "Plant")
    with administrator(visit) as client:
        add_manual(client, plant)
        switched = client.patch(f"/contexts/{plant}", json={"tools_off": ALL_SEARCHES})
        assert switched.status_code == 200, switched.text
    await asyncio.to_thread(visit.here.index)
    await page.value(f"location.hash = '#/contexts/{plant}'")
    await visit.click(".ask-about")
    await visit.ask(QUESTION)
    # In the menu, too, the tool is not shown as on.
    await visit.click("#plus")
    row = ROW.format("Search pages")
    await page.until(f"{row}?.textContent.includes('Switched off by Plant')")
    assert await page.value(f"[{row}.disabled, {row}.getAttribute('aria-pressed')]") == [True, "false"]
    await page.press("Escape")
    assert await visit.texts(".note.is-warn a") == ["Switched off by Plant"]
    await visit.click(".note.is-warn a")
    await page.until(f"{TOOL}?.textContent.includes('Switched off here')")
    for left in range(len(ALL_SEARCHES), 0, -1):
        await page.until(f"{OFF}.length === {left}")
        await page.value(f"{OFF}[0].click()")
    # As fast as one clicks; all of it is kept.
    await page.until("!document.querySelector('.allowed').textContent.includes('Switched off here')")
    assert visit.get(f"/contexts/{plant}")["tools_off"] == []
    await page.value("history.back()")
    await page.until(ANSWERED.format(1))
    await visit.ask(QUESTION, answers=2)
    assert await visit.texts(".turn.is-last .note.is-warn") == []
    assert await visit.texts(".turn.is-last button.marker") != []


async def test_who_may_not_switch_tools_on_reads_who_has_switched_them_off(visit: Visit) -> None:
    top = made(visit, "organization", "Northwind")
    folder = made(visit, "folder", "Ships", top)
    with administrator(visit) as client:
        for path, body in ((f"/contexts/{top}", ["search_pages"]), (f"/contexts/{folder}", ["web_search"])):
            assert client.patch(path, json={"tools_off": body}).status_code == 200
        member = f"/contexts/{top}/members/user/bob"
        assert client.put(member, json={"role": "editor", "label": "Bob"}).status_code == 204
    headers = principal_headers(visit.organization, "bob")
    await visit.page.call("Network.setExtraHTTPHeaders", headers=headers)
    await visit.page.open("about:blank")
    await visit.open(f"#/contexts/{folder}")
    await visit.page.until(f"{TOOL}?.textContent.includes('Switched off by Northwind')")
    said = await visit.texts(".allowed li")
    assert said == ["Search pagesSwitched off by Northwind", "Search the webSwitched off here"]
    assert await visit.texts(".allowed input") == []
    assert "Those who can share this collection" in (await visit.texts(".allowed p"))[0]


async def test_a_question_about_a_collection_that_is_gone_comes_back_and_is_not_asked_elsewhere(
    visit: Visit,
) -> None:
    page, question = visit.page, "Where is the pump?"
    plant = made(visit, "workspace", "Plant")
    await page.value(f"location.hash = '#/contexts/{plant}'")
    await visit.click(".ask-about")
    await visit.ask("Hello there")
    with administrator(visit) as client:
        assert client.delete(f"/contexts/{plant}").status_code < 300
    await visit.write(question)
    await page.press("Enter")
    await visit.sees(".composer .note.is-bad")
    assert "Nothing was asked" in (await visit.texts(".composer .note.is-bad"))[0]
    assert await page.value(CHIPS) == []
    assert await page.value("document.getElementById('question').value") == question
    # An earlier question that is asked again says so as well, and its answer stays until then.
    await visit.click(".turn [aria-label='Answer again']")
    await visit.sees(".composer .note.is-bad")
    assert len(await visit.texts(".turn.is-answered")) == 1
    # The user goes on without it.
    await page.value("document.getElementById('question').focus()")
    await page.press("Enter")
    await page.until(ANSWERED.format(2))
    assert await visit.texts(".composer .note.is-bad") == []
    turns = visit.get(f"/conversations/{await visit.conversation()}")["turns"]
    assert [len(each["contexts"]) for each in turns] == [1, 0]
    page.problems.clear()


CHATS = "[...document.querySelectorAll('.chats a')].map((each) => each.textContent)"


async def test_a_collection_lists_the_chats_about_it_and_only_one_s_own(visit: Visit) -> None:
    page = visit.page
    plant, quays = made(visit, "workspace", "Plant"), made(visit, "workspace", "Quays")
    with administrator(visit) as client:
        add_manual(client, plant)
        everyone = client.put(f"/contexts/{plant}/members/everyone/-", json={"role": "viewer"})
        assert everyone.status_code == 204
        opened = client.post(f"/workspaces/{plant}/chat", json={"message": QUESTION})
        assert opened.status_code == 200, opened.text
        focus = {"type": "workspace", "id": quays}
        other = client.post("/orc", json={"question": "Hello there", "contexts": [focus]})
        assert other.status_code == 200, other.text
    await page.value(f"location.hash = '#/contexts/{plant}'")
    await visit.click(".ask-about")
    await visit.ask("Which pump is it?")
    address = await page.value("location.hash")
    await page.value(f"location.hash = '#/contexts/{quays}'")
    await page.until(f"{CHATS}.length === 1")
    await page.value(f"location.hash = '#/contexts/{plant}'")
    await page.until(f"{CHATS}.length === 2")
    await page.value(f"document.querySelector('.chats a[href=\"{address}\"]').click()")
    await page.until(f"location.hash === '{address}' && {ANSWERED.format(1)}")
    headers = principal_headers(visit.organization, "bob")
    await page.call("Network.setExtraHTTPHeaders", headers=headers)
    await page.open("about:blank")
    await visit.open(f"#/contexts/{plant}")
    await page.until("document.querySelectorAll('.members li').length >= 2")
    assert await page.value(CHATS) == []


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
