"""Collections as people think of them: asked about from where one looks at them, at any depth."""

from devkit.shared_data import HANDBOOK
from devkit.system import principal_headers
from devkit.visits import Visit

CHIPS = "[...document.querySelectorAll('.chips li')].map((each) => each.textContent.trim())"


def made(visit: Visit, kind: str, name: str, parent: str | None = None) -> str:
    with visit.here.client("page", visit.organization) as client:
        client.headers.update(principal_headers(visit.organization, "ann", "orc.admin"))
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
