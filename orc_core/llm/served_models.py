"""What a model server says about its models: which there are, and how many tokens they take."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from orc_core.infra.model_servers import FOUND_BY_PORT, SERVERS

if TYPE_CHECKING:
    from httpx2 import AsyncClient

SECONDS = 2.0
NO_KEY = "none"
"""Sent to a server that needs no key, because the client requires one."""
ASKED_AGAIN_SECONDS = 60.0
"""A local server loads models, and with other windows, while it runs."""
LEAST_WINDOW = 4096
"""Assumed of a local server that does not say: Ollama drops the beginning of a longer prompt in silence."""
SHOWN_NAMES = 8
_PATHS = ("{v1}/models", "{root}/api/v0/models", "{root}/api/ps")
"""OpenAI's list (llama.cpp, vLLM and OpenRouter add windows), and of local ones LM Studio's and Ollama's."""
_WINDOWS = ("loaded_context_length", "n_ctx", "max_model_len", "context_length", "context_window")
"""The fields of a model's entry that may have its window, the one in use first."""
_ANY_NAME = "llamacpp"
"""The owner of a model that answers whatever the name."""
USUAL = {kind: SERVERS[kind][:2] for kind in FOUND_BY_PORT}


class ServedModels:
    """The models of one server, `names` in its order. What was read stays when the server does not answer."""

    def __init__(
        self, http: "AsyncClient", url: str, key: Callable[[], Awaitable[str]], *, is_local: bool = True
    ) -> None:
        self._http = http
        self._v1 = url.rstrip("/")
        self._key = key
        self._next = 0.0
        self._entries: dict[str, dict[str, Any]] = {}
        self.names: list[str] = []
        self.assumed_window = LEAST_WINDOW if is_local else None

    async def learn(self) -> None:
        """Ask the server, unless it was asked within the last minute. Raises nothing if it is silent."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + ASKED_AGAIN_SECONDS
        paths = _PATHS if self._v1.startswith("http:") else _PATHS[:1]
        listed, *others = await asyncio.gather(*map(self._ask, paths))
        self.names = list(listed) or self.names
        for entries in (listed, *others):
            for name, entry in entries.items():
                self._entries[name] = {**self._entries.get(name, {}), **entry}

    def window(self, name: str) -> int | None:
        """The tokens that the server gives this model; None if it does not say."""
        entry = self._entries.get(self._known_as(name) or name, {})
        if not entry and self._takes_any_name():
            entry = self._entries[self.names[0]]
        return next((int(entry[key]) for key in _WINDOWS if isinstance(entry.get(key), int)), None)

    def problem(self, name: str) -> str | None:
        """Why the server cannot answer with this model, as far as it says."""
        if not self.names or self._known_as(name) or self._takes_any_name():
            return None
        return f"The server has no model {name}.{self.choice}"

    @property
    def choice(self) -> str:
        """A sentence that says which models there are; empty if that is not known."""
        shown = ", ".join(self.names[:SHOWN_NAMES])
        more = len(self.names) - SHOWN_NAMES
        return f" It has {shown}{f' and {more} more' if more > 0 else ''}." if shown else ""

    def _known_as(self, name: str) -> str | None:
        """The name in the list: Ollama's has a tag, and one at OpenRouter may be a variant of it."""
        variants = (name, f"{name}:latest", name.rpartition(":")[0])
        return next((each for each in variants if each in self.names), None)

    def _takes_any_name(self) -> bool:
        return bool(self.names) and self._entries[self.names[0]].get("owned_by") == _ANY_NAME

    async def _ask(self, path: str) -> dict[str, dict[str, Any]]:
        from httpx2 import HTTPError

        url = path.format(v1=self._v1, root=self._v1.removesuffix("/v1"))
        try:
            headers = {"authorization": f"Bearer {await self._key()}"}
            response = await self._http.get(url, headers=headers, timeout=SECONDS)
            return dict(_entries(response.json())) if response.is_success else {}
        except (HTTPError, ValueError):
            return {}


def _entries(payload: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    # Gemini's names begin with `models/`, with or without which they are accepted.
    listed = (payload.get("data") or payload.get("models")) if isinstance(payload, dict) else payload
    for entry in listed if isinstance(listed, list) else ():
        if isinstance(entry, dict) and isinstance(name := entry.get("id") or entry.get("name"), str):
            meta = entry.get("meta")
            yield name.removeprefix("models/"), {**entry, **(meta if isinstance(meta, dict) else {})}


async def found_here(servers: Mapping[str, tuple[str, str]] = USUAL) -> list[str]:
    """How to use the servers that run on this machine; they are only asked for their models.

    `servers` are names and addresses by kind.
    """
    from httpx2 import AsyncClient

    async def no_key() -> str:
        return NO_KEY

    async def look(kind: str) -> str:
        label, url = servers[kind]
        served = ServedModels(http, url, no_key)
        await served.learn()
        name = next(iter(served.names), None)
        return f"{label} runs here. To use it, set ORC_MODEL={kind}:{name}" if name else ""

    async with AsyncClient(trust_env=False) as http:
        return [line for line in await asyncio.gather(*map(look, servers)) if line]
