"""The users and groups of Microsoft Graph, as far as Orc searches for them."""

import re
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

TOKEN = "token-of-the-graph-double"
SEARCHED = {"users": {"displayName", "mail"}, "groups": {"displayName", "mail"}}
_TERM = re.compile(r'"(\w+):([^"\\]*)"')


class MicrosoftGraphDouble:
    """Finds entries by the beginnings of words, as Graph does. A `reply` is given instead."""

    def __init__(self, **entries: list[dict[str, Any]]) -> None:
        """`entries` are the `users` and the `groups` of the tenant."""
        self.entries = entries
        self.asked: list[str] = []
        self.reply: Response | None = None

    @property
    def app(self) -> Starlette:
        """The service."""
        return Starlette(routes=[Route("/v1.0/{kind}", self._list)])

    async def _list(self, request: Request) -> Response:
        kind, search = request.path_params["kind"], request.query_params.get("$search", "")
        self.asked.append(f"{kind} {search}")
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return _error(401, "InvalidAuthenticationToken")
        if self.reply is not None:
            return self.reply
        if request.headers.get("consistencylevel") != "eventual":
            return _error(400, "Request_UnsupportedQuery")
        terms: list[tuple[str, str]] = _TERM.findall(search)
        is_whole = " OR ".join(f'"{field}:{words}"' for field, words in terms) == search
        if not (is_whole and all(field in SEARCHED[kind] and words.strip() for field, words in terms)):
            return _error(400, "Request_UnsupportedQuery")
        chosen = request.query_params["$select"].split(",")
        found = [
            {name: entry.get(name) for name in chosen}
            for entry in self.entries[kind]
            if any(_has(entry.get(field) or "", words) for field, words in terms)
        ]
        return JSONResponse({"value": found[: int(request.query_params["$top"])]})


def _has(text: str, words: str) -> bool:
    parts = _parts(text)
    return all(any(part.startswith(word) for part in parts) for word in _parts(words))


def _parts(text: str) -> list[str]:
    return [part for part in re.split(r"[\s.@-]+", text.lower()) if part]


def _error(status: int, code: str) -> Response:
    return JSONResponse({"error": {"code": code, "message": code}}, status)
