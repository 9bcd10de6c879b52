"""JSON schemas for structured outputs, in the subset that OpenAI and Azure OpenAI enforce."""

from typing import Any

from pydantic import BaseModel

Json = dict[str, Any]
_KEPT = ("type", "description", "enum", "const")


def response_format(schema: type[BaseModel]) -> Json:
    """The `response_format` that holds a reply to `schema`."""
    from langchain_core.utils.function_calling import convert_to_openai_function

    function = convert_to_openai_function(schema)  # inlines references
    strict = {"name": function["name"], "strict": True, "schema": strict_schema(function["parameters"])}
    return {"type": "json_schema", "json_schema": strict}


def strict_schema(schema: Json) -> Json:
    """The schema with every property required and no others allowed.

    Limits and defaults are dropped: Azure refuses them, and the reply is validated against them anyway.
    """
    strict = {key: schema[key] for key in _KEPT if key in schema}
    if (properties := schema.get("properties")) is not None:
        strict["properties"] = {name: strict_schema(part) for name, part in properties.items()}
        strict["required"] = list(properties)
        strict["additionalProperties"] = False
    if "items" in schema:
        strict["items"] = strict_schema(schema["items"])
    if "anyOf" in schema:
        strict["anyOf"] = [strict_schema(part) for part in schema["anyOf"]]
    return strict
