"""One request to a search engine: bounded in time and size, and repeated if that may help."""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus
from typing import Any, Self, TypeVar

import httpx2
from pydantic import BaseModel, ModelWrapValidatorHandler, ValidationError, model_validator

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
