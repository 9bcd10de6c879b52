"""Faults of the layout of the web page that a script can see, in the window as it is."""

from pathlib import Path

from devkit.browser import Page

SIZES = ((320, 640), (390, 844), (700, 900), (820, 1180), (1024, 768), (1093, 614), (1440, 900), (2560, 1300))
ZOOMED = ((720, 450, 2), (360, 225, 4))
"""A window of 1,440 by 900 pixels at 200 % and at 400 %: its width, its height and the zoom."""
# What follows the size of the window, such as an open menu, does so with the next picture.
_DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
_FAULTS = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


async def faults(page: Page) -> list[str]:
    """Controls that are covered, small or outside; cut or overlapping lines; what scrolls sideways."""
    found: list[str] = await page.value(f"{_DRAWN}.then(() => {_FAULTS})")
    return found
