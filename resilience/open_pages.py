"""`python -m resilience.open_pages`: what 1,000 open pages that are not used cost, and what they hold.

The pages listen to conversations until these have been quiet, here after two seconds in place of two minutes.
Cosmos DB is the emulator, which charges nothing: request units are estimated from the sizes of the requests.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from unittest.mock import patch

import aiohttp
import httpx
from aiohttp import web

from devkit.system import interrupted_by_sigterm
from devkit.system_here import system_here
from orc.api.middleware import MOST_FOLLOWED
from resilience.checks import Tally
from resilience.clients import open_client
from resilience.command import Load, run_command
from resilience.deployment import Store, conversation_with, in_thread, store_settings, surroundings
from resilience.history_check import QUAY
from resilience.report import StepsOf, Verdict

OPEN = "pages that still hold a request when they are quiet"
HELD = "requests refused because a page still holds one"
DEAR = "seconds that cost more than 20 request units"
NAMES = (OPEN, HELD, DEAR)

MOST_UNITS = 20.0
"""A second, with all pages open."""
QUIET_SECONDS, MEASURED_SECONDS = 2.0, 60
CONVERSATIONS = 20
KIB = 1024
READ = ((1.0, 1.0), (64.0, 4.8), (1024.0, 146.0))
WRITE = ((1.0, 5.0), (64.0, 23.0), (1024.0, 625.0))
"""KiB and request units, as Microsoft publishes and others have measured them."""
QUERY = 2.8
"""What a query costs beyond what it reads."""
STRONG = 2
"""An account with strong consistency charges reads twice."""
NOT_PASSED_ON = frozenset({"host", "content-length", "transfer-encoding", "connection", "content-encoding"})


@dataclass(frozen=True)
class Plan(Load):
    """How many pages are open, and how many of them begin at a time.

    A user may listen to 20 conversations: pages that went on holding a request would soon be too many.
    """

    count: int = 1000
    at_once: int = MOST_FOLLOWED // 2
    store: Store = Store.COSMOS


@dataclass
class Costs:
    """The request units of each second."""

    seconds: dict[int, float] = field(default_factory=dict)

    def add(self, units: float) -> None:
        second = int(asyncio.get_running_loop().time())
        self.seconds[second] = self.seconds.get(second, 0.0) + units

    def take(self) -> list[float]:
        """The units of the seconds so far, which are then forgotten."""
        taken, self.seconds = [*self.seconds.values()], {}
        return taken


def units_of(method: str, path: str, headers: httpx.Headers, sent: bytes, received: int) -> float:
    """What a request for items would cost; others concern the account and are not charged."""
    if "/docs" not in path:
        return 0.0
    if headers.get("x-ms-cosmos-is-batch-request", "").lower() == "true":
        bodies = (json.dumps(each.get("resourceBody") or "") for each in json.loads(sent))
        return sum(_at(WRITE, len(body)) for body in bodies)
    if headers.get("x-ms-documentdb-isquery", "").lower() == "true":
        return STRONG * (_at(READ, received) + QUERY)
    return STRONG * _at(READ, received) if method == "GET" else _at(WRITE, len(sent))


def _at(curve: Sequence[tuple[float, float]], size: int) -> float:
    """The cost of so many bytes, interpolated between points."""
    kib = max(size / KIB, curve[0][0])
    (small, cheap), (large, dear) = next(
        ((low, high) for low, high in pairwise(curve) if kib <= high[0]), (curve[-2], curve[-1])
    )
    return cheap + (dear - cheap) * (kib - small) / (large - small)


@asynccontextmanager
async def counted(upstream: str, costs: Costs) -> AsyncIterator[str]:
    """The address of a proxy that notes what requests to this Cosmos DB cost."""
    async with aiohttp.ClientSession(upstream) as client:

        async def forward(request: web.Request) -> web.Response:
            body = await request.read()
            sent = {k: v for k, v in request.headers.items() if k.lower() not in NOT_PASSED_ON}
            async with client.request(request.method, request.path_qs, data=body, headers=sent) as answer:
                content = await answer.read()
            costs.add(
                units_of(
                    request.method, request.path, httpx.Headers(dict(request.headers)), body, len(content)
                )
            )
            kept = {k: v for k, v in answer.headers.items() if k.lower() not in NOT_PASSED_ON}
            return web.Response(status=answer.status, body=content, headers=kept)

        app = web.Application(client_max_size=4 * KIB * KIB)
        app.router.add_route("*", "/{path:.*}", forward)
        runner = web.AppRunner(app)
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            yield f"http://127.0.0.1:{runner.addresses[0][1]}"
        finally:
            await runner.cleanup()


async def listen(http: httpx.AsyncClient, url: str) -> tuple[int, str]:
    """Listen as a page does; the status, and the last event of a stream that has ended by itself."""
    response = await http.get(url)
    kinds = [
        line.removeprefix("event: ") for line in response.text.splitlines() if line.startswith("event: ")
    ]
    return response.status_code, kinds[-1] if kinds else ""


async def run(plan: Plan, steps_of: StepsOf) -> Verdict:
    """The whole campaign."""
    tally, costs, places = Tally(NAMES), Costs(), asyncio.Semaphore(plan.at_once)
    async with AsyncExitStack() as stack:
        stack.enter_context(patch("orc.api.conversation_events.QUIET_SECONDS", QUIET_SECONDS))
        folder = stack.enter_context(surroundings())
        settings = await stack.enter_async_context(in_thread(store_settings(plan.store)))
        if (endpoint := settings.get("AZURE_COSMOS_ENDPOINT")) is not None:
            settings["AZURE_COSMOS_ENDPOINT"] = await stack.enter_async_context(counted(endpoint, costs))
        here = system_here(folder / "product", **settings)
        system = await stack.enter_async_context(in_thread(here))
        http = await stack.enter_async_context(open_client())
        making = (asyncio.to_thread(conversation_with, system, QUAY) for _ in range(CONVERSATIONS))
        urls = [f"{system.api}/conversations/{each}/events" for each in await asyncio.gather(*making)]
        costs.take()
        advance = steps_of("Pages that listen until it is quiet", plan.count)

        async def page(number: int) -> None:
            async with places:
                status, last = await listen(http, urls[number % len(urls)])
            tally.expect(HELD, status == httpx.codes.OK, f"page {number}: {status}")
            tally.expect(OPEN, last == "quiet", f"page {number} ended with {last or 'nothing'}")
            advance()

        await asyncio.gather(*map(page, range(plan.count)))
        opened = sum(costs.take())
        advance = steps_of("Seconds in which all are open and none is used", MEASURED_SECONDS)
        for _ in range(MEASURED_SECONDS):
            await asyncio.sleep(1)
            advance()
        idle = costs.take()
        again = [listen(http, urls[number % len(urls)]) for number in range(MOST_FOLLOWED)]
        for status, _ in await asyncio.gather(*again):
            tally.expect(HELD, status == httpx.codes.OK, f"again: {status}")
    return judged(plan, tally, opened, idle)


def judged(plan: Plan, tally: Tally, opened: float, idle: Iterable[float]) -> Verdict:
    """The verdict; `idle` are the units of the seconds in which there was any request."""
    busy = [*idle]
    for units in [*busy, *[0.0] * (MEASURED_SECONDS - len(busy))]:
        tally.expect(DEAR, units <= MOST_UNITS, f"{units:.1f} request units")
    figures = [
        ("pages", f"{plan.count:,}"),
        (f"request units until a page is quiet, after {QUIET_SECONDS:.0f} s", f"{opened / plan.count:.1f}"),
        ("request units a second afterwards, of the whole system", f"{sum(busy) / MEASURED_SECONDS:.2f}"),
    ]
    return Verdict("Open pages that are not used", tally.checks(), figures)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    with interrupted_by_sigterm():
        return run_command("resilience.open_pages", __doc__, "pages", Plan(), run, arguments)


if __name__ == "__main__":
    sys.exit(main())
