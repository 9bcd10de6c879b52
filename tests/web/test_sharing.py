"""A link to a chat: made and withdrawn by its owner, read by a colleague, and harmless whatever it shows."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from devkit.browser import Program, browsing
from devkit.doubles.openai_double import Script
from devkit.system import principal_headers
from devkit.visits import ADMINISTRATOR, Visit
from tests.campaigns.test_web_payloads import VECTORS, check, file_name
from tests.unit.orc_core.extraction.samples import pdf
from tests.web.test_page import problems_of_access

LEAVE = "Every employee of the harbour has 28 days of annual leave."
QUESTION = "How many days of annual leave does every employee have?"
MADE = "document.querySelector('.share .once input')"
SHARED = "document.querySelectorAll('.is-shared .turn').length === {}"
ROW = "document.querySelector('.sessions .session button').click()"
ENTRY = "[...document.querySelectorAll('.menu .toggle')].find((each) => each.textContent === {!r})"
SHOWN = "document.querySelector('.quote-box')?.innerText.includes({!r})"


async def share(visit: Visit, days: int = 30) -> str:
    """Make a link as a person does; the part of its address behind the page's own."""
    await visit.page.until("document.querySelector('.sessions .session button')")
    await visit.page.value(ROW)
    await visit.page.until(ENTRY.format("Share"))
    await visit.page.value(f"{ENTRY.format('Share')}.click()")
    await visit.sees(".share select")
    await visit.page.value(f"""{{
      const field = document.querySelector(".share select");
      field.value = "{days}";
      field.dispatchEvent(new Event("change", {{ bubbles: true }}));
    }}""")
    await visit.click(".share form button")
    await visit.page.until(MADE)
    address = str(await visit.page.value(f"{MADE}.value"))
    assert address.startswith(visit.address + "#/s/")
    return address.removeprefix(visit.address)


@asynccontextmanager
async def colleague(visit: Visit, program: Program, name: str = "bob") -> AsyncIterator[Visit]:
    """Another person at another browser, without a role of an administrator."""
    async with browsing(program) as window:
        other = replace(visit, page=window, user=name)
        headers = principal_headers(other.organization, name) if name else {}
        await window.call("Network.setExtraHTTPHeaders", headers=headers)
        await window.look(width=1440, height=900)
        yield other
        assert (window.violations, other.strangers()) == ([], set())
        assert await other.kept_texts() == []


async def test_a_chat_is_shared_read_and_withdrawn(visit: Visit, program: Program, tmp_path: Path) -> None:
    (tmp_path / "rules.pdf").write_bytes(pdf(LEAVE))
    await visit.attach(tmp_path / "rules.pdf")
    await visit.ask(QUESTION)
    link = await share(visit)
    assert await problems_of_access(visit) == []
    answer = await visit.texts(".turn .text")
    async with colleague(visit, program) as other:
        page = other.page
        await other.open(link)
        await page.until(SHARED.format(1))
        assert await other.texts(".turn .text") == answer
        assert await other.texts(".turn .question p:first-of-type") == [QUESTION]
        # Nothing can be asked, rated, edited or asked again.
        buttons = "[...document.querySelectorAll('.turn .actions button')].map((each) => each.ariaLabel)"
        assert await page.value(buttons) == ["Copy with sources"]
        assert await page.value("document.querySelector('.composer, .why, .versions, .suggestions')") is None
        assert await problems_of_access(other) == []
        # The quote is there as it was cited; the page of the document is not the reader's.
        await other.click("button.marker")
        await page.until(SHOWN.format("28 days of annual leave"))
        await page.until(SHOWN.format("opens only for those who have a right"))
        assert await page.value("document.querySelector('.picture, .page-text, .tabs')") is None
        assert not any("/documents/" in url for _, url in page.requests)
        assert await problems_of_access(other) == []
        await page.reload()
        await page.until(SHOWN.format("28 days of annual leave"))
        await page.press("Escape")
        await page.until("!document.querySelector('.sources')")
        assert await page.value("location.hash") == link
        assert page.problems == []
        # The owner withdraws it, and the reader's page says so.
        await visit.click(".share .api-keys li button")
        await visit.page.until("!document.querySelector('.share .api-keys')")
        await page.reload()
        await page.until(
            "document.querySelector('.empty h2')?.textContent.startsWith('This link does not lead')"
        )
        assert await page.value("document.body.innerText.includes('28 days')") is False


async def test_the_open_chat_is_shared_from_its_header_on_a_small_phone(visit: Visit) -> None:
    page = visit.page
    await page.look(width=320, height=568)
    assert await page.value("document.querySelector('.share-chat')") is None
    visit.model.script = Script(text="The quay opens at seven.")
    await visit.ask("When does the quay, which is next to the old customs house, open on Sundays in winter?")
    await visit.sees(".share-chat")
    # A finger reaches it, and nothing of the header overlaps.
    at, title, width = await page.value("""(() => {
      const button = document.querySelector(".share-chat");
      const { left, top, width, height } = button.getBoundingClientRect();
      const over = document.elementFromPoint(left + width / 2, top + height / 2);
      over.dispatchEvent(new MouseEvent("click", { bubbles: true }));
      const { right } = document.querySelector(".head h1").getBoundingClientRect();
      return [Math.min(width, height), left - right, left + width];
    })()""")
    assert at >= 24
    assert title >= 0
    assert width <= 320
    await visit.sees(".share select")
    await visit.click(".share form button")
    await page.until(MADE)
    assert await problems_of_access(visit) == []
    # The keyboard is where it was.
    await page.press("Escape")
    await page.until("!document.querySelector('dialog')")
    assert await page.value("document.documentElement.scrollWidth <= 320")


async def test_strangers_and_other_organizations_read_nothing(visit: Visit, program: Program) -> None:
    visit.model.script = Script(text="The secret answer.")
    await visit.ask("A secret question?")
    link = await share(visit, days=7)
    for name, organization, expected in (
        ("", "", "a[href^='/.auth/login/']"),
        ("ann", "another", ".empty[role=status]"),
    ):
        async with colleague(
            replace(visit, organization=organization or visit.organization), program, name
        ) as other:
            await other.page.open(other.address + link)
            await other.sees(expected)
            assert "secret" not in str(await other.page.value("document.documentElement.innerText"))
            # The way through the sign-in does not put the link into anyone's log.
            assert not any(
                link.removeprefix("#/s/") in url.partition("#")[0] for _, url in other.page.requests
            )
            addresses = "[...document.links].map((each) => each.href).join(' ')"
            assert link.removeprefix("#/s/") not in str(await other.page.value(addresses))


async def test_a_shared_context_opens_for_its_members_only(
    visit: Visit, program: Program, tmp_path: Path
) -> None:
    (tmp_path / "rules.pdf").write_bytes(pdf(LEAVE))
    with visit.client() as client:
        client.headers.update(principal_headers(visit.organization, visit.user, ADMINISTRATOR))
        made = client.post("/contexts", json={"type": "workspace", "name": "Harbour"}).json()
        context = f"/contexts/{made['context_id']}"
        stored = client.post(f"{context}/documents", files=[("file", ("rules.pdf", pdf(LEAVE)))])
        assert stored.status_code == 201, stored.text
        assert client.put(f"{context}/members/user/bob", json={"role": "viewer"}).status_code < 300
        asked = {"question": QUESTION, "contexts": [{"type": "workspace", "id": made["context_id"]}]}
        assert client.post("/orc", json=asked).json()["citations"]
    await visit.page.reload()
    link = await share(visit)
    async with colleague(visit, program) as member:
        await member.open(link)
        await member.click("button.marker")
        await member.sees(".marks rect")
    async with colleague(visit, program, "eve") as other:
        await other.open(link)
        await other.click("button.marker")
        await other.page.until(SHOWN.format("opens only for those who have a right"))
        assert await other.page.value("document.querySelector('.picture, .page-text')") is None


async def test_payloads_in_what_is_shared_do_nothing(visit: Visit, program: Program, tmp_path: Path) -> None:
    text = "\n\n".join(VECTORS)
    name = file_name(VECTORS[4], 1)
    (tmp_path / name).write_text(f"{LEAVE}\n\n{text}")
    await visit.attach(tmp_path / name)
    visit.model.script = Script(text=f"28 days of annual leave [S1]\n\n{text}")
    await visit.ask(f"How many days? {VECTORS[0]}")
    with visit.client() as client:
        title = {"title": VECTORS[9][:100]}
        assert client.patch(f"/conversations/{await visit.conversation()}", json=title).status_code == 200
    link = await share(visit)
    async with colleague(visit, program) as other:
        await other.open(link)
        await other.page.until(SHARED.format(1))
        assert VECTORS[9][:100] in (await other.texts(".is-shared h2"))[0]
        await check(other)
        await other.click("button.marker, .sources-line")
        await other.sees("#sources")
        await check(other)
        assert other.page.problems == []


async def test_nothing_is_shared_where_there_is_one_user(visit: Visit) -> None:
    await visit.page.open("about:blank")
    local = replace(visit, variant="local")
    await local.page.call("Network.setExtraHTTPHeaders", headers={})
    await local.open()
    await local.ask("Hello there?")
    await local.page.until("document.querySelector('.sessions .session button')")
    await local.page.value(ROW)
    await local.page.until(ENTRY.format("Rename"))
    assert await local.page.value(f"{ENTRY.format('Share')} ?? null") is None
    assert await local.texts(".share-chat") == []
