"""The tools as clients and models see them, and docs/tools.md, which is written from the same schemas."""

from typing import Any

import pytest
from mcp_types import Tool

from orc.tools.ports import DOCUMENT_CHAT, ToolSchema
from orc.tools.schemas import HANDLED, SUPPLIED_BY_SCOPE, function_definitions
from orc_core.mcp_contract import TOOL_FACTS, TOOLS
from scripts.describe_tools import TARGET, describe, live_tools

pytestmark = pytest.mark.slow


@pytest.fixture
async def tools() -> list[Tool]:
    return await live_tools()


def names_in(schema: Any) -> set[str]:
    """Every property, required name and definition at any depth."""
    if isinstance(schema, list):
        return set().union(*map(names_in, schema))
    if not isinstance(schema, dict):
        return set()
    found = set(schema.get("properties", {})) | set(schema.get("required", []))
    return found.union(*map(names_in, schema.values()))


def for_models(tools: list[Tool]) -> dict[str, dict[str, Any]]:
    """What each tool takes, as a model is shown."""
    schemas = [ToolSchema(name=t.name, description="", input_schema=t.input_schema) for t in tools]
    return {
        each["function"]["name"]: each["function"]["parameters"] for each in function_definitions(schemas)
    }


async def test_every_tool_of_the_contract_is_there_and_says_whether_it_only_reads(tools: list[Tool]) -> None:
    assert {tool.name for tool in tools} == TOOLS
    for tool in tools:
        assert tool.description
        assert tool.title
        assert tool.output_schema
        assert tool.annotations is not None
        only_reads = TOOL_FACTS[tool.name].kind == "read"
        hints = tool.annotations.read_only_hint, tool.annotations.destructive_hint
        assert hints == (only_reads, False)


async def test_no_identifier_is_shown_to_a_model_at_any_depth(tools: list[Tool]) -> None:
    shown = for_models(tools)
    assert shown.keys() == TOOLS - {DOCUMENT_CHAT}
    for name, parameters in shown.items():
        found = names_in(parameters)
        assert not found & (SUPPLIED_BY_SCOPE | HANDLED), name
        assert not {each for each in found if each.endswith(("_id", "_ids", "_names"))}, name


async def test_a_model_takes_documents_and_pages_by_handle(tools: list[Tool]) -> None:
    shown = {name: set(parameters["properties"]) for name, parameters in for_models(tools).items()}
    assert (
        shown.items()
        >= {
            "semantic_search": {"query", "top_k"},
            "search_pages": {"query", "limit"},
            "get_page": {"page", "document", "page_number"},
            "follow_relation": {"entity_value", "relation_type", "direction"},
            "get_ontology": set(),
            "documents_list": set(),
            "documents_get_summary": {"document"},
            "documents_get_content": {"document", "max_chars"},
            "documents_add_to_context": {"document"},
            "documents_analyze": {"document", "question"},
            "web_search": {"query", "limit"},
        }.items()
    )


async def test_text_of_documents_comes_with_its_place(tools: list[Tool]) -> None:
    """The same field names in all tools: sources are numbered by them."""
    quoting = {"semantic_search": "passages", "documents_analyze": "passages"}
    quoting |= dict.fromkeys(
        ["search_pages", "get_page", "follow_relation", "documents_get_content"], "pages"
    )
    for tool in tools:
        if name := quoting.get(tool.name):
            schema = tool.output_schema or {}
            items = schema["properties"][name]["items"]["$ref"].rsplit("/", 1)[-1]
            number = "page" if name == "passages" else "page_number"
            place = {"document_id", "page_id", "blob_name", number, "text", "start", "end"}
            assert place <= schema["$defs"][items]["properties"].keys(), tool.name


async def test_the_table_in_the_docs_is_up_to_date(tools: list[Tool]) -> None:
    written = TARGET.read_text(encoding="utf-8")
    assert written == describe(tools), "run `python -m scripts.describe_tools` and look at the difference"
