"""`python -m bench.otlp_sink PORT`: takes whatever is exported to it, and keeps nothing."""

import sys

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route


async def take(request: Request) -> Response:
    """An OTLP receiver's answer to traces and metrics alike: all was taken."""
    await request.body()
    return Response(media_type="application/x-protobuf")


if __name__ == "__main__":
    routes = [Route("/{kind:path}", take, methods=["POST"])]
    uvicorn.run(Starlette(routes=routes), host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
