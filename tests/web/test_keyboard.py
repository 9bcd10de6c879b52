"""What is shared with others, without the pointer: a link to a chat, and a collection."""

from devkit.visits import Visit
from tests.web.test_access import focused, keys, tab_to


async def test_a_chat_is_shared_and_its_link_withdrawn_with_the_keyboard(visit: Visit) -> None:
    page = visit.page
    await visit.ask("Hello there")
    await tab_to(visit, "Share", back=True)
    await keys(visit, "Enter")
    await page.until("document.querySelector('dialog[open].share form button')")
    await tab_to(visit, "Make a link")
    await keys(visit, "Enter")
    # The new link can be copied at once.
    await page.until("document.activeElement.textContent === 'Copy the link'")
    await focused(visit)
    withdraw = "document.querySelector('.share li button')"
    await page.until(withdraw)
    label = await page.value(f"{withdraw}.getAttribute('aria-label') ?? {withdraw}.textContent")
    await tab_to(visit, label)
    await keys(visit, "Enter")
    await page.until(f"!{withdraw}")
    await keys(visit, "Escape")
    await page.until("!document.querySelector('dialog')")
    assert (await focused(visit))["name"] == "Share"


async def test_a_collection_is_made_and_shared_with_the_keyboard(visit: Visit) -> None:
    page = visit.page
    await tab_to(visit, "Collections", back=True)
    await keys(visit, "Enter")
    await page.until("location.hash === '#/contexts' && document.querySelector('.admin input')")
    # F6 leads from the list of chats to the page.
    await keys(visit, "F6")
    await page.until("document.activeElement.closest('main')")
    await keys(visit, "Tab")
    assert await page.value("document.activeElement.placeholder") == "Name of the new collection"
    await page.call("Input.insertText", text="Rules of the harbour")
    await keys(visit, "Enter")
    await page.until("document.querySelector('.crumbs strong')?.textContent === 'Rules of the harbour'")
    # The way on from here is not from the top of the window.
    assert await page.value("Boolean(document.activeElement.closest('main'))")
    await visit.sees(".let-all")
    await tab_to(visit, "Let everybody in your organization read it")
    await keys(visit, "Enter")
    await page.until("document.querySelectorAll('.members li').length === 2")
    # The button is gone; the way on is from its place.
    await keys(visit, "Tab")
    assert await page.value("Boolean(document.activeElement.closest('main'))")
    await tab_to(visit, "Ask about Rules of the harbour", back=True)
    await keys(visit, "Enter")
    await page.until("document.activeElement.id === 'question' && document.querySelector('.chips li')")
    # And it is deleted again.
    await page.value("history.back()")
    await page.until("document.querySelector('.crumbs strong')?.textContent === 'Rules of the harbour'")
    await keys(visit, "F6")
    await visit.sees(".let-all, .members li:nth-child(2)")
    await tab_to(visit, "Name, description, delete")
    await keys(visit, "Enter")
    await tab_to(visit, "Delete this collection")
    await keys(visit, "Enter")
    await tab_to(visit, "Delete")
    await keys(visit, "Enter")
    await page.until("location.hash === '#/contexts' && document.querySelector('.admin form')")
    assert await page.value("Boolean(document.activeElement.closest('main'))")
