"""Two search engines of the web for tests: Google's Custom Search JSON API and Brave's Search API.

Paths, parameters, answers and errors are those of their references (developers.google.com/custom-search/v1,
api-dashboard.search.brave.com). What is not published there is refused.
"""

import asyncio
import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from devkit.serving import serve_from_thread
from mcp_server.web.ports import WebPage

KEY = "web-search-key-of-the-tests"
ENGINE_ID = "engine-of-the-tests"
Json = dict[str, Any]


@dataclass
class Failure:
    """How the next searches fail. `body` is what is sent as it is; None: the connection is broken off."""

    status: int
    body: bytes | None
    times: int = 1


def google_error(status: int, message: str, reason: str, times: int = 1) -> Failure:
    """An error as Google's APIs send it."""
    error = {"code": status, "message": message, "errors": [{"message": message, "reason": reason}]}
    return Failure(status, json.dumps({"error": error}).encode(), times)


def brave_error(status: int, code: str, times: int = 1) -> Failure:
    """An error as Brave sends it."""
    error = {"id": "1", "status": status, "code": code, "detail": "Scripted.", "meta": {}}
    return Failure(status, json.dumps({"type": "ErrorResponse", "error": error, "time": 1}).encode(), times)


@dataclass
class WebSearchDouble:
    """`pages` are found by every search, or those of a query in `found`. `asked` holds the parameters of all.

    `delay` is how long every answer takes. `plan_has_snippets` is whether Brave's plan has further ones.
    """

    pages: list[WebPage] = field(default_factory=list)
    found: dict[str, list[WebPage]] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    delay: float = 0.0
    plan_has_snippets: bool = True
    asked: list[tuple[str, Json]] = field(default_factory=list)

    @property
    def app(self) -> Starlette:
        return Starlette(routes=[Route("/google", self._google), Route("/brave", self._brave)])

    def start_over(self, *pages: WebPage) -> None:
        """As a new double with these pages."""
        vars(self).update(vars(WebSearchDouble(pages=list(pages))))

    async def _google(self, request: Request) -> Response:
        asked = dict(request.query_params)
        self.asked.append(("google", asked))
        if refusal := await self._refusal():
            return refusal
        if asked.get("key") != KEY:
            return _sent(google_error(400, "API key not valid. Please pass a valid API key.", "badRequest"))
        if asked.get("cx") != ENGINE_ID or not 1 <= int(asked.get("num", 10)) <= 10:
            return _sent(google_error(400, "Request contains an invalid argument.", "badRequest"))
        items = [{"title": p.title, "link": p.url, "snippet": p.text} for p in self._pages(asked, "num")]
        answer: Json = {"kind": "customsearch#search", "searchInformation": {"totalResults": str(len(items))}}
        return JSONResponse(answer | ({"items": items} if items else {}))

    async def _brave(self, request: Request) -> Response:
        asked = dict(request.query_params)
        self.asked.append(("brave", asked))
        if refusal := await self._refusal():
            return refusal
        if request.headers.get("x-subscription-token") != KEY:
            return _sent(brave_error(422, "SUBSCRIPTION_TOKEN_INVALID"))
        query = asked.get("q", "")
        if not query or len(query) > 400 or len(query.split()) > 50 or int(asked.get("count", 20)) > 20:
            return _sent(brave_error(422, "VALIDATION"))
        if "extra_snippets" in asked and not self.plan_has_snippets:
            return _sent(brave_error(400, "OPTION_NOT_IN_PLAN"))
        results = [_brave_result(p, asked) for p in self._pages(asked, "count")]
        answer: Json = {"type": "search", "query": {"original": query}}
        return JSONResponse(answer | ({"web": {"type": "search", "results": results}} if results else {}))

    def _pages(self, asked: Json, limit: str) -> list[WebPage]:
        return self.found.get(asked["q"], self.pages)[: int(asked[limit])]

    async def _refusal(self) -> Response | None:
        await asyncio.sleep(self.delay)
        if not self.failures:
            return None
        failure = self.failures[0]
        failure.times -= 1
        if not failure.times:
            self.failures.pop(0)
        return _sent(failure)


@dataclass(frozen=True)
class WebSearchTarget:
    """Where the engines answer."""

    url: str

    def settings(self, engine: Literal["google", "brave"] = "google") -> dict[str, str]:
        """The environment variables that point Orc's tools server at one of them."""
        if engine == "brave":
            return {
                "ORC_WEB_SEARCH": "brave",
                "BRAVE_SEARCH_KEY": KEY,
                "BRAVE_SEARCH_URL": f"{self.url}/brave",
            }
        return {
            "ORC_WEB_SEARCH": "google",
            "GOOGLE_SEARCH_KEY": KEY,
            "GOOGLE_SEARCH_ENGINE": ENGINE_ID,
            "GOOGLE_SEARCH_URL": f"{self.url}/google",
        }


@contextlib.contextmanager
def serving(double: WebSearchDouble) -> Iterator[WebSearchTarget]:
    """Serve from a thread on a free loopback port, which ends with this process if not before."""
    with serve_from_thread(double.app) as url:
        yield WebSearchTarget(url)


def _brave_result(page: WebPage, asked: Json) -> Json:
    """The page's text by lines: the first is the description, the others are further snippets."""
    description, *further = page.text.split("\n")
    result = {"type": "search_result", "title": page.title, "url": page.url, "description": description}
    return {**result, "extra_snippets": further} if "extra_snippets" in asked else result


def _sent(failure: Failure) -> Response:
    if failure.body is None:
        return Response(b"", failure.status, {"content-length": "1000"})
    return Response(failure.body, failure.status, media_type="application/json")
