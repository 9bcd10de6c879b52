"""Azure Functions shell: `orc.api` over HTTP, and `orc.cli.worker` for the job queue and its sweep."""

from functools import cache
from typing import TYPE_CHECKING

import azure.functions as func
from azurefunctions.extensions.http.fastapi import Request
from fastapi import FastAPI, Response
from starlette.types import Receive, Scope, Send

from orc.settings import load

if TYPE_CHECKING:
    from orc.cli.worker import WorkerProvider

# Why the function app is the same app, and templates are plain Bicep: docs/decisions/azure.md.
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
JOB_QUEUE = "ORC_QUEUE"
"""The host takes the address of the account from its setting `ORC_QUEUE__queueServiceUri`."""
EVERY_FIVE_MINUTES = "0 */5 * * * *"

# Anonymous to the host, not to Orc: EasyAuth or a bearer token says who is calling, and the API checks it.
# A function key would be one secret for everybody, and would travel in URLs and their logs.
app = func.FunctionApp(http_auth_level=func.AuthLevel.ANONYMOUS)
jobs = func.Blueprint()  # type: ignore[no-untyped-call]


@cache
def build_api() -> FastAPI:
    """The API, built once, on the first request. Its services open themselves: no lifespan runs here."""
    # Not at the top: they take two seconds to import, which a worker that only lists its functions can save.
    from orc.api.app import create_app

    return create_app(load())


@cache
def build_worker() -> "WorkerProvider":
    """What does jobs, built once, on the first one: on Azure, instances that do jobs serve no requests."""
    from orc.cli.worker import WorkerProvider

    return WorkerProvider(load())


class Handover(Response):
    """A response that the API sends by itself, on the host's own receive and send: nothing is buffered."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # What the runtime's own router noted in the scope would pass for the API's routing.
        connection = {key: scope[key] for key in CONNECTION if key in scope}
        await build_api()(connection, receive, send)


@app.route("api/orc/{*rest}", methods=("POST",))
async def orc(req: Request) -> Response:  # noqa: ARG001 - the runtime binds the request to this name
    """`/api/orc` and `/api/orc/stream`: separate, so that Azure's metrics show questions separately."""
    return Handover()


@app.route("api/chat/{*rest}", methods=("POST",))
async def chat(req: Request) -> Response:  # noqa: ARG001 - the runtime binds the request to this name
    """`/api/chat` and `/api/chat/stream`: questions too."""
    return Handover()


@app.route("{*path}", methods=EVERY_METHOD)
async def api(req: Request) -> Response:  # noqa: ARG001 - the runtime binds the request to this name
    """Every other route: the rest of the API, and the web page at `/`."""
    return Handover()


@jobs.queue_trigger("notice", "orc-ingest", JOB_QUEUE)
async def ingest(notice: func.QueueMessage) -> None:
    """Documents to read and index. A function each, so that these never wait behind the other kinds."""
    await build_worker().work_on(notice.get_body())


@jobs.queue_trigger("notice", "orc-embed", JOB_QUEUE)
async def embed(notice: func.QueueMessage) -> None:
    """Vectors that were left out while the embedder was down."""
    await build_worker().work_on(notice.get_body())


@jobs.queue_trigger("notice", "orc-analyse", JOB_QUEUE)
async def analyse(notice: func.QueueMessage) -> None:
    """Documents to analyse page by page."""
    await build_worker().work_on(notice.get_body())


@jobs.timer_trigger("timer", EVERY_FIVE_MINUTES)
async def sweep(timer: func.TimerRequest) -> None:  # noqa: ARG001 - the runtime binds the timer to this name
    """Queue jobs whose message was lost."""
    await build_worker().sweep()


# Elsewhere the jobs lie in a database, which `orc worker` looks into: the host would look for an account.
if load().azure_storage_account_url is not None:
    app.register_functions(jobs)
