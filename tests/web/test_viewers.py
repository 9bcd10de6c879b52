"""What viewers of a context cannot use, with the reason, and sessions of others, which stay closed."""

from devkit.system import principal_headers
from devkit.visits import ADMINISTRATOR, Visit

SHARED = "Port of Hamburg"
UPDATE = "Propose to add files"
ROW = "[...document.querySelectorAll('#plus-menu .toggle')].find((each) => each.textContent.includes({!r}))"


async def share(visit: Visit, role: str) -> None:
    """Give Bob this role in a context, and have the page opened by him."""
    with visit.client() as client:
        client.headers.update(principal_headers(visit.organization, visit.user, ADMINISTRATOR))
        made = client.post("/contexts", json={"type": "organization", "name": SHARED})
        assert made.status_code == 201, made.text
        member = f"/contexts/{made.json()['context_id']}/members/user/bob"
        assert client.put(member, json={"role": role, "label": "Bob"}).status_code < 300
    await visit.be("bob")
    await visit.page.open("about:blank")
    await visit.open()


async def choose(visit: Visit, name: str) -> None:
    await visit.page.value("document.getElementById('plus').click()")
    await visit.page.until(ROW.format(name))
    await visit.page.value(f"{ROW.format(name)}.click()")
    await visit.page.until("!document.querySelector('#plus-menu:popover-open')")


async def test_viewers_see_why_tools_that_change_something_are_off(visit: Visit) -> None:
    await share(visit, "viewer")
    tool = ROW.format(UPDATE)
    await choose(visit, UPDATE)
    await visit.page.until(f"{tool}?.getAttribute('aria-pressed') === 'true'")
    await choose(visit, SHARED)
    await visit.page.until(f"{tool}.disabled")
    assert "Only editors can use this" in await visit.page.value(f"{tool}.textContent")
    assert await visit.page.value(f"{tool}.getAttribute('aria-pressed')") == "false"
    reading = ROW.format("Search passages")
    assert await visit.page.value(f"{reading}.disabled") is False
    # What a viewer reads is open: the question is asked with the context.
    await visit.ask("Hello")
    assert (
        visit.get(f"/conversations/{await visit.conversation()}")["turns"][0]["contexts"][0]["name"] == SHARED
    )


async def test_editors_have_tools_that_change_something(visit: Visit) -> None:
    await share(visit, "editor")
    await choose(visit, SHARED)
    await visit.sees(".chips .is-focus")
    tool = ROW.format(UPDATE)
    assert await visit.page.value(f"{tool}.disabled") is False
    # What changes something is off until the user switches it on.
    assert await visit.page.value(f"{tool}.getAttribute('aria-pressed')") == "false"


async def test_a_session_of_another_user_does_not_open(visit: Visit) -> None:
    await visit.ask("Hello")
    theirs = await visit.page.value("location.hash")
    await visit.be("bob")
    await visit.page.open("about:blank")
    await visit.open(theirs)
    await visit.sees(".notice")
    assert await visit.page.value("location.hash") == "#/"
    assert await visit.texts(".turn, .session") == []
    visit.page.problems.clear()


async def test_an_administrator_who_is_a_viewer_can_delete_and_change_nothing_else(visit: Visit) -> None:
    page = visit.page
    await share(visit, "viewer")
    [context] = visit.get("/contexts")["contexts"]
    await page.value(f"location.hash = '#/contexts/{context['context_id']}'")
    await visit.sees(".members li")
    await visit.click(".admin .quiet.is-bad")
    # What the API would refuse to a viewer is not offered: a new name, and files.
    assert await visit.texts(".admin textarea, .admin [type=file]") == []
    await visit.click(".admin form .is-bad")
    await page.until("location.hash === '#/contexts'")
    assert visit.get("/contexts")["contexts"] == []


async def test_members_have_names_and_no_ids(visit: Visit) -> None:
    """What an identity does not say about a member is left out."""
    people = "3f0d8f5e-6f0e-4f5a-9d5f-0b1f8f6b2a11", "7c1e2d90-1111-4222-8333-944455556666"
    with visit.client() as client:
        client.headers.update(principal_headers(visit.organization, visit.user, ADMINISTRATOR))
        made = client.post("/contexts", json={"type": "workspace", "name": SHARED}).json()
        for kind, who in zip(("user", "group"), people, strict=True):
            member = f"/contexts/{made['context_id']}/members/{kind}/{who}"
            assert client.put(member, json={"role": "viewer"}).status_code < 300
    await visit.page.value(f"location.hash = '#/contexts/{made['context_id']}'")
    await visit.page.until("document.querySelectorAll('.members li').length === 3")
    rows = "".join(await visit.texts(".members li bdi"))
    assert rows.count("without a name, since") == 2
    assert "A person" in rows
    assert "A group" in rows
    shown = await visit.page.value("document.querySelector('main').outerHTML")
    assert [each for each in (*people, "user:ann") if each in shown] == []


async def test_who_may_make_no_collection_reads_who_does(visit: Visit) -> None:
    page = visit.page
    await page.value("location.hash = '#/contexts'")
    await visit.sees(".admin form")
    assert "Give a collection a name" in (await visit.texts(".admin .soft"))[0]
    store = "import(document.documentElement.dataset.base + 'store.js')"
    await page.value(f"{store}.then(({{ me }}) => {{ me.value = {{ ...me.value, may_create: [] }}; }})")
    await page.until("!document.querySelector('.admin form')")
    assert "Administrators make collections" in (await visit.texts(".admin .soft"))[0]
