"""The app's OpenAPI document: valid 3.1.0, with names that generated clients can use."""

from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute

from orc.api.responses import REFERENCES
from orc.problems import Problem
from orc.settings import AuthMode

TAGS = {
    "turns": "Ask about documents or in general, and follow a turn again.",
    "chat": "Ask with the list of messages that a chat has.",
    "openai": "Ask with a client of OpenAI's interface.",
    "documents": "Upload, list, follow and delete the documents of a conversation.",
    "conversations": "List, read and delete conversations.",
    "contexts": "Places for shared documents, and who may use them.",
    "workspaces": "Chat in a workspace, and the sessions that were opened in it.",
    "telemetry": "Telemetry of the organization, for admins.",
    "health": "Whether the server is alive and can answer.",
}
_SCHEMES: dict[AuthMode, dict[str, Any]] = {
    AuthMode.LOCAL: {},
    AuthMode.JWT: {
        "bearer": {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "JWT",
            "description": "a token of the issuer that the server is set up with",
        }
    },
    AuthMode.EASYAUTH: {
        "entra": {
            "type": "http",
            "scheme": "bearer",
            "description": "a token of Microsoft Entra ID, which Azure's authentication verifies",
        },
        "session": {
            "type": "apiKey",
            "in": "cookie",
            "name": "AppServiceAuthSession",
            "description": "the session of a browser, which Azure's authentication sets",
        },
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

    def __init__(self, *, auth_mode: AuthMode, **options: Any) -> None:
        self._auth_mode = auth_mode
        super().__init__(
            **options,
            license_info={"name": "MIT", "identifier": "MIT"},
            servers=[{"url": "/", "description": "this server"}],
            openapi_tags=[{"name": name, "description": text} for name, text in TAGS.items()],
        )

    def openapi(self) -> dict[str, Any]:
        document = super().openapi()
        schema = Problem.model_json_schema(ref_template=REFERENCES)
        components = document["components"]
        components["schemas"].update({**schema.pop("$defs"), Problem.__name__: schema})
        if schemes := _SCHEMES[self._auth_mode]:
            components["securitySchemes"] = schemes
        document["security"] = [{name: []} for name in schemes]
        for operation in [each for path in document["paths"].values() for each in path.values()]:
            if "401" not in operation["responses"]:
                operation["security"] = []
            # A file's name says what it is, which the schema of the form cannot tell.
            content = operation.get("requestBody", {}).get("content", {})
            if form := content.get("multipart/form-data"):
                form["encoding"] = {"file": {"headers": {"Content-Disposition": _DISPOSITION}}}
        return document


def operation_id(route: APIRoute) -> str:
    """The name of the function, which becomes the name of a method in generated clients."""
    return route.name
