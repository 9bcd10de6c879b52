"""The tools that the MCP conformance suite calls; only the campaign's server has them.

Without them checks pass for nothing: an error result contains text too.
"""

from base64 import b64encode
from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    AudioContent,
    CallToolResult,
    ClientCapabilities,
    EmbeddedResource,
    ImageContent,
    MissingRequiredClientCapabilityErrorData,
    SamplingCapability,
    TextContent,
    TextResourceContents,
)
from pydantic import Field

SCHEMA_TOOL = "json_schema_2020_12_tool"
SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
"""The schema that the suite expects to find unchanged."""
_PIXEL = b64encode(
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00\x90wS\xde"
    b"\x00\x00\x00\x0cIDATx\x9cc\xf8\xcf\xc0\x00\x00\x03\x01\x01\x00\xc9\xfe\x92\xef\x00\x00\x00\x00IEND\xaeB`\x82"
).decode()
_SOUND = b64encode(
    b"RIFF$\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00@\x1f\x00\x00@\x1f\x00\x00\x01\x00\x08\x00"
    b"data\x00\x00\x00\x00"
).decode()
_IMAGE = ImageContent(type="image", data=_PIXEL, mime_type="image/png")


def _result(*content: TextContent | ImageContent | AudioContent | EmbeddedResource) -> CallToolResult:
    return CallToolResult(content=list(content))


def _text(text: str) -> TextContent:
    return TextContent(type="text", text=text)


def _resource(uri: str, media_type: str, text: str) -> EmbeddedResource:
    content = TextResourceContents(uri=uri, mime_type=media_type, text=text)
    return EmbeddedResource(type="resource", resource=content)


def _require_sampling(context: Context[None]) -> None:
    capabilities = context.session.client_capabilities
    if capabilities is None or capabilities.sampling is None:
        missing = ClientCapabilities(sampling=SamplingCapability())
        data = MissingRequiredClientCapabilityErrorData(required_capabilities=missing)
        raise MCPError(
            code=MISSING_REQUIRED_CLIENT_CAPABILITY,
            message="This tool needs a client that can sample.",
            data=data.model_dump(by_alias=True, mode="json", exclude_none=True),
        )


def add_fixtures(server: MCPServer[None]) -> None:
    """Adds the tools of the suite's server for what Orc's tools use: text, errors, progress, arguments."""

    @server.tool()
    def test_simple_text() -> CallToolResult:
        """Text."""
        return _result(_text("This is a simple text response for testing."))

    @server.tool()
    def test_error_handling() -> CallToolResult:
        """An error."""
        raise RuntimeError("This tool intentionally returns an error for testing")

    @server.tool()
    def test_image_content() -> CallToolResult:
        """An image."""
        return _result(_IMAGE)

    @server.tool()
    def test_audio_content() -> CallToolResult:
        """A sound."""
        return _result(AudioContent(type="audio", data=_SOUND, mime_type="audio/wav"))

    @server.tool()
    def test_embedded_resource() -> CallToolResult:
        """A resource."""
        resource = _resource(
            "test://embedded-resource", "text/plain", "This is an embedded resource content."
        )
        return _result(resource)

    @server.tool()
    def test_multiple_content_types() -> CallToolResult:
        """Text, an image and a resource."""
        data = _resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}')
        return _result(_text("Multiple content types test:"), _IMAGE, data)

    @server.tool()
    async def test_tool_with_progress(context: Context[None]) -> CallToolResult:
        """Progress in three steps."""
        for progress in (0, 50, 100):
            await context.report_progress(progress, 100)
        return _result(_text("Done."))

    @server.tool()
    def test_reconnection() -> CallToolResult:
        """Text, in a stream."""
        return _result(_text("The stream of this call stayed open."))

    @server.tool()
    def test_missing_capability(context: Context[None]) -> CallToolResult:
        """Text, for clients that can sample."""
        _require_sampling(context)
        return _result(_text("The client can sample."))

    @server.tool()
    def test_header(
        region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})],
    ) -> CallToolResult:
        """Text, with an argument that is repeated in a header."""
        return _result(_text(f"The region is {region}."))

    server.add_tool(test_header, SCHEMA_TOOL)
    server._tool_manager._tools[SCHEMA_TOOL].parameters = SCHEMA
