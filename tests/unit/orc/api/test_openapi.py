"""The OpenAPI document is valid, and generators of clients can use its names."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from orc.api.app import create_app
from orc.settings import AuthMode, Settings

pytestmark = pytest.mark.slow

Json = dict[str, Any]
SETTINGS = {
    AuthMode.LOCAL: Settings(),
    AuthMode.EASYAUTH: Settings(auth_mode=AuthMode.EASYAUTH, azure_auth_enabled=True),
    AuthMode.JWT: Settings(
        auth_mode=AuthMode.JWT,
        jwt_issuer="https://issuer.example",
        jwt_audience="orc",
        jwt_jwks_url="https://issuer.example/keys",
    ),
    AuthMode.OIDC: Settings(
        auth_mode=AuthMode.OIDC,
        jwt_issuer="https://issuer.example",
        oidc_client_id="orc",
        public_url="https://orc.example.com",
    ),
}
SCHEMES = {
    AuthMode.LOCAL: set[str](),
    AuthMode.EASYAUTH: {"entra", "session"},
    AuthMode.JWT: {"bearer"},
    AuthMode.OIDC: {"bearer", "key", "session"},
}
each_mode = pytest.mark.parametrize("mode", AuthMode)


@cache
def document_of(mode: AuthMode) -> Json:
    document: Json = create_app(SETTINGS[mode]).openapi()
    return document


def operations_of(document: Json) -> dict[str, Json]:
    return {
        f"{method.upper()} {path}": operation
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    }


@each_mode
def test_the_document_is_valid(mode: AuthMode) -> None:
    document = document_of(mode)
    assert document["openapi"] == "3.1.0"
    OpenAPIV31SpecValidator(document).validate()


def schemas_in(node: object) -> Iterator[Json]:
    """All schemas of parameters, bodies and components."""
    for key, value in (
        node.items() if isinstance(node, dict) else enumerate(node if isinstance(node, list) else ())
    ):
        if key == "schema":
            yield value
        elif key == "schemas":
            yield from value.values()
        yield from schemas_in(value)


def test_limits_of_parameters_are_keywords_of_json_schema() -> None:
    pydantic = {"ge", "gt", "le", "lt", "multiple_of", "min_length", "max_length"}
    schemas = list(schemas_in(document_of(AuthMode.LOCAL)))
    assert [schema for schema in schemas if pydantic & schema.keys()] == []
    assert len(schemas) > 100


def test_the_examples_of_schemas_fit_them() -> None:
    document = document_of(AuthMode.LOCAL)
    for name, schema in document["components"]["schemas"].items():
        rooted = {"$ref": f"#/components/schemas/{name}", "components": document["components"]}
        for each in schema.get("examples", []):
            problems = [error.message for error in Draft202012Validator(rooted).iter_errors(each)]
            assert problems == [], name


@each_mode
def test_it_says_how_callers_authenticate(mode: AuthMode) -> None:
    document = document_of(mode)
    assert set(document["components"].get("securitySchemes", {})) == SCHEMES[mode]
    assert {name for each in document["security"] for name in each} == SCHEMES[mode]
    open_to_all = {n for n, each in operations_of(document).items() if each.get("security") == []}
    assert open_to_all == {"GET /api/health", "GET /api/ready"}


def test_operations_are_named_after_functions_and_have_declared_tags() -> None:
    document = document_of(AuthMode.LOCAL)
    operations = operations_of(document)
    names = [operation["operationId"] for operation in operations.values()]
    assert len(set(names)) == len(names)
    assert {"ask", "ask_streaming", "chat", "upload", "resume"} <= set(names)
    declared = {tag["name"] for tag in document["tags"]}
    assert {tag for operation in operations.values() for tag in operation["tags"]} <= declared
    assert document["servers"]


def test_an_upload_is_a_file_and_a_stream_is_text() -> None:
    document = document_of(AuthMode.LOCAL)
    operations = operations_of(document)
    body = operations["POST /api/conversations/{conversation_id}/documents"]["requestBody"]
    reference = body["content"]["multipart/form-data"]["schema"]["$ref"].rsplit("/", 1)[-1]
    file = document["components"]["schemas"][reference]["properties"]["file"]
    assert file["items"] == {"type": "string", "format": "binary"}
    for path in ("/api/orc/stream", "/api/chat/stream"):
        content = operations[f"POST {path}"]["responses"]["200"]["content"]
        assert {kind: each["schema"] for kind, each in content.items()} == {
            "text/event-stream": {"type": "string"}
        }
