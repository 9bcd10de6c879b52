"""`python -m scripts.api_snapshot`: write what clients see of the HTTP API and of the tools, without prose.

It holds every path, parameter, field, type, limit, default and status. It leaves out text for people
(descriptions, summaries, titles, examples), the version of the product, and orders that have no meaning.
"""

import asyncio
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mcp_types import Tool

from orc.api.app import create_app
from orc.settings import AuthMode, Settings
from scripts import describe_web_types
from scripts.describe_tools import live_tools

FOLDER = Path(__file__).resolve().parents[1] / "tests" / "unit" / "scripts" / "api_snapshot"
OPENAPI = "openapi.json"
TOOLS = "mcp_tools.json"
PROSE = {"description", "summary", "title", "example", "examples"}
NAMED = {"paths", "responses", "content", "headers", "encoding", "schemas", "properties", "patternProperties"}
"""Keywords whose value is a map from names to objects: a field may be called `title`."""
LITERAL = {"default", "const"}
UNORDERED = {"enum", "required", "anyOf", "parameters", "tags", "orc/errors"}
Json = Any


def main() -> None:
    for name, document in current_documents().items():
        (FOLDER / name).write_text(json.dumps(document, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    # The web page is written against the same document.
    describe_web_types.main()


def current_documents() -> dict[str, Json]:
    """The documents of the code as it is, by the name of their file in the snapshot."""
    app = create_app(Settings(auth_mode=AuthMode.EASYAUTH, azure_auth_enabled=True))
    tools = asyncio.run(live_tools())
    return {OPENAPI: normalised_openapi(app.openapi()), TOOLS: normalised_tools(tools)}


def snapshot() -> dict[str, Json]:
    """The documents as they were written."""
    return {name: json.loads((FOLDER / name).read_text(encoding="utf-8")) for name in (OPENAPI, TOOLS)}


def normalised_openapi(document: Json) -> Json:
    """The OpenAPI document without prose and without the product's version.

    Names of component schemas and of operations stay: generated clients use them for types and methods.
    """
    return without_prose({key: value for key, value in document.items() if key != "info"})


def normalised_tools(tools: list[Tool]) -> Json:
    """The tools by name, without prose. Definitions replace references: their names are no contract."""
    listed = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
    return {tool["name"]: without_prose(_with_definitions_in_place(tool)) for tool in listed}


def without_prose(value: Json, *, names: bool = False) -> Json:
    """A schema without text for people, in one order. With `names`, the keys of `value` are not keywords."""
    if isinstance(value, list):
        return [without_prose(item) for item in value]
    if not isinstance(value, dict):
        return value
    if names:
        return {name: without_prose(item) for name, item in value.items()}
    return {key: _cleaned(key, item) for key, item in value.items() if key not in PROSE}


def differences(before: Json, now: Json, place: str = "") -> Iterator[str]:
    """One line for each value that was added, removed or changed, with its place in the document."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in sorted({*before, *now}):
            yield from _difference_at(before, now, key, f"{place} > {key}" if place else key)
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for number, pair in enumerate(zip(before, now, strict=True)):
            yield from differences(*pair, f"{place} > {number}")
    elif before != now:
        yield f"{place}: {json.dumps(before)} is now {json.dumps(now)}"


def _difference_at(
    before: Mapping[str, Json], now: Mapping[str, Json], key: str, place: str
) -> Iterator[str]:
    if key not in now:
        yield f"{place}: is no longer there"
    elif key not in before:
        yield f"{place}: is new"
    else:
        yield from differences(before[key], now[key], place)


def _cleaned(key: str, value: Json) -> Json:
    if key in LITERAL:
        return value
    cleaned = without_prose(value, names=key in NAMED)
    is_unordered = key in UNORDERED and isinstance(cleaned, list)
    return sorted(cleaned, key=_sorting_key) if is_unordered else cleaned


def _sorting_key(value: Json) -> str:
    return json.dumps(value, sort_keys=True)


def _with_definitions_in_place(tool: Json) -> Json:
    schemas = {key: _resolved(tool[key], tool[key]) for key in ("inputSchema", "outputSchema") if key in tool}
    return {**tool, **schemas}


def _resolved(value: Json, schema: Json) -> Json:
    """`value` with definitions of `schema` in the place of references; no definition refers to itself."""
    if isinstance(value, list):
        return [_resolved(item, schema) for item in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        definition = schema["$defs"][value["$ref"].rsplit("/", 1)[-1]]
        value = {**definition, **{key: item for key, item in value.items() if key != "$ref"}}
    return {key: _resolved(item, schema) for key, item in value.items() if key != "$defs"}


if __name__ == "__main__":
    main()
