"""`python -m resilience.instance`: a second API instance next to `orc serve`, as on another machine.

It is the product's own app; before it, `/_tasks` and `/_received` tell what goes on in the process.
"""

import asyncio
from collections import Counter

import uvicorn
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from orc_core.infra.collector import collector_paused

with collector_paused():
    from orc.api.app import create_app
    from orc.settings import load


class Watched:
    """An app that also says which tasks there are, by what they run, and which questions have come in."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._received: list[str] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match scope.get("path"):
            case "/_tasks":
                await JSONResponse(_tasks())(scope, receive, send)
            case "/_received":
                await JSONResponse(self._received)(scope, receive, send)
            case _:
                await self._app(scope, self._noting(scope, receive), send)

    def _noting(self, scope: Scope, receive: Receive) -> Receive:
        """`receive`, noting the idempotency key of a request once the app has been given all of it.

        Not of one whose connection was reset before it was accepted: it has no owner, and is refused.
        """
        headers = scope.get("headers", []) if scope.get("client") else []
        keys = [value.decode() for name, value in headers if name == b"idempotency-key"]

        async def noting() -> Message:
            message = await receive()
            if message["type"] == "http.request" and not message.get("more_body"):
                self._received.extend(keys)
            return message

        return noting if keys else receive


def _tasks() -> Counter[str]:
    asking = asyncio.current_task()
    return Counter(_name(task) for task in asyncio.all_tasks() if task is not asking)


def _name(task: asyncio.Task[object]) -> str:
    return getattr(task.get_coro(), "__qualname__", "unknown")


async def serve(app: ASGIApp, port: int) -> None:
    """Serve until a signal arrives."""
    config = uvicorn.Config(Watched(app), port=port, log_level="warning", timeout_graceful_shutdown=10)
    await uvicorn.Server(config).serve()


def main() -> None:
    """Serve the API."""
    settings = load()
    with asyncio.Runner(loop_factory=uvicorn.Config("").get_loop_factory()) as runner:
        runner.run(serve(create_app(settings), settings.port))


if __name__ == "__main__":
    main()
