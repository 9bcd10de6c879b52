"""Limits what one user has under way at a time: uploads, before their body is read, and streams of events."""

import re
from contextlib import ExitStack

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from orc.api.auth import PRINCIPAL
from orc.api.errors import render
from orc.api.responses import prefers_stream
from orc.problems import problem_of
from orc.settings import Settings
from orc.user_limits import UserLimit
from orc_core.errors import TooMany

MOST_FOLLOWED = 20
"""Each stream of a conversation reads the stores now and then, so there are fewer of them than of others."""
_CONVERSATION_EVENTS = re.compile(r"/api/conversations/[^/]+/events")
UPLOADS_IN_MEMORY = 5
"""A completion's files are in memory, unlike those of a form: they count as so many uploads."""


class UserLimits:
    """ASGI middleware behind the one that authenticates. A request counts until its response has ended.

    `body_bytes`: a completion whose body may be longer has files.
    """

    def __init__(self, app: ASGIApp, settings: Settings, *, body_bytes: int) -> None:
        self._app = app
        self._body_bytes = body_bytes
        self._uploads = UserLimit(settings.uploads_per_user, "uploads")
        self._streams = UserLimit(settings.streams_per_user, "streams of events")
        self._followed = UserLimit(min(MOST_FOLLOWED, settings.streams_per_user), "conversations open")
        most = max(1, settings.uploads_per_user // UPLOADS_IN_MEMORY)
        self._completions = UserLimit(most, "questions with files")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            with ExitStack() as held:
                for limit in self._limits_of(scope) if PRINCIPAL in scope else []:
                    held.enter_context(limit.hold(scope[PRINCIPAL]))
                await self._app(scope, receive, send)
        except TooMany as exc:
            await render(problem_of(exc, scope["orc.trace_id"]))(scope, receive, send)

    def _limits_of(self, scope: Scope) -> list[UserLimit]:
        is_post, path = scope["method"] == "POST", scope["path"]
        if is_post and path.endswith("/documents"):
            return [self._uploads]
        if is_post and path.endswith("/chat/completions"):
            length = Headers(scope=scope).get("content-length", "")
            is_short = length.isdecimal() and int(length) <= self._body_bytes
            # Whether it is a stream is said in the body only.
            return [self._streams] if is_short else [self._streams, self._completions]
        if _CONVERSATION_EVENTS.fullmatch(path):
            return [self._streams, self._followed]
        is_stream = path.endswith(("/events", "/stream"))
        if is_stream or (is_post and prefers_stream(Headers(scope=scope).get("accept", ""))):
            return [self._streams]
        return []
