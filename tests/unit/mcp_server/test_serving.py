"""The tools server as a process."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_a_port_that_is_in_use_is_named_with_the_setting_that_moves_it(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = subprocess.run(
            [sys.executable, "-m", "mcp_server"],
            env={**os.environ, "ORC_DATA_DIR": str(tmp_path), "ORC_MCP_PORT": str(port)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert ended.returncode == 1
    assert f"cannot listen on port {port} of 127.0.0.1. Set ORC_MCP_PORT" in ended.stderr
    assert "Traceback" not in ended.stderr
