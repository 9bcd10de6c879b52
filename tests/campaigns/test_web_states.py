"""Each state of the page that a person can meet: nothing that axe-core finds, nothing cut or covered,
no ids, and no other host."""

import json
from typing import Any

import pytest

from devkit.browser import Program
from devkit.page_layout import SIZES as WIDTHS
from devkit.page_layout import ZOOMED, faults
from devkit.page_scenes import SCENES
from devkit.page_stage import Stage, stage
from devkit.shared_data import ROOT
from devkit.visits import Visit

AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
SHORT = "({ id, nodes }) => [id, nodes.map((each) => each.html.slice(0, 160))]"
SIZES = [(*size, dark) for size in ((1440, 900), (820, 1180), (390, 844)) for dark in (False, True)]
ID = r"/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/"
EXPECTED = ("Failed to load resource", "ERR_INTERNET_DISCONNECTED", "ERR_BLOCKED_BY_CLIENT")
"""What the browser itself writes of requests that fail on purpose."""
OF_PROVIDER = "https://fonts.googleapis.com/"
"""The provider's page asks for letters, which its policy and the browser of the tests refuse."""
LOCAL = ("blob:", "data:", "about:")
WITH_ID = {"telemetry"}
"""The detail of a trace names it."""


async def wrong_with(visit: Visit) -> list[Any]:
    """What is wrong with the page as it is, in all sizes and colours."""
    found: list[Any] = []
    for width, height, dark in SIZES:
        await visit.page.look(width=width, height=height, dark=dark)
        script = AXE.read_text(encoding="utf-8")
        await visit.page.value(f"window.axe ? 1 : (() => {{ {script}; return 1; }})()")
        run = f"axe.run(document, {{ runOnly: {json.dumps(TAGS)} }})"
        broken = await visit.page.value(f"{run}.then((result) => result.violations.map({SHORT}))")
        found += [(width, dark, each) for each in broken]
    for width, height, *zoom in (*WIDTHS, *ZOOMED):
        await visit.page.look(width=width, height=height)
        found += [(width, *zoom, each) for each in await faults(visit.page)]
    await visit.page.look(width=1440, height=900)
    if await visit.page.value(f"{ID}.test(document.body.innerText)"):
        found.append("an id is shown")
    found += [f"kept in the browser: {text}" for text in await visit.kept_texts()]
    problems = [text for text in visit.page.problems if not any(each in text for each in EXPECTED)]
    problems += visit.page.violations
    visit.page.problems.clear()
    visit.page.violations.clear()
    return found + problems


async def strangers(played: Stage, visit: Visit) -> set[str]:
    """The hosts beyond those of the stage that the page asked."""
    addresses = [*played.online.addresses.values(), *played.offline.addresses.values()]
    own = tuple(each.removesuffix("/api") + "/" for each in addresses)
    return {
        url
        for _, url in visit.page.requests
        if not url.startswith((*own, *played.providers, OF_PROVIDER, *LOCAL))
    }


@pytest.mark.campaign
async def test_every_state_can_be_used_by_everyone(program: Program) -> None:
    found: dict[str, list[Any]] = {}
    with stage() as played:
        async with played.visit(program) as visit:
            for scene in SCENES:
                try:
                    await played.play(visit, scene)
                    wrong = await wrong_with(visit)
                except (TimeoutError, AssertionError) as exc:
                    wrong = [repr(exc)]
                if wrong and not (scene.name in WITH_ID and wrong == ["an id is shown"]):
                    found[scene.name] = wrong
            assert await strangers(played, visit) == set()
    assert found == {}
    assert len(SCENES) > 60
