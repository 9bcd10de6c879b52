"""Compares what the API sends with the schemas of its OpenAPI document."""

from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from orc.api.app import create_app
from orc.settings import AuthMode, Settings
from tests.system.steps import Json


@cache
def openapi() -> Json:
    return create_app(Settings(auth_mode=AuthMode.EASYAUTH, azure_auth_enabled=True)).openapi()


def misfits(name: str, value: object) -> list[str]:
    """Where a value differs from the schema of this name; a field that the schema does not name differs."""
    document = {"$ref": f"#/components/schemas/{name}", "components": _closed(openapi()["components"])}
    return [
        f"{error.json_path}: {error.message[:200]}"
        for error in Draft202012Validator(document).iter_errors(value)
    ]


def _closed(schema: Any) -> Any:
    """The schema without fields that it does not name."""
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        closed.setdefault("additionalProperties", False)
    return closed
