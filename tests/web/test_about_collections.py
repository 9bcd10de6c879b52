"""Questions about several collections, a limit of questions, and exports, as a person meets them."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from devkit.doubles.openai_double import Reply
from devkit.visits import ANSWERED, Visit
from tests.unit.orc_core.extraction.samples import pdf
from tests.web.test_access import SAVING, saved
from tests.web.test_collections import CHIPS, administrator, made
from tests.web.test_viewers import choose

FEE = "What is the mooring fee of Northwind?"
FAQ = "# Oil\n\n## What cools the transformer?\n\nOil.\n\n## When is the oil changed?\n\nEvery ten years.\n"


def store(visit: Visit, context: str, name: str, text: str) -> None:
    with administrator(visit) as client:
        files = [("file", (name, text.encode()))]
        assert client.post(f"/contexts/{context}/documents", files=files).status_code == 201


async def test_a_source_of_another_collection_than_the_first_names_it(visit: Visit) -> None:
    """Two are chosen in the menu; only the second one has the answer."""
    machines, northwind = made(visit, "workspace", "Machines"), made(visit, "organization", "Northwind")
    store(visit, machines, "pump.txt", "The pump of the quay runs at night.")
    store(visit, northwind, "fees.txt", "The mooring fee of Northwind is eleven crowns.")
    await asyncio.to_thread(visit.here.index)
    await choose(visit, "Machines")
    await choose(visit, "Northwind")
    assert await visit.page.value(CHIPS) == ["Machines", "Northwind"]
    await visit.ask(FEE)
    await visit.page.until("document.querySelector('button.marker')?.textContent.includes('Northwind')")
    label = await visit.page.value("document.querySelector('button.marker').getAttribute('aria-label')")
    assert "fees.txt" in label and "from Organization Northwind" in label
    await visit.click("button.marker")
    await visit.page.until("document.querySelector('#sources .home')?.textContent.includes('Northwind')")


async def test_a_collection_that_was_asked_about_before_switches_no_tool_off(visit: Visit) -> None:
    plant, quays = made(visit, "workspace", "Plant"), made(visit, "workspace", "Quays")
    store(visit, plant, "plant.txt", "The transformer T1 feeds the busbar B2.")
    store(visit, quays, "quays.txt", "The mooring fee of Northwind is eleven crowns.")
    await asyncio.to_thread(visit.here.index)
    with administrator(visit) as client:
        tools = {"tools_off": ["document_chat", "search_pages", "semantic_search"]}
        assert client.patch(f"/contexts/{plant}", json=tools).status_code == 200
    await choose(visit, "Plant")
    await visit.ask("What does the transformer feed?")
    await visit.sees(".turn .note.is-warn a")
    await visit.click(".chips [aria-label='Do not use Plant']")
    await choose(visit, "Quays")
    await visit.ask(FEE, answers=2)
    assert await visit.texts(".turn.is-last .note.is-warn") == []
    assert await visit.texts(".turn.is-last button.marker") != []


async def test_questions_about_a_collection_are_suggested_from_its_documents(visit: Visit) -> None:
    plant = made(visit, "workspace", "Plant")
    store(visit, plant, "service.md", FAQ)
    await asyncio.to_thread(visit.here.index)
    await visit.page.value(f"location.hash = '#/contexts/{plant}'")
    await visit.click(".ask-about")
    await visit.ask("What is known of the oil?")
    await visit.page.until("document.querySelectorAll('.suggestions button').length > 0")
    asked = (await visit.texts(".suggestions button"))[0]
    assert f"## {asked}\n" in FAQ
    await visit.click(".suggestions button")
    await visit.page.until(ANSWERED.format(2))
    assert (await visit.texts(".turn .question p:not(.asked)"))[-1] == asked


async def test_a_question_whose_answer_failed_costs_nothing_of_the_limit(visit: Visit) -> None:
    """Of one question an hour: what failed by no fault of the question is not it, one that is answered is."""
    page = visit.page
    await page.open("about:blank")
    limited = replace(visit, variant="limited")
    await limited.open()
    limited.model.responder = lambda asked: Reply(choices=False)
    await limited.write("Hello there")
    await page.press("Enter")
    await limited.sees(".turn.is-failed")
    limited.model.responder = None
    await limited.ask("Hello again")
    await limited.write("And again?")
    await page.press("Enter")
    await limited.sees(".composer .note.is-warn")
    assert await page.value("document.getElementById('question').value") == "And again?"
    page.problems.clear()


async def test_an_export_has_the_language_time_and_numbers_of_the_page(visit: Visit, tmp_path: Path) -> None:
    page = visit.page
    rule, quay = "Every employee has 28 days of leave.", "The quay opens at seven."
    visit.model.responder = lambda asked: (
        Reply(text=f"{rule} [S1] {quay} [S1]") if asked.sources and not asked.schema_asked else None
    )
    (tmp_path / "rules.pdf").write_bytes(pdf(f"{rule} {quay}"))
    await visit.attach(tmp_path / "rules.pdf")
    await visit.ask("What are the rules of leave and of the quay?")
    await page.call("Emulation.setTimezoneOverride", timezoneId="Asia/Kolkata")
    store_of = "import(document.documentElement.dataset.base + 'store.js')"
    await page.value(f"{store_of}.then((store) => {{ store.prefer({{ language: 'de' }}); }})")
    await page.until("document.getElementById('new').textContent.includes('Neuer Chat')")
    await page.value(SAVING)
    began = datetime.now(UTC)
    await visit.click(".session > button")
    entries = "[...document.querySelectorAll('.menu .toggle')]"
    entry = f"{entries}.find((each) => each.textContent.includes('Markdown'))"
    await page.until(entry)
    await page.value(f"{entry}.click()")
    _, content = await saved(visit)
    text = content.decode()
    assert await visit.conversation() not in text
    assert [each for each in ("UTC", "Question", "Answer", "Page 1 of", "verified") if each in text] == []
    assert [each for each in ("Frage", "Antwort", "Seite 1", r"\[1\]") if each not in text] == []
    assert r"\[2\]" not in text
    there = [moment.astimezone(ZoneInfo("Asia/Kolkata")) for moment in (began, datetime.now(UTC))]
    assert any(f"{moment:%d.%m.%Y, %H:%M}" in text for moment in there)
