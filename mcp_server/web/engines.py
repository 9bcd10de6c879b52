"""The adapters of WebSearch: Brave's Search API, and Google's Programmable Search Engine."""

import logging
from contextlib import suppress
from http import HTTPStatus
from typing import Literal

import httpx2
from pydantic import BaseModel, SecretStr, ValidationError

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
from orc_core.errors import DependencyDown

BRAVE = "Brave"
_NO_KEY = ("SUBSCRIPTION_TOKEN_INVALID", "SUBSCRIPTION_NOT_FOUND")

log = logging.getLogger(__name__)


class _Result(ListedResult):
    title: str = ""
    url: str = ""
    description: str = ""
    extra_snippets: list[str | None] = []


class _Web(EngineReply):
    results: list[_Result] = []


class _BraveAnswer(EngineReply):
    """Without `web` if nothing was found; `type` distinguishes it from other JSON."""

    type: Literal["search"]
    web: _Web = _Web()


class _BraveError(BaseModel):
    code: str = ""


class _BraveRefusal(BaseModel):
    """The service sends one `error`; its reference shows a list."""

    error: _BraveError | None = None
    errors: list[_BraveError] = []


class BraveSearch:
    """Titles and descriptions come as HTML. Further snippets of a page are asked for if the plan has them."""

    name = "brave"

    def __init__(self, client: httpx2.AsyncClient, url: str, *, key: SecretStr, seconds: float) -> None:
        self._engine = SearchEngine(client, url, seconds=seconds, explain=explain_brave)
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
        return list(map(_page, answer.web.results))

    async def _ask(self, query: str, limit: int) -> _BraveAnswer:
        params = {"q": query, "count": str(limit), "result_filter": "web", "text_decorations": "false"}
        if self._further_snippets:
            params["extra_snippets"] = "true"
        headers = {"X-Subscription-Token": self._key.get_secret_value(), "Accept": "application/json"}
        return await self._engine.get(params, headers, _BraveAnswer)


def _page(result: _Result) -> WebPage:
    # Not at the top: the parser of HTML is a tenth of what a tools server imports, and few need it.
    from orc_core.extraction.html import to_text

    snippets = filter(None, dict.fromkeys([result.description, *result.extra_snippets]))
    text = "\n".join(filter(None, map(to_text, snippets)))
    return WebPage(title=to_text(result.title), url=result.url, text=text)


def explain_brave(status: int, body: bytes) -> DependencyDown:
    """The error for a refusal by Brave."""
    code = ""
    with suppress(ValidationError):
        refusal = _BraveRefusal.model_validate_json(body)
        code = next((error.code for error in [refusal.error, *refusal.errors] if error), "")
    if status == HTTPStatus.PAYMENT_REQUIRED or code == "QUOTA_LIMITED":
        return quota_used_up(BRAVE, "wait until the plan's next month, or change the plan")
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN) or code in _NO_KEY:
        return key_refused(BRAVE, "BRAVE_SEARCH_KEY")
    if code == "OPTION_NOT_IN_PLAN":
        return refused(NOT_IN_PLAN, "The plan of BRAVE_SEARCH_KEY does not include searches of the web.")
    return unanswered(BRAVE, status)


GOOGLE = "Google"
_DAILY = ("per day", "dailylimitexceeded")
"""Words in Google's errors that distinguish the quota of a day from that of a minute."""


class _Item(ListedResult):
    title: str = ""
    link: str = ""
    snippet: str = ""


class _GoogleAnswer(EngineReply):
    """Without `items` if nothing was found; `kind` distinguishes it from other JSON."""

    kind: Literal["customsearch#search"]
    items: list[_Item] = []


class _GoogleError(BaseModel):
    message: str = ""
    errors: list[dict[str, object]] = []


class _GoogleRefusal(BaseModel):
    error: _GoogleError


class GoogleSearch:
    """Titles and snippets come in plain text. The API is closed to new customers and ends with 2026."""

    name = "google"

    def __init__(
        self, client: httpx2.AsyncClient, url: str, *, key: SecretStr, engine_id: str, seconds: float
    ) -> None:
        self._engine = SearchEngine(client, url, seconds=seconds, explain=explain_google)
        self._key = key
        self._engine_id = engine_id

    async def search(self, query: str, limit: int) -> list[WebPage]:
        """As the port says. One search of the quota, however many pages."""
        key = self._key.get_secret_value()
        params = {"key": key, "cx": self._engine_id, "q": query, "num": str(limit)}
        answer = await self._engine.get(params, {}, _GoogleAnswer)
        return [WebPage(title=item.title, url=item.link, text=item.snippet) for item in answer.items]


def explain_google(status: int, body: bytes) -> DependencyDown:
    """The error for a refusal by Google."""
    reason = ""
    with suppress(ValidationError):
        error = _GoogleRefusal.model_validate_json(body).error
        reason = f"{error.message} {error.errors}".lower()
    limits = (HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS)
    if status in limits and any(sign in reason for sign in _DAILY):
        return quota_used_up(GOOGLE, "wait until tomorrow, or raise the quota in the Google Cloud console")
    if status in (HTTPStatus.BAD_REQUEST, HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return key_refused(GOOGLE, "GOOGLE_SEARCH_KEY, GOOGLE_SEARCH_ENGINE and that the project may search")
    return unanswered(GOOGLE, status)
