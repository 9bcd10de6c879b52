"""Tools as a model sees them: nothing in a schema or a result names a file, user or conversation."""

from typing import Any

import pytest

from devkit.fakes import FakeTools
from devkit.graph_turns import CHAT_TOOL, Turn
from orc.tools.ports import ToolSchema
from orc.tools.schemas import HANDLED, SUPPLIED_BY_SCOPE, Handles, function_definitions
from orc_core.errors import NotFound

FILTER = {
    "type": "object",
    "properties": {
        "blob_name": {"type": "string"},
        "document_id": {"type": "string"},
        "year": {"type": "integer"},
    },
    "required": ["blob_name", "document_id"],
}
SCHEMA = {
    "type": "object",
    "properties": {
        "query": {"type": "string"},
        "conversation_id": {"type": "string"},
        "page_id": {"type": "string"},
        "filter": {"$ref": "#/$defs/Filter"},
        "filters": {"type": "array", "items": {"anyOf": [FILTER, {"type": "null"}]}},
    },
    "required": ["query", "conversation_id", "page_id"],
    "$defs": {"Filter": FILTER},
}


def names_in(schema: Any) -> set[str]:
    """Every property and required name at any depth."""
    if isinstance(schema, list):
        return set().union(*map(names_in, schema))
    if not isinstance(schema, dict):
        return set()
    found = set(schema.get("properties", {})) | set(schema.get("required", []))
    return found.union(*map(names_in, schema.values()))


def test_a_schema_is_stripped_of_identifiers_at_any_depth() -> None:
    tool = ToolSchema(name="search", description="", input_schema=SCHEMA)
    [shown] = function_definitions([tool])
    parameters = shown["function"]["parameters"]
    assert names_in(parameters) == {"query", "page", "filter", "filters", "document", "year"}
    assert not names_in(parameters) & (SUPPLIED_BY_SCOPE | HANDLED)
    assert parameters["required"] == ["query", "page"]


def test_arguments_that_select_contexts_are_for_turns_with_contexts() -> None:
    fields = {"context": {"type": "string"}, "query": {"type": "string"}, "limit": {"type": "integer"}}
    schema = {"type": "object", "properties": fields, "title": "Arguments", "$defs": {"Status": {}}}
    for name, kept in (("semantic_search", {"query", "limit"}), ("documents_list", set())):
        tool = ToolSchema(name=name, description="", input_schema=schema)
        [plain], [full] = function_definitions([tool]), function_definitions([tool], with_contexts=True)
        assert plain["function"]["parameters"]["properties"].keys() == kept
        assert full["function"]["parameters"]["properties"].keys() == fields.keys()
    assert plain["function"]["parameters"] == {"type": "object", "properties": {}, "title": "Arguments"}


async def test_tools_that_change_something_are_offered_only_if_they_are_switched_on() -> None:
    tools = [
        ToolSchema(name=name, description="", input_schema=SCHEMA, only_reads=name == "search")
        for name in ("search", "attach")
    ]
    turn = Turn(FakeTools(tools))
    assert [each.name for each in await turn.uses.available_tools()] == ["search"]
    turn.change(update_tools=frozenset({"attach"}))
    assert [each.name for each in await turn.uses.available_tools()] == ["search", "attach"]
    turn.change(tools_off=frozenset({"attach"}))
    assert [each.name for each in await turn.uses.available_tools()] == ["search"]


async def test_disabled_tools_and_document_chat_are_not_offered() -> None:
    tools = [ToolSchema(name=name, description="", input_schema=SCHEMA) for name in ("search", "other")]
    turn = Turn(FakeTools([*tools, CHAT_TOOL]), tools_off=frozenset({"search"}))
    available = await turn.uses.available_tools()
    assert [tool.name for tool in available] == ["other", "document_chat"]
    assert [tool["function"]["name"] for tool in function_definitions(available)] == ["other"]


def test_fields_without_use_for_a_model_are_removed_from_results() -> None:
    shown = Handles().hide(
        {"passages": [{"score": 0.5, "start": 3, "end": 9, "heading": "Fees"}], "steps": []}
    )
    assert shown == {"passages": [{"heading": "Fees"}]}


def test_handles_of_a_result_resolve_to_their_documents() -> None:
    handles = Handles()
    shown = handles.hide(
        {
            "pages": [
                {"page_id": "id-1.p5", "file_id": "file-1", "text": "x"},
                {"page_id": "id-2.p1", "text": "y"},
            ]
        }
    )
    assert shown == {"pages": [{"page": "d1.p5", "text": "x"}, {"page": "d2.p1", "text": "y"}]}
    assert handles.resolve({"page": "d1.p5", "limit": 3}) == {"page_id": "id-1.p5", "limit": 3}
    assert handles.resolve({"document": "d2"}) == {"document_id": "id-2"}


@pytest.mark.parametrize("made_up", ["d3", "id-1", " ", "d1/../d2"])
def test_an_unknown_handle_is_not_found(made_up: str) -> None:
    handles = Handles()
    handles.hide({"document_id": "id-1"})
    with pytest.raises(NotFound):
        handles.resolve({"document": made_up})


@pytest.mark.parametrize("left_out", [None, ""])
def test_an_empty_handle_is_dropped(left_out: str | None) -> None:
    assert Handles().resolve({"page": left_out, "document": left_out, "query": "fee"}) == {"query": "fee"}


def test_identifiers_among_the_arguments_are_dropped() -> None:
    arguments = {"document_id": "id-9", "user_id": "bob", "blob_names": ["b.pdf"], "query": "fee"}
    assert Handles().resolve(arguments) == {"query": "fee"}
