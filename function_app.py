"""Azure Functions shell over `orc.api`: both functions hand their request to the same FastAPI app."""

from functools import cache

import azure.functions as func
from azurefunctions.extensions.http.fastapi import Request
from fastapi import FastAPI, Response
from starlette.types import Receive, Scope, Send

EVERY_METHOD = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
CONNECTION = (
    "type",
    "asgi",
    "http_version",
    "method",
    "scheme",
    "path",
    "raw_path",
    "query_string",
    "root_path",
    "headers",
    "client",
    "server",
    "extensions",
)

# Anonymous to the host, not to Orc: EasyAuth or a bearer token says who is calling, and the API checks it.
# A function key would be one secret for everybody, and would travel in URLs and their logs.
app = func.FunctionApp(http_auth_level=func.AuthLevel.ANONYMOUS)


@cache
def build_api() -> FastAPI:
    """The API, built once, on the first request. Its services open themselves: no lifespan runs here."""
    # Not at the top: they take two seconds to import, which a worker that only lists its functions can save.
    from orc.api.app import create_app
    from orc.settings import load

    return create_app(load())


class Handover(Response):
    """A response that the API sends by itself, on the host's own receive and send: nothing is buffered."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # What the runtime's own router noted in the scope would pass for the API's routing.
        connection = {key: scope[key] for key in CONNECTION if key in scope}
        await build_api()(connection, receive, send)


@app.route("orc/{*rest}", methods=("POST",))
async def orc(req: Request) -> Response:  # noqa: ARG001 - the runtime binds the request to this name
    """`/api/orc` and `/api/orc/stream`: asking, which Azure's metrics so tell from the rest."""
    return Handover()


@app.route("{*path}", methods=EVERY_METHOD)
async def api(req: Request) -> Response:  # noqa: ARG001 - the runtime binds the request to this name
    """Every other route under `/api`."""
    return Handover()
