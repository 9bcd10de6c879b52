"""WebSearch by Brave's Search API."""

import logging
from contextlib import suppress
from http import HTTPStatus
from typing import Literal

import httpx2
from pydantic import BaseModel, SecretStr, ValidationError

from core.errors import DependencyDown
from core.extraction.html import to_text
from mcp_server.web.http import (
    NOT_IN_PLAN,
    EngineReply,
    ListedResult,
    SearchEngine,
    key_refused,
    quota_used_up,
    refused,
    unanswered,
)
from mcp_server.web.ports import WebPage

ENGINE = "Brave"
_NO_KEY = ("SUBSCRIPTION_TOKEN_INVALID", "SUBSCRIPTION_NOT_FOUND")

log = logging.getLogger(__name__)


class _Result(ListedResult):
    title: str = ""
    url: str = ""
    description: str = ""
    extra_snippets: list[str | None] = []


class _Web(EngineReply):
    results: list[_Result] = []


class _Answer(EngineReply):
    """Without `web` where nothing was found; `type` tells it from any other JSON."""

    type: Literal["search"]
    web: _Web = _Web()


class _Error(BaseModel):
    code: str = ""


class _Refusal(BaseModel):
    """The service sends one `error`; its reference shows a list."""

    error: _Error | None = None
    errors: list[_Error] = []


class BraveSearch:
    """Titles and descriptions come as HTML. Further snippets of a page are asked for if the plan has them."""

    name = "brave"

    def __init__(self, client: httpx2.AsyncClient, url: str, *, key: SecretStr, seconds: float) -> None:
        self._engine = SearchEngine(client, url, seconds=seconds, explain=explain)
        self._key = key
        self._further_snippets = True

    async def search(self, query: str, limit: int) -> list[WebPage]:
        """As the port says."""
        try:
            answer = await self._ask(query, limit)
        except DependencyDown as exc:
            if exc.code != NOT_IN_PLAN or not self._further_snippets:
                raise
            log.info("web_search.further_snippets_not_in_plan")
            self._further_snippets = False
            answer = await self._ask(query, limit)
        return [_page(result) for result in answer.web.results]

    async def _ask(self, query: str, limit: int) -> _Answer:
        params = {"q": query, "count": str(limit), "result_filter": "web", "text_decorations": "false"}
        if self._further_snippets:
            params["extra_snippets"] = "true"
        headers = {"X-Subscription-Token": self._key.get_secret_value(), "Accept": "application/json"}
        return await self._engine.get(params, headers, _Answer)


def _page(result: _Result) -> WebPage:
    snippets = filter(None, dict.fromkeys([result.description, *result.extra_snippets]))
    text = "\n".join(filter(None, map(to_text, snippets)))
    return WebPage(title=to_text(result.title), url=result.url, text=text)


def explain(status: int, body: bytes) -> DependencyDown:
    """What a refusal of Brave's amounts to."""
    code = _code_in(body)
    if status == HTTPStatus.PAYMENT_REQUIRED or code == "QUOTA_LIMITED":
        return quota_used_up(ENGINE, "wait until the plan's next month, or change the plan")
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN) or code in _NO_KEY:
        return key_refused(ENGINE, "BRAVE_SEARCH_KEY")
    if code == "OPTION_NOT_IN_PLAN":
        return refused(NOT_IN_PLAN, "The plan of BRAVE_SEARCH_KEY does not include searches of the web.")
    return unanswered(ENGINE, status)


def _code_in(body: bytes) -> str:
    with suppress(ValidationError):
        refusal = _Refusal.model_validate_json(body)
        return next((error.code for error in [refusal.error, *refusal.errors] if error), "")
    return ""
