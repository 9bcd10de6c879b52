"""`python -m scripts.picture_telemetry`: docs/telemetry.png, the page of telemetry over made-up turns."""

import asyncio
import io
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import uvicorn
from PIL import Image

from devkit.browser import browsing, unpacked
from devkit.sample_traces import a_month, detailed
from orc.api.app import create_app
from orc.conversations.models import utc_now
from orc.settings import Settings

TARGET = Path(__file__).resolve().parents[1] / "docs" / "telemetry.png"
ROWS_TO_KEEP = 4


@asynccontextmanager
async def _served(folder: Path) -> AsyncIterator[str]:
    app = create_app(Settings(data_dir=folder))
    store, now = (await app.state.provider.get()).traces, utc_now()
    for each in [*a_month(now - timedelta(minutes=1)), detailed(900, now)]:
        await store.save(each)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off", ws="none"))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/api/admin/telemetry/page"
        server.should_exit = True
        await serving
    await app.state.provider.close()


async def picture(*, dark: bool = False) -> bytes:
    """The page with its latest turn opened, as a PNG."""
    with TemporaryDirectory() as folder, unpacked() as program:
        async with _served(Path(folder)) as address, browsing(program) as page:
            await page.look(width=1180, height=900, dark=dark)
            await page.open(address)
            await page.until("document.querySelectorAll('#rows tr').length")
            await page.value("document.querySelector('#rows tr').click()")
            await page.until("document.querySelector('svg.timeline')")
            rows = f"#rows tr:nth-child(n + {ROWS_TO_KEEP + 1})"
            await page.value(f"document.querySelectorAll('{rows}').forEach((each) => each.remove())")
            height = await page.value("document.documentElement.scrollHeight")
            await page.look(width=1180, height=height, dark=dark)
            return _small(await page.picture())


def _small(png: bytes) -> bytes:
    """The picture in 256 colours, which are more than it has but for the shades of letters."""
    made = io.BytesIO()
    colours = Image.open(io.BytesIO(png)).convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE)
    colours.save(made, "PNG", optimize=True)
    return made.getvalue()


if __name__ == "__main__":
    TARGET.write_bytes(asyncio.run(picture()))
