"""A page of another origin that the settings name asks in a browser, and reads the stream of the answer."""

from collections.abc import Iterator

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from devkit.browser import Program, browsing
from devkit.doubles.openai_double import OpenAIDouble
from devkit.in_process import InProcess, Variant
from devkit.serving import serve_from_thread
from devkit.visits import page_running
from orc.settings import AuthMode

ASK = """
(async (at) => {
  const headers = { "content-type": "application/json", accept: "text/event-stream" };
  const body = JSON.stringify({ question: "Hello" });
  const answer = await fetch(`${at}/orc`, { method: "POST", headers, body }).catch(() => null);
  return answer && [answer.status, answer.headers.get("x-conversation-id")?.length, await answer.text()];
})
"""


@pytest.fixture(scope="module")
def other_page() -> Iterator[str]:
    """The origin of a page that is not of Orc."""

    async def page(_: Request) -> HTMLResponse:
        return HTMLResponse("<!doctype html><title>Another page</title>")

    with serve_from_thread(Starlette(routes=[Route("/", page)])) as address:
        yield address


@pytest.fixture(scope="module")
def running(
    tmp_path_factory: pytest.TempPathFactory, other_page: str
) -> Iterator[tuple[InProcess, OpenAIDouble]]:
    local = {"auth_mode": AuthMode.LOCAL}
    variants = {"closed": Variant(local), "open": Variant({**local, "allowed_origins": [other_page]})}
    with page_running(tmp_path_factory.mktemp("origins"), variants) as (here, double):
        yield here, double


async def test_a_page_of_an_allowed_origin_reads_a_stream_in_a_browser(
    program: Program, running: tuple[InProcess, OpenAIDouble], other_page: str
) -> None:
    here, _ = running
    async with browsing(program) as page:
        await page.open(f"{other_page}/")
        assert await page.value(f"{ASK}({here.addresses['closed']!r})") is None
        status, length, text = await page.value(f"{ASK}({here.addresses['open']!r})")
    assert (status, length) == (200, 36)
    assert "event: token" in text and "event: done" in text
