"""The FastAPI app. It runs under uvicorn with a lifespan, and under Azure Functions without one."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

from fastapi import APIRouter, Depends, FastAPI
from fastapi.routing import APIRoute
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from orc import __version__
from orc.api import PREFIX, web
from orc.api.auth import AuthMiddleware, build_authenticator
from orc.api.completions import ANSWERING
from orc.api.dependencies import given_once
from orc.api.errors import EXPOSED_HEADERS, METHODS, add_error_handlers
from orc.api.mcp_resource import METADATA_PATH, McpResource
from orc.api.middleware import OpenAIErrors, TraceIds, UserLimits, compressed
from orc.api.responses import REFERENCES
from orc.api.routes import (
    admin,
    chat,
    context_documents,
    contexts,
    conversations,
    documents,
    health,
    keys,
    mcp,
    me,
    openai,
    openai_responses,
    pages,
    proposals,
    sharing,
    sign_in,
    turns,
    workspaces,
)
from orc.bootstrap import AppProvider, Override
from orc.problems import Problem
from orc.settings import AuthMode, Settings, load
from orc_core.infra.logs import RequestLog, keep_content_out
from orc_core.infra.telemetry.setup import start_telemetry

Json = dict[str, Any]

OPENAPI_PATH = f"{PREFIX}/openapi.json"
OPEN_PATHS = sign_in.PATHS | {
    f"{PREFIX}/health",
    f"{PREFIX}/ready",
    f"{PREFIX}/docs",
    OPENAPI_PATH,
    METADATA_PATH,
    "/",
}
"""What answers callers who are not authenticated, with the files below `web.ASSETS`. Every other route
asks who is calling."""
MAX_QUESTION_BYTES = 1024 * 1024
OPENAI_PREFIXES = ("/v1", f"{PREFIX}/v1")
"""Clients of OpenAI's interface have one address to set; a host of functions serves the second one only."""
OPENAI_ROUTERS = (openai.router, openai_responses.router)
MAX_COMPLETION_BYTES = 8 * MAX_QUESTION_BYTES
"""A chat completion has all messages of its chat."""
DESCRIPTION = "Ask documents, get answers whose citations were checked against the page."


OWN_ROUTERS = (
    *(each.router for each in (turns, chat, documents, conversations, sharing, proposals, contexts)),
    *(each.router for each in (context_documents, workspaces, me, keys, admin, health)),
    *(each for module in (documents, pages) for each in (module.of_conversations, module.of_contexts)),
    *(conversations.of_conversations, conversations.of_sessions, conversations.of_chat_sessions),
)
"""Below the prefix of the API, in the order of its documentation."""


# Why routes carry /api, and how OpenAI's interface differs: docs/decisions/http-api.md.
def create_app(settings: Settings | None = None, override: Override | None = None) -> FastAPI:
    """The app for these settings, those of the environment by default.

    Nothing is opened before the first request or the lifespan. `override` replaces dependencies of turns, in
    tests.
    """
    settings = settings or load()
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
        auth_mode=settings.auth_mode,
        allowed_origins=settings.allowed_origins,
        title="Orc",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lifespan,
        routes=_routes(),
        openapi_url=OPENAPI_PATH,
        docs_url=None,
        redoc_url=None,
        # FastAPI's own spans hold paths and queries, and with them the names of documents: see TraceIds.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    app.state.provider = provider
    app.state.authenticator = build_authenticator(settings)
    app.state.mcp_resource = McpResource.of(settings)
    app.state.admin_role = settings.admin_role
    app.state.sign_in = me.SignIn.of(settings)
    app.add_middleware(UserLimits, settings=settings)
    upload_bytes = settings.max_upload_bytes * documents.MAX_FILES_PER_UPLOAD
    app.add_middleware(
        AuthMiddleware,
        open_paths=OPEN_PATHS,
        open_below=web.ASSETS,
        max_bytes=MAX_QUESTION_BYTES,
        longer={"/documents": upload_bytes, **dict.fromkeys(ANSWERING, MAX_COMPLETION_BYTES)},
    )
    app.add_middleware(RequestLog, words=_path_words())
    app.add_middleware(TraceIds, prefixes=(*OPENAI_PREFIXES, PREFIX))
    add_error_handlers(app)
    return app


@cache
def _path_words() -> set[str]:
    """The parts of all paths that are the same in every request."""
    routers = (*OWN_ROUTERS, *OPENAI_ROUTERS, web.router, sign_in.router, mcp.router)
    own = [getattr(route, "path", "") for router in routers for route in router.routes]
    paths = [*OPENAI_PREFIXES, PREFIX, OPENAPI_PATH, *own]
    return {part for path in paths for part in path.split("/") if not part.startswith("{")}


@cache
def _routes() -> list[BaseRoute]:
    """The routes of every app of this process: FastAPI prepares them at the first request, in 50 ms."""
    # The headers that say which page sent a request count, not its content type.
    routes = APIRouter(generate_unique_id_function=operation_id, strict_content_type=False)
    for router in OWN_ROUTERS:
        routes.include_router(router, prefix=PREFIX, dependencies=[Depends(given_once)])
    routes.include_router(web.router)
    routes.include_router(sign_in.router)
    routes.include_router(mcp.router)
    for prefix in OPENAI_PREFIXES:
        for router in OPENAI_ROUTERS:
            routes.include_router(router, prefix=prefix, include_in_schema=prefix == OPENAI_PREFIXES[0])
    return routes.routes


TAGS = {
    "turns": "Ask about documents or in general, and follow a turn again.",
    "chat": "Ask with the list of messages that a chat has.",
    "openai": "Ask with a client of OpenAI's interface.",
    "documents": "Upload, list, follow and delete the documents of a conversation.",
    "conversations": "List, read and delete conversations.",
    "sharing": "Links by which others of the organization read a conversation.",
    "contexts": "Places for shared documents, and who may use them.",
    "workspaces": "Chat in a workspace, and the sessions that were opened in it.",
    "keys": "Keys of a user for programs.",
    "telemetry": "Telemetry of the organization, for admins.",
    "health": "Whether the server is alive and can answer.",
}


def _bearer(description: str, **more: str) -> Json:
    return {"type": "http", "scheme": "bearer", **more, "description": description}


def _cookie(name: str, description: str) -> Json:
    return {
        "type": "apiKey",
        "in": "cookie",
        "name": name,
        "description": f"the session of a browser, {description}",
    }


_TOKEN = _bearer("a token of the issuer that the server is set up with", bearerFormat="JWT")
_SCHEMES: dict[AuthMode, Json] = {
    AuthMode.LOCAL: {},
    AuthMode.JWT: {"bearer": _TOKEN},
    AuthMode.OIDC: {
        "bearer": _TOKEN,
        "key": _bearer("a key of a user, made on the page"),
        "session": _cookie("__Host-orc-session", "which the sign-in on the page sets"),
    },
    AuthMode.EASYAUTH: {
        "entra": _bearer("a token of Microsoft Entra ID, which Azure's authentication verifies"),
        "session": _cookie("AppServiceAuthSession", "which Azure's authentication sets"),
    },
}
_DISPOSITION = {
    "description": "the file's name, whose extension says what it is",
    "schema": {"type": "string", "example": 'form-data; name="file"; filename="handbook.txt"'},
}


class DocumentedApp(FastAPI):
    """FastAPI whose document holds the schema that `responses` refers to, and how callers authenticate.

    FastAPI itself would put a response's model under `application/json`, whatever its media type.
    """

    def __init__(self, *, auth_mode: AuthMode, allowed_origins: Sequence[str], **options: Any) -> None:
        self._auth_mode = auth_mode
        self._allowed_origins = allowed_origins
        super().__init__(
            **options,
            license_info={"name": "MIT", "identifier": "MIT"},
            servers=[{"url": "/", "description": "this server"}],
            openapi_tags=[{"name": name, "description": text} for name, text in TAGS.items()],
        )

    def build_middleware_stack(self) -> ASGIApp:
        """Errors are translated, then compressed, also those of the framework's own handler."""
        app: ASGIApp = OpenAIErrors(super().build_middleware_stack(), prefixes=OPENAI_PREFIXES)
        if self._allowed_origins:
            # Around all errors, which such a page may read too. Without cookies: it has no session here.
            app = CORSMiddleware(
                app,
                allow_origins=self._allowed_origins,
                allow_methods=METHODS,
                allow_headers=["*"],
                expose_headers=EXPOSED_HEADERS,
            )
        return compressed(app)

    def openapi(self) -> Json:
        document = super().openapi()
        schema = Problem.model_json_schema(ref_template=REFERENCES)
        components = document["components"]
        components["schemas"].update({**schema.pop("$defs"), Problem.__name__: schema})
        if schemes := _SCHEMES[self._auth_mode]:
            components["securitySchemes"] = schemes
        document["security"] = [{name: []} for name in schemes]
        operations = [each for path in document["paths"].values() for each in path.values()]
        for schema in _that_may_lack_fields(operations, components["schemas"]):
            # Generators of clients take a field with a default for one that is always there.
            for field in schema.get("properties", {}).values():
                field.pop("default", None)
        for operation in operations:
            if "401" not in operation["responses"]:
                operation["security"] = []
            # A file's name says what it is, which the schema of the form cannot tell.
            content = operation.get("requestBody", {}).get("content", {})
            if form := content.get("multipart/form-data"):
                form["encoding"] = {"file": {"headers": {"Content-Disposition": _DISPOSITION}}}
        return document


def _that_may_lack_fields(operations: Sequence[Json], schemas: Json) -> Iterator[Json]:
    """The schemas of requests and problems, with all that they refer to."""
    problem = {"$ref": REFERENCES.format(model=Problem.__name__)}
    waiting = [problem, *(each.get("requestBody") for each in operations)]
    reference, known = re.compile(REFERENCES.format(model=r"(\w+)")), set[str]()
    while waiting:
        for name in set(reference.findall(json.dumps(waiting.pop()))) - known:
            known.add(name)
            waiting.append(schema := schemas[name])
            yield schema


def operation_id(route: APIRoute) -> str:
    """The name of the function, which becomes the name of a method in generated clients."""
    return route.name
