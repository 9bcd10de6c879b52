"""`python -m scripts.picture_page`: docs/page/*.webp, the web page in states that readers should know.

With `--states FOLDER` it takes pictures of all states into a folder instead, in both colours and on a phone;
names of states may follow. With `--review` it writes the small pictures that the tests compare with: look
at the states before. It needs what the tests in a browser need. The answers in docs/page are those of the
offline model.
"""

import argparse
import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from devkit import page_pictures
from devkit.browser import Page, browsing, unpacked
from devkit.in_process import InProcess, Variant, running_here
from devkit.page_scenes import SCENES
from devkit.page_stage import stage
from devkit.shared_data import HANDBOOK
from devkit.system import principal_headers

TARGET = Path(__file__).resolve().parents[1] / "docs" / "page"
LEAVE = "How many days of annual leave does a new employee get?"
HOTEL = "What is the hotel limit in Hamburg during the harbour fair?"
LISBON = "What do three nights in Lisbon cost in total?"
WIDE, TABLET, PHONE = (1440, 900), (820, 1180), (390, 844)
QUALITY = 80
LAPTOP = (1280, 720)
LOOKS = {
    "light": (WIDE, False),
    "dark": (WIDE, True),
    "laptop": (LAPTOP, False),
    "phone": (PHONE, False),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--states", type=Path, metavar="FOLDER")
    parser.add_argument("names", nargs="*", help="the states; all if none is named")
    parser.add_argument("--review", action="store_true")
    given = parser.parse_args()
    if given.review:
        asyncio.run(_review())
        return
    if given.states:
        given.states.mkdir(parents=True, exist_ok=True)
        asyncio.run(_take_states(given.states, given.names))
        return
    TARGET.mkdir(exist_ok=True)
    with _serving() as here:
        asyncio.run(_take(here))


async def _take_states(folder: Path, names: list[str]) -> None:
    with stage() as played, unpacked() as program:
        async with played.visit(program) as visit:
            for scene in SCENES:
                if names and scene.name not in names:
                    continue
                await visit.page.look(width=WIDE[0], height=WIDE[1])
                await played.play(visit, scene)
                for look, (size, dark) in LOOKS.items():
                    await _save(visit.page, folder / f"{scene.name}-{look}.webp", size, dark=dark)


async def _review() -> None:
    with unpacked() as program:
        pictures = await page_pictures.take(program)
    known = page_pictures.reviewed() if page_pictures.REVIEWED.exists() else {}
    for state, picture in pictures.items():
        share = page_pictures.differing(picture, known[state]) if state in known else 1.0
        print(json.dumps({"state": " ".join(state), "differing": round(share, 4)}))
    page_pictures.save(pictures)


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
            await _click(page, "document.querySelectorAll('.turn')[1].querySelector('button.marker')")
            await page.until("document.querySelector('.marks rect')")
            await _save(page, TARGET / "quote.webp", WIDE)
            await _save(page, TARGET / "quote-dark.webp", WIDE, dark=True)
            await _save(page, TARGET / "quote-phone.webp", PHONE)
            await page.press("Escape")
            await page.until("!document.getElementById('sources')")
            await _ask(page, LISBON, 3)
            await _click(page, "document.querySelectorAll('.why summary')[2]")
            await page.until("document.querySelectorAll('.why')[2].querySelector('ol')")
            await _save(page, TARGET / "closest-dark.webp", TABLET, dark=True)
            await page.value("document.getElementById('plus').click()")
            await _save(page, TARGET / "menu.webp", WIDE)
            await page.value("location.hash = '#/telemetry'")
            await page.until("document.querySelector('.data tbody button')")
            await page.value("document.querySelector('.data tbody button').click()")
            await page.until("document.querySelector('.timeline')")
            await page.look(width=1200, height=1270)
            await page.value("document.querySelector('.scroller').scrollTop = 0")
            await _save(page, TARGET / "telemetry.webp", (1200, 1270))


async def _click(page: Page, element: str) -> None:
    """Click with the mouse: what a key or a script moves the focus to is framed."""
    await page.value(f"{element}.scrollIntoView({{ block: 'nearest', behavior: 'instant' }})")
    place = f"{element}.getBoundingClientRect()"
    x, y = await page.value(f"(({{ x, y, width, height }}) => [x + width / 2, y + height / 2])({place})")
    for kind in ("mousePressed", "mouseReleased"):
        await page.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)


async def _ask(page: Page, question: str, number: int) -> None:
    await page.value("document.getElementById('question').focus()")
    await page.call("Input.insertText", text=question)
    await page.press("Enter")
    await page.until(f"document.querySelectorAll('.turn.is-answered').length >= {number}")


async def _save(page: Page, target: Path, size: tuple[int, int], *, dark: bool = False) -> None:
    picture = await page_pictures.window(page, size, dark=dark)
    await asyncio.to_thread(picture.save, target, quality=QUALITY, method=6)
    print(json.dumps({"picture": target.name, "size": picture.size}))


if __name__ == "__main__":
    main()
