"""Changes that a model proposes: the page asks in plain words, and only the user's own click makes them."""

from functools import partial
from pathlib import Path

from devkit.doubles.openai_double import ChatRequest, Reply, ToolCall
from devkit.visits import ANSWERED, Visit
from tests.unit.orc_core.extraction.samples import pdf
from tests.web.test_collections import made
from tests.web.test_files import attach_all
from tests.web.test_viewers import UPDATE, choose

TOOL = "documents_add_to_context"
BUTTON = "[...document.querySelectorAll('.proposals button')].find((each) => each.textContent === {!r})"


CARD = "document.querySelector('.turn:{}-child .proposals')?.textContent.includes('{}')"


def proposes(request: ChatRequest, document: str = "fee.pdf") -> Reply | None:
    offered = [each["function"]["name"] for each in request.body.get("tools") or []]
    if any(message["role"] == "tool" for message in request.body["messages"]):
        return Reply(text="I proposed it.")
    call = ToolCall(name=TOOL, arguments={"document": document})
    return Reply(tool_calls=[call]) if TOOL in offered else None


async def press(visit: Visit, words: str) -> None:
    """Press a button of a proposal by the keyboard."""
    await visit.page.until(BUTTON.format(words))
    await visit.page.value(f"{BUTTON.format(words)}.focus()")
    await visit.page.press("Enter")


async def test_a_proposal_is_confirmed_and_taken_back_by_keyboard(visit: Visit, tmp_path: Path) -> None:
    organization = made(visit, "organization", "Northwind")

    def names() -> list[str]:
        return [each["blob_name"] for each in visit.get(f"/contexts/{organization}/documents")["documents"]]

    await attach_all(visit, tmp_path, fee=pdf("The mooring fee is nine crowns."))
    visit.model.responder = proposes
    await choose(visit, "Northwind")
    await choose(visit, UPDATE)
    assert f"{UPDATE} is on" in " ".join(await visit.texts(".chips li"))
    await visit.write("Please add fee.pdf to Northwind.")
    await visit.page.press("Enter")
    await visit.page.until(ANSWERED.format(1))
    await visit.page.until(
        "document.querySelector('.proposals')?.textContent.includes('Add fee.pdf to Northwind?')"
    )
    assert "Nothing changes before you confirm" in (await visit.texts(".proposals"))[0]
    assert names() == []
    await press(visit, "Add it")
    await visit.page.until(
        "document.querySelector('.proposals')?.textContent.includes('was added to Northwind')"
    )
    assert names() == ["fee.pdf"]
    await visit.page.reload()
    await press(visit, "Take it back")
    await visit.page.until("document.querySelector('.proposals')?.textContent.includes('taken back')")
    assert names() == []
    assert await visit.page.value("document.querySelectorAll('.proposals button').length") == 0


async def test_a_new_proposal_is_shown_although_its_question_is_further_up(
    visit: Visit, tmp_path: Path
) -> None:
    made(visit, "organization", "Northwind")
    files = {name: pdf(f"The {name} is nine crowns.") for name in ("fee", "toll", "rent")}
    await attach_all(visit, tmp_path, **files)
    await choose(visit, "Northwind")
    await choose(visit, UPDATE)
    for number, name in enumerate(("fee", "toll"), start=1):
        visit.model.responder = partial(proposes, document=f"{name}.pdf")
        await visit.ask(f"Please add {name}.pdf to Northwind.", answers=number)
        await visit.page.until(CARD.format("last", f"Add {name}.pdf"))
    visit.model.responder = partial(proposes, document="rent.pdf")
    await visit.click('.actions [aria-label="Edit the question"]')
    await visit.write(" And rent.pdf.")
    await visit.page.press("Enter")
    await visit.page.until(CARD.format("first", "Add rent.pdf"))
    assert len(await visit.texts(".proposals")) == 1
