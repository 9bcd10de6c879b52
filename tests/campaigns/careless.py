"""`python -m tests.campaigns.careless BUG`: an instance of the API whose answers are wrong in one way."""

import sys
from collections.abc import Callable

from fastapi import FastAPI
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from orc.api.app import create_app
from orc.settings import Settings
from resilience import instance

Change = Callable[[Message], None]


class Changing:
    """ASGI middleware that changes how responses begin."""

    def __init__(self, app: ASGIApp, change: Change) -> None:
        self._app = app
        self._change = change

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def changed(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._change(message)
            await send(message)

        await self._app(scope, receive, changed)


def accept_everything(start: Message) -> None:
    """What is refused looks as if it were not."""
    if start["status"] == 422:
        start["status"] = 200


def break_down(start: Message) -> None:
    """What is not there is a server error."""
    if start["status"] == 404:
        start["status"] = 500


def invent_a_status(start: Message) -> None:
    """Successful requests get an undocumented status."""
    if start["status"] == 200:
        start["status"] = 202


def send_bare_errors(start: Message) -> None:
    """Errors say that they are text."""
    if start["status"] >= 400:
        MutableHeaders(scope=start)["content-type"] = "text/plain"


if __name__ == "__main__":
    change = globals()[sys.argv[1]]

    def careless(settings: Settings) -> FastAPI:
        app = create_app(settings)
        app.add_middleware(Changing, change=change)
        return app

    instance.__dict__["create_app"] = careless
    instance.main()
