"""Bodies over a limit are refused while they come in, with a problem document like any other error."""

from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class BodyLimit:
    """ASGI middleware over the paths that start with `path`.

    FastAPI's own `max_body_size` answers in plain text as soon as there is a `content-length`.
    """

    def __init__(self, app: ASGIApp, *, path: str, max_bytes: int) -> None:
        self._app = app
        self._path = path
        self._max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(self._path):
            await self._app(scope, receive, send)
            return
        received = 0

        async def receive_within_limit() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._max_bytes:
                detail = f"The body may have at most {self._max_bytes:,} bytes."
                raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, detail)
            return message

        await self._app(scope, receive_within_limit, send)
