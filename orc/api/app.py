"""The FastAPI app. It runs under uvicorn with a lifespan, and under Azure Functions without one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import Depends, FastAPI

from core.logs import keep_content_out
from orc import __version__
from orc.api.dependencies import given_once
from orc.api.door import Door
from orc.api.errors import add_error_handlers
from orc.api.identity import build_authenticator
from orc.api.openapi import DocumentedApp
from orc.api.routes import conversations, documents, health, turns
from orc.api.tracing import TraceIds
from orc.bootstrap import ServiceProvider
from orc.settings import Settings

PREFIX = "/api"
MAX_QUESTION_BYTES = 1024 * 1024
DESCRIPTION = "Ask documents, get answers whose citations were checked against the page."


def create_app(settings: Settings) -> FastAPI:
    """The app for these settings. Nothing is opened before the first request or the lifespan."""
    keep_content_out()
    provider = ServiceProvider(settings)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        await provider.get()
        try:
            yield
        finally:
            await provider.close()

    app = DocumentedApp(
        title="Orc",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lifespan,
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=f"{PREFIX}/docs",
        redoc_url=None,
    )
    app.state.services = provider
    app.state.authenticator = build_authenticator(settings)
    upload_bytes = settings.max_upload_bytes * settings.max_files_per_upload
    app.add_middleware(
        Door,
        prefixes=(f"{PREFIX}/orc", f"{PREFIX}/conversations"),
        max_bytes=MAX_QUESTION_BYTES,
        max_upload_bytes=upload_bytes,
    )
    app.add_middleware(TraceIds)
    add_error_handlers(app)
    for router in (turns.router, documents.router, conversations.router, health.router):
        app.include_router(router, prefix=PREFIX, dependencies=[Depends(given_once)])
    return app
