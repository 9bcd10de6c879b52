"""The adapters of WebSearch: Brave's Search API, and Google's Programmable Search Engine."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from typing import Any, Literal, Self, TypeVar

import httpx2
from pydantic import BaseModel, ModelWrapValidatorHandler, SecretStr, ValidationError, model_validator

from mcp_server.web.ports import WebPage
from orc_core.errors import DependencyDown, OrcError, error_named
from orc_core.infra.resilience import CircuitBreaker

WEB_SEARCH = "web_search"
"""The dependency, as errors name it."""
AUTH, QUOTA = "web_search_auth", "web_search_quota"
REFUSED, NOT_IN_PLAN = "web_search_refused", "web_search_plan"
"""Codes of failures that last until an operator changes something."""
BUSY = "web_search_busy"
MOST_BYTES = 2 * 1024 * 1024
ATTEMPT_SHARE = 0.9
"""The share of the time for one attempt: the circuit breaker does not see cancelled attempts."""

Explain = Callable[[int, bytes], DependencyDown]
"""Turns the status and body of a reply other than 200 into an error."""
Answer = TypeVar("Answer", bound=BaseModel)
BRAVE = "Brave"
_NO_KEY = ("SUBSCRIPTION_TOKEN_INVALID", "SUBSCRIPTION_NOT_FOUND")
log = logging.getLogger(__name__)
GOOGLE = "Google"
_DAILY = ("per day", "dailylimitexceeded")
"""Words in Google's errors that distinguish the quota of a day from that of a minute."""


class EngineReply(BaseModel):
    """A part of an engine's reply, in which null means absent."""

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        return {name: value for name, value in data.items() if value is not None}


class ListedResult(EngineReply):
    """One of the results. An unreadable one is empty: it is left out and counted, and the others are kept."""

    @model_validator(mode="wrap")
    @classmethod
    def _empty_if_not_readable(cls, data: Any, validated: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return validated(data)
        except ValidationError:
            return cls()


class SearchEngine:
    """Calls one search engine. `seconds` is the time limit of a search with all its attempts."""

    def __init__(self, client: httpx2.AsyncClient, url: str, *, seconds: float, explain: Explain) -> None:
        self._client = client
        self._url = url
        self._seconds = seconds
        self._explain = explain
        self._breaker = CircuitBreaker(WEB_SEARCH, _translate)

    async def get(self, params: Mapping[str, str], headers: Mapping[str, str], kind: type[Answer]) -> Answer:
        """The answer to a GET. Raises DependencyDown, also for an answer that is no `kind`."""
        try:
            async with asyncio.timeout(self._seconds):
                body = await self._breaker.call(partial(self._attempt, params, headers))
        except TimeoutError as exc:
            raise down("The web search did not answer in time. Try again shortly.") from exc
        try:
            return kind.model_validate_json(body)
        except ValidationError as exc:
            # It has counted the search: asking at once again would cost another one.
            raise down("The web search gave an answer that cannot be read. Try again later.") from exc

    async def _attempt(self, params: Mapping[str, str], headers: Mapping[str, str]) -> bytes:
        asked = self._client.stream("GET", self._url, params=params, headers=headers)
        body = bytearray()
        async with asyncio.timeout(self._seconds * ATTEMPT_SHARE), asked as response:
            async for piece in response.aiter_bytes():
                body += piece
                if len(body) > MOST_BYTES:
                    # What is cut here is no JSON any more.
                    break
        if response.status_code != HTTPStatus.OK:
            raise self._explain(response.status_code, bytes(body))
        return bytes(body)


def _translate(exc: Exception) -> OrcError | None:
    if isinstance(exc, TimeoutError | httpx2.TimeoutException):
        return down("The web search did not answer in time. Try again shortly.")
    if isinstance(exc, httpx2.HTTPError | httpx2.InvalidURL):
        return down("The web search cannot be reached. Try again shortly.")
    return None


def down(message: str) -> DependencyDown:
    """A temporary failure."""
    return DependencyDown(message, dependency=WEB_SEARCH)


def refused(code: str, message: str) -> DependencyDown:
    """A failure that lasts until an operator does what `message` says."""
    error = error_named(code, message, dependency=WEB_SEARCH, retryable=False)
    assert isinstance(error, DependencyDown)
    return error


def key_refused(engine: str, settings: str) -> DependencyDown:
    """The engine does not know the key, or does not let it search."""
    return refused(AUTH, f"{engine} refused the key of the web search: check {settings}.")


def quota_used_up(engine: str, what_to_do: str) -> DependencyDown:
    """No more searches for today, or for this month."""
    return refused(QUOTA, f"The searches that {engine} allows are used up: {what_to_do}.")


def unanswered(engine: str, status: int) -> DependencyDown:
    """Any other status: the engine's own trouble, or an address that is not that of a search engine."""
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        # Each further search would count, too; the engine is up.
        return refused(BUSY, f"{engine} takes no more searches at the moment. Ask again in a minute.")
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return down(f"{engine} does not answer at the moment (HTTP {status}). Try again shortly.")
    return refused(REFUSED, f"{engine} refused the search (HTTP {status}).")


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
