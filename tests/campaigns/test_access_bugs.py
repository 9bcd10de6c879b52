"""Fourteen bugs of access to contexts, each found by tests that run with the others."""

import os
import subprocess
import sys

import pytest

from devkit.planted_access_bugs import BUGS
from devkit.shared_data import ROOT

pytestmark = pytest.mark.campaign
MATRIX = "tests/unit/orc/api/test_access_matrix.py"
ROUTES = "tests/unit/orc/api/test_contexts.py"
RIGHTS = "tests/unit/orc/contexts/test_rights.py"
TOOLS = "tests/unit/mcp_server/test_contexts_in_tools.py"
TURNS = "tests/unit/orc/api/test_context_turns.py"
FOUND_BY = {
    "compare_bare_prefixes": TOOLS,
    "check_the_node_only": MATRIX,
    "compare_names_of_roles": RIGHTS,
    "read_below_what_is_deleted": RIGHTS,
    "trust_groups_of_others": MATRIX,
    "tell_blocked_answers": TURNS,
    "tell_blocked_summaries": "tests/unit/orc/memory/test_service.py",
    "believe_arguments": TOOLS,
    "export_without_a_check": "tests/unit/orc/api/test_withholding.py",
    "suggest_from_everywhere": MATRIX,
    "search_what_is_deleted": TOOLS,
    "leave_a_route_open": MATRIX,
    "tell_outsiders_that_it_exists": MATRIX,
    "show_names_of_ancestors": MATRIX,
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_of_access_is_caught(bug: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-x", "-p", "devkit.planted_access_bugs"]
    environment = os.environ | {"PLANTED_BUG": bug}
    run = subprocess.run(
        [*command, FOUND_BY[bug]], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == pytest.ExitCode.TESTS_FAILED, run.stdout[-2000:]
    assert "ImportError" not in run.stdout
    assert "AttributeError" not in run.stdout
