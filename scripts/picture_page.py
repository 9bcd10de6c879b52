"""`python -m scripts.picture_page`: docs/page/*.webp, the web page in states that readers should know.

It needs what the tests in a browser need. The answers are those of the offline model.
"""

import asyncio
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

from devkit.browser import Page, browsing, unpacked
from devkit.in_process import InProcess, Variant, running_here
from devkit.shared_data import HANDBOOK
from devkit.system import principal_headers

TARGET = Path(__file__).resolve().parents[1] / "docs" / "page"
LEAVE = "How many days of annual leave does a new employee get?"
HOTEL = "What is the hotel limit in Hamburg during the harbour fair?"
LISBON = "What do three nights in Lisbon cost in total?"
WIDE, TABLET, PHONE = (1440, 900), (820, 1180), (390, 844)
QUALITY = 80


def main() -> None:
    TARGET.mkdir(exist_ok=True)
    with _serving() as here:
        asyncio.run(_take(here))


@contextmanager
def _serving() -> Iterator[InProcess]:
    with TemporaryDirectory() as folder:
        variants = {"page": Variant()}
        with running_here(Path(folder), variants, common={}, tools={}) as here:
            yield here


async def _take(here: InProcess) -> None:
    with unpacked() as program:
        async with browsing(program) as page:
            await page.call(
                "Network.setExtraHTTPHeaders", headers=principal_headers("port", "ada", "orc.admin")
            )
            await page.look(width=WIDE[0], height=WIDE[1])
            await page.open(here.addresses["page"].removesuffix("api"))
            await page.until("document.getElementById('question')")
            await page.attach("#picker", HANDBOOK)
            await page.until("document.querySelector('.file button.file-main')")
            await asyncio.to_thread(here.index)
            await page.until("document.querySelector('.file.is-ready')")
            await _ask(page, LEAVE, 1)
            await _ask(page, HOTEL, 2)
            await page.value("document.querySelectorAll('.turn')[1].querySelector('button.marker').click()")
            await page.until("document.querySelector('.marks rect')")
            await _save(page, "quote", WIDE)
            await _save(page, "quote-dark", WIDE, dark=True)
            await _save(page, "quote-phone", PHONE)
            await page.press("Escape")
            await page.until("!document.getElementById('sources')")
            await _ask(page, LISBON, 3)
            await page.value("document.querySelectorAll('details.why')[2].open = true")
            await _save(page, "closest-dark", TABLET, dark=True)
            await page.value("document.getElementById('plus').click()")
            await _save(page, "menu", WIDE)
            await page.value("location.hash = '#/telemetry'")
            await page.until("document.querySelector('.data tbody button')")
            await page.value("document.querySelector('.data tbody button').click()")
            await page.until("document.querySelector('.timeline')")
            await page.value("document.querySelector('.scroller').scrollTop = 0")
            await _save(page, "telemetry", (1200, 1180))


async def _ask(page: Page, question: str, number: int) -> None:
    await page.value("document.getElementById('question').focus()")
    await page.call("Input.insertText", text=question)
    await page.press("Enter")
    await page.until(f"document.querySelectorAll('.turn.is-answered').length >= {number}")


async def _save(page: Page, name: str, size: tuple[int, int], *, dark: bool = False) -> None:
    await page.look(width=size[0], height=size[1], dark=dark)
    # The mark on a page is brighter for its first second.
    await page.value("Promise.all(document.getAnimations().map((each) => each.finished)).then(() => 1)")
    picture = Image.open(io.BytesIO(await page.picture())).convert("RGB")
    picture.save(TARGET / f"{name}.webp", quality=QUALITY, method=6)
    print(json.dumps({"picture": f"{name}.webp", "bytes": (TARGET / f"{name}.webp").stat().st_size}))


if __name__ == "__main__":
    main()
