"""Lighthouse finds the page fast, accessible and in order.

Lighthouse is no dependency of the project, because it brings 275 packages and 200 MB:
`npm install --no-save --ignore-scripts lighthouse@12.8.2` installs it. Its times are
those of the machine: they are compared with the limits only if nothing else keeps it busy.
"""

import asyncio
import json
import logging
import shutil
from pathlib import Path

import pytest

from devkit.browser import Program, browsing
from devkit.doubles.openai_double import OpenAIDouble
from devkit.in_process import InProcess
from devkit.process_state import is_busy
from devkit.shared_data import ROOT
from devkit.system import principal_headers

CLI = ROOT / "node_modules" / "lighthouse" / "cli" / "index.js"
PERFECT = {"accessibility": 1.0, "best-practices": 1.0}
FAST = {"desktop": 0.95, "mobile": 0.9}
FIRST_PAINT_MS, LARGEST_PAINT_MS, BLOCKED_MS, MOST_SHIFT = 1000, 1500, 100, 0.02
log = logging.getLogger(__name__)


@pytest.mark.campaign
@pytest.mark.parametrize("form", FAST)
async def test_lighthouse_finds_nothing(
    program: Program, running: tuple[InProcess, OpenAIDouble], tmp_path: Path, form: str
) -> None:
    node = shutil.which("node")
    if node is None or not CLI.exists():
        pytest.skip("Lighthouse is not installed: npm install --no-save --ignore-scripts lighthouse@12.8.2")
    url = running[0].addresses["page"].removesuffix("api")
    report = tmp_path / "report.json"
    headers = json.dumps(principal_headers("acme", "ann"))
    async with browsing(program) as page:
        chosen = ["--preset=desktop"] if form == "desktop" else ["--form-factor=mobile"]
        options = ["--output=json", f"--output-path={report}", "--quiet", "--throttling-method=provided"]
        categories = "--only-categories=performance,accessibility,best-practices"
        command = [str(CLI), url, f"--port={page.port}", f"--extra-headers={headers}", categories]
        process = await asyncio.create_subprocess_exec(node, *command, *options, *chosen, cwd=tmp_path)
        assert await process.wait() == 0
    found = json.loads(await asyncio.to_thread(report.read_text))
    scores = {name: category["score"] for name, category in found["categories"].items()}
    audits = found["audits"]
    limits = {
        "first-contentful-paint": FIRST_PAINT_MS,
        "largest-contentful-paint": LARGEST_PAINT_MS,
        "total-blocking-time": BLOCKED_MS,
    }
    figures = {name: round(audits[name]["numericValue"]) for name in (*limits, "speed-index")}
    log.info("%s: %s, ms: %s", form, scores, figures)
    failed = [
        (name, audit.get("details", {}).get("items", [])[:3])
        for name, audit in audits.items()
        if audit.get("score") == 0 and audit.get("scoreDisplayMode") == "binary"
    ]
    assert {name: scores[name] for name in PERFECT} == PERFECT, failed
    assert audits["cumulative-layout-shift"]["numericValue"] < MOST_SHIFT
    if is_busy():
        pytest.skip(f"The machine is too busy to judge speed; the rest holds: {figures}")
    assert scores["performance"] >= FAST[form], figures
    assert [name for name, most in limits.items() if figures[name] >= most] == [], figures
