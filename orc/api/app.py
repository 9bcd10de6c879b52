"""The FastAPI app. It runs under uvicorn with a lifespan, and under Azure Functions without one."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import Depends, FastAPI

from core.infra.log_redaction import keep_content_out
from core.infra.telemetry.setup import start_telemetry
from orc import __version__
from orc.api.auth import AuthMiddleware, build_authenticator
from orc.api.dependencies import given_once
from orc.api.errors import add_error_handlers
from orc.api.responses import DocumentedApp
from orc.api.routes import admin, chat, conversations, documents, health, turns
from orc.api.tracing import TraceIds
from orc.bootstrap import AppProvider, Override
from orc.settings import Settings

PREFIX = "/api"
MAX_QUESTION_BYTES = 1024 * 1024
DESCRIPTION = "Ask documents, get answers whose citations were checked against the page."


def create_app(settings: Settings, override: Override | None = None) -> FastAPI:
    """The app for these settings. Nothing is opened before the first request or the lifespan.

    `override` replaces dependencies of turns, in tests.
    """
    keep_content_out()
    telemetry = start_telemetry(settings, "orc-api")
    provider = AppProvider(settings, override)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        try:
            await provider.get()
            yield
        finally:
            await provider.close()
            await asyncio.to_thread(telemetry.close)

    app = DocumentedApp(
        title="Orc",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lifespan,
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=f"{PREFIX}/docs",
        redoc_url=None,
        # FastAPI's own spans hold paths and queries, and with them the names of documents: see TraceIds.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    app.state.provider = provider
    app.state.authenticator = build_authenticator(settings)
    app.state.admin_role = settings.admin_role
    upload_bytes = settings.max_upload_bytes * documents.MAX_FILES_PER_UPLOAD
    app.add_middleware(
        AuthMiddleware,
        prefixes=tuple(f"{PREFIX}/{part}" for part in ("orc", "chat", "conversations", "admin")),
        max_bytes=MAX_QUESTION_BYTES,
        max_upload_bytes=upload_bytes,
    )
    app.add_middleware(TraceIds, prefix=PREFIX)
    add_error_handlers(app)
    for each in (turns, chat, documents, conversations, admin, health):
        app.include_router(each.router, prefix=PREFIX, dependencies=[Depends(given_once)])
    return app
