"""Requests of the protocol, compared with the MCP library's own words for it."""

import json

import mcp_types
import pytest
from mcp.shared import inbound

from orc.tools.mcp_messages import CLIENT, PROTOCOL, McpRequest


def test_a_request_names_protocol_and_client_as_the_library_does() -> None:
    assert list(CLIENT) == [
        mcp_types.PROTOCOL_VERSION_META_KEY,
        mcp_types.CLIENT_INFO_META_KEY,
        mcp_types.CLIENT_CAPABILITIES_META_KEY,
    ]
    request = McpRequest("tools/call", {"name": "a", "arguments": {}}, "a", reports=True)
    found = inbound.classify_inbound_request(json.loads(request.body), headers=request.headers("token"))
    assert isinstance(found, inbound.InboundModernRoute)
    assert found.protocol_version == PROTOCOL


@pytest.mark.parametrize("name", ["semantic_search", "größe", " a", "=?base64?AA==?=", "a\r\nb", ""])
def test_a_name_reaches_the_server_as_it_is(name: str) -> None:
    headers = McpRequest("tools/call", name=name).headers("token")
    assert inbound.decode_header_value(headers[inbound.MCP_NAME_HEADER]) == name
    assert headers[inbound.MCP_NAME_HEADER].isascii()
