"""MCP clients of others list the tools, ask and search an uploaded document, and show a refusal."""

from pathlib import Path

import pytest

from resilience.mcp_clients import UV, campaign

pytestmark = pytest.mark.campaign


@pytest.mark.skipif(not Path(UV).exists(), reason="uv, which installs the clients, is not installed")
def test_clients_of_others_can_use_the_tools() -> None:
    assert [(each.client, each.verdicts, each.error) for each in campaign() if not all(each.verdicts)] == []
