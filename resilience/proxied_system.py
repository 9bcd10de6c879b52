"""The running product with a fault proxy on every way that turns take."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from random import Random

import httpx

from devkit.faults.messages import Request
from devkit.faults.proxy import Proxy, proxied
from devkit.faults.rules import CLIENTS, COSMOS, MODEL, TOOLS
from devkit.system import System
from resilience.clients import open_client
from resilience.deployment import (
    Store,
    in_thread,
    instance,
    product,
    product_here,
    scripted_model,
    store_settings,
    surroundings,
)
from resilience.history_check import Asked, Conversation
from resilience.model import TOKEN

LEASE_SECONDS = 3.0
LIMITS = {
    "ORC_ADVANCED": json.dumps(
        {
            "turn_deadline_seconds": 20,
            "turn_lease_seconds": LEASE_SECONDS,
            "tool_timeout_seconds": 10,
            "model_timeout_seconds": 5,
        }
    ),
}
WITNESSED = 0.25
PAGE = 100


@dataclass
class Witness:
    """Looks, when the model is first asked a question, whether the store already has it."""

    reader: httpx.AsyncClient
    seen: int = 0
    missing: list[str] = field(default_factory=list)
    _random: Random = field(default_factory=lambda: Random("witness"))
    _places: dict[str, tuple[str, int]] = field(default_factory=dict)

    def expect(self, asked: Asked, conversation: Conversation) -> None:
        """Look for the question when it comes by; only for some, since looking takes time."""
        if self._random.random() < WITNESSED:
            self._places[asked.token] = conversation.conversation_id, len(conversation.asked)

    async def look(self, request: Request) -> None:
        """Hold a request to the model until its question has been looked for."""
        for token in TOKEN.findall(request.body.decode(errors="replace")):
            if (place := self._places.pop(token, None)) is not None:
                await self._look_for(token, *place)

    async def _look_for(self, token: str, conversation_id: str, place: int) -> None:
        try:
            response = await self.reader.get(
                f"/conversations/{conversation_id}", params={"after_seq": max(place - 3, 0)}
            )
        except httpx.TransportError:
            return
        if response.status_code == httpx.codes.SERVICE_UNAVAILABLE:
            return  # the store itself failed, which proves nothing
        self.seen += 1
        if token not in response.text:
            self.missing.append(f"the model was asked {token}, the store said {response.text}")


@dataclass(frozen=True)
class Arena:
    """`proxies` are those that all instances share: before the model, the tools and, if any, Cosmos DB."""

    system: System
    proxies: Sequence[Proxy]
    tools: Proxy
    witness: Witness

    async def read_back(self, conversations: Sequence[Conversation]) -> None:
        """Read these from the store, once the holder of each turn has released it."""
        await asyncio.sleep(LEASE_SECONDS)
        for conversation in conversations:
            after: int | None = 0
            while after is not None:
                page = await self.witness.reader.get(
                    f"/conversations/{conversation.conversation_id}",
                    params={"after_seq": after, "limit": PAGE, "full": "true"},
                )
                stored = page.raise_for_status().json()
                conversation.turns += stored["turns"]
                conversation.history += stored["history"]
                after = stored["next_seq"]


@asynccontextmanager
async def arena(store: Store, *, small: bool = False) -> AsyncIterator[Arena]:
    """Everything but the instances that are asked, in this process if `small`. There are no faults yet."""
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(surroundings())
        reader = await stack.enter_async_context(open_client())
        witness = Witness(reader)
        model_url = await stack.enter_async_context(in_thread(scripted_model()))
        model = await stack.enter_async_context(proxied(model_url, MODEL, on_request=witness.look))
        settings = await stack.enter_async_context(in_thread(store_settings(store)))
        proxies = [model]
        if endpoint := settings.get("AZURE_COSMOS_ENDPOINT"):
            proxies.append(await stack.enter_async_context(proxied(endpoint, COSMOS)))
            settings["AZURE_COSMOS_ENDPOINT"] = proxies[-1].url
        starting = (product_here if small else product)(folder, model.url, **settings, **LIMITS)
        system = await stack.enter_async_context(in_thread(starting))
        reader.base_url = httpx.URL(system.api)
        tools = await stack.enter_async_context(proxied(system.mcp_url, TOOLS))
        yield Arena(system, [*proxies, tools], tools, witness)


@asynccontextmanager
async def entrances(arena: Arena, number: int, command: Sequence[str]) -> AsyncIterator[list[Proxy]]:
    """So many instances of the API that reach the tools through faults, each behind its own proxy."""
    async with AsyncExitStack() as stack:
        starting = [
            stack.enter_async_context(
                in_thread(instance(arena.system, command, MCP_SERVER_URL=arena.tools.url))
            )
            for _ in range(number)
        ]
        started = [await each for each in starting]
        yield [await stack.enter_async_context(proxied(each.address, CLIENTS)) for each in started]


@contextmanager
def faults(proxies: Sequence[Proxy], rate: float, seed: int) -> Iterator[None]:
    """Faults on all ways for as long as the context is open."""
    for number, proxy in enumerate(proxies):
        proxy.restart(100 * seed + number)
        proxy.rate = rate
    try:
        yield
    finally:
        for proxy in proxies:
            proxy.rate = 0.0
