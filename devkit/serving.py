"""An ASGI app on a free loopback port, served from a thread of this process."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import Future

import uvicorn
from starlette.types import ASGIApp


@contextlib.contextmanager
def serve_from_thread(app: ASGIApp) -> Iterator[str]:
    """Serve until the context closes, or this process ends; gives the address, `http://127.0.0.1:<port>`."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = _Server(uvicorn.Config(app, log_level="warning", lifespan="off", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.stop.set_result(None)
            thread.join()


class _Server(uvicorn.Server):
    """Stops at once. uvicorn polls every 0.1 s whether to stop, and then waits 0.1 s for connections."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.stop: Future[None] = Future()

    async def main_loop(self) -> None:
        await self.on_tick(0)
        await asyncio.wrap_future(self.stop)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        await asyncio.sleep(0)
