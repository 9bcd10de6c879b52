"""The way of one question through the product does not become longer: docs/decisions/size.md."""

import sys
from pathlib import Path

import pytest

from devkit.size import deviations
from devkit.walk import walk


@pytest.mark.slow
@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is there from Python 3.12 on")
def test_a_question_passes_no_more_modules(tmp_path: Path) -> None:
    passed = walk(tmp_path)
    assert {"orc/graphs/graph.py", "mcp_server/server.py"} <= passed.keys()
    lines = sum(passed.values())
    counted = {"modules of a question": len(passed), "lines of the modules of a question": lines}
    assert deviations(counted) == []
