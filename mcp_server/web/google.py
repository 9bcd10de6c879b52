"""WebSearch by Google's Programmable Search Engine: the Custom Search JSON API."""

from contextlib import suppress
from http import HTTPStatus
from typing import Literal

import httpx2
from pydantic import BaseModel, SecretStr, ValidationError

from core.errors import DependencyDown
from mcp_server.web.http import (
    EngineReply,
    ListedResult,
    SearchEngine,
    key_refused,
    quota_used_up,
    unanswered,
)
from mcp_server.web.ports import WebPage

ENGINE = "Google"
_DAILY = ("per day", "dailylimitexceeded")
"""How Google's errors tell the quota of a day, which is used up, from that of a minute."""


class _Item(ListedResult):
    title: str = ""
    link: str = ""
    snippet: str = ""


class _Answer(EngineReply):
    """Without `items` where nothing was found; `kind` tells it from any other JSON."""

    kind: Literal["customsearch#search"]
    items: list[_Item] = []


class _Error(BaseModel):
    message: str = ""
    errors: list[dict[str, object]] = []


class _Refusal(BaseModel):
    error: _Error


class GoogleSearch:
    """Titles and snippets come in plain text. The API is closed to new customers and ends with 2026."""

    name = "google"

    def __init__(
        self, client: httpx2.AsyncClient, url: str, *, key: SecretStr, engine_id: str, seconds: float
    ) -> None:
        self._engine = SearchEngine(client, url, seconds=seconds, explain=explain)
        self._key = key
        self._engine_id = engine_id

    async def search(self, query: str, limit: int) -> list[WebPage]:
        """As the port says. One search of the quota, however many pages."""
        params = {
            "key": self._key.get_secret_value(),
            "cx": self._engine_id,
            "q": query,
            "num": str(limit),
        }
        answer = await self._engine.get(params, {}, _Answer)
        return [WebPage(title=item.title, url=item.link, text=item.snippet) for item in answer.items]


def explain(status: int, body: bytes) -> DependencyDown:
    """What a refusal of Google's amounts to."""
    reason = ""
    with suppress(ValidationError):
        error = _Refusal.model_validate_json(body).error
        reason = f"{error.message} {error.errors}".lower()
    limits = (HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS)
    if status in limits and any(sign in reason for sign in _DAILY):
        return quota_used_up(ENGINE, "wait until tomorrow, or raise the quota in the Google Cloud console")
    if status in (HTTPStatus.BAD_REQUEST, HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return key_refused(ENGINE, "GOOGLE_SEARCH_KEY, GOOGLE_SEARCH_ENGINE and that the project may search")
    return unanswered(ENGINE, status)
