"""`python -m scripts.describe_tools`: write docs/tools.md from the schemas of the running tools server."""

import asyncio
import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mcp import Client
from mcp_types import Tool
from pydantic import SecretStr

from mcp_server.bootstrap import open_app
from mcp_server.server import build_stdio_server
from mcp_server.settings import Settings
from mcp_server.tools.registration import ERRORS_META_KEY
from orc.tools.ports import ToolSchema
from orc.tools.schemas import function_definitions
from orc_core.documents.scope import Scope

TARGET = Path(__file__).resolve().parents[1] / "docs" / "tools.md"
RANGES = (
    ("minLength", "maxLength", " characters"),
    ("minimum", "maximum", ""),
    ("minItems", "maxItems", " items"),
)
HEAD = (
    "# The tools\n\n"
    "Written by `python -m scripts.describe_tools` from what the tools server sends its clients; a test "
    "compares.\n\n"
    "The tools read only documents in the scope that the token names, and change none. The id of any other "
    "document gives the same answer as an id that does not exist. A document is named by its id or by its "
    "file name; a file name means a document of the conversation.\n\n"
    "Results are structured content that fits the output schema. Their text names each document and page "
    "with its id, because many clients give a model only the text. A tool that fails returns `{code, "
    "message, retryable, dependency, retry_after}` as JSON in its text. In addition to its own codes, "
    "each tool can return `invalid_input`, `not_authenticated`, `dependency_down`, `model_misconfigured` "
    "and `internal`. A call sends progress notifications with its steps, and at least one every 5 "
    "seconds.\n\n"
    "`web_search` is offered if the tools server has the key of a search engine (see "
    "[configuration](configuration.md#the-tools-server)). It reads no document, and its query is sent to "
    "the company of that engine. Web pages are quoted by the engine and never fetched. Google's API takes "
    "no new customers and ends on 1 January 2027; new users need Brave's.\n\n"
    "`documents_add_to_context` proposes a change, which its user confirms on the page or through the "
    "API. It has to be switched on for the call: by `tools` of a request, or `orc token --tool`.\n\n"
    "A model is not offered `document_chat`, which the orchestrator calls. Of the other tools it is shown "
    "the arguments in the last column. The scope supplies the others, and documents and pages have "
    "handles that are valid for one turn (`d1`, `d1.p5`). Results are shown to a model with the same "
    "handles, without an identifier of a document, a file, a user or a conversation.\n"
)
OVERVIEW = (
    "| tool | arguments | result | additional errors | what a model adds |\n| --- | --- | --- | --- | --- |"
)
Json = dict[str, Any]


async def live_tools() -> list[Tool]:
    """All tools, as a server with a web search lists them. No search engine is called."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data_dir=Path(folder), web_search="brave", brave_search_key=SecretStr("none"))
        async with (
            open_app(settings) as services,
            Client(build_stdio_server(services, _no_scope)) as client,
        ):
            return list((await client.list_tools()).tools)


def _no_scope() -> Scope:
    raise NotImplementedError("Tools are described here, not called.")


def describe(tools: list[Tool]) -> str:
    """The text of docs/tools.md: all tools in one table, then each by itself."""
    shown = _shown_to_models(tools)
    rows = [OVERVIEW, *(_row(tool, shown.get(tool.name)) for tool in tools), ""]
    return "\n".join([HEAD, *rows, *map(_section, tools), *_types(tools)])


def _row(tool: Tool, shown: list[str] | None) -> str:
    cells = [
        f"[{tool.name}](#{tool.name})",
        _listed(_properties(tool.input_schema)),
        _listed(_properties(tool.output_schema or {})),
        _listed(_errors(tool)),
        "is not offered it" if shown is None else _listed(shown),
    ]
    return f"| {' | '.join(cells)} |"


def _shown_to_models(tools: list[Tool]) -> dict[str, list[str]]:
    """The arguments that a model sees, by tool; those that it does not see are left out."""
    schemas = [ToolSchema(name=t.name, description="", input_schema=t.input_schema) for t in tools]
    functions = [each["function"] for each in function_definitions(schemas)]
    return {function["name"]: _properties(function["parameters"]) for function in functions}


def _properties(schema: Json) -> list[str]:
    return list(schema.get("properties", {}))


def _errors(tool: Tool) -> list[str]:
    return list((tool.meta or {}).get(ERRORS_META_KEY, []))


def _section(tool: Tool) -> str:
    arguments = list(_arguments(tool.input_schema))
    lines = [f"## {tool.name}", "", *_paragraphs(tool.description or "")]
    lines += ["| argument | type | default | limits | meaning |", "| --- | --- | --- | --- | --- |"]
    lines += arguments or ["| none | | | | |"]
    lines += ["", "| result | type | meaning |", "| --- | --- | --- |", *_fields(tool.output_schema or {})]
    return "\n".join([*lines, "", f"Additional errors: {_listed(_errors(tool))}.", ""])


def _paragraphs(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()] + [""]


def _arguments(schema: Json) -> Iterator[str]:
    for name, part in schema.get("properties", {}).items():
        needed = name in schema.get("required", [])
        default = "required" if needed else f"`{json.dumps(part.get('default'))}`"
        limits = ", ".join(_limits(part))
        meaning = part.get("description", "")
        yield f"| `{name}` | {_type(part, schema)} | {default} | {limits} | {meaning} |"


def _limits(part: Json) -> Iterator[str]:
    for option in [part, *part.get("anyOf", [])]:
        for least, most, unit in RANGES:
            if least in option and most in option:
                yield f"{option[least]} to {option[most]}{unit}"
            elif least in option or most in option:
                bound = f"from {option[least]}" if least in option else f"up to {option[most]}"
                yield bound + unit


def _fields(schema: Json) -> Iterator[str]:
    """The fields of a result, one level into its lists."""
    for name, part in schema.get("properties", {}).items():
        yield f"| `{name}` | {_type(part, schema)} | {part.get('description', '')} |"
        for inner, inside in _inside(part, schema).get("properties", {}).items():
            yield f"| `{name}.{inner}` | {_type(inside, schema)} | {inside.get('description', '')} |"


def _types(tools: list[Tool]) -> Iterator[str]:
    """The types that are within those of a result, each once."""
    schemas = {
        name: part for tool in tools for name, part in (tool.output_schema or {}).get("$defs", {}).items()
    }
    inner = {name for part in schemas.values() for name in re.findall(r'"#/\$defs/(\w+)"', json.dumps(part))}
    yield from ["## Types within results", "", "| field | type | meaning |", "| --- | --- | --- |"]
    for name in sorted(inner):
        for field, part in schemas[name].get("properties", {}).items():
            yield f"| `{name}.{field}` | {_type(part, {'$defs': schemas})} | {part.get('description', '')} |"
    yield ""


def _inside(part: Json, schema: Json) -> Json:
    reference = part.get("$ref") or part.get("items", {}).get("$ref")
    return schema["$defs"][reference.rsplit("/", 1)[-1]] if reference else {}


def _type(part: Json, schema: Json) -> str:
    if "$ref" in part:
        return str(_inside(part, schema).get("title", "object"))
    if "enum" in part:
        return " or ".join(f"`{value}`" for value in part["enum"])
    if "const" in part:
        return f"`{part['const']}`"
    if "anyOf" in part:
        return " or ".join(_type(option, schema) for option in part["anyOf"])
    if part.get("type") == "array":
        return f"list of {_type(part.get('items', {}), schema)}"
    return str(part.get("type", "any"))


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


if __name__ == "__main__":
    TARGET.write_text(describe(asyncio.run(live_tools())), encoding="utf-8")
