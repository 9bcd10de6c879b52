"""Small grey pictures of states of the web page, to be compared with those that people have reviewed.

A pixel of them is the mean shade of SHRUNK by SHRUNK pixels of the window. So all of them take 31 KB, and
still show what has moved, has another shade or is gone. The letters are those of the browser's package.
"""

import io
import json
from collections.abc import Iterator

import numpy
from PIL import Image

from devkit.browser import Page, Program
from devkit.node import from_npm
from devkit.page_scenes import SCENES
from devkit.page_stage import stage
from devkit.shared_data import ROOT

REVIEWED = ROOT / "tests" / "web" / "reviewed"
STATES = (
    *("empty", "answered", "page", "page-text", "sources", "not-found"),
    *("partly", "checks", "corrected", "failed", "menu", "preferences"),
)
SIZES = ((1440, 900), (820, 1180), (390, 844))
THEMES = ("light", "dark")
LOOKS = tuple(f"{width}-{theme}" for width, _ in SIZES for theme in THEMES)
SHRUNK = 16
SHADES = 3
"""Means that differ by no more are the same: processors may round the edges of letters differently."""
_STILL = """
(async () => {
  document.documentElement.style.caretColor = "transparent";
  await Promise.all(document.getAnimations().map((each) =>
    each.effect.getTiming().iterations !== Infinity && each.finished));
  await Promise.all([...document.images].map((each) => each.decode().catch(() => 0)));
  await new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)); });
})()
"""
"""The mark on a page is brighter for its first second."""

Pictures = dict[tuple[str, str], Image.Image]
"""The small picture of a state, by its name and its look, such as `1440-dark`."""


async def window(page: Page, size: tuple[int, int], *, dark: bool) -> Image.Image:
    """The window in colour and in this size, once nothing in it moves."""
    await page.look(width=size[0], height=size[1], dark=dark)
    await page.value(_STILL)
    return Image.open(io.BytesIO(await page.picture())).convert("RGB")


async def take(program: Program) -> Pictures:
    """Small pictures of all STATES in all LOOKS."""
    pictures: Pictures = {}
    scenes = {scene.name: scene for scene in SCENES}
    with stage() as played:
        async with played.visit(program) as visit:
            # The list of sessions grows from state to state: they are always played in this order.
            for name in STATES:
                await visit.page.look(width=SIZES[0][0], height=SIZES[0][1])
                await played.play(visit, scenes[name])
                for size in SIZES:
                    for theme in THEMES:
                        shown = await window(visit.page, size, dark=theme == "dark")
                        pictures[name, f"{size[0]}-{theme}"] = shown.convert("L").reduce(SHRUNK)
    return pictures


def differing(one: Image.Image, other: Image.Image) -> float:
    """The share of pixels that differ by more than SHADES; 1 if the sizes differ."""
    if one.size != other.size:
        return 1.0
    shades = numpy.abs(numpy.asarray(one).astype(int) - numpy.asarray(other).astype(int))
    return float((shades > SHADES).mean())


def save(pictures: Pictures) -> None:
    """Make these pictures the reviewed ones: a file for each look, with the states below each other."""
    REVIEWED.mkdir(exist_ok=True)
    for look in LOOKS:
        states = [pictures[name, look] for name in STATES]
        sheet = Image.new("L", (states[0].width, sum(each.height for each in states)))
        for place, state in enumerate(states):
            sheet.paste(state, (0, place * state.height))
        sheet.save(REVIEWED / f"{look}.png", optimize=True)
    (REVIEWED / "browser.txt").write_text(f"{installed_browser()}\n", encoding="utf-8")


def reviewed() -> Pictures:
    """The pictures that people have reviewed."""
    return {(name, look): state for look in LOOKS for name, state in _reviewed(look)}


def _reviewed(look: str) -> Iterator[tuple[str, Image.Image]]:
    with Image.open(REVIEWED / f"{look}.png") as opened:
        sheet = opened.convert("L")
    height = sheet.height // len(STATES)
    for place, name in enumerate(STATES):
        yield name, sheet.crop((0, place * height, sheet.width, (place + 1) * height))


def installed_browser() -> str:
    """The version of the browser's package, and so of its letters."""
    version: str = json.loads(from_npm("@sparticuz/chromium/package.json").read_bytes())["version"]
    return version


def reviewed_browser() -> str:
    """The version of the browser's package that drew the reviewed pictures."""
    return (REVIEWED / "browser.txt").read_text(encoding="utf-8").strip()
