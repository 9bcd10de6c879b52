"""`python -m scripts.describe_web_types`: write the schemas of the API as the types of the web page."""

import json
from pathlib import Path
from typing import Any

from orc.api.app import create_app
from orc.settings import Settings

TARGET = Path(__file__).resolve().parents[1] / "orc" / "web" / "types" / "api.d.ts"
HEADER = "// Written from the OpenAPI document by `python -m scripts.describe_web_types`.\n\n"
SIMPLE = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
Json = Any


def main() -> None:
    TARGET.write_text(written(), encoding="utf-8")


def written() -> str:
    """The types of all schemas that responses and JSON requests use."""
    schemas = create_app(Settings()).openapi()["components"]["schemas"]
    lines = [f"  {_key(name)}: {type_of(schema, '  ')};" for name, schema in sorted(schemas.items())]
    return HEADER + "export interface Schemas {\n" + "\n".join(lines) + "\n}\n"


def type_of(schema: Json, indent: str = "") -> str:
    """The TypeScript type of a JSON schema."""
    if schema is True or not schema:
        return "unknown"
    if "$ref" in schema:
        return f'Schemas["{schema["$ref"].rsplit("/", 1)[-1]}"]'
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return " | ".join(map(json.dumps, schema["enum"]))
    for union in ("anyOf", "oneOf"):
        if union in schema:
            return " | ".join(dict.fromkeys(type_of(each, indent) for each in schema[union]))
    return _of_kind(schema, indent)


def _of_kind(schema: Json, indent: str) -> str:
    kind = schema.get("type")
    if kind == "array":
        return f"Array<{type_of(schema.get('items', True), indent)}>"
    if kind == "object" or "properties" in schema:
        return _object(schema, indent)
    return SIMPLE.get(kind, "unknown")


def _object(schema: Json, indent: str) -> str:
    fields: dict[str, Json] = schema.get("properties", {})
    if not fields:
        return f"Record<string, {type_of(schema.get('additionalProperties', True), indent)}>"
    # Fields with a default are always in a response; the page sends requests as partial objects.
    lines = [f"{indent}  {_key(name)}: {type_of(each, indent + '  ')};" for name, each in fields.items()]
    return "{\n" + "\n".join(lines) + f"\n{indent}}}"


def _key(name: str) -> str:
    return name if name.isidentifier() else json.dumps(name)


if __name__ == "__main__":
    main()
